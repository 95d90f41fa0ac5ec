"""LibreChat's export of one conversation, and the export of all of them from Chatbot UI.

LibreChat writes a JSON file for each conversation that a person exports, under any name: its
messages flat with `parentMessageId`, or nested in `children`. Times are the messages' own; one
without a time was not on the server yet. Chatbot UI writes `{version, history, folders}`, whose
messages have neither ids nor times. There is no specification of either; the shapes are those
of real files.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from core.errors import SourceError
from core.sources import exported, loose, there
from core.sources.instants import instant, instant_ms
from core.sources.loose import Json
from core.sources.message_tree import UNLINKED, Link
from core.sources.records import Record, SessionRecord, SourceIdentity, UnknownRecord
from core.sources.web_chat import Said, Turn, derived_id, records
from core.types import FoundSource, Origin, Role, TitleSource, ToolCall

KIND = "librechat"
READER_VERSION = 1
REWRITES = True
SUFFIXES = frozenset({".json"})
CHOOSES = "file"
MOVES = False
"""An export of one path alone counts places differently; a message stays where it was."""

NO_TITLES = {"new chat", "untitled"}
"""Titles of conversations that were never given one."""

_DEEPEST = 900
"""A message hangs in its parent's `children`, two levels each; the decoder ends near a thousand."""

_KEPT = ("endpoint", "options", "tags")
_ROLES = {role.value: role for role in Role}
_NO_PARENT = "00000000-0000-0000-0000-000000000000"


def identity(path: Path) -> SourceIdentity:  # noqa: ARG001 (ids are unique in the world)
    """Return the one instance there is: a conversation may be exported again and again."""
    return SourceIdentity(KIND, "", "LibreChat")


def recognises(path: Path) -> bool:
    """Tell by a glimpse at the beginning whether a file is such an export."""
    if there.is_dir(path) or path.suffix not in SUFFIXES:
        return False
    try:
        head = exported.head(path, _no_entry)
    except SourceError:
        return False
    if exported.has_key(head, "conversationId", depth=1):
        return b'"isCreatedByUser"' in head
    if b'"role"' not in head or b'"childrenIds"' in head:
        return False
    return all(exported.has_key(head, name, depth=1) for name in ("version", "history"))


def files(path: Path) -> Iterator[Path]:
    """Yield the file itself, or the exports of a folder."""
    if not there.is_dir(path):
        yield path
        return
    yield from (p for p in sorted(path.glob("*.json")) if there.is_file(p) and recognises(p))


def is_home(folder: Path) -> bool:  # noqa: ARG001 (an export lies anywhere)
    """Return False: an export is no program's home."""
    return False


def is_export(path: Path) -> bool:  # noqa: ARG001 (there is nothing else)
    """Return True: what an export does not hold is not gone."""
    return True


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:  # noqa: ARG001
    """Yield nothing: the files may lie anywhere, under any name."""
    yield from ()


def read(path: Path) -> Iterator[Record]:
    """Yield every conversation of an export with all its branches.

    Raises:
        SourceError: the file cannot be read.
    """
    for each in exported.conversations(path, _no_entry, _is_export, _DEEPEST):
        if not isinstance(each, exported.Found):
            yield each
        elif isinstance(each.value.get("messages"), list):
            yield from _conversation(each.value, each.raw_ref)
        else:
            yield from _of_chatbot_ui(each.value, each.raw_ref)


def _no_entry(path: PurePath) -> bool:  # noqa: ARG001 (neither makes archives)
    return False


def _is_export(value: Mapping[str, Any]) -> bool:
    if isinstance(value.get("messages"), list):
        return "conversationId" in value
    return "version" in value and isinstance(value.get("history"), list)


# LibreChat


def _conversation(value: Json, raw_ref: str) -> Iterator[Record]:
    messages, unknown = _flat(loose.items(value["messages"]))
    ids = [loose.identifier(message.get("messageId")) for message in messages]
    told = loose.text(value, "conversationId")
    options = loose.mapping(value.get("options"))
    title = _title(loose.text(value, "title"))
    kept = {name: value[name] for name in _KEPT if value.get(name)}
    changed = (instant_ms(m.get(n)) for m in messages for n in ("updatedAt", "createdAt"))
    session = SessionRecord(
        told or derived_id(next(filter(None, ids), None) or title),
        title=title,
        title_source=TitleSource.MODEL if title else TitleSource.NONE,
        model=loose.text(options, "model"),
        updated_at_ms=max((at for at in changed if at), default=None),
        metadata=loose.json_text(kept) if kept else None,
        is_snapshot=True,
    )
    parents = _parents(messages, ids)
    turns = [
        _turn(message, key, parents, session.model, raw_ref)
        for message, key in zip(messages, ids, strict=True)
    ]
    yield from records(session, turns, _shown_leaf(parents))
    yield from (UnknownRecord("message") for _ in range(unknown))


def _flat(messages: Sequence[Any]) -> tuple[list[Json], int]:
    """Return the messages of a tree, each before its children, and how many are none."""
    found: list[Json] = []
    unknown = 0
    todo: list[tuple[Any, str | None]] = [(message, None) for message in reversed(messages)]
    while todo:
        message, parent = todo.pop()
        if not isinstance(message, dict):
            unknown += 1
            continue
        found.append({"parentMessageId": parent, **message} if parent else message)
        key = loose.identifier(message.get("messageId"))
        todo += [(child, key) for child in reversed(loose.items(message.get("children")))]
    return found, unknown


def _parents(messages: Sequence[Json], ids: Sequence[str | None]) -> dict[str, str | None]:
    """Return what each message with an id hangs on, None for those that begin a path."""
    known = set(ids)
    parents: dict[str, str | None] = {}
    for message, key in zip(messages, ids, strict=True):
        parent = message.get("parentMessageId")
        if key is not None:
            is_known = isinstance(parent, str) and parent in known and parent != key
            parents.setdefault(key, str(parent) if is_known else None)
    return parents


def _shown_leaf(parents: Mapping[str, str | None]) -> str | None:
    """Return where the program's own view ends: at each place it shows the last sibling."""
    last = {parent: key for key, parent in parents.items()}
    leaf, passed = last.get(None), set[str]()
    while leaf is not None and leaf in last and leaf not in passed:
        passed.add(leaf)
        leaf = last[leaf]
    return leaf


def _turn(
    message: Json,
    key: str | None,
    parents: Mapping[str, str | None],
    model: str | None,
    raw_ref: str,
) -> Turn:
    said = _said_by(message)
    if isinstance(is_prompt := message.get("isCreatedByUser"), bool):
        role = Role.USER if is_prompt else Role.ASSISTANT
    else:
        sender = str(message.get("sender")).lower()
        role = Role.USER if sender == "user" else Role.ASSISTANT
    parent, has_links = parents.get(key or ""), any(parents.values())
    is_root = message.get("parentMessageId") == _NO_PARENT
    return Turn(
        key,
        role,
        said,
        Link(parent, is_root=is_root) if has_links else UNLINKED,
        instant(message.get("createdAt")),
        loose.text(message, "model") or model,
        _usage(message) if role == Role.ASSISTANT else None,
        raw_ref,
        Origin.SYNTHETIC if message.get("error") is True else None,
    )


def _said_by(message: Json) -> Said:
    said = Said()
    for part in loose.items(message.get("content")):
        _read_part(loose.mapping(part), said)
    if not said.texts:
        said.add_text(message.get("text"))
    for file in map(loose.mapping, loose.items(message.get("files"))):
        told = (loose.text(file, "file_id", "filepath"), loose.text(file, "filename"))
        if at := " ".join(text for text in told if text):
            said.add_media(loose.text(file, "type"), at, file.get("bytes"))
    return said


def _read_part(part: Json, said: Said) -> None:
    kind = part.get("type")
    inner = part.get(kind) if isinstance(kind, str) else None
    if kind in ("text", "think", "error"):
        text = loose.text(inner, "value") if isinstance(inner, dict) else inner
        (said.add_reasoning if kind == "think" else said.add_text)(text)
    elif kind == "tool_call":
        _read_call(loose.mapping(inner), said)
    elif kind in ("image_file", "image_url"):
        at = loose.text(loose.mapping(inner), "url", "filepath", "file_id")
        said.add_media("image", at or inner)
    else:
        said.note(f"content {kind}" if isinstance(kind, str) else "content")


def _read_call(call: Json, said: Said) -> None:
    function = loose.mapping(call.get("function"))
    key, name = loose.text(call, "id"), loose.text(call, "name") or loose.text(function, "name")
    arguments = call.get("args", function.get("arguments"))
    said.calls.append(ToolCall(key, name or "", loose.json_text(arguments)))
    output = call.get("output", function.get("output"))
    if output is not None:
        said.answer(key, name, loose.json_text(output), failed=False)


def _usage(message: Json) -> str | None:
    told = {"input": message.get("promptTokens"), "output": message.get("tokenCount")}
    counts = {n: c for n, c in told.items() if isinstance(c, int) and not isinstance(c, bool)}
    return loose.json_text(counts) if counts else None


# Chatbot UI


def _of_chatbot_ui(value: Json, raw_ref: str) -> Iterator[Record]:
    folders = {
        loose.text(folder, "id"): loose.text(folder, "name")
        for folder in map(loose.mapping, loose.items(value.get("folders")))
    }
    for talk in value["history"]:
        if not isinstance(talk, dict):
            yield UnknownRecord("conversation")
            continue
        messages = [m for m in loose.items(talk.get("messages")) if isinstance(m, dict)]
        turns = [_plain_turn(message, raw_ref) for message in messages]
        title, model = _title(loose.text(talk, "name")), talk.get("model")
        kept = {"from": "Chatbot UI", "prompt": loose.text(talk, "prompt")}
        first = turns[0].said.text if turns else None
        session = SessionRecord(
            loose.text(talk, "id") or derived_id(title, first),
            title=title,
            title_source=TitleSource.MODEL if title else TitleSource.NONE,
            model=model if isinstance(model, str) else loose.text(loose.mapping(model), "id"),
            metadata=loose.json_text({name: text for name, text in kept.items() if text}),
            project=folders.get(loose.text(talk, "folderId")),
        )
        yield from records(session, turns)


def _plain_turn(message: Json, raw_ref: str) -> Turn:
    said, told = Said(), message.get("role")
    role = _ROLES.get(told) if isinstance(told, str) else None
    if role is None:
        said.note(f"role {told}" if isinstance(told, str) else "role")
    said.add_text(message.get("content"))
    return Turn(None, role or Role.SYSTEM, said, raw_ref=raw_ref)


def _title(told: str | None) -> str | None:
    return None if told is None or told.strip().lower() in NO_TITLES else told
