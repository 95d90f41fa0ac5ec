"""The order of a ChatGPT conversation's nodes, out of whatever links they have.

A conversation is a tree: regenerated answers and edited prompts are siblings, the path that is
shown leads from `current_node` up. Links may be missing, dangle or run in a ring.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

POSITION_STEP = 1024

Nodes = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Step:
    """A node in its place.

    `position` is the node's depth, then its place among the nodes of that depth that share its
    parent, so it stays the same when a later export adds nodes. `parent` is None for roots.
    """

    key: str
    parent: str | None
    position: int
    on_path: bool


def walk(nodes: Nodes, current: object) -> Iterator[Step]:
    """Yield every node once, by position; among equals in the order of the mapping.

    Without a single link between two nodes they are one line, in the mapping's order. Where
    `current` is no node, the path leads to the leaf that was made last.
    """
    parents = _parents(nodes)
    if not any(parents.values()):
        for index, key in enumerate(nodes):
            yield Step(key, None, index * POSITION_STEP, on_path=True)
        return
    path = _path(nodes, parents, current)
    depths = _depths(parents)
    ranks: dict[str | None, int] = {}
    steps = []
    for key in _by_children(nodes, parents):
        parent = parents[key]
        rank = ranks.get(parent, 0)
        ranks[parent] = rank + 1
        place = depths[key] * POSITION_STEP + min(rank, POSITION_STEP - 1)
        steps.append(Step(key, parent, place, key in path))
    yield from sorted(steps, key=lambda step: step.position)


def _parents(nodes: Nodes) -> dict[str, str | None]:
    """The parent of every node: its own word, else the first node that calls it a child.

    A node that says it has no parent is a root, unless every node says so.
    """
    claimed: dict[str, str] = {}
    for key, node in nodes.items():
        for child in _children(node):
            if child != key:
                claimed.setdefault(child, key)
    found: dict[str, str | None] = {}
    for key, node in nodes.items():
        named = node.get("parent")
        if isinstance(named, str) and named in nodes and named != key:
            found[key] = named
        else:
            is_root = "parent" in node and named is None
            found[key] = None if is_root else claimed.get(key)
    if any(found.values()):
        return found
    return {key: claimed.get(key) for key in nodes}


def _path(nodes: Nodes, parents: Mapping[str, str | None], current: object) -> set[str]:
    leaf: str | None
    leaf = current if isinstance(current, str) and current in nodes else _newest(nodes, parents)
    path: set[str] = set()
    while leaf is not None and leaf not in path:
        path.add(leaf)
        leaf = parents[leaf]
    return path


def _newest(nodes: Nodes, parents: Mapping[str, str | None]) -> str:
    """The leaf with the latest time; without times the last one. Never empty: `nodes` is not."""
    inner = set(parents.values())
    leaves = [key for key in nodes if key not in inner] or list(nodes)
    spoken = [key for key in leaves if isinstance(nodes[key].get("message"), dict)] or leaves
    return max(enumerate(spoken), key=lambda item: (_time(nodes[item[1]]), item[0]))[1]


def _time(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, dict) else None
    return at if isinstance(at, int | float) and at == at else 0.0  # NaN equals nothing


def _depths(parents: Mapping[str, str | None]) -> dict[str, int]:
    """How far each node is from its root; a ring is cut before the first node met in it."""
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


def _by_children(nodes: Nodes, parents: Mapping[str, str | None]) -> Iterator[str]:
    """Every node once: siblings in their parent's order, the others where the mapping has them."""
    seen: set[str] = set()
    for key in nodes:
        parent = parents[key]
        family = [key] if parent is None else [*_children(nodes[parent]), key]
        for member in family:
            if member in nodes and member not in seen and parents[member] == parent:
                seen.add(member)
                yield member


def _children(node: Mapping[str, Any]) -> list[str]:
    children = node.get("children")
    return [c for c in children if isinstance(c, str)] if isinstance(children, list) else []
