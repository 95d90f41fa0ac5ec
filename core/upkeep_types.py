"""The values of upkeep that cross layers: what would go, what was kept, what was done.

Times are Unix UTC milliseconds (`*_at_ms`). Nothing here holds text of a message.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Actor = Literal["you", "command", "schedule", "agent", "self-check"]
"""Who had an operation done: the window's user, a command, a job, an agent, the program itself."""

OperationState = Literal["running", "succeeded", "failed", "pending", "unknown"]
JobState = Literal["scheduled", "running", "paused", "completed"]
RunStatus = Literal["ok", "error", "skipped"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One line of the ledger: an action with effects, claimed before it began.

    `pending` has done its work but for something it waits for (a reader that is open, say);
    `unknown` was running when its process died, and nobody has looked since what came of it.
    `receipt` tells in numbers and names what changed.
    """

    id: int
    kind: str
    arguments: Mapping[str, object]
    actor: Actor
    state: OperationState
    token: str
    started_at_ms: int
    ended_at_ms: int | None = None
    outcome: str = ""
    receipt: Mapping[str, object] = field(default_factory=dict)
    verified_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """Scheduled upkeep. `schedule` is `delay:…`, `every:…`, `at:…` or `cron:…`, as typed."""

    id: str
    kind: str
    schedule: str
    payload: Mapping[str, object]
    state: JobState
    last_status: RunStatus | None = None
    last_error: str | None = None
    run_count: int = 0
    max_runs: int | None = None
    last_fired_at_ms: int | None = None
    next_fire_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """What may go by age: sessions not active for more than `days`. 0 days: nothing ever.

    `sources` are kinds of sources; empty means all.
    """

    days: int = 0
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MonthOfSessions:
    """How much was last active in one month of local time, and how much of it would go."""

    year: int
    month: int
    going_sessions: int
    going_bytes: int
    staying_sessions: int
    staying_bytes: int


@dataclass(frozen=True, slots=True)
class RetentionPreview:
    """What a rule would move to the trash now: exactly this, if `apply` is given `token`.

    `bytes` are of the texts that would go. `cutoff_at_ms` is the first moment that stays.
    The exclusions count sessions older than it that stay all the same. `needs_confirmation`
    is true where more than a fifth of all messages would go; `refused` is a sentence where
    nothing may go now (the clock jumped, say), else empty.
    """

    rule: RetentionRule
    token: str
    cutoff_at_ms: int
    sessions: int
    messages: int
    bytes: int
    oldest_at_ms: int | None
    newest_at_ms: int | None
    kept_pinned: int
    kept_running: int
    kept_by_lineage: int
    kept_without_time: int
    all_messages: int
    needs_confirmation: bool
    refused: str
    months: tuple[MonthOfSessions, ...] = ()


@dataclass(frozen=True, slots=True)
class TrashItem:
    """A session in the trash, or one message of a session (`message` is its uid)."""

    session: str
    title: str
    source: str
    message: str | None
    messages: int
    bytes: int
    trashed_at_ms: int
    expires_at_ms: int
    operation_id: int | None


@dataclass(frozen=True, slots=True)
class Trash:
    """What the trash holds, the latest first. `total` counts items beyond those listed."""

    items: tuple[TrashItem, ...]
    total: int
    messages: int
    bytes: int
    next_expiry_at_ms: int | None
    undoable: int | None
    """The operation whose effect "undo" would take back: the latest that is still here whole."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """Texts that were deleted, but whose bytes may still lie in files until the next purge."""

    messages: int
    bytes: int
    since_at_ms: int | None
    blocked: str = ""
    """Why the last purge could not finish (a reader is open), else empty."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A backup of the store. `proved_at_ms`: when it was last restored elsewhere and compared."""

    path: str
    reason: str
    created_at_ms: int
    bytes: int
    schema: int
    sessions: int
    messages: int
    rolling_hash: str
    proved_at_ms: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PurgePreview:
    """What a purge would do now.

    `snapshots` are those it deletes, `folders` the names of damaged and replaced stores, which
    go with it. `needed_bytes` must be free for a while; others cannot write for about `lock_s`
    seconds. `not_now` says why it would not be done unless asked for at once.
    """

    waiting: Erasure
    snapshots: tuple[Snapshot, ...]
    folders: tuple[str, ...]
    folder_bytes: int
    needed_bytes: int
    free_bytes: int
    lock_s: int
    others: tuple["OpenElsewhere", ...] = ()
    not_now: str = ""


@dataclass(frozen=True, slots=True)
class OpenElsewhere:
    """Another program that has the store open. `is_us` is true for this process itself."""

    pid: int
    program: str
    writes: bool
    is_us: bool = False


@dataclass(frozen=True, slots=True)
class StoreSizes:
    """Where a store's bytes are. `parts` are bytes by table or index, the largest first.

    `compact_needs_bytes` must be free beside the store for `compact`.
    """

    parts: Mapping[str, int]
    free_pages_bytes: int
    wal_bytes: int
    snapshots_bytes: int
    damaged_bytes: int
    disk_free_bytes: int
    compact_needs_bytes: int


@dataclass(frozen=True, slots=True)
class SourceTrouble:
    """What of a file could not be read: the record at `line`, or with 0 the file."""

    path: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source of the store, how its files stand now, and what the last import made of it.

    That is `new` and `changed` in messages, `skipped` in files; None where none told.
    """

    kind: str
    name: str
    root: str
    last_run_at_ms: int | None
    files: int
    new: int | None
    changed: int | None
    skipped: int | None
    failed: int
    bad_records: int
    troubles: tuple[SourceTrouble, ...] = ()
    unknown_records: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. `ok` with a message that begins "not" means: nothing to check.

    `match_ms` is what a real MATCH took, where one was made; `at_ms` is when that was.
    """

    name: str
    ok: bool
    message: str
    match_ms: float | None = None
    at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What finished upkeep says last: in words, and in numbers and names for programs."""

    outcome: str
    facts: Mapping[str, object] = field(default_factory=dict)
    state: Literal["succeeded", "pending"] = "succeeded"
