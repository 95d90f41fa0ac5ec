"""Claude.ai's data export: zips (one or several batches), their folder, or the bare file.

An export is a snapshot of all conversations: a later one brings new messages and branches,
never a reason to delete. There is no specification; the shapes are those that importers report
and that a schema made from real exports has. The files beside the conversations are of the
account and no history; `users.json` is never opened.

Memory: one conversation. Nothing is unpacked to the disk.
"""

import re
from collections.abc import Iterator, Mapping, Set
from pathlib import Path, PurePath
from typing import Any

from core.errors import SourceError
from core.sources import archive, downloads, exported, there
from core.sources import found as places
from core.sources.claude_ai import conversation
from core.sources.claude_ai.projects import is_projects, projects_of
from core.sources.records import Record, Remark, SourceIdentity, UnknownRecord
from core.types import FoundSource

KIND = "claude-ai"
READER_VERSION = 1
REWRITES = True
SUFFIXES = frozenset({".json", ".jsonl", ".zip"})
CHOOSES = "file"

_MANIFEST = re.compile(r"manifest[^/]*\.json", re.IGNORECASE)
_BESIDE = {"memories.json", "projects.json", "users.json"}
"""What lies beside the conversations in this export, and in no other one."""

_EMPTY_BYTES = 4  # of a list or object that holds nothing


def identity(path: Path) -> SourceIdentity:  # noqa: ARG001 (ids are unique in the world)
    """Return the one instance there is: the same conversation comes in every export."""
    return SourceIdentity(KIND, "", "Claude")


def recognises(path: Path) -> bool:
    """Tell by names and a glimpse whether a zip, folder or file is an export, or a part of one."""
    if there.is_dir(path):
        return next(files(path), None) is not None
    if path.suffix not in SUFFIXES:
        return False
    try:
        head = exported.head(path, _is_export_name)
    except SourceError:
        return False
    if archive.is_zip(path):
        is_other = exported.has_key(head, "mapping")
        return _is_export(head) or (not is_other and _is_part(exported.names(path)))
    return _is_export(head) or _is_manifest(path, head)


def files(path: Path) -> Iterator[Path]:
    """Yield what to read: the file itself, or the exports of a folder, two levels down."""
    if not there.is_dir(path):
        yield path
        return
    found = [p for d in ("", "*/", "*/*/") for p in path.glob(f"{d}conversations*.json*")]
    found += (*path.glob("*.zip"), *path.glob("manifest*.json"))
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
        yield places.found(KIND, path, f"Claude export {path.stem}", size=downloads.size(path))


def read(path: Path) -> Iterator[Record]:
    """Yield every conversation of an export with all its branches.

    Raises:
        SourceError: it cannot be read, is an archive that is refused, or is a part of an
            export without conversations; it says which part to import instead.
    """
    _refuse_other_parts(path)
    projects, count, others = projects_of(path), 0, 0
    for found in exported.conversations(path, _is_export_name, _is_conversation):
        if isinstance(found, exported.Found):
            count += 1
            yield from conversation.read(found.value, found.raw_ref, projects)
        else:
            others += isinstance(found, UnknownRecord)
            yield found
    if others and not count:
        yield Remark(0, "no conversation of Claude's is in it: none has chat_messages")
    yield from _left_out(path)


def _refuse_other_parts(path: Path) -> None:
    """Say of a part of an export that holds no conversations what it is."""
    if not archive.is_zip(path):
        if _is_manifest(path, exported.head(path, _is_export_name)):
            raise SourceError(
                f"{path} only lists the parts of an export. Open it, download the zips that it "
                "links to, and import the one with the conversations",
                path=str(path),
            )
        return
    names = exported.names(path)
    if any(_is_export_name(PurePath(name)) for name in names):
        return
    if any(is_projects(PurePath(name)) for name in names):
        what = "projects"
    elif any(_MANIFEST.fullmatch(PurePath(name).name) for name in names):
        what = "the list of an export's parts"
    elif _is_part(names):
        what = "what belongs to the account"
    else:
        return  # whatever it is, it has no conversations: that is said when it is read
    raise SourceError(
        f"{path} holds {what} and no conversations. They are in another zip of the same export, "
        "with a conversations.json",
        path=str(path),
    )


def _left_out(path: Path) -> Iterator[Record]:
    """Yield what an archive holds beside its conversations that is not imported."""
    if not archive.is_zip(path):
        return
    with archive.opened(path) as opened:
        for entry in opened.entries(lambda name: name.name == "memories.json"):
            if entry.file_size > _EMPTY_BYTES:
                yield Remark(0, "memories.json is what Claude noted, no conversation; left out")
        for _ in opened.entries(_is_design):
            yield UnknownRecord("design chats")


def _is_part(names: Set[str]) -> bool:
    """Whether files of these paths are a part of this export."""
    return any(PurePath(n).name in _BESIDE or is_projects(PurePath(n)) for n in names)


def _may_be_ours(names: Set[str]) -> bool:
    """Whether files of these names hold conversations of some export."""
    return any(_is_export_name(PurePath(name)) for name in names)


def _is_export_name(path: PurePath) -> bool:
    return path.name.startswith("conversations") and path.suffix in (".json", ".jsonl")


def _is_design(path: PurePath) -> bool:
    """Whether an entry is a talk about a design, which has a shape of its own."""
    return any(part.startswith("design_chats") for part in path.parts) and bool(path.suffix)


def _is_export(head: bytes) -> bool:
    return exported.has_key(head, "chat_messages")


def _is_manifest(path: Path, head: bytes) -> bool:
    """Whether a file lists the parts of an export; programs of all kinds have a manifest."""
    links = b".zip" in head and b"conversations" in head
    return _MANIFEST.fullmatch(path.name) is not None and links and not _is_export(head)


def _is_conversation(value: Mapping[str, Any]) -> bool:
    return "chat_messages" in value
