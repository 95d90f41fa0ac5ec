"""Plain text in a whole session, against a reading of it by hand."""

import json
from itertools import islice
from random import Random

import apsw
import pytest

from core.recall import message_texts, plain_text
from core.recall.find import Spot, find, spot_of
from core.recall.plain_text import count, find_ranges, sought, stretches
from core.text import project
from core.types import MessageState, Origin, Role, ToolCall
from tests.unit.store.making import message, store_at, store_messages

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
WORDS = (
    "订阅", "電影", "ｴﾗｰ", "エラー", "ﾊﾞｸﾞ", "café", "cafe\u0301", "CAFÉ", "한국어", "한", "Straße",
    "ＡＢＣ", "abc", "ABC", "a", "aa", "ab", "ba", "😀", "👩‍👩‍👧", "é", "**", "*", "`", "~~", "`x`",
    "**先查**订阅", "2*3", "a**b", "[docs](https://a.b/c)", "![订阅](x.png)", "[a](b", "](", "/",
    "_", "%", "\\", "\u200b", "ab\u200dc", "\x1b[31mred\x1b[0m", "\0", "it’s", "it's", "İ", "ÀB",
)  # fmt: skip
GAPS = ("", "", "", " ", "  ", "\n", "\n\n", "\t", "\u3000", "\u00a0", " \n ")


def lower(text: str) -> str:
    return "".join(c.lower() if "A" <= c <= "Z" else c for c in text)


def without_links(text: str) -> str:
    """Text of `[text](target)` alone, read from left to right, character by character."""
    kept, at = "", 0
    while at < len(text):
        start = at + 1 if text.startswith("![", at) else at
        end = start + 1
        if text[start : start + 1] == "[":
            while end < len(text) and text[end] not in "[]\n":
                end += 1
            close = end + 2
            while close < len(text) and text[close] not in "()" and not text[close].isspace():
                close += 1
            if text[end : end + 2] == "](" and text[close : close + 1] == ")":
                kept, at = kept + text[start + 1 : end], close + 1
                continue
        kept, at = kept + text[at], at + 1
    return kept


def without_signs(text: str) -> str:
    kept, at = "", 0
    while at < len(text):
        end = at
        while end < len(text) and text[end] in "*`~":
            end += 1
        between = text[at - 1 : at] if at else ""
        glued = between and between in LETTERS and text[end : end + 1] in (*LETTERS,)
        if end > at and not glued:
            at = end
            continue
        end = max(end, at + 1)
        kept, at = kept + text[at:end], end
    return kept


def seen(text: str, typed: str) -> str:
    """What is read of a text when this is looked for, by hand."""
    text = lower(project(text))
    if "/" not in typed:
        text = without_links(text)
    if not set(typed) & set("*`~"):
        text = without_signs(text)
    made = ""
    for char in text:
        if not char.isspace():
            made += char
        elif not made.endswith(" "):
            made += " "
    return made


def naive_count(text: str, typed: str) -> int:
    wanted = " ".join(lower(project(typed)).split())
    text = seen(text, wanted)
    found = at = 0
    while at < len(text):
        if text[at : at + len(wanted)] == wanted:
            found, at = found + 1, at + len(wanted)
        else:
            at += 1
    return found


def made_text(random: Random, words: int) -> str:
    return "".join(random.choice(WORDS) + random.choice(GAPS) for _ in range(words))


def needles(random: Random, text: str):
    """Pieces of the text itself, and of others."""
    for _ in range(6):
        start = random.randrange(len(text) + 1)
        yield text[start : start + random.randrange(1, 9)]
    yield from (random.choice(WORDS) for _ in range(2))


# Meaning


@pytest.mark.parametrize(
    ("typed", "text", "expected"),
    [
        ("订阅", "先查**订阅**，再订阅", 2),
        ("先查订阅", "先查**订阅**，再入队", 1),
        ("bold text", "a **bold** text, a bold\n\ntext", 2),
        ("23", "2*3", 0),
        ("2*3", "2*3 and 2**3", 1),
        ("**", "**bold** and ** alone", 3),
        ("docs here", "see [docs](https://a.example/x) here", 1),
        ("example", "see [docs](https://a.example/x) here", 0),
        ("a.example/x", "see [docs](https://a.example/x) here", 1),
        ("cafe", "CAFE\u0301, café, ＣＡＦＥ", 3),
        ("ａｂｃ", "abc ABC", 2),
        ("エラー", "ｴﾗｰ", 1),
        ("哈", "哈哈哈", 3),
        ("aa", "aaaa", 2),
        ("  error   code ", "error\n\tcode", 1),
        ("it's", "it’s", 1),
    ],
)
def test_what_is_found_is_what_is_seen(typed, text, expected):
    wanted = sought(typed)
    assert count(wanted, [project(text)]) == expected
    assert len(find_ranges(wanted, text)) == expected


def test_nothing_but_white_space_is_not_looked_for():
    assert sought(" \n\u3000") is None
    assert sought("") is None


def test_ranges_are_the_characters_that_people_see():
    text = "x cafe\u0301! [订阅](u) 先**订**阅 \x1b[1mab\x1b[0mc ﾊﾞｸﾞ"

    def told(typed):
        return [text[start:end] for start, end in find_ranges(sought(typed), text)]

    assert told("café") == ["cafe\u0301"]
    assert told("订阅") == ["订阅", "订**阅"]
    assert told("abc") == ["ab\x1b[0mc"]
    assert told("バグ") == ["ﾊﾞｸﾞ"]


def test_every_count_agrees_with_reading_by_hand():
    random = Random(3)
    found = 0
    for _ in range(600):
        text = made_text(random, random.randrange(1, 14))
        for typed in needles(random, text):
            wanted = sought(typed)
            if wanted is None:
                continue
            expected = naive_count(text, typed)
            found += expected > 0
            assert count(wanted, [project(text)]) == expected, (text, typed)
            ranges = find_ranges(wanted, text)
            assert len(ranges) == expected, (text, typed)
            assert all(0 <= start < end <= len(text) for start, end in ranges)
            assert [start for start, _ in ranges] == sorted(start for start, _ in ranges)
    assert found > 2_000


def test_like_never_leaves_out_a_match():
    random = Random(4)
    db = apsw.Connection(":memory:")
    for _ in range(800):
        text = made_text(random, random.randrange(1, 9))
        for typed in needles(random, text):
            wanted = sought(typed)
            if wanted is not None and naive_count(text, typed):
                projected = project(text).replace("\0", " ")
                sql = "SELECT ? LIKE ? ESCAPE '\\'"
                assert db.execute(sql, (projected, wanted.like)).get, (text, typed)


def test_a_text_in_stretches_counts_as_a_whole(monkeypatch):
    monkeypatch.setattr(plain_text, "CHUNK_CHARS", 40)
    random = Random(5)
    lines = ["订阅 " * random.randrange(1, 9) + "**ab** ab\t" for _ in range(60)]
    text = project("\n".join(lines))
    pieces = list(stretches(text))
    assert "".join(pieces) == text
    assert len(pieces) > 20
    for typed in ("订阅", "ab ab", "ab 订阅", "阅 订", "b ab 订阅 订"):
        assert count(sought(typed), stretches(text)) == naive_count(text, typed), typed


# A session


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    yield made
    made.close()


def told(found):
    return [(each.number, each.matches) for each in found.messages]


def session_row(db):
    return db.execute("SELECT id FROM sessions WHERE native_id = 's'").get


def test_every_visible_message_is_looked_through_and_no_other(db):
    states = (MessageState.ACTIVE, MessageState.COMPACTED, MessageState.REWOUND,
              MessageState.HIDDEN, MessageState.OFF_BRANCH)  # fmt: skip
    store_messages(
        db,
        *(
            message(f"u{n}", "needle " * (n % 3) + "x", position=n, state=states[n % 5])
            for n in range(1, 61)
        ),
        message("other", "needle", session="t", position=1),
    )
    rows = db.execute(
        "SELECT m.content FROM messages AS m JOIN message_placements AS p ON p.message_id = m.id"
        " WHERE p.session_id = ? AND m.state IN ('active', 'compacted') ORDER BY p.seq",
        (session_row(db),),
    )
    expected = [
        (number, content.count("needle"))
        for number, (content,) in enumerate(rows, 1)
        if "needle" in content
    ]
    found = find(db, session_row(db), sought("NEEDLE"))
    assert told(found) == expected
    assert found.is_whole
    assert found.total == sum(each for _, each in expected)


def test_reasoning_content_and_calls_are_looked_through_in_their_order(db):
    arguments = json.dumps({"command": "订阅 run", "list": ["订阅", {"k": "x订阅"}], "订阅": 1})
    calls = (ToolCall("c0", "订阅Tool", arguments), ToolCall("c1", "Read", "订阅 not JSON"))
    store_messages(
        db,
        message("u1", "no", position=1),
        message("u2", "**订阅** 订阅", position=2, role=Role.ASSISTANT, origin=Origin.MODEL,
                reasoning="想订\u200b阅", tool_calls=calls),
        message("u3", "结果：订阅", position=3, role=Role.TOOL, tool_name="订阅",
                tool_call_id="c0"),
        message("u4", "injected 订阅", position=4, origin=Origin.INJECTED, tool_calls=calls),
    )  # fmt: skip
    wanted = sought("订阅")
    found = find(db, session_row(db), wanted)
    assert told(found) == [(2, 1 + 2 + 4 + 1), (3, 1), (4, 1)]
    row = found.messages[0].message_id
    spots = [spot_of(db, row, wanted, n) for n in range(9)]
    assert spots == [
        Spot(row, "reasoning", 1),
        Spot(row, "content", 2),
        Spot(row, "content", 7),
        *(Spot(row, "call:0", n) for n in range(4)),
        Spot(row, "call:1", 0),
        None,
    ]


def test_a_search_goes_on_where_its_time_was_over(db, monkeypatch):
    monkeypatch.setattr("core.recall.find.BLOCK_MESSAGES", 7)
    store_messages(db, *(message(f"u{n}", f"订阅 {n}", position=n) for n in range(1, 41)))
    session, wanted = session_row(db), sought("订阅")
    whole = find(db, session, wanted)
    assert told(whole) == [(n, 1) for n in range(1, 41)]
    nothing = find(db, session, wanted, deadline_s=0)
    assert (nothing.messages, nothing.looked_at, nothing.is_whole) == ((), 0, False)
    rest = find(db, session, wanted, behind=14)
    assert told(rest) == [(n, 1) for n in range(15, 41)]
    assert rest.is_whole
    assert find(db, session, wanted, behind=40).messages == ()


def test_an_interrupt_that_is_not_the_deadline_is_no_answer(db):
    store_messages(db, *(message(f"u{n}", "x" * 999, position=n) for n in range(1, 400)))
    db.set_progress_handler(lambda: True, 50)
    with pytest.raises(apsw.InterruptError):
        find(db, session_row(db), sought("订"), deadline_s=60)


@pytest.mark.parametrize("folds", [False, True])
def test_a_huge_message_is_read_piece_by_piece(db, monkeypatch, folds):
    """2 MB; with letters that fold the stored text and the searchable one differ in length."""
    line = ("cafe\u0301 " if folds else "cafe ") + "x" * 70 + "\n"
    content = line * 26_000 + "the 针 here\n" + line * 3
    store_messages(db, message("u1", content, position=1))
    wanted = sought("针 here")
    found = find(db, session_row(db), wanted)
    assert told(found) == [(1, 1)]
    row = found.messages[0].message_id
    spot = spot_of(db, row, wanted, 0)
    assert content[spot.start :].startswith("针 here")
    assert find(db, session_row(db), sought("café")).total == 26_003
    last = spot_of(db, row, sought("cafe x"), 26_002)
    assert content[last.start :] == line


def test_streamed_stretches_are_the_text(db, monkeypatch):
    monkeypatch.setattr(message_texts, "STREAMED_BYTES", 10)
    monkeypatch.setattr(message_texts, "CHUNK_CHARS", 50)
    content = "".join(islice(("é漢字👩‍👩‍👧한 x\n" * 99), 500))
    store_messages(db, message("u1", content, position=1, reasoning=content))
    row = db.execute("SELECT id FROM messages").get
    columns = db.execute(f"SELECT {message_texts.COLUMNS} FROM messages AS m").get
    texts = message_texts.MessageTexts(db, row, columns)
    assert "".join(texts._streamed("content")) == content
    wanted = sought("字👩")
    assert find(db, session_row(db), wanted).total == 2 * content.count("字👩‍👩‍👧")
