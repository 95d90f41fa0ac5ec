"""The values that cross layers: frozen, plain, without behaviour of their own.

Times are Unix UTC milliseconds (`*_at_ms`), text offsets are Unicode characters.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


class Role(StrEnum):
    """Who speaks in a message."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class Origin(StrEnum):
    """Where a message's text really comes from; decides titles and ranking."""

    HUMAN = "human"
    MODEL = "model"
    TOOL = "tool"
    INJECTED = "injected"
    SYNTHETIC = "synthetic"


class MessageState(StrEnum):
    """Whether a message still belongs to what its session shows."""

    ACTIVE = "active"
    COMPACTED = "compacted"
    REWOUND = "rewound"
    OFF_BRANCH = "off_branch"
    HIDDEN = "hidden"
    SUPERSEDED = "superseded"
    TRASHED = "trashed"


class ToolStatus(StrEnum):
    """How a tool call ended, as far as the record tells."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    PENDING = "pending"
    UNKNOWN = "unknown"


class PlanStatus(StrEnum):
    """How far a step of a plan is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"


class SessionKind(StrEnum):
    """What started a session."""

    INTERACTIVE = "interactive"
    CRON = "cron"
    SUBAGENT = "subagent"
    TOOL = "tool"
    KANBAN = "kanban"


class Relation(StrEnum):
    """How a session relates to its parent."""

    CONTINUATION = "continuation"
    BRANCH = "branch"
    FORK = "fork"
    SUBAGENT = "subagent"
    RESET = "reset"


class TimeQuality(StrEnum):
    """How a message's time is known."""

    EXACT = "exact"
    SESSION = "session"
    LOCAL_NAIVE = "local_naive"
    FILE_MTIME = "file_mtime"
    NONE = "none"


class TitleSource(StrEnum):
    """Who gave a session its title."""

    USER = "user"
    MODEL = "model"
    DERIVED = "derived"
    NONE = "none"


class Provenance(StrEnum):
    """Whether a message was seen as it happened or copied from a later snapshot."""

    OBSERVED = "observed"
    LEGACY_SNAPSHOT = "legacy_snapshot"


SearchPath = Literal["fts5", "cjk", "fts5+cjk", "trigram", "like", "fts5_or", "title", "empty"]
Sort = Literal["relevance", "newest", "oldest"]
IndexName = Literal["messages_fts", "messages_fts_trigram", "messages_fts_cjk"]

INDEX_NAMES: tuple[IndexName, ...] = ("messages_fts", "messages_fts_trigram", "messages_fts_cjk")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call an assistant message makes; `arguments` is the source's own text (often JSON).

    `arguments_length` is the whole length of arguments that were cut, else None. `result` is
    what came of it where the source keeps that with the call and not in a record of its own;
    `result_length` is the whole length of one that was cut, else None.
    """

    id: str | None
    name: str
    arguments: str
    status: ToolStatus = ToolStatus.UNKNOWN
    arguments_length: int | None = None
    result: str = ""
    result_length: int | None = None


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a plan that a model made, as the call tells it."""

    text: str
    status: PlanStatus


@dataclass(frozen=True, slots=True)
class Session:
    """A session as lists and headers show it.

    `ref` is the stable name in JSON and links: the native id where unambiguous, else
    `source/native_id`. `id` is the row of this store and never leaves it. `trashed_at_ms` tells
    since when it is in the trash; what shows sessions shows none that are. `gone_at_ms` tells
    since when its source no longer has it. `user_turn_count` is of the active segment: messages
    with a `seq` above `reset_cutoff_seq`. `channel` is where it was held (`cli`, `feishu`).
    `program` is what its source is called where it was read: one kind is read of several programs.
    """

    id: int
    ref: str
    source: str
    native_id: str
    kind: SessionKind
    title: str
    title_source: TitleSource
    model: str | None
    cwd: str | None
    git_repo_root: str | None
    git_branch: str | None
    started_at_ms: int | None
    last_active_at_ms: int | None
    message_count: int
    user_turn_count: int
    parent_ref: str | None = None
    relation: Relation | None = None
    archived_at_ms: int | None = None
    pinned_at_ms: int | None = None
    end_reason: str | None = None
    trashed_at_ms: int | None = None
    reset_cutoff_seq: int = 0
    channel: str | None = None
    gone_at_ms: int | None = None
    own_project: str | None = None
    told_project: str | None = None
    program: str = ""

    @property
    def project(self) -> str:
        """Where the user moved the session, else its source filed it, else where it ran, or ''."""
        if filed := self.own_project or self.told_project:
            return filed
        place = (self.git_repo_root or self.cwd or "").rstrip("/\\")
        return place.replace("\\", "/").rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class Message:
    """One message at its place in a session.

    `number` is its 1-based position among the session's visible messages. `content` may be
    cut to a display cap; then `truncated` is true and `content_length` is the whole length.
    `gone` tells that its source no longer has it.
    Recall caps the rest as well: `reasoning_length` is the whole length of reasoning that was
    cut, else None, and `more_tool_calls` counts the calls that were left out.
    """

    id: int
    uid: str
    session_id: int
    seq: int
    number: int
    role: Role
    origin: Origin
    state: MessageState
    content: str
    content_length: int
    truncated: bool
    created_at_ms: int | None
    time_quality: TimeQuality
    model: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    tool_name: str | None = None
    tool_status: ToolStatus | None = None
    media_refs: tuple[str, ...] = ()
    reasoning_length: int | None = None
    more_tool_calls: int = 0
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive visible messages of one session, oldest first.

    `before` and `after` count the visible messages not loaded on each side. `anchor_id` is the
    message the window is centred on, or None when it was asked for by position.
    """

    session: Session
    messages: tuple[Message, ...]
    before: int
    after: int
    anchor_id: int | None = None


@dataclass(frozen=True, slots=True)
class Bookends:
    """The first and the last messages of a session, oldest first, and how many there are."""

    opening: tuple[Message, ...]
    resolution: tuple[Message, ...]
    total: int


@dataclass(frozen=True, slots=True)
class SessionPage:
    """One page of a session list; `next` is the token of the following page, or None."""

    sessions: tuple[Session, ...]
    next: str | None
    total: int


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """What a session list is narrowed to; empty means everything that is listed by default."""

    sources: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    text: str = ""
    since_ms: int | None = None
    until_ms: int | None = None
    include_archived: bool = False
    include_hidden_kinds: bool = False
    sort: Literal["last_active", "started", "messages"] = "last_active"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question to the search. `since_ms` is inclusive, `until_ms` exclusive.

    `after` is the `next` of an earlier answer: the page that follows it, in the store as it
    was then; it goes before `offset`. `inside_words` finds terms within longer words too.
    `everything` leaves nothing out and asks no index: every message is read to its end, with
    what was taken back, hidden or trashed, and with reasoning; words are found inside words.
    """

    query: str
    limit: int = 20
    offset: int = 0
    sort: Sort = "relevance"
    roles: tuple[Role, ...] = ()
    sources: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None
    include: frozenset[str] = frozenset()  # rewound, hidden, tool, trash
    deadline_s: float = 3.0
    after: str | None = None
    inside_words: bool = False
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that matches. `marks` are character ranges of `snippet`, in order, disjoint."""

    message_id: int
    session_id: int
    message: str
    session: str
    source: str
    role: Role
    state: MessageState
    origin: Origin
    created_at_ms: int | None
    title: str
    snippet: str
    marks: tuple[tuple[int, int], ...]
    score: float | None
    path: SearchPath


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """What one index holds. `coverage` is done / (done + todo), 1.0 for an empty store.

    `rate_rows_s` is of the last 30 seconds, None in the first five of a run and when none runs.
    `paused` is true where the user stopped it, alone or with all others; `queued` counts changes
    that wait for a detached index; `worker` is the process that works on the indexes now.
    `stuck`: there is work that this process could do or sees done, and nothing moves.
    """

    name: IndexName
    state: Literal["ready", "building", "settling", "detached", "stale"]
    coverage: float
    done: int
    todo: int
    cursor: int
    last_moved_at_ms: int | None
    reason: str
    rate_rows_s: float | None = None
    paused: bool = False
    stuck: bool = False
    queued: int = 0
    worker: int | None = None

    @property
    def eta_s(self) -> float | None:
        """Seconds of work left at the last rate seen; None while that is not known."""
        return self.todo / self.rate_rows_s if self.todo and self.rate_rows_s else None

    @property
    def ready(self) -> bool:
        """True when the index may answer for every row it should hold.

        An index that is settling holds them all already: only writing to it is slower.
        """
        return self.state in ("ready", "settling") and self.todo == 0


@dataclass(frozen=True, slots=True)
class SearchStep:
    """One path that was tried, or not, and what came of it."""

    path: SearchPath
    understood: str
    hits: int | None
    elapsed_ms: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """An answer with its path: what answered, why, over how much, and whether it is whole.

    `inside_words` counts further messages that hold the words inside longer ones only; None
    where that is not offered or could not be counted in time. `legacy_complete` is false while
    a snapshot is being moved in, so that what is not found may be still outside.
    """

    query: str
    understood: str
    repairs: tuple[str, ...]
    search_path: SearchPath
    why: str
    elapsed_ms: float
    complete: bool
    reason: str | None
    total_hits: int
    total_is_exact: bool
    ranked_scope: int | None
    messages_searched: int
    not_searched: Mapping[str, int]
    index_status: Mapping[str, IndexStatus]
    hits: tuple[Hit, ...]
    title_matches: tuple[Session, ...] = ()
    steps: tuple[SearchStep, ...] = ()
    next: str | None = None
    inside_words: int | None = None
    legacy_complete: bool = True


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to go on typing: the text to insert, how it is shown, and how many it stands for.

    `count` is of messages for a role, of sessions for all else, None where it is not known.
    """

    text: str
    shown: str
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What the text at the cursor could become, the likeliest first.

    The characters from `start` to `end` are replaced by the text of the choice taken.
    """

    start: int
    end: int
    items: tuple[Choice, ...]


RecallMode = Literal["discover", "read", "scroll", "browse"]
RecallDetail = Literal["adaptive", "full"]


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A question to recall; what is given decides the mode, the first of these that fits.

    `session` and `around` (a message's uid): scroll. `session`: read. `query`: discover.
    Nothing: browse. `current_session` is the session that asks: what it still has before it
    is not told to it again. `exclude_sessions` leaves out those lineages, at most 20. `active`
    reads and scrolls only in what was said since the session was last reset.
    """

    query: str = ""
    session: str | None = None
    around: str | None = None
    window: int = 5
    limit: int = 3
    sort: Sort = "relevance"
    detail: RecallDetail = "adaptive"
    roles: tuple[Role, ...] = (Role.USER, Role.ASSISTANT)
    sources: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None
    exclude_sessions: tuple[str, ...] = ()
    current_session: str | None = None
    deadline_s: float = 3.0
    active: bool = False


@dataclass(frozen=True, slots=True)
class RecallMatch:
    """Why a session is among the results: a message of it, or its title.

    `role` is None and `snippet` the title when the title matches; `message` is then the
    session's first message, None where there is none. `marks` are ranges of `snippet`.
    """

    message: str | None
    role: Role | None
    snippet: str
    marks: tuple[tuple[int, int], ...]
    created_at_ms: int | None
    model: str | None


@dataclass(frozen=True, slots=True)
class RecallResult:
    """One session of an answer, with as much of it as its mode shows.

    `opening` and `resolution` are its first and last messages, `messages` what is between or
    around the anchor; no message is in two of them. `before` and `after` count the visible
    messages on each side of `messages` (for read: `after` is what is left out between `opening`
    and `resolution`, `before` what an active segment leaves out ahead of it). `lineage` is the
    ref of the oldest session of its lineage; `link` names the session and the anchor.
    """

    session: Session
    lineage: str
    link: str
    match: RecallMatch | None = None
    opening: tuple[Message, ...] = ()
    messages: tuple[Message, ...] = ()
    resolution: tuple[Message, ...] = ()
    before: int = 0
    after: int = 0
    is_whole: bool = False  # opening, window and resolution are there, not the anchor alone
    preview: str = ""


@dataclass(frozen=True, slots=True)
class RecallAnswer:
    """What recall answers, with the path that led to it.

    `search` is the search behind a discovery (its hits are in `results`), else None.
    `left_out` counts lineages found but not shown, by reason: current_lineage, excluded,
    hidden_kind, beyond_limit. `warnings` are sentences: an anchor found in a descendant,
    a cut list. `hint` says what to try when nothing was found. `legacy_complete` as in a search.
    """

    mode: RecallMode
    results: tuple[RecallResult, ...]
    complete: bool
    reason: str | None
    elapsed_ms: float
    index_status: Mapping[str, IndexStatus]
    search: SearchResult | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    hint: str = ""
    legacy_complete: bool = True


@dataclass(frozen=True, slots=True)
class Progress:
    """How far long work has come. `total` is None while it is not known; `unit` names both."""

    done: int
    total: int | None
    unit: Literal["bytes", "messages", "rows", "files", "steps"]
    what: str = ""
    messages: int = 0


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that could not be read: where, and why in words. Nothing else was lost."""

    path: str
    line: int
    reason: str


UNCHANGED = "unchanged"
"""The reason of a file that was skipped since it is as it was when it was read."""


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file of an import."""

    path: str
    outcome: Literal["new", "changed", "skipped", "failed"]
    sessions: int = 0
    messages: int = 0
    reason: str | None = None
    bad_records: tuple[BadRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did. `new` and `changed` count messages, `skipped` and `failed` files.

    `unchanged` of the skipped are as they were when they were read. `sessions_without_messages`
    are not listed anywhere: sessions that were told and have none, files in which nobody spoke.
    """

    new: int
    changed: int
    skipped: int
    failed: int
    files: tuple[FileReport, ...]
    unknown_records: Mapping[str, int] = field(default_factory=dict)
    conflicts: int = 0
    unchanged: int = 0
    sessions_without_messages: int = 0


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A place on this machine that history can be imported from."""

    kind: str
    path: str
    name: str
    sessions: int | None
    size_bytes: int
    importable: bool
    reason: str | None = None


TokenizerState = Literal[
    "verified", "found", "missing", "wrong_architecture", "wrong_hash", "unusable", "refused"
]
"""`found`: not tried yet. `wrong_hash`: it cuts texts otherwise than expected, or the file is not
the one that was verified. `unusable`: no library, cut short, or not this tokenizer. `refused`: by
the operating system, or because others could have put it there."""


@dataclass(frozen=True, slots=True)
class TokenizerStatus:
    """What is known of the CJK tokenizer of this process.

    `reason` says in words what was found, `next_step` what can be done, empty for nothing.
    `built_for` is the machine it is made for, `sha256` that of the file, in hexadecimal digits.
    """

    path: str | None
    loads: bool
    acceptance: bool
    fingerprint: str | None
    version: str | None
    reason: str
    state: TokenizerState = "missing"
    next_step: str = ""
    built_for: str | None = None
    sha256: str | None = None
    load_ms: float | None = None
    sqlite_version: str = ""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """What the store holds and how its indexes stand.

    `warning` says why the place it lies in is a risk, empty where it is none.
    """

    path: str
    bytes: int
    sessions: int
    messages: int
    indexes: tuple[IndexStatus, ...]
    tokenizer: TokenizerStatus
    sources: tuple[Mapping[str, object], ...]
    read_only_reason: str | None = None
    warning: str = ""
