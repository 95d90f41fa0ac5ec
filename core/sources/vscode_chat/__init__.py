"""VS Code's chat (Copilot Chat and others), in Code, Insiders, VSCodium and their servers.

`<User>/workspaceStorage/<hash>/chatSessions/` holds the sessions of a folder, which the file
`workspace.json` beside it names; `<User>/globalStorage/emptyWindowChatSessions/` those of
windows without one. A session is one JSON object or, since 2026, a log of changes to it
(`oplog`); where both exist the log is the one that is read. Memory: one session.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from core.errors import SourceError
from core.sources import files as disk
from core.sources import found as places
from core.sources import there
from core.sources.genai_parts import text_or_none
from core.sources.json_array import elements
from core.sources.lines import JsonObject, objects
from core.sources.records import BadSourceRecord, ReadTo, Record, SourceIdentity, UnknownRecord
from core.sources.vscode_chat.oplog import OperationError, Replay
from core.sources.vscode_chat.session import Conversation
from core.types import FoundSource

KIND = "vscode-chat"
READER_VERSION = 1
REWRITES = True
"""An answer grows while it is shown, and the whole file is written anew."""

SUFFIXES = frozenset({".json", ".jsonl"})
CHOOSES = "folder"

_GLIMPSE_BYTES = 256 << 10
_TOLD_BYTES = 64 << 10
_CHATS = "chatSessions"
_FOLDERS = (f"workspaceStorage/*/{_CHATS}", "globalStorage/*ChatSessions")
_APPS = {
    "Code": "VS Code",
    "Code - Insiders": "VS Code Insiders",
    "VSCodium": "VSCodium",
    "Code - OSS": "Code - OSS",
}
_SERVERS = {
    ".vscode-server": "VS Code Server",
    ".vscode-server-insiders": "VS Code Server Insiders",
    ".vscodium-server": "VSCodium Server",
}
_DRIVE = re.compile(r"/([A-Za-z]):")


def identity(path: Path) -> SourceIdentity:
    """Every session is of one source: ids are unique in the world."""
    del path
    return SourceIdentity(KIND, "", "VS Code chat")


def recognises(path: Path) -> bool:
    """Whether the file begins like a session or a log of changes to one."""
    with disk.opened(path) as stream:
        if path.suffix == ".json":
            head = stream.read(_GLIMPSE_BYTES)
            is_object = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
            told = b'"responderUsername"' in head or b'"initialLocation"' in head
            return is_object and told and b'"requests"' in head
        if path.suffix != ".jsonl":
            return False
        for line in objects(disk.as_utf8(stream), _is_change):
            return isinstance(line, JsonObject) and _begins_log(line.value)
    return False


def _is_change(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("kind"), int) and ("v" in value or "k" in value)


def _begins_log(value: Mapping[str, Any]) -> bool:
    state = value.get("v")
    is_state = isinstance(state, dict) and ("requests" in state or "sessionId" in state)
    return value.get("kind") == 0 and is_state


def files(path: Path) -> Iterator[Path]:
    """Yield the sessions at a place: a file, a folder of them or the program's own."""
    if not there.is_dir(path):
        yield path
        return
    if is_home(path):
        folders = [folder for pattern in _FOLDERS for folder in sorted(path.glob(pattern))]
        listed = [each for folder in folders for each in sorted(folder.iterdir())]
    else:
        listed = [each for each in sorted(path.rglob("*.json*")) if _is_ours(each)]
    named = {each for each in listed if each.suffix in SUFFIXES}
    for each in listed:
        is_doubled = each.suffix == ".json" and each.with_suffix(".jsonl") in named
        if each in named and not is_doubled and there.is_file(each):
            yield each


def _is_ours(path: Path) -> bool:
    """Whether a file is of this kind; one that cannot be looked into is said to be, and fails."""
    if not there.is_file(path) or path.name in disk.CREDENTIAL_NAMES:
        return False
    try:
        return recognises(path)
    except SourceError:
        return True


def is_home(folder: Path) -> bool:
    """Whether the folder is where one of the programs keeps what is a person's."""
    app = folder.parent.name
    is_placed = app in _APPS or (app == "data" and folder.parent.parent.name in _SERVERS)
    has_any = there.is_dir(folder / "workspaceStorage") or there.is_dir(folder / "globalStorage")
    return folder.name == "User" and is_placed and has_any


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the folders of the programs in which there are sessions."""
    for root, name in _homes(env, home):
        if not is_home(root):
            continue
        sizes = {path: path.stat().st_size for path in files(root)}
        if sizes:
            size = sum(sizes.values())
            yield places.found(KIND, root, f"{name} chat", sessions=len(sizes), size=size)


def _homes(env: Mapping[str, str], home: Path) -> Iterator[tuple[Path, str]]:
    """The folders `User` that there may be: on Linux, macOS and Windows, and of servers."""
    bases = (
        Path(env.get("XDG_CONFIG_HOME") or home / ".config"),
        home / "Library/Application Support",
        Path(env.get("APPDATA") or home / "AppData/Roaming"),
    )
    for app, name in _APPS.items():
        for base in dict.fromkeys(bases):
            yield base / app / "User", name
    for server, name in _SERVERS.items():
        yield home / server / "data/User", name


def read(path: Path) -> Iterator[Record]:
    """Yield the session of a file with its messages.

    A change that cannot be made is a bad record, and the others are made all the same.

    Raises:
        SourceError: the file cannot be read.
    """
    with disk.opened(path) as stream:
        total = disk.stamp_of(stream).size
        if path.suffix == ".json":
            for found in elements(disk.as_utf8(stream), lambda _: True):
                if not isinstance(found, JsonObject):
                    yield found
                elif "requests" in found.value:
                    told = text_or_none(found.value.get("sessionId")) or path.stem
                    talk = Conversation(told, found.value, [], found.raw_ref)
                    yield from talk.records(*_workspace(path))
                else:
                    yield UnknownRecord("object")
            yield ReadTo(total, total)
            return
        replay, reached = Replay(), 0
        for line in objects(disk.as_utf8(stream), _is_change):
            if not isinstance(line, JsonObject):
                yield line
                continue
            try:
                replay.apply(line.value)
            except OperationError as error:
                yield BadSourceRecord(line.line, str(error))
            if line.terminated:
                reached = line.offset + line.length + 1
        native_id = text_or_none(replay.state.get("sessionId")) or path.stem
        talk = Conversation(native_id, replay.state, replay.taken_back(), f"0:{total}")
        yield from talk.records(*_workspace(path))
        yield ReadTo(min(reached, total), total)


def _workspace(path: Path) -> tuple[str | None, dict[str, str]]:
    """Where the session of a file was held, and on what machine where that is another."""
    told = path.parent.parent / "workspace.json"
    if path.parent.name != _CHATS or not there.is_file(told):
        return None, {}
    try:
        with disk.opened(told) as stream:
            value = json.loads(stream.read(_TOLD_BYTES))
    except (SourceError, ValueError, RecursionError):
        return None, {}  # the session stands without it
    if not isinstance(value, dict):
        return None, {}
    folder, workspace = text_or_none(value.get("folder")), text_or_none(value.get("workspace"))
    place = folder or workspace
    if place is None:
        return None, {}
    try:
        parts = urlsplit(place)
    except ValueError:
        return place, {}
    where = unquote(parts.path)
    if folder is None:  # a list of folders, which lies beside or above them
        where = where.rpartition("/")[0]
    if _DRIVE.match(where):
        where = where[1:2].upper() + where[2:].replace("/", "\\")
    remote = unquote(parts.netloc)
    return where or None, {"remote": remote} if remote else {}
