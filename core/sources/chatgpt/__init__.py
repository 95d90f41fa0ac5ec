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
from core.sources import downloads, exported, there
from core.sources import found as places
from core.sources.chatgpt.conversation import Conversation
from core.sources.records import Record, SourceIdentity
from core.types import FoundSource

KIND = "chatgpt"
READER_VERSION = 1
REWRITES = True
SUFFIXES = frozenset({".json", ".zip"})
CHOOSES = "file"


def identity(path: Path) -> SourceIdentity:  # noqa: ARG001 (ids are unique in the world)
    """Return the one instance there is: the same conversation comes in every export."""
    return SourceIdentity(KIND, "", "ChatGPT")


def recognises(path: Path) -> bool:
    """Tell by a glimpse at the beginning whether a zip, folder or file is an export."""
    if there.is_dir(path):
        return next(files(path), None) is not None
    if path.suffix not in SUFFIXES:
        return False
    try:
        return _is_export(exported.head(path, _is_export_name))
    except SourceError:
        return False


def files(path: Path) -> Iterator[Path]:
    """Yield what to read: the file itself, or the exports of a folder, two levels down."""
    if not there.is_dir(path):
        yield path
        return
    found = [p for d in ("", "*/", "*/*/") for p in path.glob(f"{d}conversations*.json")]
    found += path.glob("*.zip")
    yield from (p for p in sorted(found) if there.is_file(p) and recognises(p))


def is_export(path: Path) -> bool:  # noqa: ARG001 (there is nothing else)
    """Return True: a later export may hold less, and nothing is gone for that."""
    return True


def is_home(folder: Path) -> bool:  # noqa: ARG001 (an export lies anywhere)
    """Return False: an export is no program's home."""
    return False


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:  # noqa: ARG001
    """Yield the exports among the person's downloads."""
    for path in downloads.exports(home, _may_be_ours, recognises):
        yield places.found(KIND, path, f"ChatGPT export {path.stem}", size=downloads.size(path))


def _may_be_ours(names: Set[str]) -> bool:
    """Whether files of these names hold conversations of some export."""
    return any(_is_export_name(PurePath(name)) for name in names)


def read(path: Path) -> Iterator[Record]:
    """Yield every conversation of an export with all its branches.

    Raises:
        SourceError: it cannot be read, or is an archive that is refused.
    """
    for found in exported.conversations(path, _is_export_name, _is_conversation):
        if isinstance(found, exported.Found):
            yield from Conversation(found.value, found.raw_ref).records()
        else:
            yield found


def _is_export_name(path: PurePath) -> bool:
    return path.name.startswith("conversations") and path.suffix == ".json"


def _is_export(head: bytes) -> bool:
    return exported.has_key(head, "mapping") and not exported.has_key(head, "chat_messages")


def _is_conversation(value: Mapping[str, Any]) -> bool:
    return "mapping" in value or "conversation_id" in value or "current_node" in value
