"""OpenCode's sessions: a row of a database or an old file, and what their messages add to it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from core.sources.headline import derived_title
from core.sources.instants import instant
from core.sources.json_value import json_value
from core.sources.loose import Json, identifier, json_text, mapping, text
from core.sources.opencode.messages import Parts, Place, model_of, records
from core.sources.records import MessageRecord, Record, SessionRecord, UnknownRecord
from core.sources.uids import Uids
from core.types import MessageState, Origin, Relation, Role, SessionKind, TitleSource

_PLACEHOLDER = re.compile(r"(New|Child) session - \d{4}-")
_KEPT = ("slug", "version", "share_url", "agent", "cost")

POSITIONS_A_MS = 1024
MOST_MS = 1 << 52


def position(at: int | None, ordinal: int, row: int) -> int:
    """Return the place of the `ordinal`-th message of one time; by its row where it has none.

    Made of the time, so that it stays the same whatever the program deletes before it. Two
    numbers a message: what it adds beside the message comes right behind it.
    """
    if at is None:
        return max(0, min(row, MOST_MS)) * 2
    return at * POSITIONS_A_MS + 2 * min(ordinal, POSITIONS_A_MS // 2 - 1)


def sort_key(value: object) -> int | None:
    """Return the number by which a time orders messages, or None for what is no time."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < MOST_MS:
        return int(value)
    return instant(value)[0]


@dataclass(frozen=True, slots=True)
class Revert:
    """From where on a session was taken back: a message, or a part within it."""

    message: str | None = None
    part: str | None = None


def revert_of(value: object) -> Revert:
    """Return what a session's mark says, given as JSON text or as what that means."""
    mark = mapping(json_value(value) if isinstance(value, str) else value)
    return Revert(text(mark, "messageID"), text(mark, "partID"))


def session_record(native_id: str, fields: Json, worktree: str | None = None) -> SessionRecord:
    """Return the session that a row tells, or an old file by the names of a row's columns."""
    parent = identifier(fields.get("parent_id"))
    parent = parent if parent != native_id else None
    title = text(fields, "title")
    if title is not None and _PLACEHOLDER.match(title):
        title = None
    model = fields.get("model")
    model = json_value(model) if isinstance(model, str) else model
    kept = {name: fields[name] for name in _KEPT if isinstance(fields.get(name), str | int | float)}
    return SessionRecord(
        native_id,
        kind=SessionKind.SUBAGENT if parent else SessionKind.INTERACTIVE,
        parent_native_id=parent,
        relation=Relation.SUBAGENT if parent else None,
        evidence="explicit" if parent else None,
        title=title,
        title_source=TitleSource.MODEL if title else TitleSource.NONE,
        model=text(
            mapping(json_value(model) if isinstance(model, str) else model), "id", "modelID"
        ),
        cwd=text(fields, "directory"),
        git_repo_root=worktree,
        started_at_ms=instant(fields.get("time_created"))[0],
        updated_at_ms=instant(fields.get("time_updated"))[0],
        archived=instant(fields.get("time_archived"))[0] is not None,
        metadata=json_text(kept) if kept else None,
    )


@dataclass(slots=True)
class Told:
    """One session while its messages are read in order.

    What its row does not tell is taken from them: a title from the first prompt, the model.
    """

    record: SessionRecord
    revert: Revert = Revert()
    _uids: Uids = field(init=False)
    _is_reverted: bool = False
    _markers: set[str] = field(default_factory=set)
    _prompt: str | None = None
    _answer: str | None = None
    _model: str | None = None

    def __post_init__(self) -> None:
        self._uids = Uids(self.record.native_id)

    def message(
        self,
        native_id: str | None,
        message: Json,
        parts: list[tuple[str | None, Json]],
        position: int,
        at: tuple[object, str],
    ) -> Iterator[Record]:
        """Yield the records of a message; `parts` are (id, part), `at` its time and raw_ref."""
        is_cut = native_id is not None and native_id == self.revert.message
        self._is_reverted |= is_cut and self.revert.part is None
        kept, taken = parts, []
        if is_cut and self.revert.part is not None and not self._is_reverted:
            ids = [part_id for part_id, _ in parts]
            cut = ids.index(self.revert.part) if self.revert.part in ids else len(ids)
            kept, taken = parts[:cut], parts[cut:]
        state = MessageState.REWOUND if self._is_reverted else MessageState.ACTIVE
        words = (text(message, "role") or "", *(str(part.get("text")) for _, part in parts))
        place = Place(
            self.record.native_id,
            self._uids.of(native_id, *words),
            position,
            at[1],
            instant(at[0]),
            state,
            self.record.kind == SessionKind.SUBAGENT,
            message.get("summary") is True or text(message, "parentID") in self._markers,
        )
        if kept or not taken:
            yield from self._records(native_id, message, kept, place)
        if taken:
            undone = replace(place, uid=f"{place.uid}:reverted", state=MessageState.REWOUND)
            yield from self._records(native_id, message, taken, undone)
        self._is_reverted |= is_cut

    def _records(
        self,
        native_id: str | None,
        message: Json,
        parts: list[tuple[str | None, Json]],
        place: Place,
    ) -> Iterator[MessageRecord | UnknownRecord]:
        found = Parts()
        for _, part in parts:
            found.add(part, place.raw_ref)
        if found.is_compaction and message.get("role") == "user" and native_id is not None:
            self._markers.add(native_id)
        for record in records(message, found, place):
            if isinstance(record, MessageRecord):
                self._remember(record)
            yield record
        self._model = self._model or model_of(message)

    def _remember(self, record: MessageRecord) -> None:
        if record.state != MessageState.ACTIVE or record.origin in (
            Origin.INJECTED,
            Origin.SYNTHETIC,
        ):
            return
        if record.role == Role.USER and self._prompt is None:
            self._prompt = derived_title(record.content)
        elif record.role == Role.ASSISTANT and self._answer is None:
            self._answer = derived_title(record.content)

    def more(self) -> SessionRecord | None:
        """Return the session with what its messages told beyond its own record, if anything."""
        record = self.record
        if record.title is None and (title := self._prompt or self._answer):
            record = replace(record, title=title, title_source=TitleSource.DERIVED)
        if record.model is None and self._model is not None:
            record = replace(record, model=self._model)
        return record if record is not self.record else None
