"""The order of a ChatGPT conversation's nodes: what links them, for `message_tree`.

The path that is shown leads from `current_node` up.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from core.sources import message_tree
from core.sources.message_tree import Link, Step

Nodes = Mapping[str, Mapping[str, Any]]


def walk(nodes: Nodes, current: object) -> Iterator[Step]:
    """Yield every node once, in the order and with the path of `message_tree.walk`."""
    yield from message_tree.walk({key: _link(node) for key, node in nodes.items()}, current)


def _link(node: Mapping[str, Any]) -> Link:
    parent, children = node.get("parent"), node.get("children")
    return Link(
        parent if isinstance(parent, str) else None,
        [c for c in children if isinstance(c, str)] if isinstance(children, list) else [],
        _time(node),
        is_root="parent" in node and parent is None,
        spoken=isinstance(node.get("message"), dict),
    )


def _time(node: Mapping[str, Any]) -> float:
    """When a node was made; some exports have digits in quotes, and NaN equals nothing."""
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, dict) else None
    try:
        at = float(at) if isinstance(at, str) else at
    except ValueError:
        return 0.0
    return at if isinstance(at, int | float) and at == at else 0.0
