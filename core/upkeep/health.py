"""The full check: everything that can be known of a store, on a private copy of it."""

import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import apsw

from core import paths
from core.index.health import check, derived, remember, verify_index
from core.store import aside, copying, damage, leftovers, recipe
from core.store.connection import tokenizer_fingerprint, transaction
from core.store.index_state import status_of
from core.store.indexes import CJK, INDEXES, Index, table_exists
from core.types import Progress
from core.upkeep import beside_store, operations
from core.upkeep.beside import beside
from core.upkeep_types import Actor, Finding, Report

__all__ = ["check", "full", "verify_index"]

_FOLDER = ".check-"


def full(
    db: apsw.Connection, actor: Actor, *, tokenizer: Path | None = None
) -> Iterator[Progress | Report]:
    """Check every page, every posting and every id of the store, on a copy of it.

    The copy is private (0600), takes as much space as the store, and is removed in every case;
    that of a check which was killed an hour ago or more goes before.
    Nobody waits for it: on the store itself the same would hold the write lock for 30 s an index.
    The last report's facts are `ok` and `checks`, a list of findings.

    Args:
        db: a connection to the store that may write: the ledger is told.
        actor: who has it done.
        tokenizer: the library of the CJK tokenizer, for its index to be checked as well.

    Raises:
        StoreFullError: there is not enough free space; it names both numbers.
    """
    folder = Path(db.filename).parent / f"{_FOLDER}{time.time_ns():x}"
    with operations.recorded(db, "check.full", {}, actor) as claim:
        for left in beside_store.leftovers(folder.parent):
            beside_store.remove_folder(left)
        paths.ensure_private_dir(folder)
        try:
            yield from copying.copy_store(db, folder / "copy.db")
            findings: list[Finding] = []
            for found in _of_copy(folder / "copy.db", tokenizer):
                if isinstance(found, Progress):
                    yield found
                else:
                    findings.append(found)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        now_ms = time.time_ns() // 1_000_000
        findings = [replace(each, at_ms=each.at_ms or now_ms) for each in findings]
        bad = [each for each in findings if not each.ok]
        with transaction(db):
            remember(db, findings)
        claim.outcome = _in_words(findings, bad)
        claim.receipt |= {"ok": not bad, "damaged": [each.name for each in bad]}
    checks = [{"name": f.name, "ok": f.ok, "message": f.message} for f in findings]
    yield Report(claim.outcome, {"ok": not bad, "checks": checks})


def _of_copy(path: Path, tokenizer: Path | None) -> Iterator[Progress | Finding]:
    copy = recipe.connected(path, apsw.SQLITE_OPEN_READWRITE)
    recipe.configure(copy, recipe.WRITER_CACHE, tokenizer=tokenizer)
    with closing(copy):
        yield (yield from beside(copy, _pages, "the file's pages"))
        for name in INDEXES:
            yield (yield from beside(copy, partial(_postings, index=INDEXES[name]), name))
        titles = partial(_verified, name=damage.TITLES, compare=True)
        yield (yield from beside(copy, titles, damage.TITLES))
        yield from (yield from beside(copy, derived, "what is derived"))


def _pages(db: apsw.Connection) -> Finding:
    """Check all pages but those of indexes set aside, which are known to be damaged.

    While an index is being dropped by pieces SQLite calls it damaged and looks no further, so
    then, too, it is asked table by table.
    """
    left_out = aside.set_aside_names(db)
    if left_out or any(leftovers.names(db, index) for index in INDEXES.values()):
        tables = [str(name) for (name,) in db.execute(_TABLES)]
        told = [damage.wrong_in(db, name) for name in tables if not damage.is_set_aside(name)]
    else:
        told = [damage.wrong_in(db)]
    if wrong := next(filter(None, told), ""):
        return Finding("pages", False, wrong)
    note = f", but for {', '.join(left_out)}, set aside as damaged" if left_out else ""
    return Finding("pages", True, f"every page is sound{note}")


_TABLES = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
    " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)


def _postings(db: apsw.Connection, index: Index) -> Finding:
    if not table_exists(db, index):
        return Finding(index.name, True, "not there: the CJK tokenizer has not been used yet")
    if index.name == CJK and tokenizer_fingerprint(db) is None:
        return Finding(index.name, False, "not checked: the CJK tokenizer does not load here")
    found = status_of(db, index.name)
    finding = _verified(db, index.name, compare=found.ready and not found.queued)
    asked = verify_index(db, index.name)
    if finding.ok and (not asked.ok or not found.ready):
        return asked
    return replace(finding, match_ms=asked.match_ms, at_ms=asked.at_ms)


def _verified(db: apsw.Connection, name: str, *, compare: bool) -> Finding:
    """Check every posting, against the texts too where the index is complete (rank 1)."""
    try:
        db.execute(
            f"INSERT INTO {name}({name}, rank) VALUES ('integrity-check', ?)", (int(compare),)
        )
    except apsw.InterruptError:
        raise
    except (apsw.CorruptError, apsw.SQLError) as error:
        return Finding(name, False, f"its postings are damaged: {error}")
    if compare:
        return Finding(name, True, "every posting agrees with its text")
    return Finding(name, True, "every posting is sound; not compared: it is not complete yet")


def _in_words(findings: list[Finding], bad: list[Finding]) -> str:
    if not bad:
        return f"all {len(findings)} checks passed"
    return "; ".join(f"{each.name}: {each.message}" for each in bad)
