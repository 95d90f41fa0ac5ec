"""Finding out what of a store is damaged, and making anew what can be made from the messages."""

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import apsw

from core.errors import StoreCorruptError, StoreFullError
from core.index import backfill, health
from core.index.state import new_holder
from core.store import aside, damage, keys, listing, recipe
from core.store.connection import tokenizer_fingerprint, transaction
from core.store.index_state import statuses
from core.store.indexes import INDEXES
from core.types import IndexName, Progress
from core.upkeep import backup, operations
from core.upkeep.beside import beside
from core.upkeep_types import Actor, Report

_REASON = "before-repair"
_SOUND = "nothing is damaged"
_UNCHANGED = (
    "Nothing was changed; backscroll repair --salvage reads what can be read into a new store"
)


@dataclass(slots=True)
class Diagnosis:
    """What is wrong with a store: full-text indexes, derived tables, or the file itself.

    Each name has what is wrong with it in words; `structural` is empty for a sound file.
    """

    indexes: dict[str, str] = field(default_factory=dict)
    derived: dict[str, str] = field(default_factory=dict)
    structural: str = ""

    @property
    def is_sound(self) -> bool:
        """True when there is nothing to repair."""
        return not (self.indexes or self.derived or self.structural)


def diagnose(db: apsw.Connection) -> Generator[Progress, None, Diagnosis]:
    """Look at every page and every posting of the store, on a connection of its own.

    Nobody waits meanwhile: it only reads. Some 20 s for a million messages.
    """
    reader = recipe.connected(Path(db.filename), apsw.SQLITE_OPEN_READONLY)
    recipe.configure(reader, recipe.READER_CACHE, tokenizer=None)
    found = Diagnosis()
    with closing(reader):
        for name in damage.full_text_names(reader):
            told = yield from beside(reader, partial(damage.fault_in, name=name), name)
            if told:
                found.indexes[name] = told
        found.structural = yield from beside(reader, _table_problem, "the tables")
    for name in damage.noted(db):
        found.indexes.setdefault(name, "a search or a write found it damaged")
    if not found.structural:
        _compare(db, found)
    return found


def run(db: apsw.Connection, actor: Actor) -> Iterator[Progress | Report]:
    """Set damaged indexes aside and fill new ones; count anew what triggers derive.

    A snapshot is made before, where there is room for one. Searches and writes go on meanwhile.
    Stopped at any moment, the backfill goes on by itself later.

    Raises:
        StoreCorruptError: the file itself is damaged; `salvage.run` is for that. Nothing was done.
    """
    if damage.broken(db.filename):  # nothing can be written into the ledger either
        raise StoreCorruptError(f"{db.filename} is damaged. {_UNCHANGED}")
    with operations.recorded(db, "repair", {}, actor) as claim:
        found = yield from diagnose(db)
        if found.structural:
            raise StoreCorruptError(f"{db.filename} is damaged: {found.structural}. {_UNCHANGED}")
        if not found.is_sound:
            claim.receipt["snapshot"] = yield from _kept(db, actor)
            tables = _set_aside(db, found)
            if "message_keys" in found.derived:  # now the indexes can be compared with them
                again = Diagnosis()
                _compare(db, again)
                found.indexes |= again.indexes
                tables += _set_aside(db, again)
            claim.receipt |= {"damaged": found.indexes, "derived": found.derived, "aside": tables}
            claim.beat(db, at_once=True)
        names = _set_aside_names(db)
        for progress in backfill.run_sync(db, new_holder(), names, now=True):
            claim.beat(db)
            yield progress
        claim.outcome = _in_words(found, names)
    yield Report(claim.outcome, claim.receipt)


def _table_problem(db: apsw.Connection) -> str:
    """Return what is wrong with the pages of tables that are no index's."""
    behind = {
        f"{name}_{shadow}"
        for name in (*damage.full_text_names(db), *aside.set_aside_names(db))
        for shadow in damage.SHADOWS
    }
    rows = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")
    for table in ["sqlite_schema", *(str(name) for (name,) in rows if name not in behind)]:
        if told := damage.wrong_in(db, table):
            return told
    return ""


def _compare(db: apsw.Connection, found: Diagnosis) -> None:
    findings = health.check(db)
    has_keys = all(each.ok for each in findings if each.name == "message_keys")
    for finding in findings:
        if finding.name in INDEXES and not has_keys:
            continue
        told = None if finding.ok or finding.message.startswith("cannot") else finding.message
        if told is not None and (finding.name in INDEXES or finding.name == damage.TITLES):
            found.indexes.setdefault(finding.name, told)
        elif told is not None:
            found.derived[finding.name] = told


def _kept(db: apsw.Connection, actor: Actor) -> Generator[Progress, None, str]:
    """Make a snapshot; return its name, or why there is none."""
    name = ""
    try:
        for made in backup.make(db, _REASON, actor):
            if isinstance(made, Progress):
                yield made
            else:
                name = Path(made.path).name
    except StoreFullError as error:  # an index can be made anew without one
        return f"none: {error}"
    return name


def _set_aside(db: apsw.Connection, found: Diagnosis) -> list[str]:
    with transaction(db):
        fingerprint = tokenizer_fingerprint(db)
        tables = aside.set_aside(db, found.indexes, fingerprint)
        if "message_keys" in found.derived:
            keys.derive(db)
        elif "message_counts" in found.derived:
            keys.count_anew(db)
        if "session_counts" in found.derived:
            listing.count_anew(db)
    damage.forget(db)
    return tables


def _set_aside_names(db: apsw.Connection) -> tuple[IndexName, ...]:
    """Return the indexes that take the place of damaged ones and are not full yet."""
    return tuple(each.name for each in statuses(db) if each.reason in damage.REASONS)


def _in_words(found: Diagnosis, filled: tuple[IndexName, ...]) -> str:
    if found.is_sound:
        return f"filled {', '.join(filled)}, set aside before" if filled else _SOUND
    made = [f"set {name} aside and filled it anew" for name in found.indexes]
    return "; ".join([*made, *(f"counted {name} anew" for name in found.derived)])
