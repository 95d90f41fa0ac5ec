"""ChatGPT's data export: a zip, its folder, or the bare JSON, in one file or in shards.

An export is a snapshot of all conversations; a later one brings new nodes, longer texts and
another current branch, never a reason to delete. There is no specification: the shapes are
those of real exports and of what importers' issues report; `chatgpt.content` lists the types,
`chatgpt.tree` orders the nodes.

Memory: one conversation. Nothing is unpacked to the disk.
"""

from collections.abc import Iterator, Mapping, Set
from pathlib import Path, PurePath
from typing import Any

from core.errors import SourceError
from core.sources import archive, downloads
from core.sources import files as source_files
from core.sources import found as places
from core.sources.chatgpt.conversation import Conversation
from core.sources.json_array import elements
from core.sources.lines import JsonObject, Readable
from core.sources.records import (
    BadSourceRecord,
    ReadTo,
    Record,
    Remark,
    SourceIdentity,
    UnknownRecord,
)
from core.types import FoundSource

KIND = "chatgpt"
READER_VERSION = 1
REWRITES = True
SUFFIXES = frozenset({".json", ".zip"})
CHOOSES = "file"

GLIMPSE_BYTES = 256 << 10


def identity(path: Path) -> SourceIdentity:  # noqa: ARG001 (ids are unique in the world)
    """Return the one instance there is: the same conversation comes in every export."""
    return SourceIdentity(KIND, "", "ChatGPT")


def recognises(path: Path) -> bool:
    """Tell by a glimpse at the beginning whether a zip, folder or file is an export."""
    if path.is_dir():
        return next(files(path), None) is not None
    try:
        if archive.is_zip(path):
            with archive.opened(path) as opened:
                for entry in opened.entries(_is_export_name)[:1]:
                    with opened.open(entry) as stream:
                        return _is_export(stream.read(GLIMPSE_BYTES))
            return False
        with source_files.opened(path) as stream:
            return path.suffix == ".json" and _is_export(stream.read(GLIMPSE_BYTES))
    except SourceError:
        return False


def files(path: Path) -> Iterator[Path]:
    """Yield what to read: the file itself, or the exports of a folder, two levels down."""
    if not path.is_dir():
        yield path
        return
    found = [p for d in ("", "*/", "*/*/") for p in path.glob(f"{d}conversations*.json")]
    found += path.glob("*.zip")
    yield from (p for p in sorted(found) if p.is_file() and recognises(p))


def is_home(folder: Path) -> bool:  # noqa: ARG001 (an export lies anywhere)
    """Return False: an export is no program's home."""
    return False


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:  # noqa: ARG001
    """Yield the exports among the person's downloads, known by the names in them."""
    for path in downloads.exports(home, _are_names):
        yield places.found(KIND, path, f"ChatGPT export {path.stem}", size=downloads.size(path))


def _are_names(names: Set[str]) -> bool:
    """Whether an export of these entries is ChatGPT's; Claude.ai's has its own beside them."""
    talks = any(n.startswith("conversations") and n.endswith(".json") for n in names)
    return talks and "users.json" not in names


def read(path: Path) -> Iterator[Record]:
    """Yield every conversation of an export with all its branches.

    Raises:
        SourceError: it cannot be read, or is an archive that is refused.
    """
    if not archive.is_zip(path):
        with source_files.opened(path) as stream:
            size = source_files.stamp_of(stream).size
            yield from _Export(0, size).read(source_files.as_utf8(stream), "")
        return
    with archive.opened(path) as opened:
        entries = opened.entries(_is_export_name)
        if not entries:
            raise SourceError(f"{path} holds no conversations*.json", path=str(path))
        export = _Export(0, sum(entry.file_size for entry in entries))
        for entry in entries:
            with opened.open(entry) as stream:
                yield from export.read(stream, f"{entry.filename}@")
            export.before += entry.file_size


def _is_export_name(path: PurePath) -> bool:
    return path.name.startswith("conversations") and path.suffix == ".json"


def _is_export(head: bytes) -> bool:
    return b'"mapping"' in head and b'"chat_messages"' not in head


class _Export:
    """The files of one export, read one after the other."""

    def __init__(self, before: int, total: int) -> None:
        self.before = before
        self._total = total
        self._updated: dict[str, float] = {}

    def read(self, stream: Readable, at: str) -> Iterator[Record]:
        """Yield the records of one file; `at` names it in references to its bytes."""
        for found in elements(stream, _is_conversation):
            if isinstance(found, BadSourceRecord | Remark):
                yield found
                continue
            for value in _conversations(found):
                if not _is_conversation(value):
                    yield UnknownRecord("object")
                elif self._is_newest(conversation := Conversation(value, at + found.raw_ref)):
                    yield from conversation.records()
            yield ReadTo(self.before + found.offset + found.length, self._total)

    def _is_newest(self, conversation: Conversation) -> bool:
        """Whether no later state of the conversation was met before; shards may overlap."""
        updated = conversation.value.get("update_time")
        time = float(updated) if isinstance(updated, int | float) else 0.0
        if time < self._updated.get(conversation.native_id, time):
            return False
        self._updated[conversation.native_id] = time
        return True


def _is_conversation(value: Mapping[str, Any]) -> bool:
    return "mapping" in value or "conversation_id" in value or "current_node" in value


def _conversations(found: JsonObject) -> Iterator[dict[str, Any]]:
    """The conversations an object holds: itself, or the list some tools wrap them in."""
    inner = found.value.get("conversations")
    if isinstance(inner, list) and not _is_conversation(found.value):
        yield from (value for value in inner if isinstance(value, dict))
    else:
        yield found.value
