"""One conversation of a Claude.ai export as a session and its messages."""

from collections.abc import Iterator, Mapping, Sequence

from core.sources import loose
from core.sources.claude_ai.content import said_by
from core.sources.instants import Instant, instant
from core.sources.loose import Json
from core.sources.message_tree import UNLINKED, Link
from core.sources.records import Record, SessionRecord, UnknownRecord
from core.sources.web_chat import Turn, derived_id, records
from core.types import Role, TimeQuality, TitleSource

_SENDERS = {
    "human": Role.USER,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "system": Role.SYSTEM,
}
_NO_PARENT = "00000000-0000-"
"""How the parent of a first message begins; it names no message."""

_KEPT = ("summary", "settings", "platform")

Projects = Mapping[str, Json]
"""The projects of an export by their ids: their name, and what else is told of them."""


def read(value: Json, raw_ref: str, projects: Projects) -> Iterator[Record]:
    """Yield a conversation's session and all its messages.

    The export marks no path, so the one to the newest leaf is shown; the web's own JSON has
    `current_leaf_message_uuid`, which counts.
    """
    told = loose.items(value.get("chat_messages"))
    messages = [message for message in told if isinstance(message, dict)]
    native_id = loose.text(value, "uuid") or _derived_id(value, messages)
    title = loose.text(value, "name")
    project, metadata = _filed(value, projects)
    session = SessionRecord(
        native_id,
        title=title,
        title_source=TitleSource.MODEL if title else TitleSource.NONE,
        model=loose.text(value, "model"),
        started_at_ms=_instant(value.get("created_at"))[0],
        updated_at_ms=_instant(value.get("updated_at"))[0],
        pinned=value.get("is_starred") is True,
        metadata=metadata,
        project=project,
        is_snapshot=True,
    )
    turns = _turns(messages, session.model, raw_ref)
    yield from records(session, turns, value.get("current_leaf_message_uuid"))
    if value.get("chat_messages") is not None and not isinstance(told, list):
        yield UnknownRecord("chat_messages")
    yield from (UnknownRecord("message") for each in told if not isinstance(each, dict))


def _turns(messages: Sequence[Json], model: str | None, raw_ref: str) -> list[Turn]:
    keys = [loose.identifier(message.get("uuid")) for message in messages]
    known = {key for key in keys if key}
    has_links = any(_parent(message) in known for message in messages)
    turns: list[Turn] = []
    before: str | None = None
    for message, key in zip(messages, keys, strict=True):
        said, sender = said_by(message), message.get("sender")
        role = _SENDERS.get(sender) if isinstance(sender, str) else None
        if role is None:
            said.note(f"sender {sender}" if isinstance(sender, str) else "sender")
        at = _instant(message.get("created_at"))
        turns.append(
            Turn(
                key,
                role or Role.SYSTEM,
                said,
                _link(message, known, before, at) if has_links else UNLINKED,
                at,
                loose.text(message, "model") or model,
                raw_ref=raw_ref,
            )
        )
        before = key or before
    return turns


def _link(message: Json, known: set[str], before: str | None, at: Instant) -> Link:
    """What a message hangs on: its parent, else what stands before it.

    So that nothing disappears from the path because a link is missing.
    """
    parent, time = _parent(message), float(at[0] or 0)
    if parent in known:
        return Link(parent, at=time)
    if parent is not None and parent.startswith(_NO_PARENT):
        return Link(at=time, is_root=True)
    return Link(before, at=time)


def _parent(message: Json) -> str | None:
    return loose.text(message, "parent_message_uuid")


def _filed(value: Json, projects: Projects) -> tuple[str | None, str | None]:
    """Return the name of a conversation's project, and what is kept as it is told."""
    kept = {name: value[name] for name in _KEPT if value.get(name)}
    told = loose.mapping(value.get("project"))
    key = loose.text(told, "uuid") or loose.text(value, "project_uuid")
    project = {**projects.get(key or "", {}), **{k: v for k, v in told.items() if v}}
    if key:
        project["uuid"] = key
    if project:
        kept["project"] = project
    return loose.text(project, "name"), loose.json_text(kept) if kept else None


def _derived_id(value: Json, messages: Sequence[Json]) -> str:
    """An id for a conversation without one: of its first message, which no edit changes."""
    first = next((key for m in messages if (key := loose.text(m, "uuid"))), None)
    return derived_id(first) if first else derived_id(value.get("name"), value.get("created_at"))


def _instant(value: object) -> Instant:
    """Return a time; one without a zone is UTC, as all of the service's are."""
    found = instant(value)
    if found[1] == TimeQuality.LOCAL_NAIVE and isinstance(value, str):
        return instant(f"{value.strip()}+00:00")
    return found
