"""The common model: what every reader yields and the import stores.

A reader turns one file (or database, or export) into a stream of these records in the
source's own order. It knows no store. Whatever it cannot understand it counts instead of
dropping: `UnknownRecord` for a shape it does not know, `BadSourceRecord` for a broken one.
"""

from dataclasses import dataclass, field

from core.types import (
    MessageState,
    Origin,
    Provenance,
    Relation,
    Role,
    SessionKind,
    TimeQuality,
    TitleSource,
    ToolCall,
    ToolStatus,
)


@dataclass(frozen=True, slots=True)
class SourceIdentity:
    """One instance of a source.

    `instance` is '' where the source's ids are unique in the whole world (Claude Code, Codex,
    ChatGPT); else it tells instances apart (the database's path for Hermes, the named source
    for neutral files), so that equal ids of two places never meet. As a record it tells that
    what follows is of another instance than before.
    """

    kind: str
    instance: str = ""
    display_name: str = ""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session. A later record of the same `native_id` updates the fields that are not None."""

    native_id: str
    kind: SessionKind = SessionKind.INTERACTIVE
    parent_native_id: str | None = None
    relation: Relation | None = None
    evidence: str | None = None  # 'explicit' or 'heuristic'
    title: str | None = None
    title_source: TitleSource = TitleSource.NONE
    model: str | None = None
    cwd: str | None = None
    git_repo_root: str | None = None
    git_branch: str | None = None
    started_at_ms: int | None = None
    updated_at_ms: int | None = None
    archived: bool = False
    pinned: bool = False
    reset_cutoff_seq: int | None = None  # in the unit of `MessageRecord.position`
    end_reason: str | None = None
    metadata: str | None = None  # the source's own fields, as JSON
    channel: str | None = None  # where it was held: 'cli', 'feishu', 'telegram'
    deleted_at_source: bool = False  # its owner deleted it there on purpose
    project: str | None = None  # where its owner filed it there; later it is ours to move
    is_snapshot: bool = False  # one with an older `updated_at_ms` than is stored changes nothing


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """A message body and its place.

    `uid` is the source's own id of the message, or one derived from (role, content, ordinal).
    One that is `aligned` has a `uid` of this reading alone: where the order of what is said
    finds it among the session's stored messages, it is that message. A reader of such messages
    has `ALIGNS` and yields each session in one piece.
    `position` orders the message within its session (a byte offset, a row id, an ordinal on
    the path); it must grow in source order and stay the same on every reading. None appends.
    `content` is verbatim except that lone surrogates are U+FFFD; the bytes are at `raw_ref`.
    `as_of_ms` is the `updated_at_ms` of a session that is a snapshot: read after a younger one,
    a message that is known stays as it is.
    """

    session: str
    uid: str
    role: Role
    content: str
    origin: Origin
    position: int | None = None
    state: MessageState = MessageState.ACTIVE
    provenance: Provenance = Provenance.OBSERVED
    created_at_ms: int | None = None
    time_quality: TimeQuality = TimeQuality.NONE
    model: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    tool_name: str | None = None
    tool_status: ToolStatus | None = None
    media_refs: tuple[str, ...] = ()
    usage: str | None = None  # token counts as JSON, once per API message
    raw_ref: str | None = None  # 'offset:length' or 'rowid:n' within the file
    aligned: bool = False  # what the session has of the same words in this order comes first
    as_of_ms: int | None = None


@dataclass(frozen=True, slots=True)
class UnknownRecord:
    """A record of a type the reader does not know: kept where it is, counted by `type`."""

    type: str


@dataclass(frozen=True, slots=True)
class BadSourceRecord:
    """A broken record at 1-based `line` (or row); the reader went on after it."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Something worth telling about a record at `line` that was read and kept all the same.

    Line 0 is the file as a whole.
    """

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ReadTo:
    """Everything up to `offset` bytes (or rows) of `total` has been yielded."""

    offset: int
    total: int | None = None


@dataclass(frozen=True, slots=True)
class ReaderState:
    """What the reader needs to read on behind the end of this file, once it has grown.

    Yielded last, by readers that have `read_on`, which begins at the last `ReadTo`. It is kept
    in memory alone, with the file's hashes; `bytes` is about how much of it the state takes.
    """

    state: object = field(compare=False)
    bytes: int


class EarlierChangedError(Exception):
    """What `read_on` raises before its first record, where the new lines change old messages."""


@dataclass(frozen=True, slots=True)
class LegacyCursor:
    """Everything up to row `cursor` of a legacy snapshot has been yielded.

    It is stored in the transaction that stores those rows. Once `complete`, the file is never
    opened again.
    """

    cursor: int
    complete: bool = False


Record = (
    SourceIdentity
    | SessionRecord
    | MessageRecord
    | UnknownRecord
    | BadSourceRecord
    | Remark
    | ReadTo
    | ReaderState
    | LegacyCursor
)
