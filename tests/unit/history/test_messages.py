"""Reading a session, to the last character of its last message."""

import pytest

from core.errors import NotFoundError
from core.history.messages import message_by_ref, message_text, messages_page
from core.types import MessageState, Role, ToolCall, ToolStatus
from tests.unit.store.making import add_source, message, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


@pytest.fixture
def long_session(db):
    """Thirty messages, of which every third is not visible: 20 are."""
    hidden = (MessageState.REWOUND, MessageState.HIDDEN, MessageState.OFF_BRANCH)
    store_messages(
        db,
        *(
            message(
                f"u{n}",
                f"text {n}",
                position=10 * n,
                state=hidden[n // 3 % 3] if n % 3 == 0 else MessageState.ACTIVE,
            )
            for n in range(30)
        ),
    )
    return [n for n in range(30) if n % 3]


@pytest.mark.parametrize("first", [1, 2, 5, 10, 11, 15, 20, 21])
@pytest.mark.parametrize("count", [1, 3, 10, 100])
def test_pages_are_slices_of_what_is_visible(db, long_session, first, count):
    page = messages_page(db, 1, first=first, count=count)
    expected = long_session[first - 1 : first - 1 + count]
    assert [m.content for m in page] == [f"text {n}" for n in expected]
    assert [m.number for m in page] == list(range(first, first + len(expected)))
    assert [m.seq for m in page] == [10 * n for n in expected]


def test_a_session_that_is_not_there_has_no_page(db):
    assert messages_page(db, 7, first=1, count=10) == ()


def test_a_message_is_read_as_it_was_written(db):
    call = ToolCall("c", "Bash", "{}", ToolStatus.FAILED)
    written = message(
        "u", "text", role=Role.ASSISTANT, tool_calls=(call,), reasoning="why", model="m",
        tool_name="n", tool_call_id="i", tool_status=ToolStatus.FAILED, media_refs=("a", "b"),
        created_at_ms=5, state=MessageState.COMPACTED,
    )  # fmt: skip
    store_messages(db, written)
    (read,) = messages_page(db, 1, first=1, count=1)
    for field in (
        "uid", "role", "origin", "state", "content", "created_at_ms", "time_quality", "model",
        "reasoning", "tool_calls", "tool_call_id", "tool_name", "tool_status", "media_refs",
    ):  # fmt: skip
        assert getattr(read, field) == getattr(written, field), field
    assert (read.session_id, read.number) == (1, 1)


def test_a_long_message_is_cut_and_says_so(db):
    store_messages(db, message("u", "电" * 50))
    (found,) = messages_page(db, 1, first=1, count=1, chars=20)
    assert (found.content, found.content_length, found.truncated) == ("电" * 20, 50, True)
    (found,) = messages_page(db, 1, first=1, count=1, chars=50)
    assert (found.content, found.truncated) == ("电" * 50, False)


def test_a_message_is_read_on_from_any_character_to_its_last(db):
    content = "a😀电\0é" * 1_000
    store_messages(db, message("u", content))
    read, offset = "", 0
    while True:
        part, total = message_text(db, 1, offset=offset, chars=777)
        read, offset = read + part, offset + len(part)
        if not part:
            break
    assert (read, total) == (content, 5_000)
    with pytest.raises(NotFoundError):
        message_text(db, 2)


def test_a_message_is_found_by_its_uid_within_its_session(db, long_session):
    found = message_by_ref(db, 1, "u4")
    assert (found.content, found.number) == ("text 4", 3)
    assert message_by_ref(db, 1, "u3").number == 3  # not visible: where it would stand
    with pytest.raises(NotFoundError, match="u99"):
        message_by_ref(db, 1, "u99")
    other = add_source(db, "codex")
    store_messages(db, message("u4", "other"), source=other)
    assert message_by_ref(db, 1, "u4").content == "text 4"
    assert message_by_ref(db, 2, "u4").content == "other"


def test_a_uid_names_the_text_that_is_shown(db):
    for text in ("one", "two"):
        store_messages(db, message("u", text), rewrites=True)
    assert message_by_ref(db, 1, "u").content == "two"
