"""What the Store card says: parts of the file, proofs, who has it open; as pure words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QCoreApplication

from app import formatting
from app.text_ranges import one_line
from app.views.maintenance.index_words import when
from app.views.maintenance.size_bar import Part
from core.types import INDEX_NAMES
from core.upkeep_types import Erasure, OpenElsewhere, StoreSizes

_CONTEXT = "store"
_INKS = ("fill", "s2", "s3", "tint2")
_NAMED = frozenset({"messages", *INDEX_NAMES})


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check of the store came to; `words` name what was found, empty for well."""

    at_ms: int
    ok: bool
    is_full: bool = False
    words: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """Upkeep under way: its kind, what it does, how far it is (None: not known)."""

    kind: str
    what: str
    fraction: float | None = None
    note: str = ""
    is_stopping: bool = False


@dataclass(frozen=True, slots=True)
class StoreShown:
    """What the card shows. `states` are words beside the names of indexes that are not whole.

    `unproven`: there are snapshots, none of them restored and compared. `damage` is why the
    store is read-only, where its file is damaged.
    """

    bytes: int
    sizes: StoreSizes | None = None
    states: Mapping[str, str] = field(default_factory=dict)
    off: frozenset[str] = frozenset()
    checked: Checked | None = None
    snapshots: int = 0
    proven_at_ms: int | None = None
    newest_at_ms: int | None = None
    elsewhere: Sequence[OpenElsewhere] | None = None
    erasure: Erasure = field(default_factory=lambda: Erasure(0, 0, None))
    running: Running | None = None
    damage: str = ""


def summary(shown: StoreShown) -> str:
    """Return `quick check ok 09:40 · backup proven 28 Nov`."""
    return " · ".join((_check_words(shown.checked), _backup_words(shown)))


def _check_words(checked: Checked | None) -> str:
    if checked is None:
        return tr("not checked yet")
    if checked.is_full:
        words = tr("full check ok %1") if checked.ok else tr("full check found damage %1")
    else:
        words = tr("quick check ok %1") if checked.ok else tr("quick check found faults %1")
    return words.replace("%1", when(checked.at_ms))


def _backup_words(shown: StoreShown) -> str:
    if not shown.snapshots:
        return tr("no backup yet")
    if shown.proven_at_ms is None:
        return tr("backup not proven yet")
    return tr("backup proven %1").replace("%1", when(shown.proven_at_ms))


def parts(shown: StoreShown) -> tuple[Part, ...]:
    """Return the parts of the bar: tables and indexes by size, then what is no table."""
    sizes = shown.sizes
    if sizes is None:
        return ()
    named = sorted(sizes.parts.items(), key=lambda item: -item[1])
    known = [(name, count) for name, count in named if name in _NAMED]
    found, inks = [], iter(_INKS)
    for name, count in known:
        ink = "hatched" if name in shown.off else next(inks, "bar")
        found.append(Part(name, count, ink, shown.states.get(name) or _note(name)))
    rest = sum(count for name, count in named if name not in _NAMED)
    words = (
        (tr("other tables"), rest, "bar", "", False),
        (tr("set aside, damaged"), sizes.damaged_bytes, "hatched", "", False),
        (tr("free pages"), sizes.free_pages_bytes, "outline", "", False),
        ("-wal", sizes.wal_bytes, "outline", "", True),
    )
    found += [Part(*each) for each in words if each[1]]
    return tuple(found)


def _note(name: str) -> str:
    return {"messages": tr("text, kept once")}.get(name, "")


def room(sizes: StoreSizes | None) -> str:
    """Return how much compacting needs, and how much there is."""
    if sizes is None:
        return ""
    words = tr("Compact needs %1 free, %2 are free.")
    words = words.replace("%1", formatting.size(sizes.compact_needs_bytes))
    return words.replace("%2", formatting.size(sizes.disk_free_bytes))


def backups(shown: StoreShown) -> str:
    """Return how many snapshots there are and what they take, empty for none."""
    if not shown.snapshots or shown.sizes is None:
        return ""
    words = formatting.counted(shown.snapshots, tr("%1 snapshot"), tr("%1 snapshots"))
    words += ", " + formatting.size(shown.sizes.snapshots_bytes)
    if shown.newest_at_ms is not None:
        words += ", " + tr("newest %1").replace("%1", when(shown.newest_at_ms))
    return words + "."


def others(elsewhere: Sequence[OpenElsewhere] | None) -> str:
    """Return who else has the store open; nothing where that cannot be known."""
    if elsewhere is None:
        return tr("Who else has it open cannot be told on this system.")
    found = [each for each in elsewhere if not each.is_us]
    if not found:
        return tr("Open in no other program.")
    names = "; ".join(_program(each) for each in found[:3])
    if len(found) > 3:
        names += "; …"
    words = formatting.counted(
        len(found), tr("Also open in %1 program (%2)."), tr("Also open in %1 programs (%2).")
    )
    return words.replace("%2", names)


def _program(each: OpenElsewhere) -> str:
    words = tr("%1, pid %2, writing") if each.writes else tr("%1, pid %2, reading")
    return words.replace("%1", one_line(each.program)).replace("%2", str(each.pid))


def waiting(erasure: Erasure) -> str:
    """Return what was deleted but not yet erased, empty for nothing."""
    if not erasure.messages:
        return ""
    count = formatting.counted(
        erasure.messages,
        tr("%1 deleted message waits to be erased"),
        tr("%1 deleted messages wait to be erased"),
    )
    words = f"{count}, {formatting.size(erasure.bytes)}"
    if erasure.since_at_ms is not None:
        words += ", " + tr("since %1").replace("%1", when(erasure.since_at_ms))
    words += "."
    if erasure.blocked:
        words += " " + tr("Erase pending: %1").replace("%1", erasure.blocked)
    return words


def tr(text: str) -> str:
    """Translate a text of this module."""
    return QCoreApplication.translate(_CONTEXT, text)
