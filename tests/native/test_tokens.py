"""Every token of the C tokenizer: by example, against the reference, and on broken bytes."""

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cjk_ranges import CJK_RANGES
from core.index import reference

MIXED = st.text(
    st.sampled_from(
        "电影订阅成功々〇𠀀𰀀ーがｶﾞㄅ가ᄀ값กิ่ຂក្မြaZ9é_-.,。、・ \n\0😀🤖🏽🫡हिन्दी⯑\u0301\u200d"
    )
    | st.builds(chr, st.sampled_from([edge for pair in CJK_RANGES for edge in pair]))
)
BROKEN = st.lists(
    st.sampled_from(
        [
            *(char.encode() for char in "电ก𠀀가aé。🚀"),
            *(b"\xe7", b"\xe7\x94", b"\xf0\xa0", b"\xf0\xa0\x80", b"\x80", b"\xbf", b"\xff", b"\0"),
            b"\xc0\xb0",  # overlong
            b"\xe0\x80\x80",
            b"\xed\xa0\x80",  # a surrogate
            b"\xf4\x90\x80\x80",  # beyond U+10FFFF
            b"\xf8\x88\x80\x80\x80",
        ]
    )
    | st.binary(max_size=3)
).map(b"".join)


def words(found):
    return [token for _, _, token in found]


@pytest.mark.parametrize(
    ("text", "document", "query"),
    [
        ("服", ["服"], ["服"]),
        ("服务", ["服务", "务"], ["服务"]),
        ("服务器", ["服务", "务器", "器"], ["服务", "务器"]),
        ("服务。", ["服务", "务"], ["服务"]),
        ("nginx服务", ["nginx", "服务", "务"], ["nginx", "服务"]),
        ("服务nginx", ["服务", "务", "nginx"], ["服务", "务", "nginx"]),
        ("服 务", ["服", "务"], ["服", "务"]),
        ("电影。影片", ["电影", "影", "影片", "片"], ["电影", "影", "影片"]),
        ("電影 Foo 片", ["電影", "影", "foo", "片"], ["電影", "影", "foo", "片"]),
        ("時々", ["時々", "々"], ["時々"]),
        ("ユーザー", ["ユー", "ーザ", "ザー", "ー"], ["ユー", "ーザ", "ザー"]),
        ("ア・イ", ["ア", "イ"], ["ア", "イ"]),
        ("𰀀𰀁", ["𰀀𰀁", "𰀁"], ["𰀀𰀁"]),
        ("กิน", ["กิ", "ิน", "น"], ["กิ", "ิน"]),
        ("한국", ["한국", "국"], ["한국"]),
        ("", [], []),
        ("。 ,", [], []),
    ],
)
def test_a_run_is_its_pairs_and_its_last_character(tokenize, text, document, query):
    assert words(tokenize(text)) == document
    assert words(tokenize(text, query=True)) == query


def test_offsets_are_bytes_of_the_whole_text(tokenize):
    assert tokenize("é nginx服务") == [
        (0, 2, "é"),
        (3, 8, "nginx"),
        (8, 14, "服务"),
        (11, 14, "务"),
    ]


def test_arguments_go_to_unicode61(db):
    cut = db.fts5_tokenizer("cjk_unicode61", ["remove_diacritics", "0", "tokenchars", "-_"])
    assert words(cut("a-b_c电影".encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None)) == [
        "a-b_c",
        "电影",
        "影",
    ]


def test_arguments_that_unicode61_refuses_are_refused(db):
    with pytest.raises(apsw.SQLError, match="error in tokenizer constructor"):
        db.execute("CREATE VIRTUAL TABLE temp.t USING fts5(x, tokenize='cjk_unicode61 nonsense 1')")


@given(text=MIXED | st.text())
def test_tokens_are_those_of_the_reference(tokenize, unicode61, text):
    for query in (False, True):
        assert tokenize(text, query=query) == reference.tokens(text, unicode61, query=query)


@given(text=MIXED | st.text())
def test_offsets_are_whole_characters_in_order(tokenize, text):
    utf8 = text.encode()
    previous = 0
    for start, end, token in tokenize(utf8):
        assert previous <= start < end <= len(utf8)
        assert utf8[start:end].decode()
        assert token
        previous = start


@given(utf8=BROKEN)
def test_any_bytes_are_cut(db, utf8):
    """SQLite takes any bytes for text; no row may become unwritable by them."""
    db.execute("CREATE VIRTUAL TABLE temp.broken USING fts5(t, tokenize='cjk_unicode61')")
    try:
        db.execute("INSERT INTO broken VALUES (CAST(? AS TEXT))", (utf8,))
        db.execute("INSERT INTO broken(broken) VALUES ('integrity-check')")
        db.execute("DELETE FROM broken")
    finally:
        db.execute("DROP TABLE broken")


@given(before=BROKEN, after=BROKEN)
def test_broken_bytes_do_not_hide_the_run_beside_them(db, before, after):
    """A run is found between any bytes: no lead byte swallows it, no stray one joins it."""
    db.execute("CREATE VIRTUAL TABLE temp.broken USING fts5(t, tokenize='cjk_unicode61')")
    try:
        run = "電影訂閱".encode()
        db.execute("INSERT INTO broken VALUES (CAST(? AS TEXT))", (before + run + after,))
        assert db.execute("SELECT count(*) FROM broken WHERE t MATCH '電影訂閱'").get == 1
    finally:
        db.execute("DROP TABLE broken")
