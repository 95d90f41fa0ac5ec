"""What an open conversation holds of a session that went on."""

import pytest

from app.models.transcript import MOST, Transcript
from core.types import Bookends, Window
from tests.gui.talk import said
from tests.gui.values import session

FIRST, LAST = 20, 10


def talk(first: int, last: int):
    return tuple(said(n, f"message {n}") for n in range(first, last + 1))


def ends(total: int, first: int = FIRST, last: int = LAST) -> Bookends:
    head = talk(1, min(first, total))
    return Bookends(head, talk(max(len(head), total - last) + 1, total), total)


def reading(total: int) -> Transcript:
    transcript = Transcript()
    transcript.open_reading(ends(total))
    return transcript


def held(transcript: Transcript) -> list[int]:
    return [each.number for each in (*transcript.page.messages, *transcript.page.tail)]


def numbers(*stretches: tuple[int, int]) -> list[int]:
    return [n for first, last in stretches for n in range(first, last + 1)]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (0, 2, [(1, 2)]),
        (5, 9, [(1, 9)]),
        (30, 33, [(1, 33)]),
        (60, 61, [(1, 20), (51, 61)]),
        (60, 95, [(1, 20), (51, 95)]),
    ],
)
def test_what_is_new_follows_what_was_shown(before, after, shown):
    transcript = reading(before)
    transcript.grow(ends(after), talk(before + 1, after), range(1, 5))
    assert held(transcript) == numbers(*shown)
    assert transcript.page.total == after
    assert transcript.last_shown().number == after


def test_so_much_that_it_leaves_a_gap_is_a_gap_before_the_end():
    transcript = reading(60)
    transcript.grow(ends(500), talk(61, 180), range(51, 60))
    assert held(transcript) == numbers((1, 20), (491, 500))
    assert transcript.page.hidden_after == 470


def test_a_session_that_never_stops_is_held_in_part_and_what_is_in_view_with_it():
    transcript = reading(60)
    for last in range(100, 341, 40):
        in_view = range(51, 60)
        transcript.grow(ends(last), talk(last - 39, last), in_view)
    assert held(transcript)[20:] == numbers((51, 340))
    transcript.grow(ends(341), talk(341, 341), range(335, 341))
    tail = held(transcript)[20:]
    assert (len(tail), tail[-1]) == (MOST, 341)


def test_around_a_hit_only_the_end_changes_until_the_end_is_shown():
    transcript = Transcript()
    transcript.open_window(Window(session(1), talk(15, 25), 14, 15, 20), ends(40, 3, 3))
    assert transcript.last_shown() is None
    transcript.grow(ends(42, 3, 3), (), range(18, 23))
    assert [each.number for each in transcript.page.messages] == numbers((15, 25))
    assert [each.number for each in transcript.page.tail] == [40, 41, 42]
    transcript.open_window(Window(session(1), talk(32, 42), 31, 0, 37), ends(42, 3, 3))
    transcript.grow(ends(44, 3, 3), talk(43, 44), range(36, 40))
    assert [each.number for each in transcript.page.messages] == numbers((32, 44))
    assert transcript.page.anchor_id == 37
