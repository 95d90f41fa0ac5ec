"""Prompts and numbers of a session, as its outline names them."""

import pytest

from core.history.messages import messages_page
from core.history.outline import PROMPT_CHARS, message_at, places_of, prompts
from core.types import MessageState, Origin, Role
from tests.unit.store.making import message, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


@pytest.fixture
def talk(db):
    """Twelve messages: prompts at 0, 4 (hidden), 6 and 9; injected text at 3."""
    made = []
    for n in range(12):
        role, origin, state = Role.ASSISTANT, Origin.MODEL, MessageState.ACTIVE
        if n in (0, 4, 6, 9):
            role, origin = Role.USER, Origin.HUMAN
        if n == 3:
            role, origin = Role.USER, Origin.INJECTED
        if n == 4:
            state = MessageState.HIDDEN
        text = f"text {n} " + "x" * (500 if n == 9 else 0)
        made.append(message(f"u{n}", text, role=role, origin=origin, state=state, position=10 * n))
    store_messages(db, *made)
    return db


def test_prompts_are_what_a_person_asked_with_their_visible_numbers(talk):
    found = prompts(talk, 1)

    assert [(each.number, each.text.split(" x")[0].strip()) for each in found] == [
        (1, "text 0"),
        (6, "text 6"),
        (9, "text 9"),
    ]
    assert max(len(each.text) for each in found) == PROMPT_CHARS
    assert [each.number for each in prompts(talk, 1, limit=2)] == [1, 6]
    assert prompts(talk, 77) == ()


def test_places_have_the_numbers_of_the_pages_and_those_not_shown_the_next_one(talk):
    page = messages_page(talk, 1, first=1, count=100)
    numbers = {each.id: each.number for each in page}
    sql = "SELECT message_id FROM message_placements WHERE session_id = 1 ORDER BY seq"
    everything = [row for (row,) in talk.execute(sql)]
    places = places_of(talk, 1, everything)

    assert [places[each][0] for each in everything] == list(range(len(everything)))
    for order, each in enumerate(everything):
        shown_behind = [numbers[later] for later in everything[order:] if later in numbers]
        assert places[each][1] == (shown_behind or [len(page) + 1])[0]
    assert len(numbers) < len(everything)
    assert places_of(talk, 1, [page[3].id, 99_999]) == {page[3].id: places[page[3].id]}
    assert places_of(talk, 1, []) == {}


def test_a_message_is_found_by_its_number(talk):
    page = messages_page(talk, 1, first=1, count=100)

    assert [message_at(talk, 1, n) for n in range(1, 12)] == [each.id for each in page]
    assert message_at(talk, 1, 12) is None
