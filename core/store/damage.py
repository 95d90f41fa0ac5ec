"""Full-text indexes whose pages are damaged: told from a damaged file, noted, and set aside.

An index is made from the messages and can be made again, so its damage must cost nothing but
time. What meets it first notes it, in this process; searches then take other paths, and the
next write transaction sets the index aside before it does anything else. Damage of the file
itself is another matter: nothing is written to such a store any more.
"""

import re
from collections.abc import Callable, Iterable
from threading import Lock
from typing import TypeVar

import apsw

from core.types import IndexStatus

T = TypeVar("T")

TITLES = "sessions_fts"
REASON = "its pages were damaged: it was set aside and is filled again from the messages"
_NOTED_REASON = "its pages are damaged: it is set aside by the next write and filled again"
REASONS = (REASON, _NOTED_REASON)
CHECKS = "checks"
"""The key in `meta` of what the last checks found."""
SHADOWS = ("data", "idx", "content", "docsize", "config")

_NEEDED = tuple(shadow for shadow in SHADOWS if shadow != "content")  # external: the messages

_SIGNS = ("fts5: corrupt", "vtable constructor failed", "missing row", "malformed inverted")
_NAMED = re.compile(r"\b((?:messages|sessions)_fts\w*)")
_LOST = re.compile(
    rf"no such table: (?:main\.)?(?:messages|sessions)_fts\w*_(?:{'|'.join(_NEEDED)})\b"
)
_SET_ASIDE = re.compile(r"(?:messages|sessions)_fts\w*_damaged_\d+(?:_\w+)?")
SHADOW = re.compile(rf"_(?:{'|'.join(SHADOWS)})$")
STALE = re.compile(r"_stale_\d+$")
_WHOLE = "PRAGMA integrity_check(100000)"  # pages that belong to nothing fill many lines
_OF_POSTINGS = "FTS5 table"
_MOST_TRIES = 5

_lock = Lock()
_notes: dict[str, tuple[int, dict[str, str]]] = {}  # by file: the schema's version, names → why
_broken: dict[str, str] = {}  # by file: what SQLite said of its pages


def is_of_index(error: apsw.Error) -> bool:
    """Tell whether an error is about what a full-text index holds, and not about the file."""
    if isinstance(error, apsw.CorruptError):
        return getattr(error, "extendedresult", 0) == apsw.SQLITE_CORRUPT_VTAB
    told = str(error)
    return isinstance(error, apsw.SQLError) and (
        any(sign in told for sign in _SIGNS) or _LOST.search(told) is not None
    )


def note_met(db: apsw.Connection, error: apsw.Error) -> bool:
    """Note which indexes an error is about, or that it is about the file.

    SQLite reports a torn page of an index like one of a table, so the pages of the indexes are
    then looked at: a second for 300 MB of them.

    Returns:
        True when an index is newly known to be damaged: what failed may be tried again.
    """
    if not is_of_index(error) and not isinstance(error, apsw.CorruptError):
        return False
    try:
        found = blamed(db, error)
    except apsw.CorruptError:  # not even the schema can be read
        found = ()
    if not found and not is_of_index(error):
        with _lock:
            _broken[db.filename] = str(error)
    is_new = bool(set(found) - set(noted(db)))
    note(db, found, str(error))
    return is_new


def note(db: apsw.Connection, names: Iterable[str], told: str) -> None:
    """Note that these indexes are damaged, for everybody in this process."""
    version = int(db.pragma("schema_version"))
    with _lock:
        known, notes = _notes.get(db.filename, (version, {}))
        fresh = dict(notes) if known == version else {}
        fresh |= dict.fromkeys(names, told)
        if fresh:
            _notes[db.filename] = (version, fresh)


def noted(db: apsw.Connection) -> tuple[str, ...]:
    """Return the indexes known to be damaged and not yet set aside; some microseconds.

    What was noted before the schema changed is forgotten: the index may be another by now.
    """
    found = _notes.get(db.filename)
    if found is None:
        return ()
    version, notes = found
    return tuple(notes) if version == int(db.pragma("schema_version")) else ()


def is_noted(filename: str) -> bool:
    """Tell whether there are notes on a file, which the next write transaction acts upon."""
    return filename in _notes


def titles_usable(db: apsw.Connection) -> bool:
    """Tell whether the index of titles can be asked; without it titles are read one by one."""
    return TITLES not in noted(db)


def forget(db: apsw.Connection) -> None:
    """Drop the notes on a store, after they were acted upon."""
    with _lock:
        _notes.pop(db.filename, None)


def broken(filename: str) -> str | None:
    """Return why nothing may be written to a file, None where its pages seem sound."""
    told = _broken.get(filename)
    if told is None:
        return None
    return (
        f"{filename} is damaged ({told}): it can be read but not written;"
        " backscroll repair says what can be done"
    )


def mend(filename: str) -> None:
    """Forget that a file was damaged: another one has taken its place."""
    with _lock:
        _broken.pop(filename, None)
        _notes.pop(filename, None)


def as_noted(db: apsw.Connection, status: IndexStatus) -> IndexStatus:
    """Return the status of an index with its noted damage, where there is any."""
    if status.name not in noted(db):
        return status
    return IndexStatus(
        name=status.name,
        state="stale",
        coverage=0.0,
        done=0,
        todo=status.done + status.todo,
        cursor=0,
        last_moved_at_ms=status.last_moved_at_ms,
        reason=_NOTED_REASON,
    )


def answered(db: apsw.Connection, work: Callable[[], T]) -> T:
    """Return what `work` returns, which is begun again when it meets a damaged index.

    The index is noted then, so `work` must look at `noted` (by way of the indexes' coverage).
    """
    for _ in range(_MOST_TRIES):
        try:
            return work()
        except apsw.InterruptError:
            raise
        except apsw.Error as error:
            if not note_met(db, error):
                raise
    return work()


def blamed(db: apsw.Connection, error: apsw.Error) -> tuple[str, ...]:
    """Return the indexes that an error is about; none where it is about the file itself."""
    known = full_text_names(db)
    for match in _NAMED.finditer(str(error)):
        name = SHADOW.sub("", match[1])
        if name in known:
            return (name,)
    if torn := tuple(name for name in known if torn_pages(db, name)):
        return torn
    if not is_of_index(error):
        return ()
    return tuple(name for name in known if contradictions(db, name))


def torn_pages(db: apsw.Connection, name: str) -> str:
    """Return what is wrong with the pages of an index, empty for nothing."""
    for shadow in _NEEDED:
        table = f"{name}_{shadow}"
        if not exists(db, table):
            return f"{table} is not there"
        if told := wrong_in(db, table):
            return told
    return ""


def contradictions(db: apsw.Connection, name: str) -> str:
    """Return what an index contradicts itself in, empty for nothing; reads all of it.

    It is not compared with the messages. Takes seconds for a large one; blocks nobody.
    """
    return wrong_in(db, name)


def fault_in(db: apsw.Connection, name: str) -> str:
    """Return what is wrong with the pages or the postings of an index, empty for nothing.

    One that is being dropped by pieces contradicts itself, so of that its pages alone count.
    """
    return torn_pages(db, name) or ("" if STALE.search(name) else contradictions(db, name))


def wrong_in(db: apsw.Connection, table: str = "") -> str:
    """Return what SQLite finds wrong in a table, or in all pages of the file; empty for nothing.

    What it says of the postings of full-text indexes counts only where one is asked for. Pages
    that belong to nothing are no damage: `drop_set_aside` leaves them to the next VACUUM.
    """
    try:
        found = db.execute(f'PRAGMA integrity_check("{table}")' if table else _WHOLE).fetchall()
    except (apsw.CorruptError, apsw.SQLError) as error:
        if isinstance(error, apsw.SQLError) and not is_of_index(error):
            raise
        return str(error)
    lines = [line for (told,) in found for line in str(told).splitlines()]
    return next((t for t in lines if _is_wrong(t) and (table or _OF_POSTINGS not in t)), "")


def _is_wrong(line: str) -> bool:
    return line != "ok" and not line.startswith("*** in database") and "never used" not in line


def full_text_names(db: apsw.Connection) -> tuple[str, ...]:
    """Return the full-text indexes in use, and those that wait to be dropped by pieces."""
    rows = db.execute(
        "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5(%'"
        " ORDER BY length(name) DESC, name"
    )
    return tuple(str(name) for (name,) in rows if not is_set_aside(str(name)))


def is_set_aside(table: str) -> bool:
    """Tell by its name whether a table belongs to an index that was set aside as damaged."""
    return _SET_ASIDE.fullmatch(table) is not None


def exists(db: apsw.Connection, table: str) -> bool:
    """Tell whether the schema names a table."""
    return db.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)).get is not None
