"""Whether the indexes really answer, and hold what they should."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from core.errors import StoreError
from core.index import tokenizer
from core.index.state import statuses
from core.store import keys, migrations, tokenizer_probe
from core.store.errors import core_error
from core.store.index_state import counted_rows, status_of
from core.store.indexes import CJK, INDEXES, Index, table_exists
from core.types import MessageState, StoreStatus

_PROBED_ROWS = 20
_WORD = re.compile(r"[^\W_]{3,}")


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. `ok` with a message that begins "not" means: nothing to check."""

    name: str
    ok: bool
    message: str


def check(db: apsw.Connection) -> list[Finding]:
    """Ask each index for a word it must hold, and compare ids and counts with the messages.

    Reads alone; under two seconds for a million messages. Damage that only the pages of an
    index show is found by the full check.
    """
    findings = []
    for index in INDEXES.values():
        try:
            findings.append(_checked(db, index))
        except apsw.InterruptError:
            raise
        except apsw.Error as error:
            told = core_error(error, db.filename)
            if told is None:
                raise
            findings.append(Finding(index.name, False, str(told)))
    return [*findings, _titles(db), _keys(db), _counts(db)]


def status(db: apsw.Connection, path: Path) -> StoreStatus:
    """Return what the store holds and how its indexes stand; some milliseconds."""
    found = migrations.schema_version(db)
    too_new = f"its schema {found} is newer than {migrations.NEWEST}"
    shown = frozenset(MessageState) - {MessageState.SUPERSEDED}
    return StoreStatus(
        path=str(path),
        bytes=_size(path),
        sessions=db.execute("SELECT count(*) FROM sessions").get,
        messages=keys.count(db, states=shown),
        indexes=statuses(db),
        tokenizer=tokenizer.verify(tokenizer.locate()),
        sources=tuple(_sources(db)),
        read_only_reason=too_new if found > migrations.NEWEST else None,
    )


def _checked(db: apsw.Connection, index: Index) -> Finding:
    if not table_exists(db, index):
        return Finding(index.name, True, "not there: the CJK tokenizer has not been used yet")
    if index.name == CJK and not tokenizer_probe.is_available(db):
        return Finding(index.name, False, "cannot be asked: the CJK tokenizer does not load here")
    problems = [*_unanswered(db, index), *_wrong_ids(db, index)]
    if problems:
        return Finding(index.name, False, "; ".join(problems))
    found = status_of(db, index.name)
    return Finding(
        index.name, True, f"{found.state}, {found.done:,} of {found.done + found.todo:,}"
    )


def _unanswered(db: apsw.Connection, index: Index) -> Iterator[str]:
    """Really search for a word of one of the newest rows, and rank it where ranks are kept."""
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
        return
    rank = f"bm25({index.name})" if index.detail == "full" else "0.0"
    hits = db.execute(
        f"SELECT {rank} FROM {index.name} WHERE {index.name} MATCH ? AND rowid = ?",
        (f'"{word}"', row_id),
    ).fetchall()
    if not hits:
        yield f"does not find a word that message {row_id} holds"
    elif hits[0][0] is None:
        yield "cannot rank: its counts are damaged"


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


def _sources(db: apsw.Connection) -> Iterator[dict[str, object]]:
    columns = ("kind", "instance", "display_name", "root", "last_run_at_ms", "sessions")
    for row in db.execute(
        "SELECT kind, instance, display_name, root, last_run_at_ms,"
        " (SELECT count(*) FROM sessions WHERE source_id = sources.id)"
        " FROM sources ORDER BY kind, instance"
    ):
        yield dict(zip(columns, row, strict=True))


def _size(path: Path) -> int:
    """Return the bytes of the store and of its write-ahead log; neither is opened."""
    try:
        beside = path.with_name(path.name + "-wal")
        return path.stat().st_size + (beside.stat().st_size if beside.exists() else 0)
    except OSError as error:
        raise StoreError(f"{path} cannot be looked at: {error.strerror}") from error
