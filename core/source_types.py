"""The values of live sources: watched places, who watches, and why a session is not seen.

Times are Unix UTC milliseconds, as in `core.types`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.types import BadRecord, ImportReport, Session


@dataclass(frozen=True, slots=True)
class WatchedPlace:
    """A file or folder whose changes are read as they happen.

    `kind` names its reader; '' lets each file be known by its content.
    """

    path: str
    kind: str
    added_at_ms: int
    paused: bool = False


@dataclass(frozen=True, slots=True)
class WatcherAt:
    """The one program that watches the places of a store: `window` or `command`."""

    holder: str
    program: str
    since_ms: int

    @property
    def pid(self) -> str:
        """The number of its process."""
        return self.holder.partition(".")[0]


WatchWay = Literal["native", "polling", "paused", "missing", "starting"]
"""`native`: the system tells of changes. `polling`: they are looked for. `missing`: it is gone."""


@dataclass(frozen=True, slots=True)
class PlaceState:
    """How one place is watched. `note` says why not as usual, '' where it is."""

    place: WatchedPlace
    way: WatchWay
    note: str = ""


@dataclass(frozen=True, slots=True)
class WatchState:
    """All watched places, in order; `held_by` is another program that watches them instead."""

    places: tuple[PlaceState, ...] = ()
    held_by: WatcherAt | None = None

    @property
    def watching(self) -> int:
        """How many places somebody watches now."""
        if self.held_by is not None:
            return sum(not each.place.paused for each in self.places)
        return sum(each.way in ("native", "polling") for each in self.places)


@dataclass(frozen=True, slots=True)
class Noticed:
    """What a watched change came to. `whole`: the place was looked through, not a change read.

    `trouble` says why it could not be read; it is tried again.
    """

    place: WatchedPlace
    report: ImportReport | None = None
    whole: bool = False
    trouble: str = ""


AbsenceKind = Literal[
    "visible",
    "archived",
    "kind",
    "empty",
    "lineage",
    "taken_back",
    "trashed",
    "deleted",
    "gone",
    "removed",
    "failed",
    "unreadable",
    "not_imported",
    "not_watched",
    "changed",
    "in_file",
    "nowhere",
]


@dataclass(frozen=True, slots=True)
class AbsenceFinding:
    """One reason why a session is, or is not, seen.

    `facts` are what the sentence is made of, by name, for whoever says it in other words:
    `kind` (of the session), `since_ms`, `parent`, `reason`, `line`, `path`, `place`, `operation`.
    """

    kind: AbsenceKind
    sentence: str
    next_step: str = ""
    session: Session | None = None
    path: str = ""
    facts: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Absence:
    """What was found out about an id, a title or a phrase, the surest first.

    `complete` is false where the look was cut short: then nothing is said not to be there, and
    `reason` says what cut it.
    """

    text: str
    findings: tuple[AbsenceFinding, ...]
    places: int
    files: int
    bytes: int
    elapsed_ms: float
    complete: bool = True
    reason: str = ""

    @property
    def is_visible(self) -> bool:
        """Whether what was asked for can be seen."""
        return any(each.kind == "visible" for each in self.findings)


@dataclass(frozen=True, slots=True)
class ReportedFile:
    """How a file of a source stands: what was read of it, and what could not be."""

    path: str
    state: Literal["reading", "done", "failed", "gone"]
    sessions: int
    messages: int
    bytes: int
    error: str = ""
    bad: tuple[BadRecord, ...] = ()
    unknown: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceReport:
    """A source of the store, file by file, what is wrong first.

    `files` are cut to a bound; `total` counts all of them. `unknown_records` are by type: the
    reader of `reader_version` does not know them.
    """

    kind: str
    instance: str
    name: str
    root: str
    reader_version: int
    is_removed: bool
    sessions: int
    messages: int
    files: tuple[ReportedFile, ...]
    total: int
    unknown_records: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnownSource:
    """A source of the store in numbers, as lists show it.

    `watch` is the watched place that holds it, where there is one.
    """

    id: int
    kind: str
    instance: str
    name: str
    root: str
    reader_version: int
    is_removed: bool
    last_run_at_ms: int | None
    sessions: int
    gone_sessions: int
    messages: int
    files: int
    failed: int
    gone_files: int
    bad_records: int
    new: int | None
    changed: int | None
    skipped: int | None
    unknown_records: Mapping[str, int] = field(default_factory=dict)
    watch: WatchedPlace | None = None


@dataclass(frozen=True, slots=True)
class StoredPlace:
    """What the store has of a place: its source, and the sessions and messages of its files.

    `failed` and `bad_records` are of its files too: one source may be read at several places.
    """

    source: KnownSource
    sessions: int
    messages: int
    failed: int = 0
    bad_records: int = 0
