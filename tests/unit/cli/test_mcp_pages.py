"""Answers in pages: none too large, none lost, and cursors that cannot be bent."""

import json
import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.cli.mcp_pages import (
    PAYLOAD_CHARS,
    SECTIONS,
    Cursor,
    bounded,
    cursor_text,
    digest,
    fitting,
    page_of,
    read_cursor,
)
from app.cli.output import json_text
from core.errors import QueryError

# Characters that take 1, 2, 6 and 12 characters of JSON.
TEXTS = st.text(st.sampled_from('a漢é"\\\n\x00\x1b\u202e\U000e0041😀'), max_size=40)
LENGTHS = st.sampled_from([0, 1, 30, 400, 1_200, 4_000])


@st.composite
def texts(draw, lengths=LENGTHS):
    """A text that may be long: a drawn stretch again and again."""
    stretch, length = draw(TEXTS), draw(lengths)
    return (stretch * (length // len(stretch) + 1))[:length] if stretch else ""


@st.composite
def messages(draw):
    content = draw(texts())
    length = len(content) + draw(st.sampled_from([0, 0, 5, 10**6]))
    made = {
        "message": draw(st.sampled_from(["m", "漢" * 100, "\x00" * 900, "x" * 9_000])),
        "number": draw(st.integers(1, 10**6)),
        "role": "assistant",
        "created_at_ms": draw(st.none() | st.integers(0, 2 * 10**12)),
        "content": content,
        "content_length": length,
        "truncated": length > len(content),
    }
    if length > len(content):
        made["next_offset"] = len(content)
    if draw(st.booleans()):
        call = {"id": "c", "name": draw(texts()), "arguments": draw(texts()), "status": "unknown"}
        made["tool_calls"] = [call] * draw(st.integers(1, 8))
    if draw(st.booleans()):
        made["reasoning"] = draw(texts())
    return made


@st.composite
def results(draw):
    name = draw(texts())
    match = {"message": name, "role": "user", "snippet": draw(texts()), "marks": [[0, 1], [2, 3]],
             "created_at_ms": 1, "why": "It matches."}  # fmt: skip
    made = {"session": name, "title": draw(texts()), "lineage": name, "parent": name,
            "link": f"backscroll://session/{name}", "model": draw(texts()),
            "preview": draw(texts()), "before": 3, "after": 0}  # fmt: skip
    return made | match | {section: draw(st.lists(messages(), max_size=4)) for section in SECTIONS}


@st.composite
def answers(draw):
    return {
        "mode": "discover",
        "query": draw(texts()),
        "understood": draw(texts()),
        "repairs": draw(st.lists(texts(), max_size=12)),
        "why": draw(texts()),
        "warnings": draw(st.lists(texts(), max_size=12)),
        "hint": draw(texts()),
        "left_out": {"excluded": 3},
        "results": draw(st.lists(results(), max_size=4)),
    }


def all_pages(answer):
    """Every page as a client gets it: as JSON text, with a cursor for the next."""
    position = 0
    while position is not None:
        page = page_of(answer, position)
        if page.end is not None:
            assert page.end > position
            page.document["cursor"] = cursor_text(Cursor(b"r" * 8, b"a" * 8, 2**47, page.end))
        yield json_text(page.document)
        position = page.end


def joined(pages):
    """What a client has when it puts the pages together as their documentation says."""
    whole = {key: value for key, value in pages[0].items() if key != "cursor"}
    for page in pages[1:]:
        for part in page["results"]:
            if not part.pop("continued", False):
                whole["results"].append(part)
                continue
            last = whole["results"][-1]
            assert last["session"] == part.pop("session")
            for section, more in part.items():
                last[section] += more
    return whole


@given(answer=answers())
@settings(max_examples=150, deadline=None)
def test_pages_fit_and_hold_together_the_whole_answer(answer):
    answer = bounded(answer)
    pages = list(all_pages(answer))

    assert all(len(page) <= PAYLOAD_CHARS for page in pages)
    whole = joined([json.loads(page) for page in pages])

    assert [{**r, **dict.fromkeys(SECTIONS)} for r in whole["results"]] == [
        {**r, **dict.fromkeys(SECTIONS)} for r in answer["results"]
    ]
    assert {**whole, "results": 0} == {**answer, "results": 0}
    for got, given_result in zip(whole["results"], answer["results"], strict=True):
        for section in SECTIONS:
            for message, original in zip(got[section], given_result[section], strict=True):
                assert_is_whole_or_can_be_read_on(message, original)


def assert_is_whole_or_can_be_read_on(message, original):
    if message == original:
        return
    # Only what could never stand on one page is cut, as little as that takes.
    assert len(json_text(original)) > PAYLOAD_CHARS - 2_000
    assert original["content"].startswith(message["content"])
    assert message["content_length"] == original["content_length"]
    is_all = len(message["content"]) == original["content_length"]
    assert message["truncated"] is not is_all
    assert message.get("next_offset", 0) == (0 if is_all else len(message["content"]))
    assert message["content"] or not original["content"]


def test_a_long_title_is_cut_and_marks_stay_within_the_snippet():
    result = {"session": "s", "title": "t" * 5_000}
    result |= {"snippet": "a" * 5_000, "marks": [[0, 3], [4_000, 4_100]]}
    result |= {section: [] for section in SECTIONS}

    (short,) = bounded({"mode": "discover", "results": [result]})["results"]

    assert len(short["title"]) <= 250
    assert short["title"].endswith("t…")
    assert short["snippet"].endswith("a…")
    assert short["marks"] == [[0, 3]]


def test_what_is_short_enough_is_left_as_it_is():
    answer = {"mode": "browse", "query": "q" * 500, "warnings": ["w"] * 6, "results": []}

    assert bounded(answer) == answer


@given(text=TEXTS, room=st.integers(0, 60))
@example(text="\x00\x00", room=0)
def test_fitting_is_the_longest_beginning_that_fits_but_never_nothing(text, room):
    lengths = [n for n in range(len(text) + 1) if len(json_text(text[:n])) - 2 <= room]
    expected = text[: max(1, *lengths)] if len(lengths) > 1 else text[: max(1, lengths[0])]
    assert fitting(text, room) == expected


CURSORS = st.builds(
    Cursor,
    st.binary(min_size=8, max_size=8),
    st.binary(min_size=8, max_size=8),
    st.integers(0, 253_402_214_400_000),
    st.integers(0, 2**32 - 1),
)


@given(cursor=CURSORS)
def test_a_cursor_comes_back_as_it_was(cursor):
    assert read_cursor(cursor_text(cursor)) == cursor


@given(cursor=CURSORS, at=st.integers(0, 46), other=st.sampled_from(string.printable + "漢\x00"))
def test_no_changed_cursor_is_taken(cursor, at, other):
    text = cursor_text(cursor)
    changed = text[:at] + other + text[at + 1 :]
    if changed == text:
        return
    with pytest.raises(QueryError, match="cursor"):
        read_cursor(changed)


def test_another_spelling_of_the_same_bytes_is_not_taken():
    """Two bits of the last character say nothing to a decoder of base64."""
    digits = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
    text = cursor_text(Cursor(b"1" * 8, b"2" * 8, 1, 1))
    first = digits.index(text[-1]) // 4 * 4

    for digit in digits[first + 1 : first + 4]:
        with pytest.raises(QueryError, match="cursor"):
            read_cursor(text[:-1] + digit)


@pytest.mark.parametrize("text", ["", "x", "====", "1-20", "漢", "A" * 47, "A" * 10_000, "\x00"])
def test_what_was_never_a_cursor_is_refused(text):
    with pytest.raises(QueryError, match="cursor"):
        read_cursor(text)


def test_a_forged_moment_beyond_the_calendar_is_refused():
    with pytest.raises(QueryError, match="cursor"):
        read_cursor(cursor_text(Cursor(b"1" * 8, b"2" * 8, 2**64 - 1, 1)))


def test_a_place_behind_the_end_is_refused():
    answer = {"mode": "browse", "results": []}
    for position in (1, 2**32 - 1, -1):
        with pytest.raises(QueryError, match="cursor"):
            page_of(answer, position)


def test_digests_tell_values_apart():
    assert digest([1, "a"]) == digest([1, "a"])
    assert len({digest(v) for v in (1, "1", [1], ["1"], None, {"a": 1})}) == 6
