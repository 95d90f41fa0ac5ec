"""The narrow copy of each message that counting, filtering and time order read.

`message_keys` and `message_counts` are kept by triggers alone. The meaning of the bits is
stored in every store: new bits go to the end, none is ever moved.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import apsw

from core.types import MessageState, Origin, Role, SessionKind

HAS_CJK = 1 << 0  # bits of messages.text_flags
LONG = 1 << 1

ROLE_SHIFT, ROLE_MASK = 0, 0b11  # bits of message_keys.flags
STATE_SHIFT, STATE_MASK = 2, 0b111 << 2
ORIGIN_SHIFT, ORIGIN_MASK = 5, 0b111 << 5
KIND_SHIFT, KIND_MASK = 8, 0b111 << 8
LONG_FLAG = 1 << 11
HAS_CJK_FLAG = 1 << 12
COUNTED_MASK = ROLE_MASK | STATE_MASK | LONG_FLAG | HAS_CJK_FLAG  # as message_counts tells

ROLE_BITS = {role: bits << ROLE_SHIFT for bits, role in enumerate(Role)}
STATE_BITS = {state: bits << STATE_SHIFT for bits, state in enumerate(MessageState)}
ORIGIN_BITS = {origin: bits << ORIGIN_SHIFT for bits, origin in enumerate(Origin)}
KIND_BITS = {kind: bits << KIND_SHIFT for bits, kind in enumerate(SessionKind)}


def _case(column: str, bits: Mapping[Any, int]) -> str:
    branches = " ".join(f"WHEN '{name}' THEN {value}" for name, value in bits.items())
    return f"(CASE {column} {branches} END)"


def _counted(row: str) -> str:
    return (
        f"{_case(f'{row}.role', ROLE_BITS)} | {_case(f'{row}.state', STATE_BITS)}"
        f" | (({row}.text_flags & {LONG}) << 10) | (({row}.text_flags & {HAS_CJK}) << 12)"
    )


def _kind(row: str) -> str:
    kind = _case("kind", KIND_BITS)
    return f"(SELECT {kind} FROM sessions WHERE id = {row}.session_id)"


def flags_of(row: str) -> str:
    """Return SQL for message_keys.flags of `row`, an alias of a row of `messages`."""
    return f"{_counted(row)} | {_case(f'{row}.origin', ORIGIN_BITS)} | {_kind(row)}"


TRIGGERS = f"""
CREATE TRIGGER messages_id_is_fixed BEFORE UPDATE ON messages WHEN old.id <> new.id
BEGIN
  SELECT RAISE(ABORT, 'a message never changes its id');
END;
CREATE TRIGGER message_keys_ai AFTER INSERT ON messages
BEGIN
  INSERT INTO message_keys(id, session_id, at_ms, flags)
    VALUES (new.id, new.session_id, new.created_at_ms, {flags_of("new")});
  UPDATE message_counts SET n = n + 1 WHERE flags = {_counted("new")};
END;
CREATE TRIGGER message_keys_au AFTER UPDATE
  OF session_id, created_at_ms, role, state, origin, text_flags ON messages
BEGIN
  UPDATE message_keys
    SET session_id = new.session_id, at_ms = new.created_at_ms, flags = {flags_of("new")}
    WHERE id = old.id;
  UPDATE message_counts SET n = n - 1 WHERE flags = {_counted("old")};
  UPDATE message_counts SET n = n + 1 WHERE flags = {_counted("new")};
END;
CREATE TRIGGER message_keys_ad AFTER DELETE ON messages
BEGIN
  DELETE FROM message_keys WHERE id = old.id;
  UPDATE message_counts SET n = n - 1 WHERE flags = {_counted("old")};
END;
CREATE TRIGGER message_keys_kind AFTER UPDATE OF kind ON sessions WHEN old.kind <> new.kind
BEGIN
  UPDATE message_keys
    SET flags = (flags & ~{KIND_MASK}) | {_case("new.kind", KIND_BITS)}
    WHERE session_id = new.id;
END;
"""


def create(db: apsw.Connection) -> None:
    """Create a row of `message_counts` for all that it tells apart, and the triggers.

    They take the place of an earlier schema's.
    """
    texts = (0, LONG_FLAG, HAS_CJK_FLAG, LONG_FLAG | HAS_CJK_FLAG)
    told_apart = product(ROLE_BITS.values(), STATE_BITS.values(), texts)
    db.executemany(
        "INSERT INTO message_counts(flags, n) VALUES (?, 0) ON CONFLICT DO NOTHING",
        [(role | state | text,) for role, state, text in told_apart],
    )
    for name in re.findall(r"CREATE TRIGGER (\w+)", TRIGGERS):
        db.execute(f"DROP TRIGGER IF EXISTS {name}")
    db.execute(TRIGGERS)


def derive(db: apsw.Connection) -> None:
    """Make `message_keys` anew from the messages, in the caller's transaction.

    Reads every message's narrow columns: some seconds for a million.
    """
    db.execute("DELETE FROM message_keys")
    db.execute(
        "INSERT INTO message_keys(id, session_id, at_ms, flags)"
        f" SELECT m.id, m.session_id, m.created_at_ms, {flags_of('m')} FROM messages AS m"
    )
    count_anew(db)


def count_anew(db: apsw.Connection) -> None:
    """Make `message_counts` anew from `message_keys`, in the caller's transaction."""
    db.execute("UPDATE message_counts SET n = 0")
    db.execute(
        f"INSERT INTO message_counts(flags, n) SELECT flags & {COUNTED_MASK}, count(*)"
        " FROM message_keys WHERE true GROUP BY 1 ON CONFLICT(flags) DO UPDATE SET n = excluded.n"
    )


def count(
    db: apsw.Connection,
    *,
    roles: frozenset[Role] = frozenset(Role),
    states: frozenset[MessageState] = frozenset(MessageState),
    flags: int = 0,
) -> int:
    """Return how many messages have one of these roles and states; reads 96 rows.

    `flags` are LONG_FLAG, HAS_CJK_FLAG, both or neither: what all of them have.
    """
    return total(counts(db), roles=roles, states=states, flags=flags)


def counts(db: apsw.Connection) -> dict[int, int]:
    """Return how many messages there are by `flags & COUNTED_MASK`, without the zeros."""
    rows: Iterable[tuple[int, int]] = db.execute("SELECT flags, n FROM message_counts WHERE n <> 0")
    return dict(rows)


def total(
    counted: Mapping[int, int],
    *,
    roles: frozenset[Role] = frozenset(Role),
    states: frozenset[MessageState] = frozenset(MessageState),
    flags: int = 0,
) -> int:
    """Return what `count` returns, from `counts`."""
    wanted = {ROLE_BITS[role] | STATE_BITS[state] for role in roles for state in states}
    told = ROLE_MASK | STATE_MASK
    return sum(n for at, n in counted.items() if at & flags == flags and at & told in wanted)
