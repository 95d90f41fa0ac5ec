import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.render import page as pages
from app.render.page import Page
from app.render.runs import literal_marker
from core.types import MessageState, Role, ToolCall, ToolStatus
from tests.unit.render.reading import read

USER, ASSISTANT, TOOL = Role.USER, Role.ASSISTANT, Role.TOOL


def keys(items) -> list[str]:
    return [item.key for item in items]


def texts(items) -> str:
    return "\n".join(read(item.html).text.replace("\u00a0", " ") for item in items)


@pytest.fixture
def session(said):
    """190 messages, of which a page holds some."""
    return [said(n, USER if n % 2 else ASSISTANT, f"message {n}") for n in range(1, 191)]


@pytest.fixture
def hit(session):
    return Page(
        total=190,
        messages=tuple(session[53:64]),
        opening=tuple(session[:3]),
        resolution=tuple(session[-3:]),
        anchor_id=59,
    )


def test_around_a_hit_stand_bookends_gaps_and_the_window(hit, scene):
    items, _ = pages.build(hit, scene, {})

    assert keys(items) == [
        "opening", "b1", "b2", "b3", "gap-before",
        *(f"m{n}" for n in range(54, 65)),
        "gap-after", "resolution", "b188", "b189", "b190",
    ]  # fmt: skip
    shown = texts(items)
    assert "Opening first 3 of 190" in shown
    assert "50 messages" in shown
    assert "123 messages" in shown
    assert "Resolution last 3 of 190" in shown


def test_what_the_window_holds_is_no_bookend_and_no_gap(session, scene):
    page = Page(190, tuple(session[1:12]), tuple(session[:3]), tuple(session[-3:]), 7)
    items, _ = pages.build(page, scene, {})

    assert keys(items)[:3] == ["opening", "b1", "m2"]


def test_a_whole_short_session_has_no_gap_and_no_bookend(session, scene):
    page = Page(5, tuple(session[:5]), tuple(session[:3]), tuple(session[2:5]), 2)
    items, _ = pages.build(page, scene, {})

    assert keys(items) == ["m1", "m2", "m3", "m4", "m5"]


def test_a_session_without_messages_says_so(scene):
    items, _ = pages.build(Page(), scene, {})

    assert keys(items) == ["nothing"]
    assert "no message" in texts(items)


def test_reading_from_the_start_shows_both_ends_in_full(session, scene):
    page = Page(190, tuple(session[:20]), tuple(session[:3]), tuple(session[-10:]), reading=True)
    items, _ = pages.build(page, scene, {})

    assert keys(items)[:2] == ["opening", "m1"]
    assert keys(items)[20:23] == ["m20", "gap-after", "resolution"]
    assert keys(items)[-1] == "m190"
    assert "160 messages" in texts(items)


@given(first=st.integers(1, 190), count=st.integers(1, 40))
def test_every_message_is_shown_once_or_counted_in_a_gap(first, count):
    numbers = range(first, min(190, first + count - 1) + 1)
    page = Page(190, _numbered(numbers), _numbered(range(1, 4)), _numbered(range(188, 191)))
    shown = len(page.head) + len(page.messages) + len(page.tail)

    assert shown + page.hidden_before + page.hidden_after == 190


def _numbered(numbers):
    from core.types import Message, Origin, TimeQuality

    return tuple(
        Message(n, f"u{n}", 1, n, n, USER, Origin.HUMAN, MessageState.ACTIVE, "x", 1, False, None,
                TimeQuality.NONE)
        for n in numbers
    )  # fmt: skip


def test_the_anchor_has_the_band_its_word_and_its_actions(hit, scene):
    items, _ = pages.build(hit, scene, {})
    anchors = [item for item in items if "do:cite/" in item.html]

    assert keys(anchors) == ["m59"]
    seen = read(anchors[0].html)
    assert [link.split("/")[0] for link in seen.links] == ["do:copy", "do:cite", "do:ref"]
    assert "border-left:4px solid #2A52A0" in anchors[0].html


def test_a_result_is_shown_with_its_call_and_not_again(said, scene):
    asked = said(1, ASSISTANT, "", tool_calls=(ToolCall("c", "Bash", '{"command":"make"}'),))
    answer = said(2, TOOL, "made it", tool_call_id="c", tool_status=ToolStatus.SUCCEEDED)
    other = said(3, TOOL, "no call", tool_call_id="elsewhere", tool_name="Read")
    items, _ = pages.build(Page(3, (asked, answer, other)), scene, {})

    assert keys(items) == ["t1.0", "t3"]
    assert items[0].message_ids == (1, 2)
    assert "succeeded" in texts(items[:1])
    assert "unknown" in texts(items[1:])


def test_a_result_before_its_call_stays_where_it_is(said, scene):
    answer = said(1, TOOL, "early", tool_call_id="c")
    asked = said(2, ASSISTANT, "", tool_calls=(ToolCall("c", "Bash", "{}"),))
    items, _ = pages.build(Page(2, (answer, asked)), scene, {})

    assert keys(items) == ["t1", "t2.0"]


def test_only_what_changed_is_made_anew(hit, scene):
    items, kept = pages.build(hit, scene, {})
    again, _ = pages.build(dataclasses.replace(hit, anchor_id=60), scene, kept)

    same = [new.key for old, new in zip(items, again, strict=True) if old is new]
    differ = [new.key for old, new in zip(items, again, strict=True) if old.html != new.html]
    assert differ == ["m59", "m60"]
    assert len(same) >= 14


def test_another_marker_marks_everything_anew(hit, scene):
    _, kept = pages.build(hit, scene, {})
    items, _ = pages.build(hit, dataclasses.replace(scene, marker=literal_marker("message")), kept)

    assert sum(item.matches for item in items) == 17


def test_at_most_1000_matches_of_a_message_are_marked(said, scene):
    message = said(1, USER, "a b " * 3_000)
    marked = dataclasses.replace(scene, marker=literal_marker("a"))
    items, _ = pages.build(Page(1, (message,)), marked, {})

    assert items[0].matches == 1_000
    assert read(items[0].html).marked == ["a"] * 1_000


def test_a_bookend_opens_in_place(hit, scene):
    opened = dataclasses.replace(hit, choices={"b2": frozenset({"fold"})})
    items, _ = pages.build(opened, scene, {})

    assert keys(items)[:5] == ["opening", "b1", "b2", "m2", "b3"]
    assert "do:fold/b2" in read(items[2].html).links


def test_a_bookend_is_one_line_of_words_with_its_marks(said, scene):
    text = "# **先看**订阅\n\n`refresh()` " + "and much more " * 60
    message = said(1, ASSISTANT, text)
    marked = dataclasses.replace(scene, marker=literal_marker("订阅"))
    items, _ = pages.build(Page(9, (said(5, USER, "x"),), (message,)), marked, {})
    line = next(item for item in items if item.key == "b1")

    shown = read(line.html)
    assert shown.text.startswith("先看订阅 refresh() and much more")
    assert "…" in shown.text
    assert shown.marked == ["订阅"]


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (MessageState.COMPACTED, "compacted"),
        (MessageState.REWOUND, "rewound"),
        (MessageState.OFF_BRANCH, "other branch"),
        (MessageState.SUPERSEDED, "replaced later"),
    ],
)
def test_a_message_out_of_the_ordinary_is_labelled(said, scene, state, word):
    items, _ = pages.build(Page(1, (said(1, USER, "x", state=state),)), scene, {})

    assert word in texts(items)


def test_the_line_of_a_reset_stands_where_it_was(said, scene):
    messages = tuple(said(n, USER, f"part {n}", seq=n) for n in (1, 2, 3))

    def order(reset_seq):
        return keys(pages.build(Page(3, messages, reset_seq=reset_seq), scene, {})[0])

    assert order(2) == ["m1", "m2", "reset", "m3"]
    assert order(0) == order(3) == ["m1", "m2", "m3"]


@pytest.mark.parametrize("state", [MessageState.REWOUND, MessageState.COMPACTED])
def test_folded_messages_are_labelled_too(said, scene, state):
    messages = (
        said(1, Role.SYSTEM, "rules", state=state),
        said(2, TOOL, "found", state=state, tool_call_id="c"),
    )
    items, _ = pages.build(Page(2, messages), scene, {})

    assert [state.value in texts([item]) for item in items] == [True, True]


def test_a_cut_message_offers_the_rest(said, scene):
    message = said(1, ASSISTANT, "x " * 2_000, content_length=9_000, truncated=True)
    items, _ = pages.build(Page(1, (message,)), scene, {})

    assert "show the rest (5,000 characters)" in texts(items)
    assert keys(items) == ["m1", "m1.left"]
    assert "do:rest/m1" in read(items[1].html).links


def test_a_huge_message_is_shown_piece_by_piece(said, scene):
    message = said(1, ASSISTANT, "word " * 10_000)
    first, _ = pages.build(Page(1, (message,)), scene, {})
    page = Page(1, (message,), pieces={"m1": 1})
    second, _ = pages.build(page, scene, {})

    assert keys(first) == ["m1", "m1.left"]
    assert keys(second) == ["m1", "m1.16384", "m1.left"]
    assert second[0] == first[0]  # it is not laid out again
    assert "show 16,384 more of 33,616 characters" in texts(first)


def test_a_match_that_formatting_would_hide_is_shown_as_written(said, scene):
    message = said(1, ASSISTANT, "see [the docs](https://example.com/needle)")
    marked = dataclasses.replace(scene, marker=literal_marker("needle"))
    items, _ = pages.build(Page(1, (message,)), marked, {})
    choice = {"m1": frozenset({"anyway"})}
    formatted, _ = pages.build(Page(1, (message,), choices=choice), marked, {})

    assert read(items[0].html).marked == ["needle"]
    assert "https://example.com/needle" in texts(items)
    assert "https://example.com/needle" not in texts(formatted)


def test_text_that_is_too_heavy_is_plain_with_a_way_to_format_it(said, scene):
    message = said(1, ASSISTANT, "|a|b|\n|-|-|\n" + "|x|y|\n" * 2_000)
    items, _ = pages.build(Page(1, (message,)), scene, {})

    assert "render anyway" in texts(items)
    assert "|x|y|" in texts(items)


def test_pictures_of_a_message_are_named(said, scene):
    message = said(1, USER, "look", media_refs=("file:///home/me/shot.png",))
    items, _ = pages.build(Page(1, (message,)), scene, {})

    assert "image not loaded: shot.png" in texts(items)


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("/home/u/media/a.png", "image not loaded: a.png"),
        ("image; at=/api/v1/files/x", "image not loaded: x"),
        ("image/png; size=2048; at=15968:716", "image not loaded: image/png, 2 kB"),
        ("file; at=f-1 plan.pdf", "file not loaded: f-1 plan.pdf"),
        ("file; at=f-1 shot.JPG", "image not loaded: f-1 shot.JPG"),
        ("text/plain; at=file:///tmp/large/error.log", "file not loaded: error.log"),
        ("application/pdf; size=3; at=inline", "file not loaded: application/pdf, 3 bytes"),
        ("file; at=", "file not loaded: file"),
    ],
)
def test_what_is_no_picture_is_called_a_file_by_its_name(said, scene, ref, words):
    items, _ = pages.build(Page(1, (said(1, USER, "look", media_refs=(ref,)),)), scene, {})

    assert words in texts(items)


@pytest.mark.parametrize("role", [USER, ASSISTANT, TOOL, Role.SYSTEM])
def test_hostile_text_in_every_role_stays_text(said, scene, role):
    evil = '</td></tr></table><img src="file:///etc/passwd"><a href="javascript:1">\x00\u202e'
    message = said(1, role, evil, model=evil, reasoning=evil, tool_name=evil, media_refs=(evil,))
    choices = {key: frozenset({"fold", "raw"}) for key in ("m1", "t1", "th1")}
    page = Page(9, (message,), (said(0, role, evil),), choices=choices)
    items, _ = pages.build(page, dataclasses.replace(scene, model="m"), {})

    assert [wrong for item in items for wrong in read(item.html).wrong] == []
