"""`project`: what it folds and keeps, that it is stable, and that the indexes agree with it."""

import re
import unicodedata
from itertools import chain, pairwise
from string import ascii_lowercase, ascii_uppercase

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.folding import FOLDS, INERT, joining
from core.store.tokenizer_probe import ARGUMENTS
from core.text import (
    CJK_CLASS,
    INDEXED_CHARS,
    has_cjk,
    project,
    project_with_map,
    tool_calls_text,
)
from core.types import ToolCall
from core.word_ranges import WORD_RANGES

HOSTILE = st.lists(
    st.sampled_from(
        [
            *"aZéÉİıĐđøŁħßẞſςΣµЙйЁ\u212a\u0345\u0344’ʼＡｂ１！",
            *"か\u3099が\u309aｶﾞﾟｰ豈\u1100\u1161\u11a8각ㅏﾡกิ\u0e49က\u1039ក\u17d2ཱ\u0f73\u0f71",
            *"אבַּ\u05bcשּׁأا\u0654\u0653\u064eِﷺ",
            *"\u0301\u0327\u0338\u034f\u200b\u200c\u200d\u200e\u202e\u2066\ufe0f\ufeff\u00ad",
            *"हिन्दीதமிழ்বাংলা🤖🧪🫡⯑₿\u093f\ue0b0",
            *"≠=\u20e3😀👍🏽\U000e0067\U0002f800\ud800\udfff\x00\n ",
            *(
                "\ue200",
                "\ue201",
                "\x1b",
                "[",
                "31m",
                "]",
                ";",
                "\x07",
                "\\",
                "\x1b[0m",
                "\x1b]8;;x\x07",
                "P",
            ),
        ]
    ),
    max_size=12,
).map("".join)
WILD = st.text(st.characters(), max_size=12)
MEDIA = "iVBORw0KGgo" * 400


@pytest.fixture(scope="module")
def unicode61():
    db = apsw.Connection(":memory:")
    cut = db.fts5_tokenizer("unicode61", ARGUMENTS)
    yield lambda text: cut(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None)
    db.close()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Plain ASCII Keeps Its Case, x@y.z C++ [0m\ttab\r\nline",
        "我们讨论了数据库迁移计划，“好”——部署！（第一）：？…",
        "ユーザー・がっこう、カタカナ「引用」ー々",
        "한국어 테스트",
        "กินข้าวเช้า ខ្ញុំចូលចិត្ត မြန်မာ ຂ້ອຍ",
        "🚀 ok 🤖 ✓ → • ½ ² ™ ℃ ㈱",
        "ß æ œ þ ð ŋ ə",
        "हिन्दी தமிழ் বাংলা",
        "ა ქართული հայերեն",
        "a ≠ b, １＋１ stays ＋",
    ],
)
def test_what_needs_no_folding_stays(text):
    kept = text.replace("１", "1")  # in the last row only the digits fold
    assert project(text) == kept


@pytest.mark.parametrize(
    "text",
    ["word " * 1_800, "部署 staging 完成。" * 1_000, f"{'=' * 70}\n" * 50 + "。", "한국어", ""],
)
def test_a_text_that_stays_is_the_same_object(text):
    assert project(text) is text


@pytest.mark.parametrize(
    ("text", "projected"),
    [
        ("ＡＢＣ検索１２３ａ", "ABC検索123a"),
        ("ｱｲｳ ﾕｰｻﾞｰ ﾊﾟ ﾞ", "アイウ ユーザー パ \u3099"),
        ("か\u3099っこう", "がっこう"),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8", "한국"),
        ("café CAFÉ cafe\u0301 Ünïcödé", "cafe CAFe cafe unicode"),
        ("Đường dây đ Ø ø Ł ł Ħ ħ ı İ", "duong day d o o l l h h i i"),
        ("Größe GRÖẞE", "Große GRoßE"),
        ("Σίσυφος ΣΊΣΥΦΟΣ", "σισυφοσ σισυφοσ"),
        ("Ёжик ЙОД", "ежик иод"),
        ("ſ µ K Å Ⅷ Ꭰ ꭰ Ა", "s μ K a ⅷ Ꭰ Ꭰ ა"),
        ("كَتَبَ شَدَّة قُرآن", "كتب شدة قرآن"),
        ("أحمد ا\u0654حمد", "أحمد أحمد"),
        ("שָׁלוֹם שׁ", "שלום ש"),
        ("don’t don‘t donʼt", "don't don't don't"),
        (
            "zero\u200bwidth soft\u00adhyphen \u202eab\u202c \ufefftext",
            "zerowidth softhyphen ab text",
        ),
        ("👨\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3 葛\U000e0100", "👨👩👧 ❤ 1 葛"),
        ("می\u200cخواهم", "میخواهم"),
        ("alpha\0omega 部署\0", "alpha omega 部署 "),
        ("豈 \U0002f804", "豈 你"),
        ("\ud800 lone \udfff", "\ufffd lone \ufffd"),
        ("\x1b[1;31mred\x1b[0m 部署\x1b[K", "red 部署"),
        ("\x1b]8;;https://example.org\x07link\x1b]8;;\x1b\\ end", "link end"),
        ("a\x1bPq#1~~\x1b\\b \x1b(B \x1b7 \x1b", "ab   "),
        ("\x1b[\x1b[31m0m", "0m"),
        ("fact.\ue200cite\ue202turn0search1\ue201 Next", "fact. Next"),
        ("\ue200never closed\nkept\ue201", "\ue200never closed\nkept\ue201"),
        ("\x1b]never ended\nkept\x07", "never ended\nkept\x07"),
        (f"see {MEDIA}== here", "see media here"),
        (f"data:image/png;base64,{MEDIA}電", "data:image/png;base64,media電"),
        ("\n".join([MEDIA[:76]] * 60) + "\nab==", "media\nab=="),
    ],
)
def test_folding(text, projected):
    assert project(text) == projected


def test_only_long_unbroken_base64_is_media():
    assert project("A" * 4_096) == "A" * 4_096
    assert project("A" * 4_097) == "media"
    assert project(("word " * 2_000).strip()) == ("word " * 2_000).strip()
    lines = "\n".join(["short line"] * 900)
    assert project(lines) == lines


@given(text=HOSTILE | WILD)
def test_projecting_again_changes_nothing(text):
    once = project(text)
    assert project(once) is once


@given(text=HOSTILE | WILD)
def test_canonically_equal_texts_meet(text):
    text = text.replace("\x1b", "")
    for form in ("NFC", "NFD"):
        assert project(unicodedata.normalize(form, text)) == project(text)


@given(text=HOSTILE | WILD)
def test_a_projection_can_be_stored(text):
    projected = project(text)
    projected.encode()
    assert "\0" not in projected
    assert "\x1b" not in projected


@given(text=HOSTILE | WILD)
def test_the_map_belongs_to_the_projection(text):
    projected, offsets = project_with_map(text)
    assert projected == project(text)
    assert len(offsets) == len(projected) + 1
    assert all(a <= b for a, b in pairwise(offsets))
    assert offsets[-1] == len(text)


@given(before=HOSTILE, after=HOSTILE)
def test_a_mark_is_found_again_in_the_source(before, after):
    """What is marked in the source projects to what was marked, whatever stands around it."""
    source = f"{before}\n電影\n{after}"
    projected, offsets = project_with_map(source)
    start = projected.index("電影")
    marked = source[offsets[start] : offsets[start + 2]]
    assert project(marked) == "電影"


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("كَتَبَ الدرس", "كتب", "كَتَبَ"),
        ("שָׁלוֹם עולם", "שלום", "שָׁלוֹם"),
        ("今日の気温は20℃です", "です", "です"),
        ("開始ﾕｰｻﾞｰ認証完了", "ユーザー", "ﾕｰｻﾞｰ"),
        ("naïve検索", "検索", "検索"),
        ("e\u0301te\u0301 fini", "fini", "fini"),
        ("\x1b[31mred\x1b[0m 部署", "部署", "部署"),
        (f"pic {MEDIA} end", "media", MEDIA),
        (f"pic {MEDIA} end", "end", "end"),
    ],
)
def test_marks_of_a_projection_in_the_source(text, query, marked):
    projected, offsets = project_with_map(text)
    start = projected.index(query)
    assert text[offsets[start] : offsets[start + len(query)]] == marked


def test_unicode61_changes_nothing_that_project_leaves(unicode61):
    """Every code point, but for planes without characters: index and pattern read the same."""
    planes = (range(0xD800), range(0xE000, 0x40000), range(0xE0000, 0xE1000))
    everything = map(chr, chain.from_iterable(planes))
    projected = project(" ".join(everything))
    utf8 = projected.encode()
    changed = {
        (utf8[start:end].decode(), token)
        for start, end, token in unicode61(projected)
        if utf8[start:end].decode() != token
    }
    assert changed == set(zip(ascii_uppercase, ascii_lowercase, strict=True))


@given(text=HOSTILE | WILD)
def test_words_are_what_unicode61_takes_for_words(unicode61, text):
    projected = project(text)
    inside = [any(first <= ord(char) <= last for first, last in WORD_RANGES) for char in projected]
    words = "".join(
        char if is_word else " " for char, is_word in zip(projected, inside, strict=True)
    )
    utf8 = projected.encode()
    found = [utf8[start:end].decode() for start, end, _ in unicode61(projected)]
    assert found == [word for word in words.split(" ") if word]


@pytest.mark.parametrize(
    "text",
    [
        "done🤖",
        "done👍🏽",
        "🧪done🧪",
        "done🪄done",
        "🫡done",
        "done\U0001fc00",
        "done₿done⯑",
        "done🎉",
    ],
)
def test_symbols_newer_than_unicode61_are_no_part_of_a_word(unicode61, text):
    assert {token for _, _, token in unicode61(text)} == {"done"}


@pytest.mark.parametrize(
    "word",
    [
        *("हिन्दी", "தமிழ்", "বাংলা", "తెలుగు", "ಕನ್ನಡ", "മലയാളം", "ગુજરાતી", "ਪੰਜਾਬੀ", "සිංහල"),
        *("བོད", "ⵜⵉⴼⵉⵏⴰⵖ", "ትግርኛ", "𞤀𞤣𞤤𞤢𞤥"),
    ],
)
def test_a_word_keeps_its_vowel_signs(unicode61, word):
    assert [token for _, _, token in unicode61(f"a {project(word)}, b")] == [
        "a",
        project(word),
        "b",
    ]


def test_what_the_quick_look_passes_over_never_folds():
    """`project` looks at nothing else where a text has only such characters."""
    inert = [chr(code) for first, last in INERT for code in range(first, last + 1)]
    joins = {code for first, last in joining() for code in range(first, last + 1)}
    assert [char for char in inert if ord(char) in joins] == []
    assert [char for char in inert if FOLDS[ord(char)] != char] == []
    assert [char for char in inert if not unicodedata.is_normalized("NFC", char)] == []


def test_a_class_holds_its_ranges():
    assert re.fullmatch(f"[{CJK_CLASS}]+", "电𠀀ーก")
    assert not re.search(f"[{CJK_CLASS}]", "。・a")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", False), ("ascii", False), ("é。", False), ("a電", True), ("ก", True)],
)
def test_has_cjk(text, expected):
    assert has_cjk(text) is expected


def call(name, arguments):
    return ToolCall(id=None, name=name, arguments=arguments)


def test_tool_calls_give_names_and_values_without_keys():
    calls = [
        call(
            "write_file",
            '{"path":"C:\\\\work\\\\config.yaml","note":"\\u90e8\\u7f72\\n\\u5b8c\\u6210"}',
        ),
        call("sum", '{"rows":[1, 2.50, {"deep": ["x", true, null]}], "label": "Ünï"}'),
    ]
    assert tool_calls_text(calls) == (
        "write_file\nC:\\work\\config.yaml\n部署\n完成\nsum\n1\n2.50\nx\nuni"
    )


@pytest.mark.parametrize(
    "arguments",
    ["not json {", "[" * 100_000, "*** Begin Patch\n+line", '{"cut": "in the mid'],
)
def test_tool_arguments_that_are_no_json_are_taken_as_they_are(arguments):
    assert tool_calls_text([call("apply", arguments)]) == f"apply\n{arguments}"[:INDEXED_CHARS]


def test_tool_arguments_may_hold_what_python_refuses_to_read():
    arguments = f'{{"n": {"9" * 5_000}, "half": "\\ud800!", "inf": Infinity}}'
    assert tool_calls_text([call("t", arguments)]) == "t\nmedia\n\ufffd!\nInfinity"


def test_tool_call_text_is_bounded():
    assert len(tool_calls_text([call("t", '["' + "word " * 100_000 + '"]')])) == INDEXED_CHARS


def test_no_tool_calls_have_no_text():
    assert tool_calls_text([]) == ""
