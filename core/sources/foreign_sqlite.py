"""Other programs' SQLite files, read without a trace: never written, checkpointed or held.

`snapshot` gives a private copy of everything committed, the write-ahead log included, and all
reading is done there. How the copy is taken depends on what lies on the disk:

- `-wal` and `-shm` stand beside the file (a program has it open, or was killed): the backup
  API over a read transaction. `readonly_shm` keeps even the shared memory unwritten, so the
  source's writer sees a reader and nothing else. It is never refused; its log cannot be reset
  while the copy is made.
- no `-shm`: nobody has it open in WAL mode, and to open it would create one. The files are
  copied and taken only if none of them changed meanwhile.
- rollback journal: the backup API in small steps, the lock given back after each. A journal
  that a crash left behind is copied with the file and rolled back in the copy.

Cost: the file's size on the disk of `SQLITE_TMPDIR` (the profile's folder when the program
runs; else the system's temporary folder) and one pass over it, 1 to 2 s per GB when cached.
On POSIX the copy has no name any more when reading starts; a killed process leaves at most an
unfinished one, which the next snapshot sweeps.
"""

import contextlib
import itertools
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import apsw

from core.errors import SourceError
from core.sources import files
from core.sources.foreign_rows import column_names

MAGIC = b"SQLite format 3\0"
BUSY_S = 5.0
STEP_PAGES = 512
VALUE_BYTES = 64 << 20
STALE_S = 3600.0
PREFIX = "backscroll-copy-"

_VERSIONS = slice(18, 20)  # of the header: write and read version, 2 in WAL mode
_MEMBERS = ("-wal", "-journal")
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")  # ends a journal that has a super-journal


def is_sqlite(path: Path) -> bool:
    """Tell by its first bytes whether a readable regular file is an SQLite database."""
    try:
        return _header(path).startswith(MAGIC)
    except SourceError:
        return False


def glimpsed_columns(path: Path, table: str) -> frozenset[str]:
    """Return the names of a table's columns, as far as a glimpse without a copy shows them.

    Enough to tell whose file it is: what a program is writing at this moment may be missed. A
    young database has everything in its log, so there the log's first megabyte is searched.
    """
    found: frozenset[str] = frozenset()
    with contextlib.suppress(apsw.Error), _glimpse(path) as db:
        found = column_names(db, table)
    if found:
        return found
    with contextlib.suppress(SourceError), files.opened(_beside(path, "-wal")) as log:
        match = _created(table).search(log.read(1 << 20))
        if match:
            return frozenset(re.findall(r"\w+", match.group().decode("utf-8", "replace")))
    return frozenset()


def glimpsed(path: Path, table: str, column: str, value: str, before: str | None = None) -> bool:
    """Tell whether a glimpse without a copy shows a row with that text in an indexed column.

    With `before`, any text from `value` on that sorts before it. What a program is writing at
    this moment may be missed, as by `glimpsed_columns`.
    """
    if not is_sqlite(path):
        return False
    name = f'"{column}"'
    where = f"{name} = ?" if before is None else f"{name} >= ? AND {name} < ?"
    bounds = (value,) if before is None else (value, before)
    with contextlib.suppress(apsw.Error), _glimpse(path) as db:
        if column in column_names(db, table):
            sql = f'SELECT 1 FROM main."{table}" WHERE {where} LIMIT 1'
            return db.execute(sql, bounds).fetchone() is not None
    return False


@contextlib.contextmanager
def _glimpse(path: Path) -> Iterator[apsw.Connection]:
    """Open the file as it lies there, its log left aside, and take no lock on it."""
    uri = f"{path.absolute().as_uri()}?immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with contextlib.closing(apsw.Connection(uri, flags)) as db:
        _harden(db)
        yield db


def _created(table: str) -> re.Pattern[bytes]:
    return re.compile(rb'CREATE TABLE "?%s"?\s*\([^\0]{1,8192}' % re.escape(table).encode())


@contextlib.contextmanager
def snapshot(path: Path) -> Iterator[apsw.Connection]:
    """Give a read-only connection to a private copy of the database at `path`.

    Nothing of the source's schema runs in it: no views, triggers or functions. Temporary
    tables may be made and live in private files. The copy is gone when the block ends.

    Raises:
        SourceError: it is no database, is locked for longer than `BUSY_S`, changes too fast to
            be copied, is too damaged to be opened, or there is no room for the copy.
    """
    root = _temporary_root()
    _sweep(root)
    with contextlib.ExitStack() as stack:
        with _translated(path):
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            copy = folder / "copy.db"
            _take(path, copy)
            db = apsw.Connection(
                f"{copy.as_uri()}?immutable=1",
                flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
            )
            stack.callback(db.close)
            _harden(db)
            if os.name == "posix":
                shutil.rmtree(folder)
            _check_schema(db)
        yield db


def _temporary_root() -> Path:
    told = os.environ.get("SQLITE_TMPDIR")
    if told and Path(told).is_dir():  # a profile may have been moved away since
        return Path(told)
    return Path(tempfile.gettempdir())


def _sweep(root: Path) -> None:
    """Remove what a killed process left. A copy in use on Windows refuses to go, and stays."""
    for folder in root.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.lstat().st_mtime > STALE_S:
                shutil.rmtree(folder, ignore_errors=True)


def _take(path: Path, copy: Path) -> None:
    deadline = time.monotonic() + BUSY_S
    for attempt in itertools.count(1):
        header = _header(path)
        _check_header(path, header)
        _check_room(path, copy.parent)
        wal = header[_VERSIONS] == b"\2\2"
        if wal and not (_beside(path, "-wal").exists() and _beside(path, "-shm").exists()):
            if _copied_unchanged(path, copy):
                return
        elif _backed_up(path, copy, wal=wal, deadline=deadline):
            return
        if attempt >= 3 and time.monotonic() > deadline:
            raise SourceError(
                f"{path} is written to without a pause and cannot be copied; try again later",
                path=str(path),
            )
        time.sleep(0.05)


def _backed_up(path: Path, copy: Path, *, wal: bool, deadline: float) -> bool:
    """Copy through SQLite. False when the moment was wrong: look at the files again."""
    try:
        with contextlib.closing(_source(path)) as source:
            if wal:  # one snapshot for the whole copy; without it every commit starts it anew
                source.execute("BEGIN")
                source.execute("PRAGMA user_version").fetchall()  # reads, and parses no schema
            done = _backup(source, copy, deadline)
    except (apsw.ReadOnlyError, apsw.CantOpenError):
        # A journal that needs rolling back, or the log went away since it was looked for.
        return _copied_unchanged(path, copy)
    if done:
        _leave_wal_mode(copy)
    return done


def _source(path: Path) -> apsw.Connection:
    source = apsw.Connection(
        f"{path.absolute().as_uri()}?mode=ro&readonly_shm=1",
        flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
    )
    source.set_busy_timeout(int(BUSY_S * 1000))
    return source


def _backup(source: apsw.Connection, copy: Path, deadline: float) -> bool:
    _create_private(copy)
    with contextlib.closing(apsw.Connection(str(copy))) as target:
        target.execute("PRAGMA journal_mode=OFF").fetchall()
        target.execute("PRAGMA synchronous=OFF").fetchall()
        with target.backup("main", source, "main") as backup:
            left, restarts = 0, 0
            while not backup.done:
                began = time.monotonic()
                backup.step(STEP_PAGES)
                restarts += 0 < left < backup.remaining
                left = backup.remaining
                if restarts > 20 and time.monotonic() > deadline:
                    return False
                if not source.in_transaction:  # the lock is free now: leave it as long again
                    time.sleep(min(0.05, time.monotonic() - began))
    return True


def _copied_unchanged(path: Path, copy: Path) -> bool:
    """Copy the file and its log or journal; False if any of them changed meanwhile."""
    before = _stamps(path)
    age_ns = time.time_ns() - max(stamp.mtime_ns for _, stamp in before)
    if 0 <= age_ns < 100_000_000:
        return False  # a change in the same tick of the file system's clock would not show
    for end, _ in before:
        target = _beside(copy, end)
        _create_private(target)
        with files.opened(_beside(path, end)) as source, target.open("wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
    if _stamps(path) != before:
        return False
    _refuse_super_journal(path, _beside(copy, "-journal"))
    with contextlib.closing(apsw.Connection(str(copy))) as db:  # private: recovery may write
        _harden(db)
        db.execute("PRAGMA locking_mode=EXCLUSIVE").fetchall()
        db.execute("PRAGMA synchronous=OFF").fetchall()
        db.execute("PRAGMA user_version").fetchall()
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    _leave_wal_mode(copy)
    return True


def _refuse_super_journal(path: Path, journal: Path) -> None:
    """Refuse a journal that names another file: rolling it back would delete that file."""
    if journal.exists() and journal.read_bytes()[-len(_JOURNAL_MAGIC) :] == _JOURNAL_MAGIC:
        raise SourceError(
            f"{path} was left in the middle of a change to several databases; open it once with "
            "the program it belongs to",
            path=str(path),
        )


def _stamps(path: Path) -> list[tuple[str, files.FileStamp]]:
    found = [("", files.stamp(path))]
    for end in _MEMBERS:
        member = _beside(path, end)
        if member.exists():
            found.append((end, files.stamp(member)))
    return found


def _leave_wal_mode(copy: Path) -> None:
    """Mark the closed copy as a plain file, since an immutable one can have no log."""
    with copy.open("r+b") as file:
        file.seek(_VERSIONS.start)
        file.write(b"\1\1")


def _harden(db: apsw.Connection) -> None:
    """Let nothing of the database's own schema run, and nothing in it take all memory."""
    for option, value in (
        (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
        (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0),
    ):
        if db.config(option, value) != value:
            raise SourceError("this SQLite cannot open other programs' files safely")
    for limit, value in (
        (apsw.SQLITE_LIMIT_LENGTH, VALUE_BYTES),
        (apsw.SQLITE_LIMIT_COLUMN, 500),
        (apsw.SQLITE_LIMIT_EXPR_DEPTH, 100),
        (apsw.SQLITE_LIMIT_ATTACHED, 0),
    ):
        db.limit(limit, value)
    db.execute("PRAGMA cell_size_check=ON").fetchall()
    db.execute("PRAGMA mmap_size=0").fetchall()


def _check_schema(db: apsw.Connection) -> None:
    """Read the schema; one with entries that contradict each other is read as far as it goes."""
    try:
        db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
    except apsw.CorruptError:
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)  # which forbids the next line; the copy
        db.execute("PRAGMA writable_schema=ON").fetchall()  # stays read-only as it is
        db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()


def _check_header(path: Path, header: bytes) -> None:
    if not header:
        raise SourceError(f"{path} is empty: it holds no database", path=str(path))
    if not header.startswith(MAGIC):
        raise SourceError(f"{path} is not an SQLite database", path=str(path))


def _check_room(path: Path, folder: Path) -> None:
    needed = sum(stamp.size for _, stamp in _stamps(path))
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise SourceError(
            f"{path} needs {needed >> 20} MiB in {folder.parent} to be read, {free >> 20} are free",
            path=str(path),
        )


def _header(path: Path) -> bytes:
    with files.opened(path) as stream:
        return stream.read(100)


def _create_private(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Say in words what SQLite or the system could not do with the file."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise SourceError(
            f"{path} is locked by another program; try again when it is idle", path=str(path)
        ) from error
    except apsw.FullError as error:
        raise SourceError(f"no room to copy {path}", path=str(path)) from error
    except apsw.Error as error:
        raise SourceError(f"{path} is damaged: {error}", path=str(path)) from error
    except OSError as error:
        raise SourceError(f"{path} cannot be copied: {error.strerror}", path=str(path)) from error
