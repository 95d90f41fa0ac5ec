"""Whether the indexes really answer, and hold what they should."""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import msgspec

from core.errors import StoreCorruptError, StoreError
from core.index import tokenizer
from core.index.state import statuses
from core.search.census import count
from core.search.in_trash import NOWHERE_ELSE
from core.search.scope import one_of
from core.search.sql import Sql, both
from core.store import damage, keys, listing, migrations, tokenizer_probe, whereabouts
from core.store.errors import core_error
from core.store.index_state import counted_rows, status_of
from core.store.indexes import CJK, INDEXES, Index, table_exists
from core.store.keys import STATE_BITS, STATE_MASK
from core.types import IndexName, MessageState, StoreStatus
from core.upkeep_types import Finding

_PROBED_ROWS = 20
_WORD = re.compile(r"[^\W_]{3,}")


def check(db: apsw.Connection) -> list[Finding]:
    """Ask each index for a word it must hold, and compare ids and counts with the messages.

    Reads alone; under two seconds for a million messages. Damage that only the pages of an
    index show is found by the full check. `remember` keeps what was found.
    """
    findings = [verify_index(db, name) for name in INDEXES]
    return [*findings, _timed(db, damage.TITLES, _titles), *derived(db)]


def verify_index(db: apsw.Connection, name: IndexName) -> Finding:
    """Do the same for one index; the finding tells how long its MATCH took."""
    index = INDEXES[name]
    return _timed(db, name, lambda db: _checked(db, index))


def derived(db: apsw.Connection) -> list[Finding]:
    """Compare what triggers derive from messages and sessions with what it is derived from."""
    looks = {"message_keys": _keys, "message_counts": _counts, "session_counts": _listed}
    return [_timed(db, name, look) for name, look in looks.items()]


def remember(db: apsw.Connection, findings: Iterable[Finding]) -> None:
    """Keep in the store, in the caller's transaction, what was found of its parts last."""
    kept = last_checks(db) | {each.name: each for each in findings}
    db.execute(
        "INSERT INTO meta(key, value) VALUES (?, ?)"
        " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (damage.CHECKS, msgspec.json.encode(kept).decode()),
    )


def last_checks(db: apsw.Connection) -> dict[str, Finding]:
    """Return what was found last of each part, with the time; a look at one row."""
    stored = db.execute("SELECT value FROM meta WHERE key = ?", (damage.CHECKS,)).get
    return msgspec.json.decode(stored, type=dict[str, Finding]) if stored else {}


def status(db: apsw.Connection, path: Path) -> StoreStatus:
    """Return what the store holds and how its indexes stand; some milliseconds."""
    found = migrations.schema_version(db)
    too_new = f"its schema {found} is newer than {migrations.NEWEST}"
    shown = frozenset(MessageState) - {MessageState.SUPERSEDED, MessageState.TRASHED}
    return StoreStatus(
        path=str(path),
        bytes=_size(path),
        sessions=db.execute("SELECT count(*) FROM sessions WHERE trashed_at_ms IS NULL").get,
        messages=keys.count(db, states=shown) - _in_trash(db, shown),
        indexes=statuses(db),
        tokenizer=tokenizer.verify(tokenizer.locate()),
        sources=tuple(_sources(db)),
        read_only_reason=too_new if found > migrations.NEWEST else damage.broken(db.filename),
        warning=whereabouts.warning(path),
    )


_PAGES = "its pages are damaged and cannot be read"


def _timed(db: apsw.Connection, name: str, look: Callable[[apsw.Connection], Finding]) -> Finding:
    """Return a finding with its time; what SQLite says of a damaged part is a finding, too."""
    now_ms = time.time_ns() // 1_000_000
    try:
        found = look(db)
    except apsw.InterruptError:
        raise
    except apsw.Error as error:
        told = core_error(error, db.filename)
        if told is None:
            raise
        found = Finding(name, False, _PAGES if isinstance(told, StoreCorruptError) else str(told))
    return replace(found, at_ms=now_ms)


def _checked(db: apsw.Connection, index: Index) -> Finding:
    if not table_exists(db, index):
        return Finding(index.name, True, "not there: the CJK tokenizer has not been used yet")
    if index.name == CJK and not tokenizer_probe.is_available(db):
        return Finding(index.name, False, "cannot be asked: the CJK tokenizer does not load here")
    if index.name in damage.noted(db):
        return Finding(index.name, False, "a search found it damaged; the next write sets it aside")
    problem, match_ms = _asked(db, index)
    problems = [*([problem] if problem else []), *_wrong_ids(db, index)]
    if problems:
        return Finding(index.name, False, "; ".join(problems), match_ms=match_ms)
    found = status_of(db, index.name)
    held = f"{found.state}, {found.done:,} of {found.done + found.todo:,}"
    return Finding(index.name, True, held, match_ms=match_ms)


def _asked(db: apsw.Connection, index: Index) -> tuple[str, float | None]:
    """Really search for a word of one of the newest rows, and rank it where ranks are kept.

    Returns:
        What is wrong, empty for nothing, and how many ms the search took; None without a word
        to search for.
    """
    texts = db.execute(
        f"SELECT v.id, v.content || ' ' || v.tool_name FROM {index.view} AS v WHERE v.id IN"
        f" (SELECT id FROM {index.docsize} ORDER BY id DESC LIMIT ?)"
        " AND v.id NOT IN (SELECT id FROM index_queue WHERE index_name = ?)",
        (_PROBED_ROWS, index.name),
    ).fetchall()
    row_id, word = next(
        ((row, word) for row, text in texts if (word := _token(db, index, text)) is not None),
        (None, None),
    )
    if word is None:
        return "", None
    rank = f"bm25({index.name})" if index.detail == "full" else "0.0"
    began = time.perf_counter()
    hits = db.execute(
        f"SELECT {rank} FROM {index.name} WHERE {index.name} MATCH ? AND rowid = ?",
        (f'"{word}"', row_id),
    ).fetchall()
    match_ms = (time.perf_counter() - began) * 1000
    if not hits:
        return f"does not find a word that message {row_id} holds", match_ms
    if hits[0][0] is None:
        return "cannot rank: its counts are damaged", match_ms
    return "", match_ms


def _token(db: apsw.Connection, index: Index, text: Any) -> str | None:
    """Return a token that the index made of `text` and that a query can ask for alone."""
    name, *arguments = index.tokenizer
    tokens: Any = db.fts5_tokenizer(name, arguments)(
        str(text)[:4096].encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False
    )
    words = (word for found in tokens for word in found if len(word) > 1)
    return next((word for word in words if '"' not in word and "\0" not in word), None)


def _wrong_ids(db: apsw.Connection, index: Index) -> Iterator[str]:
    """Compare the ids it holds with those it should, but for what is known to be under way."""
    extra = db.execute(
        f"SELECT count(*) FROM {index.docsize} WHERE id NOT IN"
        f" (SELECT k.id FROM message_keys AS k WHERE {index.eligible_key('k')})"
        " AND id NOT IN (SELECT id FROM index_queue WHERE index_name = ?)",
        (index.name,),
    ).get
    if extra:
        yield f"holds {extra:,} rows that it should not"
    missing = db.execute(
        f"SELECT count(*) FROM message_keys AS k WHERE {index.eligible_key('k')}"
        f" AND k.id NOT IN (SELECT id FROM {index.docsize})"
    ).get
    found = status_of(db, index.name)
    if missing and found.state in ("ready", "settling"):
        yield f"lacks {missing:,} rows"
    held = db.execute(f"SELECT count(*) FROM {index.docsize}").get
    if held != counted_rows(db, index):
        yield f"counts {counted_rows(db, index):,} rows and holds {held:,}"


def _titles(db: apsw.Connection) -> Finding:
    name = "sessions_fts"
    wrong = db.execute(
        "SELECT (SELECT count(*) FROM sessions WHERE id NOT IN"
        " (SELECT id FROM sessions_fts_docsize)) + (SELECT count(*) FROM sessions_fts_docsize"
        " WHERE id NOT IN (SELECT id FROM sessions))"
    ).get
    if wrong:
        return Finding(name, False, f"{wrong:,} titles are missing or left over")
    title = db.execute(
        "SELECT title FROM sessions_fts_rows WHERE length(title) > 2 ORDER BY id DESC LIMIT 1"
    ).get
    word = _WORD.search(title or "")
    if word is not None:
        found = db.execute(
            "SELECT 1 FROM sessions_fts WHERE sessions_fts MATCH ? LIMIT 1", (f'"{word[0][:3]}"',)
        ).get
        if found is None:
            return Finding(name, False, "does not find a word of the newest title")
    return Finding(name, True, "holds every title")


def _keys(db: apsw.Connection) -> Finding:
    name = "message_keys"
    wrong = db.execute(
        "SELECT (SELECT count(*) FROM messages) - (SELECT count(*) FROM message_keys)"
    ).get
    if wrong:
        return Finding(name, False, f"has {abs(wrong):,} rows too {'few' if wrong > 0 else 'many'}")
    return Finding(name, True, "one for each message")


def _counts(db: apsw.Connection) -> Finding:
    name = "message_counts"
    counted: Any = db.execute("SELECT flags, n FROM message_counts WHERE n <> 0").fetchall()
    real: Any = db.execute(
        f"SELECT flags & {keys.COUNTED_MASK}, count(*) FROM message_keys GROUP BY 1"
    ).fetchall()
    if sorted(counted) != sorted(real):
        return Finding(name, False, "differ from the messages")
    return Finding(name, True, "equal to the messages")


def _listed(db: apsw.Connection) -> Finding:
    name = "session_counts"
    counted: Any = db.execute(
        "SELECT source_id, listed FROM session_counts WHERE listed <> 0 ORDER BY 1"
    ).fetchall()
    real: Any = db.execute(
        f"SELECT source_id, count(*) FROM sessions AS s WHERE {listing.is_listed('s')}"
        " GROUP BY 1 ORDER BY 1"
    ).fetchall()
    if counted != real:
        return Finding(name, False, "differ from the sessions")
    return Finding(name, True, "equal to the sessions")


def _sources(db: apsw.Connection) -> Iterator[dict[str, object]]:
    columns = ("kind", "instance", "display_name", "root", "last_run_at_ms", "sessions")
    for row in db.execute(
        "SELECT kind, instance, display_name, root, last_run_at_ms,"
        " (SELECT count(*) FROM sessions WHERE source_id = sources.id AND trashed_at_ms IS NULL)"
        " FROM sources ORDER BY kind, instance"
    ):
        yield dict(zip(columns, row, strict=True))


def _in_trash(db: apsw.Connection, states: frozenset[MessageState]) -> int:
    """Return how many messages of these states only sessions in the trash show."""
    listed = one_of(STATE_MASK, [STATE_BITS[state] for state in states])
    return count(db, both(NOWHERE_ELSE, Sql(listed)))


def _size(path: Path) -> int:
    """Return the bytes of the store and of its write-ahead log; neither is opened."""
    try:
        beside = path.with_name(path.name + "-wal")
        return path.stat().st_size + (beside.stat().st_size if beside.exists() else 0)
    except OSError as error:
        raise StoreError(f"{path} cannot be looked at: {error.strerror}") from error
