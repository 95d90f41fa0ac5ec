r"""Hermes Agent: `state.db` of a home and of its profiles, and the session files before it.

Format and evidence: a home is `HERMES_HOME`, `~/.hermes` or `%LOCALAPPDATA%\hermes`; every
`profiles/<name>` is a home of its own. A database is read from a private copy
(`core.sources.foreign_sqlite`), its rows told apart from their copies
(`core.sources.hermes.copies`). Sessions that only the old files of the home know, or know
more of, are read from there (`core.sources.hermes.legacy`).

Order is by row id, never by time. Undone rows, hidden rows and those summarized away are all
yielded, each with its state.
"""

import sys
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw

from core.errors import SourceError
from core.sources import found as places
from core.sources import there
from core.sources.foreign_rows import Table
from core.sources.foreign_sqlite import glimpsed_columns, is_sqlite, snapshot
from core.sources.hermes import legacy
from core.sources.hermes.content import FIELDS
from core.sources.hermes.copies import Copies, Placement
from core.sources.hermes.sessions import Sessions
from core.sources.hermes.turns import Place, Turns
from core.sources.instants import instant
from core.sources.records import (
    BadSourceRecord,
    ReadTo,
    Record,
    SessionRecord,
    SourceIdentity,
)
from core.types import FoundSource, Provenance, SessionKind, TitleSource

KIND = "hermes"
READER_VERSION = 1
REWRITES = True
SUFFIXES = frozenset({".db", ".json", ".jsonl", ".sqlite"})
CHOOSES = "folder"
MOVES = False
"""Rows written anew get higher ids; a message stays where it was, beside what vanished since."""

DATABASE = "state.db"
POSITION_STEP = 1024
"""Positions are row ids times this, so that what only an old file knows fits in between."""

_PROGRESS_ROWS = 500
_SIGNATURE = {"session_id", "role", "content", "timestamp", "tool_name"}
_OF_MOVIEPILOT = {"message_uid", "provenance"}
_COLUMNS = (*FIELDS, "timestamp", "_compressed_summary")


def identity(path: Path) -> SourceIdentity:
    """Return the instance: message ids are ids of one database, so it is the database's path.

    An old session file belongs to the database of its home, whether or not there is one.
    """
    database = path.resolve()
    if there.is_dir(database):
        database = database / DATABASE
    elif database.suffix in legacy.SUFFIXES:
        folder = database.parent
        database = (folder.parent if folder.name == legacy.FOLDER else folder) / DATABASE
    home = database.parent
    profile = f" ({home.name})" if home.parent.name == "profiles" else ""
    return SourceIdentity(KIND, str(database), f"Hermes{profile}")


def recognises(path: Path) -> bool:
    """Tell whether a file or folder is Hermes', by names and a glimpse at what is inside."""
    if there.is_dir(path):
        return next(files(path), None) is not None
    if path.suffix in legacy.SUFFIXES:
        return legacy.recognises(path)
    return recognises_database(path)


def files(path: Path) -> Iterator[Path]:
    """Yield what to read of a home, of its profiles, or of a folder of old session files.

    Where a home has a database, its old files are read along with it and not by themselves.
    Backups of a database are not history of their own.
    """
    if not there.is_dir(path):
        yield path
        return
    for home in (path, *sorted(path.glob("profiles/*/"))):
        database = home / DATABASE
        if recognises_database(database):
            yield database
        else:
            yield from legacy.files(home)


def is_home(folder: Path) -> bool:
    """Tell whether the folder holds the program's database."""
    return there.is_file(folder / DATABASE) and recognises_database(folder / DATABASE)


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the person's own home of Hermes, its profiles with it."""
    default = home / ".hermes"
    if sys.platform == "win32" and env.get("LOCALAPPDATA"):
        default = Path(env["LOCALAPPDATA"]) / "hermes"
    root = Path(env.get("HERMES_HOME") or default)
    if there.is_dir(root):
        databases = (root / DATABASE, *sorted(root.glob(f"profiles/*/{DATABASE}")))
        yield places.found(KIND, root, "Hermes", size=places.size_of(*databases))


def recognises_database(path: Path) -> bool:
    """Tell whether a path is a Hermes database; the stores of MoviePilot look much like one."""
    if not is_sqlite(path):
        return False
    columns = glimpsed_columns(path, "messages")
    return columns >= _SIGNATURE and not columns >= _OF_MOVIEPILOT


def stat_paths(path: Path) -> tuple[Path, ...]:
    """Return the files whose size and time decide whether anything is new.

    New rows are in the log until a checkpoint moves them, so the database's own time stands
    still while it is written to.
    """
    if path.suffix in legacy.SUFFIXES:
        return (path,)
    old = legacy.files(path.parent) if path.name == DATABASE else ()
    return (path, path.with_name(path.name + "-wal"), *old)


def read(path: Path) -> Iterator[Record]:
    """Yield the sessions and messages of one database or one old session file.

    Memory: one row at a time and about 1 KB per session; see `foreign_sqlite` for the disk.

    Raises:
        SourceError: it cannot be copied, or has no table of messages.
    """
    if path.suffix in legacy.SUFFIXES:
        yield from _read_old_file(path)
        return
    try:
        with snapshot(path) as db:
            database = _Database(db, path)
            yield from database.records()
            if path.name == DATABASE:
                yield from _read_old_files(database, path)
    except apsw.Error as error:  # what damage the reading of rows did not get over
        raise SourceError(f"{path} is damaged: {error}", path=str(path)) from error


class _Database:
    """One database while it is read."""

    def __init__(self, db: apsw.Connection, path: Path) -> None:
        try:
            self._messages = Table(db, "messages")
            self.copies = Copies(db, self._messages)
            self.sessions = Sessions(_sessions_table(db))
        except SourceError as error:
            raise SourceError(f"{path} is no Hermes database: {error}", path=str(path)) from error
        self._kinds = {name: self.sessions.kind(name) for name in self.copies.sessions()}

    def records(self) -> Iterator[Record]:
        """Yield everything: what is damaged, the sessions, the messages in row order."""
        yield from self.copies.gaps
        titles = self._titles()
        yield from self.sessions.records(titles)
        for name in self.copies.sessions():
            if name not in self.sessions.known:  # its row is gone, or was never written
                title = titles.get(name)
                source = TitleSource.DERIVED if title else TitleSource.NONE
                yield SessionRecord(name, title=title, title_source=source)
        total = sum(self.copies.counts().values())
        turns = Turns()
        for done, placement in enumerate(self.copies.placements(), 1):
            yield from self._messages_of(placement, turns)
            if done % _PROGRESS_ROWS == 0:
                yield ReadTo(done, total)
        yield ReadTo(total, total)

    def _messages_of(self, placement: Placement, turns: Turns) -> Iterator[Record]:
        row = self._messages.row(placement.payload, _COLUMNS)
        if row is None:
            yield BadSourceRecord(placement.payload, "messages: the row cannot be read again")
            return
        fields = dict(zip(_COLUMNS, row.values, strict=True))
        place = Place(
            placement.session,
            self._kinds[placement.owner],
            placement.uid,
            placement.position * POSITION_STEP,
            instant(fields["timestamp"]),
            f"rowid:{placement.payload}",
            self.sessions.model(placement.owner),
            placement.state,
            placement.display_kind,
        )
        message, unknown = turns.read(fields, place)
        yield message
        yield from unknown

    def _titles(self) -> dict[str, str]:
        """Make titles for the sessions that have none, of the first rows that can give one."""
        found = {}
        for name in self.copies.sessions():
            known = self.sessions.known.get(name)
            if known is None or not known.titled:
                turns = Turns()
                for placement in self.copies.placements(name):
                    deque(self._messages_of(placement, turns), maxlen=0)
                    if name in turns.titles:
                        break
                if title := turns.title(name):
                    found[name] = title
        return found


def _sessions_table(db: apsw.Connection) -> Table | None:
    """The table of sessions; some databases have messages only."""
    found = db.execute(
        "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'sessions' AND rootpage"
    ).fetchone()
    return Table(db, "sessions") if found else None


def _read_old_file(path: Path) -> Iterator[Record]:
    database = Path(identity(path).instance)
    if recognises_database(database):
        with snapshot(database) as db:
            yield from _old_records(path, _Database(db, database))
    else:
        yield from _old_records(path, None)


def _read_old_files(database: _Database, path: Path) -> Iterator[Record]:
    counts = database.copies.counts()
    for old in legacy.files(path.parent):
        name = old.stem.removeprefix("session_")
        if name not in counts or legacy.at_most(old) > counts[name]:
            yield from _old_records(old, database)


def _old_records(path: Path, database: _Database | None) -> Iterator[Record]:
    counts = database.copies.counts() if database else {}
    for session in legacy.sessions_in(path):
        if isinstance(session, BadSourceRecord):
            yield session
            continue
        stored = database.copies.told_in(session.native_id) if database else []
        known = session.native_id in counts or (
            database is not None and session.native_id in database.sessions.known
        )
        if len(session.rows) <= len(stored):
            lacking = []
        elif stored:
            lacking = legacy.missing(stored, session.told())
        else:
            lacking = [(i, i + 1, 0) for i in range(len(session.rows))]
        turns = Turns()
        records: list[Record] = []
        uids = session.uids()
        for index, anchor, behind in lacking:
            row = session.rows[index]
            place = Place(
                session.native_id,
                SessionKind.INTERACTIVE,
                uids[index],
                anchor * POSITION_STEP + min(behind, POSITION_STEP - 1),
                session.at(row),
                f"{path.name}#{index}",
                _model(session.header),
                provenance=Provenance.LEGACY_SNAPSHOT,
            )
            message, unknown = turns.read(row, place)
            records += [message, *unknown]
        if not known:
            yield session.record(turns.title(session.native_id))
        yield from records


def _model(header: dict[str, object]) -> str | None:
    model = header.get("model")
    return model if isinstance(model, str) and model else None
