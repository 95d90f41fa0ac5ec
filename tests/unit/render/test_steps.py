"""Going from one set of items to another in steps of bounded size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.render import steps as module
from app.render.item import Item
from app.render.steps import STEP_CHARS, steps

MARKED = "e" * (STEP_CHARS // 10)


def items(html: str, *numbers: int) -> tuple[Item, ...]:
    return tuple(Item(f"m{n}", f"{n}{html}", (n,), n, n) for n in numbers)


def cost(before: tuple[Item, ...], after: tuple[Item, ...]) -> int:
    """Return what a step puts in, and half of what that takes the place of."""
    old = {each.key: each.html for each in before}
    fresh = [each for each in after if old.get(each.key) != each.html]
    return sum(len(each.html) + len(old.get(each.key, "")) // 2 for each in fresh)


def test_few_changes_are_one_step():
    shown, wanted = items("", *range(1, 30)), items("x", *range(1, 30))

    assert list(steps(shown, wanted, "m1")) == [wanted]


def test_nothing_that_changes_is_one_step():
    shown = items(MARKED, *range(1, 50))

    assert list(steps(shown, shown, "m1")) == [shown]


def test_another_conversation_comes_at_once():
    wanted = items(MARKED, *range(1, 50))

    assert list(steps(items(MARKED, *range(60, 90)), wanted, "m1")) == [wanted]
    assert list(steps((), wanted, "")) == [wanted]


def test_what_is_in_view_changes_first_and_then_what_is_around_it():
    shown, wanted = items("", *range(1, 101)), items(MARKED, *range(1, 101))

    seen = list(steps(shown, wanted, "m50"))

    first = [n for n, item in enumerate(seen[0], 1) if item.html == wanted[n - 1].html]
    assert 50 in first
    assert all(abs(n - 50) <= 5 for n in first)
    assert [each.key for each in seen[0]] == [each.key for each in wanted]
    assert len(seen) == 12  # nine of a tenth and a bit at a time


def test_one_item_that_is_larger_than_a_step_is_a_step():
    shown = items("", 1, 2, 3)
    wanted = items("x" * 3 * STEP_CHARS, 1, 2, 3)

    seen = list(steps(shown, wanted, "m2"))

    assert [[item.html[1:2] for item in step] for step in seen] == [
        ["", "x", ""],
        ["x", "x", ""],
        ["x", "x", "x"],
    ]


@given(
    st.lists(st.integers(1, 40), unique=True).map(sorted),
    st.lists(st.integers(1, 40), unique=True).map(sorted),
    st.data(),
)
def test_every_step_is_in_order_bounded_and_the_last_is_what_is_wanted(old, new, data):
    sizes = st.integers(1, 60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "STEP_CHARS", 100)
        shown = tuple(Item(f"m{n}", "o" * data.draw(sizes), (n,), n, n) for n in old)
        wanted = tuple(Item(f"m{n}", "w" * data.draw(sizes), (n,), n, n) for n in new)
        near = data.draw(st.sampled_from([each.key for each in wanted] or [""]))

        seen = list(steps(shown, wanted, near))

    assert seen[-1] is wanted
    assert all(each is not wanted for each in seen[:-1])
    before = shown
    for step in seen:
        numbers = [each.first for each in step]
        assert numbers == sorted(numbers)
        if set(old) & set(new):
            assert cost(before, step) <= 100
        before = step
