"""What must hold of a store after anything at all, read from its rows and not from our checks."""

import hashlib
from collections.abc import Iterator

import apsw

from core.index import backfill
from core.index.state import new_holder
from core.store import keys
from core.store.connection import transaction
from core.store.indexes import CJK, INDEXES, Index, table_exists
from core.store.migrations import schema_version
from core.types import Role

VISIBLE = "('active', 'compacted')"


def digest(db: apsw.Connection) -> str:
    """Return a hash that is equal for stores with equal messages in equal places."""
    return "".join(digests(db, ("messages",)))


_ROWS = {
    "messages": "SELECT o.kind, s.native_id,"
    " dense_rank() OVER (PARTITION BY s.id ORDER BY p.seq) AS place,"  # numbers may have gaps
    " m.uid, m.state, m.role, m.content,"
    " m.created_at_ms, m.tool_calls FROM message_placements AS p"
    " JOIN messages AS m ON m.id = p.message_id JOIN sessions AS s ON s.id = p.session_id"
    " JOIN sources AS o ON o.id = m.source_id ORDER BY 1, 2, 3, 4, 7",
    "sessions": "SELECT o.kind, o.instance, s.native_id, s.title, s.kind, s.message_count,"
    " s.user_turn_count, s.started_at_ms, s.last_active_at_ms, s.parent_native_id, s.relation,"
    " s.trashed_at_ms IS NULL, s.pinned_at_ms IS NULL"
    " FROM sessions AS s JOIN sources AS o ON o.id = s.source_id ORDER BY 1, 2, 3",
    "bodies": "SELECT uid, hex(content_hash), state, length(content) FROM messages ORDER BY 1, 2",
    "files": "SELECT path, size, offset, hex(head_hash), hex(tail_hash), state, bad_records"
    " FROM source_files ORDER BY path",
    "tombstones": "SELECT hex(session_mac), hex(message_mac) FROM tombstones ORDER BY 1, 2",
}


def digests(db: apsw.Connection, of: tuple[str, ...] = tuple(_ROWS)) -> list[str]:
    """Return one hash for each kind of rows, in their order."""
    found = []
    for name in of:
        hashed = hashlib.blake2b(digest_size=16)
        for row in db.execute(_ROWS[name]):
            hashed.update(repr(row).encode(errors="surrogatepass"))
        found.append(hashed.hexdigest())
    return found


def problems(db: apsw.Connection, *, with_postings: bool = True) -> list[str]:
    """Return all that is wrong with a store, in words; nothing for a sound one.

    `with_postings` has each index compared with the texts, where it holds all that it should.
    """
    found = [told for (told,) in db.execute("PRAGMA integrity_check") if told != "ok"]
    found += [f"foreign key {row}" for row in db.execute("PRAGMA foreign_key_check")]
    found += _wrong_keys(db)
    was_reset = _WAS_RESET if schema_version(db) >= _RESETS_SCHEMA else _HAS_CUTOFF
    miscounted = db.execute(_MISCOUNTED.format(was_reset=was_reset))
    found += [f"sessions miscounted: {row}" for row in miscounted]
    for index in INDEXES.values():
        if table_exists(db, index):
            found += _wrong_index(db, index, with_postings)
    if with_postings:
        found += _wrong_postings(db, "sessions_fts")
    return found


# Prompts are counted behind the last reset, where there was one.
_RESETS_SCHEMA = 5  # from here on a reset at place 0 is told from none
_HAS_CUTOFF = "s.reset_cutoff_seq <> 0"
_WAS_RESET = f"({_HAS_CUTOFF} OR s.own_cutoff_seq IS NOT NULL)"
_MISCOUNTED = f"""
SELECT s.native_id, s.message_count, s.user_turn_count FROM sessions AS s
 WHERE (s.message_count, s.user_turn_count) <> (
   SELECT count(*), coalesce(sum(m.role = 'user' AND m.origin = 'human' AND (NOT {{was_reset}}
     OR p.seq > s.reset_cutoff_seq)), 0)
     FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id
    WHERE p.session_id = s.id AND m.state IN {VISIBLE})
"""


def _wrong_keys(db: apsw.Connection) -> Iterator[str]:
    columns = "id, session_id, {}, {}"
    roles = " ".join(f"WHEN '{role}' THEN {bits}" for role, bits in keys.ROLE_BITS.items())
    narrow = columns.format("at_ms", f"flags & {keys.ROLE_MASK}")
    wide = columns.format("created_at_ms", f"CASE role {roles} END")
    for one, other, table in ((narrow, wide, "message_keys"), (wide, narrow, "messages")):
        against = {"message_keys": "messages", "messages": "message_keys"}[table]
        rows = db.execute(f"SELECT {one} FROM {table} EXCEPT SELECT {other} FROM {against}")
        yield from (f"{table} holds {row}, {against} does not" for row in rows)
    counted = dict(db.execute("SELECT flags, n FROM message_counts WHERE n <> 0"))
    recount = f"SELECT flags & {keys.COUNTED_MASK}, count(*) FROM message_keys GROUP BY 1"
    if counted != (really := dict(db.execute(recount))):
        yield f"message_counts says {counted}, the keys {really}"
    unplaced = "SELECT id FROM messages WHERE id NOT IN (SELECT message_id FROM message_placements)"
    yield from (f"message {row} has no place" for (row,) in db.execute(unplaced))


def held(db: apsw.Connection, index: Index) -> set[int]:
    """Return the ids that an index holds."""
    return {row for (row,) in db.execute(f"SELECT id FROM {index.docsize}")}


def eligible(db: apsw.Connection, index: Index) -> set[int]:
    """Return the ids that it should hold when it is complete."""
    rules = {
        "messages_fts": "true",
        "messages_fts_trigram": f"role <> '{Role.TOOL}'",
        CJK: f"(role <> '{Role.TOOL}' OR text_flags & {keys.HAS_CJK})",
    }
    rows = db.execute(
        f"SELECT id FROM messages WHERE state <> 'superseded' AND {rules[index.name]}"
    )
    return {row for (row,) in rows}


def _wrong_index(db: apsw.Connection, index: Index, with_postings: bool) -> Iterator[str]:
    state, cursor, high_water = db.execute(
        "SELECT state, cursor, high_water FROM index_state WHERE name = ?", (index.name,)
    ).get
    if state in ("detached", "stale"):
        return
    here, wanted = held(db, index), eligible(db, index)
    if extra := here - wanted:
        yield f"{index.name} holds {sorted(extra)[:5]}, which it should not"
    lacking = wanted - here
    if state == "building":
        lacking = {row for row in lacking if not cursor < row <= high_water}
    if lacking:
        yield f"{index.name} is {state} but lacks {sorted(lacking)[:5]}"
    if with_postings and here == wanted:
        yield from _wrong_postings(db, index.name)


def _wrong_postings(db: apsw.Connection, name: str) -> Iterator[str]:
    try:
        db.execute(f"INSERT INTO {name}({name}, rank) VALUES ('integrity-check', 1)")
    except apsw.Error as error:
        yield f"{name}: {error}"


def forget_holders(db: apsw.Connection) -> None:
    """Make the claims of processes that were killed as old as they are after a minute."""
    with transaction(db):
        for table in ("index_state", "operations", "jobs"):
            db.execute(f"UPDATE {table} SET heartbeat_at_ms = heartbeat_at_ms - 60000")


def finish(db: apsw.Connection) -> list[str]:
    """Let the backfill run to its end; return what is wrong then."""
    forget_holders(db)
    for _ in backfill.run_sync(db, new_holder()):
        pass
    states = dict(db.execute("SELECT name, state FROM index_state"))
    unready = [f"{name} stays {state}" for name, state in states.items() if state != "ready"]
    return unready + problems(db)
