"""Sorting rows read from pages into the tables of a new store, and making that one whole."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any

import apsw

from core import settings
from core.history.bodies import VISIBLE
from core.store import attachment, keys, listing, recipe, turns
from core.store.connection import tokenizer_fingerprint
from core.store.indexes import CJK, INDEXES
from core.types import Origin, Progress, Role
from core.upkeep.hashes import is_whole
from core.upkeep.pages import Pages, Row, Value

ROWID_TABLES = (
    "sources",
    "source_files",
    "sessions",
    "messages",
    "trashed_messages",
    "gone_messages",
    "legacy_imports",
    "tombstones",
    "saved_searches",
    "operations",
)
KEYED_TABLES = (
    "message_placements", "session_files", "watched_places", "cleared_places", "settings", "meta",
    "jobs",
)  # fmt: skip
_BY_MESSAGE = "message_placements_by_message"
# Columns that came with later schemas.
_ADDED = {"sessions": 12, "source_files": 1, "operations": 6, "jobs": 2}
_TYPES: dict[str, type | tuple[type, ...]] = {
    "INTEGER": int, "TEXT": str, "BLOB": bytes, "REAL": (float, int),
}  # fmt: skip
_SETTINGS = frozenset(setting.key for setting in settings.ALL)
_AT_ONCE = 1_000
_RANGES = 1_000


class Rescue:
    """Takes rows, page by page, into the new store that `db` has open.

    A row goes to the table whose pages it lies on; where what leads there is damaged, to the
    one whose columns it fits. Messages that do not agree with their hash are left out.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._columns = {name: _columns(db, name) for name in (*ROWID_TABLES, *KEYED_TABLES)}
        self._waiting: dict[str, list[Sequence[Value]]] = {}
        self._places: dict[int, str] | None = None
        self._found: Counter[str] = Counter()
        self._merged: Counter[str] = Counter()
        self._broken = 0
        db.execute("PRAGMA foreign_keys = OFF").fetchall()
        db.execute("CREATE TEMP TABLE known(id INTEGER PRIMARY KEY, at_ms INTEGER)")
        self._triggers = _without_triggers(db)

    def take(self, pages: Pages, number: int) -> None:
        """Take the rows on one page."""
        if self._places is None:
            self._places = _places(pages)
        place = self._places.get(number)
        for row in pages.rows(number):
            self._sort(row, place)

    def store(self) -> None:
        """Store what was taken so far."""
        with recipe.immediate(self._db):
            for name, rows in self._waiting.items():
                self._found[name] += self._insert(name, rows)
        self._waiting.clear()

    def merge(self, old: apsw.Connection) -> Iterator[Progress]:
        """Add what a snapshot has and the new store lacks, the settings that are missing too."""
        for name in (*ROWID_TABLES, *KEYED_TABLES):
            named = [column for column, *_ in _columns(old, name)]
            if not named:
                continue
            rows: Iterable[tuple[Any, ...]] = old.execute(f"SELECT {', '.join(named)} FROM {name}")
            rows = iter(rows)
            while part := list(islice(rows, _AT_ONCE)):
                with recipe.immediate(self._db):
                    self._merged[name] += self._insert(name, part, named)
                yield Progress(self._merged.total(), None, "rows", "reading the snapshot")

    def finish(self) -> dict[str, Any]:
        """Make the store whole: stand-ins for what others name, counts, triggers; tell the loss."""
        db = self._db
        with recipe.immediate(db):
            lost: list[tuple[int, int | None]] = db.execute(
                "SELECT id, at_ms FROM known WHERE id NOT IN (SELECT id FROM messages) ORDER BY id"
            ).fetchall()  # type: ignore[assignment]
            stand_ins = _stand_in(db)
            _complete_placements(db)
            _drop_dangling(db)
            _recount(db)
            for sql in self._triggers:
                db.execute(sql)
            db.execute("INSERT INTO sessions_fts(sessions_fts) VALUES ('rebuild')")
            keys.derive(db)
            listing.count_anew(db)
            db.execute(
                "UPDATE sqlite_sequence SET seq = max(seq, (SELECT coalesce(max(id), 0)"
                " FROM known)) WHERE name = 'messages'"
            )
            db.execute("DROP TABLE temp.known")
        db.execute("PRAGMA foreign_keys = ON").fetchall()
        times = [at_ms for _, at_ms in lost if at_ms is not None]
        return {
            "tables": dict(self._found),
            "from_snapshot": dict(+self._merged),
            "lost_messages": len(lost),
            "lost_ids": _ranges([row for row, _ in lost])[:_RANGES],
            "lost_from_ms": min(times, default=None),
            "lost_until_ms": max(times, default=None),
            "rows_that_disagreed": self._broken,
            "stand_ins": stand_ins,
        }

    def _sort(self, row: Row, place: str | None) -> None:
        values = row.values
        if place is not None:
            name: str | None = place
            if place == _BY_MESSAGE and len(values) == 3:
                name, values = "message_placements", (values[1], values[2], values[0])
        else:
            name = self._named(row)
        if name == "message_keys" and row.rowid is not None and len(values) == 4:
            self._known(row.rowid, values[2])
        elif name in self._columns and self._fits(name, row.rowid, values):
            self._keep(name, row.rowid, values)

    def _named(self, row: Row) -> str | None:
        """Return the table that a row of unknown place belongs to, None for none or several."""
        count = len(row.values)
        if row.rowid is None:
            is_setting = count == 2 and row.values[0] in _SETTINGS
            return "settings" if is_setting else None
        if count == 4 and all(isinstance(v, int) for v in (row.values[1], row.values[3])):
            return "message_keys"
        fitting = (n for n in ROWID_TABLES if self._fits(n, row.rowid, row.values))
        return next(fitting, None)

    def _fits(self, name: str, rowid: int | None, values: Sequence[Value]) -> bool:
        columns = self._columns[name]
        if not len(columns) - _ADDED.get(name, 0) <= len(values) <= len(columns):
            return False
        if name in ROWID_TABLES and (rowid is None or rowid < 1 or values[0] is not None):
            return False
        start = 1 if name in ROWID_TABLES else 0
        pairs = zip(columns[start:], values[start:], strict=False)
        return all(
            value is None and not is_needed if value is None else isinstance(value, _TYPES[kind])
            for (_, kind, is_needed), value in pairs
        )

    def _keep(self, name: str, rowid: int | None, values: Sequence[Value]) -> None:
        kept = values if rowid is None else (rowid, *values[1:])
        if name == "messages":
            self._known(rowid or 0, values[13])
            if not is_whole(values):
                self._broken += 1
                return
        self._waiting.setdefault(name, []).append(kept)

    def _known(self, row: int, at_ms: Value) -> None:
        self._db.execute("INSERT INTO known VALUES (?, ?) ON CONFLICT DO NOTHING", (row, at_ms))

    def _insert(
        self, name: str, rows: Sequence[Sequence[Value]], named: Sequence[str] | None = None
    ) -> int:
        before = self._db.total_changes()
        for count, alike in groupby(rows, key=len):
            columns = (named or [column for column, *_ in self._columns[name]])[:count]
            marks = ", ".join("?" * count)
            self._db.executemany(
                f"INSERT INTO {name}({', '.join(columns)}) VALUES ({marks}) ON CONFLICT DO NOTHING",
                list(alike),
            )
        return self._db.total_changes() - before


def begin_indexes(db: apsw.Connection) -> None:
    """Have every index filled by the backfill, in the caller's transaction."""
    for index in INDEXES.values():
        if index.name != CJK:
            attachment.start_building(db, index, None)
    fingerprint = tokenizer_fingerprint(db)
    if fingerprint is not None:
        attachment.attach(db, fingerprint)


def _columns(db: apsw.Connection, name: str) -> list[tuple[str, str, bool]]:
    rows = db.execute('SELECT name, type, "notnull" FROM pragma_table_info(?)', (name,))
    return [(str(column), str(kind), bool(needed)) for column, kind, needed in rows]


def _places(pages: Pages) -> dict[int, str]:
    """Return which table each page belongs to, as far as the pages above it can be read."""
    found: dict[int, str] = {}
    for number in pages.below(1):
        found[number] = "sqlite_schema"
        for row in pages.rows(number):
            kind, name, _, root, *_ = (*row.values, None, None, None, None)
            if kind in ("table", "index") and isinstance(root, int) and root > 1:
                found |= dict.fromkeys(pages.below(root), str(name))
    return found


def _without_triggers(db: apsw.Connection) -> list[str]:
    """Drop every trigger and return how they are made again: rows come in no order at all."""
    found = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in found:
        db.execute(f"DROP TRIGGER {name}")
    return [str(sql) for _, sql in found]


def _stand_in(db: apsw.Connection) -> int:
    """Make a session, and a source, for messages whose own are lost; return how many sessions."""
    db.execute(
        "INSERT INTO sources(id, kind, instance, root, display_name, reader_version)"
        " SELECT DISTINCT source_id, 'jsonl', 'salvaged-' || source_id, '', 'salvaged', 1"
        " FROM (SELECT source_id FROM messages UNION SELECT source_id FROM sessions)"
        " WHERE source_id NOT IN (SELECT id FROM sources)"
    )
    db.execute(
        "INSERT INTO sessions(id, source_id, native_id, started_at_ms, last_active_at_ms)"
        " SELECT session_id, min(source_id), 'salvaged-' || session_id, min(created_at_ms),"
        " max(created_at_ms) FROM messages"
        " WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id"
    )
    return db.changes()


def _complete_placements(db: apsw.Connection) -> None:
    """Show each message at least where it lives, behind what is shown there."""
    db.execute(
        "DELETE FROM message_placements WHERE message_id NOT IN (SELECT id FROM messages)"
        " OR session_id NOT IN (SELECT id FROM sessions)"
    )
    db.execute(
        "DELETE FROM cleared_places WHERE message_id NOT IN (SELECT id FROM messages)"
        " OR session_id NOT IN (SELECT id FROM sessions)"
    )
    db.execute(
        "INSERT INTO message_placements(session_id, seq, message_id)"
        " SELECT m.session_id, m.id + (SELECT coalesce(max(p.seq), 0) FROM message_placements AS p"
        " WHERE p.session_id = m.session_id), m.id FROM messages AS m"
        " WHERE m.id NOT IN (SELECT message_id FROM message_placements)"
        " AND m.state <> 'superseded' ORDER BY m.id ON CONFLICT DO NOTHING"
    )


def _drop_dangling(db: apsw.Connection) -> None:
    """Drop rows that name others which are lost: how far a lost source's file was read, say."""
    for table, row, *_ in db.execute("PRAGMA foreign_key_check").fetchall():
        db.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
    db.execute("UPDATE operations SET state = 'unknown', holder = NULL WHERE state = 'running'")


def _recount(db: apsw.Connection) -> None:
    states = ", ".join(f"'{state}'" for state in sorted(VISIBLE))
    shown = (
        "SELECT count(*) FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id"
        f" WHERE p.session_id = sessions.id AND m.state IN ({states})"
    )
    turn = (
        f"m.role = '{Role.USER}' AND m.origin = '{Origin.HUMAN}' AND p.seq > {turns.ACTIVE_BEHIND}"
    )
    db.execute(
        f"UPDATE sessions SET message_count = ({shown}), user_turn_count = ({shown} AND {turn})"
    )


def _ranges(ids: list[int]) -> list[list[int]]:
    """Return runs of ids that follow each other: the first and the last of each."""
    runs: list[list[int]] = []
    for each in ids:
        if runs and runs[-1][1] == each - 1:
            runs[-1][1] = each
        else:
            runs.append([each, each])
    return runs
