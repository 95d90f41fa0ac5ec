"""Setting a damaged index aside: an empty one takes its place, and its pages wait to be dropped.

FTS5 can neither empty nor drop an index whose pages are damaged enough, and renaming it fails
as well where it cannot be opened: so it leaves the schema, and its tables get other names.
"""

import json
import time
from collections.abc import Iterable

import apsw

from core.store import attachment, damage, indexes
from core.store.indexes import CJK, INDEXES


def set_aside(db: apsw.Connection, names: Iterable[str], fingerprint: str | None) -> list[str]:
    """Put an empty index in the place of each damaged one, in the caller's write transaction.

    The damaged ones keep their pages under the name `<index>_damaged_<n>`. The index of titles
    is filled at once, the others are the backfill's work. `fingerprint` is that of the
    connection's tokenizer: without one the CJK index waits until a program has it.

    Returns:
        The names the damaged tables have now.
    """
    found = []
    for name in names:
        if name not in damage.full_text_names(db):
            continue
        base = damage.STALE.sub("", name)
        db.execute(_FORGET_CHECK, {"path": f"$.{base}", "key": damage.CHECKS})
        if base == name:
            _drop_triggers(db, name)
        found.append(_renamed(db, name, base))
        if base != name:
            continue
        if name == damage.TITLES:
            _refill_titles(db)
        else:
            _begin_again(db, name, fingerprint)
    return found


def tell_ledger(db: apsw.Connection, names: Iterable[str], tables: Iterable[str]) -> None:
    """Write into the ledger, in the caller's transaction, that the program did this by itself."""
    now_ms = time.time_ns() // 1_000_000
    indexes_named = sorted(names)
    db.execute(
        "INSERT INTO operations(kind, argument_fingerprint, token, state, started_at_ms,"
        " ended_at_ms, outcome, actor, arguments, receipt)"
        " VALUES ('repair', '', '', 'succeeded', :now, :now, :outcome, 'self-check', :of, :tables)",
        {
            "now": now_ms,
            "outcome": f"{', '.join(indexes_named)}: damaged, set aside to be filled again",
            "of": json.dumps({"indexes": indexes_named}),
            "tables": json.dumps({"set_aside": list(tables)}),
        },
    )


def set_aside_names(db: apsw.Connection) -> tuple[str, ...]:
    """Return the indexes that lie damaged in the store, to be dropped by the next compact."""
    rows = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
    tables = [str(name) for (name,) in rows if damage.is_set_aside(str(name))]
    return tuple(dict.fromkeys(damage.SHADOW.sub("", name) for name in tables))


def drop_set_aside(db: apsw.Connection) -> tuple[str, ...]:
    """Take the damaged tables out of the schema, in the caller's write transaction.

    To be followed by VACUUM at once: DROP would read their pages and fail, so they are left
    for it, which copies what the schema names and nothing else.

    Returns:
        The indexes that were dropped.
    """
    found = set_aside_names(db)
    tables = [
        t for name in found for t in (name, *(f"{name}_{shadow}" for shadow in damage.SHADOWS))
    ]
    if tables:
        _forget_tables(db, tables)
    return found


_FORGET_CHECK = "UPDATE meta SET value = json_remove(value, :path) WHERE key = :key"
"""What was found of the index by the last check is no word on the one that takes its place."""


def _drop_triggers(db: apsw.Connection, name: str) -> None:
    if name == damage.TITLES:
        for suffix in ("ai", "ad", "au"):
            db.execute(f"DROP TRIGGER IF EXISTS {damage.TITLES}_{suffix}")
    else:
        indexes.drop_triggers(db, _index(name))


def _renamed(db: apsw.Connection, name: str, base: str) -> str:
    taken = {str(each) for (each,) in db.execute("SELECT name FROM sqlite_schema")}
    numbers = (n for n in range(1, 1 << 30) if f"{base}_damaged_{n}_data" not in taken)
    new = f"{base}_damaged_{next(numbers)}"
    # ALTER TABLE opens the index, which one that is damaged enough refuses: so the index itself
    # is taken out of the schema, and the tables that were behind it are ordinary ones then.
    _forget_tables(db, [name])
    for shadow in damage.SHADOWS:
        if damage.exists(db, f"{name}_{shadow}"):
            db.execute(f"ALTER TABLE {name}_{shadow} RENAME TO {new}_{shadow}")
    return new


def _forget_tables(db: apsw.Connection, tables: list[str]) -> None:
    """Take tables out of the schema without looking at their pages."""
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    try:
        db.pragma("writable_schema", "ON")
        db.executemany("DELETE FROM sqlite_schema WHERE tbl_name = ?", [(t,) for t in tables])
        version = int(db.pragma("schema_version"))
        db.pragma("schema_version", version + 1)  # so that other connections read it anew
        db.pragma("writable_schema", "RESET")
    finally:
        db.pragma("writable_schema", "OFF")
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)


def _begin_again(db: apsw.Connection, name: str, fingerprint: str | None) -> None:
    index = _index(name)
    db.execute("DELETE FROM index_queue WHERE index_name = ?", (name,))
    if name == CJK and fingerprint is None:
        attachment.detach(db, damage.REASON)
        return
    indexes.create_table(db, index)
    attachment.start_building(db, index, fingerprint if name == CJK else None)
    db.execute(
        "UPDATE index_state SET reason = ? WHERE name = ? AND state = 'building'",
        (damage.REASON, name),
    )


def _refill_titles(db: apsw.Connection) -> None:
    db.execute(indexes.TITLES_TABLE)
    db.execute("INSERT INTO sessions_fts(rowid, title) SELECT id, title FROM sessions_fts_rows")
    db.execute(indexes.TITLES_TRIGGERS)


def _index(name: str) -> indexes.Index:
    return next(index for index in INDEXES.values() if index.name == name)
