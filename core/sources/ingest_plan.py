"""What an import has to read: the files at the given places, less those that did not change.

Unchanged is told by size, time and file number alone, one look at the store and one walk over
the folders for all of it.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from core.errors import SourceError
from core.history.sources import KnownFile
from core.sources import detect, files, legacy, unread
from core.sources.detect import Reader
from core.sources.files import CREDENTIAL_NAMES, FileStamp
from core.sources.lines import without_surrogates
from core.types import UNCHANGED, FileReport

Known = Mapping[str, list[KnownFile]]
LISTED_SKIPS = 1000
_EMPTY = "the file is empty"
NEVER_WALKED = frozenset({".git", ".venv", "__pycache__", "node_modules"})


@dataclass(frozen=True, slots=True)
class Unit:
    """A file to read. `known` is what the store knows of it, None for a new one.

    Of a file that was moved since it was read, `known` is what it was under its old path.
    `cursor` is the row behind which a snapshot that is moved in once is read on, else None.
    `only` are the sessions of which alone it is heard, where it is read once more.
    """

    path: Path
    name: str
    reader: Reader
    stamp: FileStamp
    known: KnownFile | None
    cursor: int | None = None
    only: frozenset[str] | None = None


@dataclass(slots=True)
class Plan:
    """What is to be done. `skipped` counts every file that is not read, listed or not.

    `bytes` is how much there is to read, `empty` counts the skipped files without any.
    `as_read` counts the files that are as they were when they were read, `unchanged` by the
    source's row what is stored of them.
    `gone` are files that are there no more, `lost` those of them whose sessions are gone with
    them, and `back` are files that were gone and are there again as they were.
    """

    units: list[Unit] = field(default_factory=list)
    bytes: int = 0
    reports: list[FileReport] = field(default_factory=list)
    moved: list[tuple[KnownFile, str, FileStamp]] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    back: list[int] = field(default_factory=list)
    skipped: int = 0
    as_read: int = 0
    empty: int = 0
    unchanged: Counter[int] = field(default_factory=Counter)

    def read(self, unit: Unit) -> None:
        """Note a file that is to be read."""
        self.units.append(unit)
        self.bytes += unit.stamp.size

    def keep_moved(self) -> None:
        """Leave out of what is gone the files that were found in a place looked at later."""
        moved = {known.id for known, _, _ in self.moved}
        self.gone = [row for row in self.gone if row not in moved]
        self.lost = [row for row in self.lost if row not in moved]

    def skip(self, name: str, reason: str | None) -> None:
        """Note a file that is not read; the first thousand are listed."""
        self.skipped += 1
        if self.skipped <= LISTED_SKIPS:
            self.reports.append(FileReport(name, "skipped", reason=reason))

    def fail(self, name: str, error: SourceError) -> None:
        """Note a file that cannot be read."""
        self.reports.append(FileReport(name, "failed", reason=str(error)))


def make_plan(
    paths: list[Path],
    kind: str | None,
    known: Known,
    own: Path | None = None,
    *,
    again: bool = False,
) -> Plan:
    """Look at the places and tell what is to be read there, in order.

    Args:
        paths: files and folders. A place that cannot be imported is a failed file of the plan.
        kind: read them as this kind; None detects it, file by file.
        known: the files of the store.
        own: the folder of the store itself, of which no file is opened: closing it again would
            drop the locks of this process.
        again: read a file that is named once more, whatever is known of it.

    Raises:
        SourceError: there is no such kind.
    """
    forced = None if kind is None else detect.reader_of(kind)
    planner = _Planner(known, own)
    for path in paths:
        place = Path(os.path.abspath(path))  # noqa: PTH100 (links in it stay as they are)
        try:
            if not place.is_dir():
                planner.file(place, forced, again=again)
            elif planner.is_own(place):
                raise SourceError(f"{place} belongs to the store itself", path=str(place))
            elif reader := forced or detect.home_of(place):
                planner.home(place, reader)
            else:
                planner.folder(place)
        except SourceError as error:
            planner.plan.fail(_name(place), error)
        except OSError as error:
            reason = SourceError(f"{place} cannot be read: {error.strerror or error}")
            planner.plan.fail(_name(place), reason)
    planner.plan.keep_moved()
    return planner.plan


class _Planner:
    """Sorts files into a plan; each file once, however many places hold it."""

    def __init__(self, known: Known, own: Path | None) -> None:
        self.plan = Plan()
        self._known = known
        self._own = None if own is None else own.resolve()
        self._by_inode: dict[int, list[KnownFile]] = {}
        self._seen: set[str] = set()
        for versions in known.values():
            for each in versions:
                self._by_inode.setdefault(each.inode, []).append(each)

    def file(self, path: Path, forced: Reader | None, *, again: bool = False) -> None:
        """Plan a file that was named: not to know it is a failure."""
        if self.is_own(path.parent):
            raise SourceError(f"{path} belongs to the store itself", path=str(path))
        if not again and self._is_moved_in(_name(path)):
            return
        reader = forced or detect.detect(path)
        if reader is None and (others := unread.sentence(path)):
            raise SourceError(f"{path} is {others}", path=str(path))
        reader = reader or detect.by_container(path)
        if reader is None:
            if files.stamp(path).size == 0:
                self.plan.skip(_name(path), _EMPTY)
                self.plan.empty += 1
                return
            raise SourceError(
                f"{path} is not a file of conversations that this version knows", path=str(path)
            )
        for each in reader.files(path):
            self._consider(each, reader, again=again)

    def home(self, folder: Path, reader: Reader) -> None:
        """Plan a folder of one kind; its reader knows what is to be read."""
        for path in reader.files(folder):
            self._guarded(path, reader)
        self._note_gone(folder, reader.KIND)

    def folder(self, folder: Path) -> None:
        """Plan a folder that may hold anything: each file by its content."""
        found: dict[str, list[Path]] = {}
        for path in self._walk(folder):
            reader = self._sniffed(path)
            if reader is not None:
                found.setdefault(reader.KIND, []).append(path)
        for kind, reader in detect.READERS.items():
            if kind in found:
                self._of_kind(folder, reader, found[kind])
        self._note_gone(folder, None)

    def _of_kind(self, folder: Path, reader: Reader, recognised: list[Path]) -> None:
        """Plan the files of one kind, less those that its reader leaves to another of them."""
        listed = recognised
        if reader.CHOOSES == "tree":
            listed = list(reader.files(folder))
        elif reader.CHOOSES == "folder":
            folders = dict.fromkeys(path.parent for path in recognised)
            listed = [path for each in folders for path in reader.files(each)]
        ours = set(recognised)
        for path in dict.fromkeys(listed):
            if path in ours:
                self._guarded(path, reader)
        for path in recognised:
            if _name(path) not in self._seen:
                self.plan.skip(_name(path), "another file there holds the same conversations")

    def _walk(self, folder: Path) -> Iterator[Path]:
        """Yield the files below a folder that may be history; others are noted or left out."""
        for place, folders, names in os.walk(folder, onerror=self._unreadable):
            if self.is_own(Path(place)):
                folders.clear()
                continue
            folders[:] = sorted(set(folders) - NEVER_WALKED)
            for name in sorted(names):
                path = Path(place, name)
                if name in CREDENTIAL_NAMES:
                    continue
                if path.suffix not in detect.SUFFIXES or name.endswith(".meta.json"):
                    self.plan.skip(_name(path), "not a file of conversations")
                else:
                    yield path

    def is_own(self, folder: Path) -> bool:
        """Whether a folder is the store's."""
        return self._own is not None and folder.resolve().is_relative_to(self._own)

    def _unreadable(self, error: OSError) -> None:
        reason = SourceError(f"{error.filename} cannot be read: {error.strerror or error}")
        self.plan.fail(str(error.filename), reason)

    def _sniffed(self, path: Path) -> Reader | None:
        """The reader of a file in a folder; one the store knows unchanged is not opened."""
        name = _name(path)
        if self._is_moved_in(name):
            return None
        try:
            stamp = files.stamp(path)
            for known in self._known.get(name, ()):
                reader = detect.READERS.get(known.kind)
                if reader and _same(known, _stamp(path, reader), reader):
                    self._unchanged(name)
                    return None
            reader = detect.detect(path) if stamp.size else None
        except SourceError as error:
            self.plan.skip(name, str(error))
            self._seen.add(name)
            return None
        except OSError as error:
            self.plan.skip(name, f"{path} cannot be read: {error.strerror or error}")
            return None
        if reader is None:
            empty = _EMPTY if stamp.size == 0 else unread.sentence(path)
            self.plan.skip(name, empty or "not a file of conversations that this version knows")
            self.plan.empty += stamp.size == 0
        return reader

    def _guarded(self, path: Path, reader: Reader) -> None:
        """Plan one of several files: its failure is its own."""
        try:
            self._consider(path, reader)
        except SourceError as error:
            self.plan.fail(_name(path), error)

    def _consider(self, path: Path, reader: Reader, *, again: bool = False) -> None:
        name = _name(path)
        if name in self._seen or (not again and self._is_moved_in(name)):
            return
        stamp = _stamp(path, reader)
        known = next((k for k in self._known.get(name, ()) if k.kind == reader.KIND), None)
        if known is not None and not again and _same(known, stamp, reader):
            self._unchanged(name)
            return
        self._seen.add(name)
        if (moved := self._moved(path, reader, stamp)) is not None:
            self.plan.moved.append((moved, name, stamp))
            if stamp.size == moved.size:
                self.plan.skip(name, f"moved from {moved.path}, read before")
                return
            known = replace(moved, named_as=moved.named_as or moved.path)
        cursor = legacy.start(path, reader, known, stamp.inode, again=again)
        self.plan.read(Unit(path, name, reader, stamp, known, cursor))

    def _is_moved_in(self, name: str) -> bool:
        """Whether a file is left alone for good; it is then noted, and not even looked at."""
        if not legacy.is_moved_in(self._known.get(name, ())):
            return False
        if name not in self._seen:
            self._seen.add(name)
            self.plan.skip(name, legacy.MOVED_IN)
        return True

    def _unchanged(self, name: str) -> None:
        self._seen.add(name)
        self.plan.skip(name, UNCHANGED)
        self.plan.as_read += 1
        versions = self._known.get(name, ())
        self.plan.unchanged.update(each.source_id for each in versions)
        self.plan.back += [each.id for each in versions if each.state == "gone"]

    def _moved(self, path: Path, reader: Reader, stamp: FileStamp) -> KnownFile | None:
        """The file that was read under another path, where it no longer is; it may have grown."""
        for known in self._by_inode.get(stamp.inode, ()):
            if (
                known.kind == reader.KIND
                and known.path != _name(path)
                and known.state in ("done", "gone")
                and known.reader_version == reader.READER_VERSION
                and 0 < known.size <= stamp.size
                and _is_another(known.path, stamp.inode)
            ):
                with files.opened(path) as stream:
                    is_same = files.hashes(stream, known.size) == (known.head_hash, known.tail_hash)
                identity = reader.identity(path)
                if is_same and (identity.kind, identity.instance) == (known.kind, known.instance):
                    return known
        return None

    def _note_gone(self, folder: Path, kind: str | None) -> None:
        """Note the files of the store that a walked folder no longer has.

        An empty folder tells nothing: it may be where a disk was mounted. One below it does,
        unless the file lay on another disk.
        """
        if _is_empty(folder):
            return
        below = _name(folder).rstrip("/\\") + os.sep
        for name, versions in self._known.items():
            if name in self._seen or not name.startswith(below):
                continue
            if any(kind in (None, known.kind) for known in versions) and _is_barred(name):
                self.plan.fail(name, SourceError(f"{name} cannot be read: permission denied"))
                continue
            for known in versions:
                is_ours = kind in (None, known.kind) and known.state != "gone"
                if is_ours and _is_absent(name) and not _is_unmounted(known):
                    self.plan.gone.append(known.id)
                    reader = detect.READERS.get(known.kind)
                    if reader is not None and not is_export(reader, Path(name)):
                        self.plan.lost.append(known.id)


def _is_barred(name: str) -> bool:
    """Whether there may be a file that this user may not read: it is not gone for that."""
    try:
        os.lstat(name)
    except PermissionError:
        return True  # in a folder that may not be entered
    except (OSError, ValueError):
        return False
    return not os.access(name, os.R_OK)


def is_export(reader: Reader, path: Path) -> bool:
    """Whether a file is what a person once fetched: what is not in it is not gone for that."""
    asked = getattr(reader, "is_export", None)
    return asked is not None and bool(asked(path))


def _is_empty(folder: Path) -> bool:
    with os.scandir(folder) as entries:
        return next(entries, None) is None


def _is_unmounted(known: KnownFile) -> bool:
    """Whether what is left of a file's path is an empty folder of another disk than its own."""
    for folder in Path(known.path).parents:
        try:
            return files.device_of(folder) != known.device and _is_empty(folder)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return True  # who knows what is in there
    return False


def _is_another(name: str, inode: int) -> bool:
    """Whether there is no file of this name, or not the one that was there."""
    try:
        return files.stamp(Path(name)).inode != inode
    except SourceError:
        return _is_absent(name)


def _is_absent(name: str) -> bool:
    """Whether a file is surely not there; one that may not be looked at may be."""
    try:
        os.lstat(name)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def _stamp(path: Path, reader: Reader) -> FileStamp:
    """The stamp of a file, with those of the files that its reader reads along with it.

    A reader that reads several may link to them, which is no change.
    """
    beside = getattr(reader, "stat_paths", None)
    if beside is None:
        return files.strict_stamp(path)
    stamp = files.stamp(path)
    size, changed_ns = stamp.size, stamp.mtime_ns
    for other in beside(path):
        if other != path:
            with contextlib.suppress(SourceError):  # it may not exist, or no longer
                more = files.stamp(other)
                size, changed_ns = size + more.size, max(changed_ns, more.mtime_ns)
    return FileStamp(stamp.device, stamp.inode, size, changed_ns)


def _same(known: KnownFile, stamp: FileStamp, reader: Reader) -> bool:
    """Whether a file is as it was read; the device's number may change with a reboot."""
    before = (known.inode, known.size, known.mtime_ns)
    return (
        known.state in ("done", "gone")
        and known.reader_version == reader.READER_VERSION
        and before == (stamp.inode, stamp.size, stamp.mtime_ns)
    )


def _name(path: Path) -> str:
    """The path as the store can hold it: names of files may be no text."""
    return without_surrogates(str(path))
