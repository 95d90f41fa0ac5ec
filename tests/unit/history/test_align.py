"""Which messages without ids are stored already, held against a slow search for the overlap."""

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from core.history.align import _known


def bodies(words):
    return [word.encode() for word in words]


def overlaps(stored, told):
    """The lengths of all ends of what is stored that what is told begins with."""
    most = min(len(stored), len(told))
    return [n for n in range(1, most + 1) if stored[-n:] == told[:n]]


@given(st.text("ab", max_size=30), st.integers(0, 30), st.text("abc", max_size=12))
def test_a_window_that_moves_on_is_found_by_its_longest_overlap(stored, dropped, added):
    told = bodies(stored[dropped:] + added)
    stored = bodies(stored)
    known = _known(stored, told)
    longest = max(overlaps(stored, told), default=0)
    if longest >= 3 or (longest and longest in (len(stored), len(told))):
        assert known == {n: len(stored) - longest + n for n in range(longest)}


@given(st.text("abc", max_size=25), st.text("abc", max_size=25))
def test_each_is_one_message_and_none_changes_its_place(stored, told):
    known = _known(bodies(stored), bodies(told))
    assert all(stored[place] == told[n] for n, place in known.items())
    places = [known[n] for n in sorted(known)]
    assert places == sorted(set(places))


def test_what_is_told_once_more_is_known_wherever_it_stands():
    assert _known(bodies("abcdef"), bodies("cd")) == {0: 2, 1: 3}
    assert _known(bodies("abcdef"), bodies("abcdef")) == {n: n for n in range(6)}


def test_a_word_in_common_is_chance():
    assert _known(bodies("axby"), bodies("mbn")) == {}


def test_a_beginning_in_common_is_none():
    assert _known(bodies("abxy"), bodies("abmn")) == {0: 0, 1: 1}


def test_nothing_is_known_of_nothing():
    assert _known([], bodies("ab")) == {}
    assert _known(bodies("ab"), []) == {}


@settings(max_examples=5, deadline=None)
@given(st.sampled_from(["same", "window", "strange"]))
def test_long_ones_take_no_square_of_their_length(shape):
    stored = bodies("ok" if n % 7 else str(n % 501) for n in range(60_000))
    told = {
        "same": stored,
        "window": [*stored[20_000:], *bodies("xyz")],
        "strange": [b"q", *stored[::-1]],
    }
    began = time.process_time()
    known = _known(stored, told[shape])
    assert time.process_time() - began < 5
    assert len(known) >= 40_000
