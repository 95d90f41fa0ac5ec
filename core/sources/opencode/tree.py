"""OpenCode before its database: one small file a session, a message and a part.

`storage/session/<project>/<session>.json`, `storage/message/<session>/<message>.json` and
`storage/part/<message>/<part>.json`; some versions put the parts side by side into
`storage/part`, the oldest everything below `storage/session/{info,message,part}`. Where a file
names no ids, its folder does. What is read as one is a session's file with all that belongs to
it; a folder of messages whose session has no file is read by its first message.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TypeVar

from core.errors import SourceError
from core.sources import there
from core.sources.json_value import json_file
from core.sources.lines import without_surrogates
from core.sources.loose import Json, identifier, items, mapping, text
from core.sources.opencode.messages import created
from core.sources.opencode.sessions import Told, position, revert_of, session_record, sort_key
from core.sources.records import BadSourceRecord, ReadTo, Record

T = TypeVar("T")

MOST_FILES = 100_000
"""Of one folder; more are no session any more."""

_WATCHED_PARTS = 2000
_NO_SESSIONS = {"message", "part", "share"}  # beside `info` in the oldest tree; a share is a key


@dataclass(frozen=True, slots=True)
class Tree:
    """Where the parts of a tree lie that a session's file, or a message's, belongs to."""

    sessions: Path
    messages: Path
    parts: Path
    is_oldest: bool = False

    def parts_of(self, session: str, message: str) -> Path:
        """Return the folder of a message's parts."""
        return self.parts / session / message if self.is_oldest else self.parts / message


def is_tree(folder: Path) -> bool:
    """Tell by names whether the folder is such a tree."""
    names = ["session/info/*.json", "message/*/msg_*.json"]
    if there.is_dir(folder / "message"):
        names.append("session/*/*.json")
    return any(next(folder.glob(name), None) is not None for name in names)


def files(folder: Path) -> Iterator[Path]:
    """Yield the files of sessions in a tree, then the first messages of those without one.

    By their names and places: a look at a thousand sessions opens none of them.
    """
    sessions = [p for p in sorted(folder.glob("session/*/*.json")) if _is_in_place(p)]
    yield from sessions
    stems = {path.stem for path in sessions}
    known = stems | {stem.removeprefix("ses_") for stem in stems}
    for talk in sorted(folder.glob("message/*/")):
        if talk.name not in known:
            first = next(iter(_listed(talk)), None)
            if first is not None and recognises(first):
                yield first


def _is_in_place(path: Path) -> bool:
    return path.parent.parent.name == "session" and path.parent.name not in _NO_SESSIONS


def recognises(path: Path) -> bool:
    """Tell whether a file is a session's, or the first message of a session without one."""
    if path.suffix != ".json":
        return False
    above = path.parent.parent
    if _is_in_place(path):
        return _is_session(mapping(json_file(path)))
    if above.name == "message":
        return (
            not _session_file(above.parent, path.parent.name)
            and path == next(iter(_listed(path.parent)), None)
            and text(mapping(json_file(path)), "role") is not None
        )
    return False


def native_id(path: Path) -> str:
    """Return the id of the session that a file stands for."""
    value = mapping(json_file(path))
    if path.parent.parent.name == "message":
        return identifier(value.get("sessionID")) or without_surrogates(path.parent.name)
    return identifier(value.get("id")) or without_surrogates(path.stem)


def stat_paths(path: Path) -> tuple[Path, ...]:
    """Return the files that tell whether a session changed: its own and those of its messages.

    A message's file is written anew when its last part is. Of the newest message, which may be
    in the middle of it, the parts are looked at as well. About 10 µs a file.
    """
    tree = _tree(path)
    messages = [each for folder in _talks(tree, path) for each in _listed(folder)]
    parts: list[Path] = []
    if messages:
        parts = _listed(tree.parts_of(path.stem, messages[-1].stem))
        if not tree.is_oldest:
            parts += _side_by_side(tree.parts)[:_WATCHED_PARTS]
    return (path, *messages, *parts)


def read(path: Path) -> Iterator[Record]:
    """Yield a session and its messages in the order of their times.

    Raises:
        SourceError: the session's file is none.
    """
    tree, name = _tree(path), native_id(path)
    value = mapping(json_file(path))
    if path.parent.parent.name == "message":
        value = {}
    elif not _is_session(value):
        raise SourceError(f"{path} is no session of OpenCode", path=str(path))
    told = Told(session_record(name, _fields(value)), revert_of(value.get("revert")))
    yield told.record
    order = []
    for folder in dict.fromkeys(_talks(tree, path)):
        for number, each in enumerate(_listed(folder), 1):
            message = _object(each)
            if isinstance(message, BadSourceRecord):
                yield message
                continue
            at = sort_key(created(message))
            order.append((at is not None, at or number, each.stem, number, each))
    order.sort()
    before, ordinal = None, 0
    for is_timed, at, _, number, each in order:
        ordinal = ordinal + 1 if at == before else 0
        before = at
        place = position(at if is_timed else None, ordinal, number)
        yield from _message(tree, told, each, place)
    if (more := told.more()) is not None:
        yield more
    yield ReadTo(len(order), len(order))


def _message(tree: Tree, told: Told, path: Path, place: int) -> Iterator[Record]:
    message = _object(path)
    if isinstance(message, BadSourceRecord):
        yield message
        return
    native = identifier(message.get("id")) or without_surrogates(path.stem)
    parts: list[tuple[str | None, Json]] = [
        (None, mapping(part)) for part in items(message.get("parts"))
    ]
    below = [
        each
        for name in dict.fromkeys((native, path.stem))
        for each in _listed(tree.parts_of(path.parent.name, name))
    ]
    if not tree.is_oldest:
        below += _of_messages(tree.parts).get(native, ())
    found = []
    for number, each in enumerate(below):
        part = _object(each)
        if isinstance(part, BadSourceRecord):
            yield part
            continue
        start = sort_key(mapping(part.get("time")).get("start"))
        started = sort_key(mapping(mapping(part.get("state")).get("time")).get("start"))
        own = identifier(part.get("id")) or without_surrogates(each.stem)
        found.append((number, start or started, own, part))
    parts += [(own, part) for _, _, own, part in found]
    yield from told.message(
        native,
        message,
        parts,
        place,
        (created(message), without_surrogates(f"{path.parent.name}/{path.name}")),
    )


def _side_by_side(folder: Path) -> list[Path]:
    """The parts that lie in no folder of their message: of the whole tree, most often none."""
    return _by_time(_files_of, folder)


def _of_messages(folder: Path) -> Mapping[str, list[Path]]:
    """Those parts by the message that they name."""
    return _by_time(_by_message, folder)


def _by_time(look: Callable[[Path, int], T], folder: Path) -> T:
    """Look at a folder anew once its time tells that files came or went."""
    try:
        changed = folder.stat().st_mtime_ns
    except OSError:
        changed = 0
    return look(folder, changed)


@lru_cache(maxsize=4)
def _files_of(folder: Path, changed: int) -> list[Path]:  # noqa: ARG001 (key)
    return _listed(folder)


@lru_cache(maxsize=2)
def _by_message(folder: Path, changed: int) -> Mapping[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in _files_of(folder, changed):
        part = _object(path)
        message = None if isinstance(part, BadSourceRecord) else text(part, "messageID")
        if message is not None:
            found.setdefault(message, []).append(path)
    return found


def _tree(path: Path) -> Tree:
    root = path.parent.parent
    if path.parent.name == "info" and root.name == "session":
        return Tree(path.parent, root / "message", root / "part", is_oldest=True)
    return Tree(root.parent / "session", root.parent / "message", root.parent / "part")


def _talks(tree: Tree, path: Path) -> list[Path]:
    """The folders that may hold a session's messages, by its file's name, else by its id."""
    if path.parent.parent.name == "message":
        return [path.parent]
    names = dict.fromkeys((path.stem, path.stem.removeprefix("ses_")))
    found = [folder for name in names if there.is_dir(folder := tree.messages / name)]
    if not found and there.is_dir(folder := tree.messages / native_id(path)):
        return [folder]
    return found


def _session_file(root: Path, name: str) -> bool:
    for each in (name, f"ses_{name}"):
        if next((root / "session").glob(f"*/{each}.json"), None) is not None:
            return True
    return False


def _listed(folder: Path) -> list[Path]:
    """The JSON files of a folder in the order of their names; none where there is none."""
    try:
        with os.scandir(folder) as entries:
            named = (e.name for e in entries if e.name.endswith(".json") and e.is_file())
            names = sorted(islice(named, MOST_FILES))
    except OSError:
        return []
    return [folder / name for name in names]


def _object(path: Path) -> Json | BadSourceRecord:
    try:
        found = json_file(path)
    except SourceError as error:
        return BadSourceRecord(1, str(error))
    if isinstance(found, dict):
        return found
    return BadSourceRecord(1, without_surrogates(f"{path.name}: not a JSON object"))


def _is_session(value: Json) -> bool:
    named = identifier(value.get("id")) is not None
    return named and ("time" in value or "title" in value) and "role" not in value


def _fields(value: Json) -> Json:
    """The session's file by the names of a database's columns."""
    time = mapping(value.get("time"))
    share = mapping(value.get("share"))
    return {
        **value,
        "parent_id": value.get("parentID"),
        "share_url": share.get("url"),
        "time_created": time.get("created"),
        "time_updated": time.get("updated"),
        "time_archived": time.get("archived"),
    }
