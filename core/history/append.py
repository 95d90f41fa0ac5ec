"""Storing what a reader yields, so that storing it again changes nothing.

A message is the same when source, uid and content hash are; any retry is harmless. All new
bodies of a batch go in by one statement, because FTS5 writes a segment for each.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import apsw

from core.history import absence, revise, snapshots
from core.history.align import aligned
from core.history.bodies import Body, Incoming, body, incoming
from core.history.existing import Existing, existing
from core.history.rows import value_lists
from core.history.tally import Tally
from core.history.tombstones import without_deleted
from core.history.upsert import upsert_sessions
from core.sources.records import MessageRecord, SessionRecord
from core.store import index_state
from core.types import MessageState


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of one source, in source order.

    `rewrites` tells that the source changes messages in place, so that a later text replaces
    the earlier one; otherwise the first text stays and a later one is a conflict. `moves` tells
    whether a stored message follows when its position changes; None: in a source that rewrites.
    """

    source_id: int
    sessions: list[SessionRecord] = field(default_factory=list)
    messages: list[MessageRecord] = field(default_factory=list)
    rewrites: bool = False
    moves: bool | None = None


@dataclass(slots=True)
class AppendCounts:
    """What became of a batch's messages.

    `changed` counts rewritten texts, changed states, and known bodies shown in one more
    session. A text stored beside the one that stays is a conflict, once.
    """

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    conflicts: int = 0


def append(db: apsw.Connection, batch: Batch) -> AppendCounts:
    """Store a batch in the caller's transaction.

    Sessions' counts and times follow; times come from the messages that have one. A session
    the user archived is live again when a younger message joins it. A new message costs some
    0.1 ms with its three indexes, a known one a quarter of that.

    Raises:
        StoreError: there are deletions to respect, but not the key to know them by.
    """
    batch = replace(batch, messages=aligned(db, batch.source_id, batch.messages))
    batch = without_deleted(db, batch)
    names = [record.session for record in batch.messages]
    rows = upsert_sessions(db, batch.source_id, batch.sessions, names)
    counts, tally = AppendCounts(), Tally()
    waiting = [incoming(record, rows[record.session]) for record in batch.messages]
    _number(db, waiting)
    while waiting:
        distinct, waiting = _first_of_each(waiting)
        _append_distinct(db, batch, distinct, counts, tally)
    tally.apply(db, rows.values())
    index_state.note_bulk(db, counts.new)
    return counts


def _append_distinct(
    db: apsw.Connection, batch: Batch, messages: list[Incoming], counts: AppendCounts, tally: Tally
) -> None:
    """Store messages of which no two share a uid, so that none changes what another meets."""
    known = existing(db, batch.source_id, messages)
    moves = batch.rewrites if batch.moves is None else batch.moves
    changed_at_ms = snapshots.changed_at(db, messages)
    fresh: list[Incoming] = []
    told: list[int] = []
    for message in messages:
        found = known.get((message.session_id, message.record.uid), ())
        same = next((e for e in found if e.content_hash == message.content_hash), None)
        shown = next((e for e in found if e.is_shown_here and e is not same), None)
        told += [each.id for each in (same, shown) if each is not None]
        is_placed = shown is not None or (same is not None and same.seq is not None)
        if not is_placed and any(e.is_cleared for e in found):
            counts.unchanged += 1
        elif is_placed and snapshots.is_outdated(message, changed_at_ms):
            if shown and not (same or snapshots.is_beginning(db, message, shown)):
                message.state, message.seq = MessageState.SUPERSEDED, shown.seq
                fresh.append(message)
            counts.unchanged += 1
        elif shown is not None and batch.rewrites:
            if not revise.rewrite(db, message, shown, same, tally):
                fresh.append(message)
            counts.changed += 1
        elif same is not None:
            if _meet_again(db, message, same, tally, moves, is_free=shown is None):
                counts.changed += 1
            else:
                counts.unchanged += 1
        elif shown is not None:
            message.state, message.seq = MessageState.SUPERSEDED, shown.seq
            fresh.append(message)
            counts.conflicts += 1
        else:
            fresh.append(message)
            counts.new += 1
    absence.note_told(db, told)
    insert(db, batch.source_id, fresh)
    for message in fresh:
        tally.place(message)


def _meet_again(
    db: apsw.Connection,
    message: Incoming,
    same: Existing,
    tally: Tally,
    moves: bool,
    *,
    is_free: bool,
) -> bool:
    """Take note of a body that is stored already; return whether that changed anything.

    `is_free` tells that the session does not show another text of this uid.
    """
    if same.seq is not None:
        return revise.follow(db, message, same, tally, moves=moves)
    if not is_free:
        return False
    if same.state == MessageState.SUPERSEDED:
        revise.adopt(db, message, same.id)
        tally.place(message)
    else:
        revise.join(db, message, same, tally)
    return True


_COLUMNS = ("source_id", "session_id", *Body._fields)
_INSERT = f"INSERT INTO messages({', '.join(_COLUMNS)}) VALUES "


def insert(db: apsw.Connection, source_id: int, messages: list[Incoming]) -> None:
    """Store new bodies and place each in its session."""
    before = _last_id(db)
    rows = [(source_id, m.session_id, *body(m)) for m in messages]
    for values in value_lists(rows):
        db.execute(f"{_INSERT}{values.text} ON CONFLICT DO NOTHING", values.bindings)
    if _last_id(db) - before == len(messages):
        _place_in_order(db, messages, before + 1)
    else:
        _place_by_uid(db, source_id, messages)


def _last_id(db: apsw.Connection) -> int:
    """Return the highest id that a message ever had."""
    return int(db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'messages'").get or 0)


def _place_in_order(db: apsw.Connection, messages: list[Incoming], first_id: int) -> None:
    """Place bodies that were all new, and so have ids without a gap, in their order."""
    rows = [(m.session_id, m.seq, id_) for id_, m in enumerate(messages, first_id)]
    for values in value_lists(rows):
        db.execute(
            "INSERT INTO message_placements(session_id, seq, message_id) VALUES " + values.text,
            values.bindings,
        )


def _place_by_uid(db: apsw.Connection, source_id: int, messages: list[Incoming]) -> None:
    """Place bodies of which some were stored already."""
    db.executemany(
        "INSERT INTO message_placements(session_id, seq, message_id) SELECT ?, ?, id FROM messages"
        " WHERE source_id = ? AND uid = ? AND content_hash = ? ON CONFLICT DO NOTHING",
        [(m.session_id, m.seq, source_id, m.record.uid, m.content_hash) for m in messages],
    )


def _number(db: apsw.Connection, messages: Iterable[Incoming]) -> None:
    """Give each message without a position the next one of its session."""
    highest: dict[int, int] = {}  # of this batch so far
    asked: set[int] = set()
    for message in messages:
        session = message.session_id
        if message.seq is None:
            if session not in asked:
                asked.add(session)
                highest[session] = max(highest.get(session, 0), _last_seq(db, session))
            message.seq = highest[session] + 1
        highest[session] = max(highest.get(session, message.seq), message.seq)


def _last_seq(db: apsw.Connection, session_id: int) -> int:
    found = db.execute(
        "SELECT max(seq) FROM message_placements WHERE session_id = ?", (session_id,)
    ).get
    return 0 if found is None else int(found)


def _first_of_each(messages: list[Incoming]) -> tuple[list[Incoming], list[Incoming]]:
    """Part the messages into the first of each uid and the others, in order."""
    first: dict[str, Incoming] = {}
    for message in messages:
        first.setdefault(message.record.uid, message)
    others = [m for m in messages if first[m.record.uid] is not m]
    return list(first.values()), others
