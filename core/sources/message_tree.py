"""The order of a conversation whose messages form a tree, out of whatever links they have.

Chats of the web are trees: regenerated answers and edited prompts are siblings, and the path
that is shown leads from one leaf up. Links may be missing, dangle or run in a ring.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

POSITION_STEP = 1024


class Link(NamedTuple):
    """How a message hangs on the others, in its own words.

    `parent` names a message, which need not exist; `is_root` tells that it says it has none.
    `at` orders leaves where no path is marked, 0.0 without a time; a leaf that is not `spoken`
    is taken only where none is.
    """

    parent: str | None = None
    children: Sequence[str] = ()
    at: float = 0.0
    is_root: bool = False
    spoken: bool = True


UNLINKED = Link()
Links = Mapping[str, Link]


@dataclass(frozen=True, slots=True)
class Step:
    """A message in its place.

    `position` is its depth, then its place among those of that depth that share its parent, so
    it stays the same when messages are added later. `parent` is None for roots.
    """

    key: str
    parent: str | None
    position: int
    on_path: bool


def walk(links: Links, current: object = None) -> Iterator[Step]:
    """Yield every message once, by position; among equals in the order of the mapping.

    Without a single link between two of them they are one line, in the mapping's order. Where
    `current` is none of them, the path leads to the leaf that was made last.
    """
    parents = _parents(links)
    if not any(parents.values()):
        for index, key in enumerate(links):
            yield Step(key, None, index * POSITION_STEP, on_path=True)
        return
    path = _path(links, parents, current)
    depths = _depths(parents)
    ranks: dict[str | None, int] = {}
    steps = []
    for key in _by_children(links, parents):
        parent = parents[key]
        rank = ranks.get(parent, 0)
        ranks[parent] = rank + 1
        place = depths[key] * POSITION_STEP + min(rank, POSITION_STEP - 1)
        steps.append(Step(key, parent, place, key in path))
    yield from sorted(steps, key=lambda step: step.position)


def _parents(links: Links) -> dict[str, str | None]:
    """The parent of every message: its own word, else the first one that calls it a child.

    One that says it has no parent is a root, unless every one says so.
    """
    claimed: dict[str, str] = {}
    for key, link in links.items():
        for child in link.children:
            if child != key:
                claimed.setdefault(child, key)
    found: dict[str, str | None] = {}
    for key, link in links.items():
        if link.parent is not None and link.parent in links and link.parent != key:
            found[key] = link.parent
        else:
            found[key] = None if link.is_root else claimed.get(key)
    if any(found.values()):
        return found
    return {key: claimed.get(key) for key in links}


def _path(links: Links, parents: Mapping[str, str | None], current: object) -> set[str]:
    leaf: str | None
    leaf = current if isinstance(current, str) and current in links else _newest(links, parents)
    path: set[str] = set()
    while leaf is not None and leaf not in path:
        path.add(leaf)
        leaf = parents[leaf]
    return path


def _newest(links: Links, parents: Mapping[str, str | None]) -> str:
    """The leaf with the latest time; without times the last one. Never empty: `links` is not."""
    inner = set(parents.values())
    leaves = [key for key in links if key not in inner] or list(links)
    spoken = [key for key in leaves if links[key].spoken] or leaves
    return max(enumerate(spoken), key=lambda item: (links[item[1]].at, item[0]))[1]


def _depths(parents: Mapping[str, str | None]) -> dict[str, int]:
    """How far each message is from its root; a ring is cut before the first one met in it."""
    depths: dict[str, int] = {}
    for start in parents:
        chain: dict[str, None] = {}
        key: str | None = start
        while key is not None and key not in depths and key not in chain:
            chain[key] = None
            key = parents[key]
        depth = depths.get(key, -1) if key is not None else -1
        for each in reversed(chain):
            depth += 1
            depths[each] = depth
    return depths


def _by_children(links: Links, parents: Mapping[str, str | None]) -> Iterator[str]:
    """Every message once: siblings in their parent's order, others where the mapping has them."""
    seen: set[str] = set()
    told: set[str] = set()  # parents whose own lists were gone through
    for key in links:
        parent = parents[key]
        family = [key]
        if parent is not None and parent not in told:
            told.add(parent)
            family = [*links[parent].children, key]
        for member in family:
            if member in links and member not in seen and parents[member] == parent:
                seen.add(member)
                yield member
