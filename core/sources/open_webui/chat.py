"""One chat of Open WebUI as a session and its messages.

`Row` is a row of the table `chat`, or an object of an export, which is the same. Messages form
a tree in `chat.history.messages`; several models that answer side by side are siblings. Newer
versions keep each message in a row of `chat_message` as well, which is then what counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from core.sources import loose
from core.sources.instants import instant, instant_ms
from core.sources.loose import Json
from core.sources.message_tree import UNLINKED, Link
from core.sources.open_webui.content import error_of, said_by, usage_of
from core.sources.records import Record, SessionRecord, UnknownRecord
from core.sources.web_chat import Turn, derived_id, records
from core.types import Origin, Role, TitleSource

NO_TITLES = {"new chat", "neuer chat", "新对话"}
"""Titles of chats that were never given one."""

_ROLES = {role.value: role for role in Role}
_KEPT = ("models", "params", "tags", "system")


class Beside(NamedTuple):
    """What other tables of the database tell: names by id, messages of a chat by their ids."""

    users: Mapping[str, str] = {}
    folders: Mapping[str, str] = {}
    messages: Mapping[str, Json] = {}


NOTHING = Beside()


def is_chat(value: Mapping[str, Any]) -> bool:
    """Whether an object is a row of an export, or the inner object that older ones hold."""
    inner = value.get("chat")
    return isinstance(inner, dict) or isinstance(value.get("history"), dict)


def read(row: Json, raw_ref: str, beside: Beside = NOTHING) -> Iterator[Record]:
    """Yield a chat's session and all its messages.

    The path leads to `history.currentId`; where that is no message, to the newest leaf.
    """
    chat = loose.mapping(row.get("chat")) or (row if "history" in row else {})
    history = loose.mapping(chat.get("history"))
    nodes, unknown = _nodes(chat, history, beside.messages)
    native_id = loose.text(row, "id") or loose.text(chat, "id")
    if native_id is None:
        first = next(iter(nodes), None)
        native_id = derived_id(first or [row.get("title"), row.get("created_at")])
    title = loose.text(row, "title") or loose.text(chat, "title")
    if title and title.strip().lower() in NO_TITLES:
        title = None
    models = [m for m in loose.items(chat.get("models")) if isinstance(m, str) and m]
    folder = beside.folders.get(loose.text(row, "folder_id") or "")
    session = SessionRecord(
        native_id,
        title=title,
        title_source=TitleSource.MODEL if title else TitleSource.NONE,
        model=models[0] if len(models) == 1 else None,
        started_at_ms=instant_ms(row.get("created_at")) or _milliseconds(chat.get("timestamp")),
        updated_at_ms=instant_ms(row.get("updated_at")),
        archived=_is_true(row.get("archived")),
        pinned=_is_true(row.get("pinned")),
        metadata=_metadata(row, chat, beside, folder),
        project=folder,
        is_snapshot=True,
    )
    turns = [_turn(key, node, raw_ref) for key, node in nodes.items()]
    current = next((key for key in _leaves(row, chat, history) if key in nodes), None)
    yield from records(session, turns, current)
    yield from map(UnknownRecord, unknown)


def _nodes(
    chat: Json, history: Json, rows: Mapping[str, Json]
) -> tuple[dict[str, Json], Sequence[str]]:
    """Return the messages by their ids, and what was met among them that is none.

    Where there is no tree, the flat list is one line of messages.
    """
    told = loose.mapping(history.get("messages"))
    nodes: dict[str, Json] = {key: node for key, node in told.items() if isinstance(node, dict)}
    unknown = ["message"] * (len(told) - len(nodes))
    if not nodes and not rows:
        for index, node in enumerate(loose.items(chat.get("messages"))):
            if isinstance(node, dict):
                nodes[loose.identifier(node.get("id")) or f"#{index}"] = node
            else:
                unknown.append("message")
    for key, node in rows.items():
        says_more = {name: value for name, value in node.items() if value not in (None, "", [])}
        nodes[key] = {**nodes.get(key, {}), **says_more}
    return nodes, unknown


def _turn(key: str, node: Json, raw_ref: str) -> Turn:
    said, told = said_by(node), node.get("role")
    role = _ROLES.get(told) if isinstance(told, str) else None
    if role is None:
        said.note(f"role {told}" if isinstance(told, str) else "role")
    origin = None
    if not said.texts and (error := error_of(node)):
        said.add_text(error)
        origin = Origin.SYNTHETIC
    at = instant(node.get("timestamp"))
    return Turn(
        key,
        role or Role.SYSTEM,
        said,
        _link(node, float(at[0] or 0)),
        at,
        loose.text(node, "model"),
        usage_of(node),
        raw_ref,
        origin,
    )


def _link(node: Json, at: float) -> Link:
    if "parentId" not in node and "childrenIds" not in node:
        return UNLINKED
    parent = node.get("parentId")
    children = [c for c in loose.items(node.get("childrenIds")) if isinstance(c, str)]
    is_root = "parentId" in node and parent is None
    return Link(parent if isinstance(parent, str) else None, children, at, is_root)


def _leaves(row: Json, chat: Json, history: Json) -> Iterator[str]:
    """Yield what names the leaf that is shown, the most reliable first."""
    for told in (
        history.get("currentId"),
        row.get("current_message_id"),
        chat.get("currentId"),
    ):
        if isinstance(told, str):
            yield told


def _metadata(row: Json, chat: Json, beside: Beside, folder: str | None) -> str | None:
    user = loose.text(row, "user_id")
    told = {
        "user_id": user,
        "user": beside.users.get(user or ""),
        "folder": folder,
        "folder_id": loose.text(row, "folder_id"),
        "share_id": loose.text(row, "share_id"),
        "tags": loose.mapping(row.get("meta")).get("tags"),
        **{name: chat.get(name) for name in _KEPT if chat.get(name)},
    }
    kept = {name: value for name, value in told.items() if value}
    return loose.json_text(kept) if kept else None


def _is_true(value: object) -> bool:
    return value is True or value == 1


def _milliseconds(value: object) -> int | None:
    """Return a time that old exports give in milliseconds."""
    number = loose.number(value)
    return instant_ms(number / 1000) if number and abs(number) < 1e15 else None
