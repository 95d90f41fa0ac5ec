"""The way from the items that are shown to others, in steps that each take little time."""

from collections.abc import Iterator, Mapping, Sequence

from app.render.item import Item

# HTML to put into the document at once, and half as dear what it takes the place of: some 50 ms
# of the window's thread. One letter marked in 120 messages makes 500,000 characters of it, which
# took 240 ms in one go.
STEP_CHARS = 100_000


def steps(shown: Sequence[Item], wanted: tuple[Item, ...], near: str) -> Iterator[tuple[Item, ...]]:
    """Yield what to show one after the other; the last is `wanted`, often the only one.

    Each step changes items of up to `STEP_CHARS`, or one item that is larger; those around the
    item with the key `near` come first. Of the others, those shown before stay as they were.
    Items that share no message with those shown come at once.
    """
    old = {item.key: item for item in shown}
    changed = [n for n, item in enumerate(wanted) if not _is_same(item, old)]
    if any(item.is_full and item.key in old for item in wanted):
        middle = next((n for n, item in enumerate(wanted) if item.key == near), 0)
        changed.sort(key=lambda n: abs(n - middle))
        now: list[Item | None] = [old.get(item.key) for item in wanted]
        left = STEP_CHARS
        for n in changed:
            before = now[n]
            size = len(wanted[n].html) + (len(before.html) // 2 if before else 0)
            if left < min(size, STEP_CHARS):
                yield tuple(item for item in now if item is not None)
                left = STEP_CHARS
            now[n] = wanted[n]
            left -= size
    yield wanted


def _is_same(item: Item, old: Mapping[str, Item]) -> bool:
    before = old.get(item.key)
    return before is not None and before.html == item.html
