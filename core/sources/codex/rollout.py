"""Reads one rollout: survey, lineage, then its lines as messages, in bounded memory."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from pathlib import Path

from core.sources import files
from core.sources.codex import rollout_files, survey
from core.sources.codex.beside import indexed_title
from core.sources.codex.drafts import PROMPTS, Plan
from core.sources.codex.lineage import lineage
from core.sources.codex.texts import mapping, string, title_of
from core.sources.codex.walk import Told, Walk
from core.sources.instants import instant_ms
from core.sources.lines import JsonObject, Mark, objects
from core.sources.records import (
    BadSourceRecord,
    EarlierChangedError,
    MessageRecord,
    ReaderState,
    ReadTo,
    Record,
    SessionRecord,
)
from core.types import MessageState, Origin, Relation, Role, SessionKind, TitleSource

TELL_EVERY_BYTES = 1 << 20
MOST_APPENDED_BYTES = 16 << 20
"""More than that appended is read with the whole file."""

BEFORE_OWN = 1 << 50  # more than any byte offset: what is inherited stands before what is own
DEEPEST = 64

Stamp = tuple[int, int]


def read(path: Path) -> Iterator[Record]:
    """Yield the session and its messages; a file without a message yields no session."""
    yield from _Rollout(path).records()


def read_on(before: object) -> Iterator[Record]:
    """Yield what was appended to the rollout that this is the state of.

    Raises:
        EarlierChangedError: it has to be read whole; before the first record.
    """
    if not isinstance(before, _Rollout):
        raise EarlierChangedError
    yield from before.more()


class _Rollout:
    """One rollout. `trail` are the files that are read on behalf of it, so that none is twice."""

    def __init__(self, path: Path, trail: frozenset[Path] = frozenset()) -> None:
        self._path = rollout_files.present(path)
        self._trail = trail | {path}
        self._survey = survey.survey(path)
        late = {key: value for key, value in self._survey.late_meta.items() if value}
        self._meta = {**self._survey.meta, **late}
        self._lineage = lineage(path, self._survey)
        self._is_subagent = self._lineage.kind == SessionKind.SUBAGENT
        self._is_whole = True
        self._first_prompt: str | None = None
        self._mark = Mark()
        self._ends_with_a_line = True
        self._plan = self._planned()
        self._walk = self._ended = Walk(self._plan)

    def records(self) -> Iterator[Record]:
        """Yield everything; what is inherited comes first.

        Context and notes alone make no session: they wait for the first real message.
        """
        walk = self._walk
        waiting: list[Record] | None = []
        read_to: list[ReadTo] = []
        for record in chain(self._inherited(), self._own(walk)):
            if waiting is None or not isinstance(record, MessageRecord | ReadTo):
                yield record
            elif isinstance(record, ReadTo):
                read_to = [record]
            else:
                waiting.append(record)
                if _is_said(record):
                    yield self._header(walk, None)
                    yield from waiting
                    waiting = None
            self._note_prompt(record)
        if waiting is None:
            yield self._header(self._ended, self._title(self._ended))
            if self._can_go_on():
                yield ReaderState(self, walk.bytes)
        else:
            yield from read_to

    def more(self) -> Iterator[Record]:
        """Yield what was appended since the last reading, and what that completes.

        Raises:
            EarlierChangedError: it changes what was told before, or may.
        """
        with files.opened(self._path) as stream:
            total = files.stamp_of(stream).size
            if total - self._mark.offset > MOST_APPENDED_BYTES:
                raise EarlierChangedError
            stream.seek(self._mark.offset)
            found = list(objects(stream, survey.is_record, mark=self._mark))
        if not self._survey.only_grew(each for each in found if isinstance(each, JsonObject)):
            raise EarlierChangedError
        for each in found:
            if isinstance(each, JsonObject):
                yield from self._noted(self._walk.line(each))
            else:
                yield each
        self._ended = self._walk.apart()
        yield from self._noted(self._ended.finish())
        yield self._header(self._ended, self._title(self._ended))
        yield ReadTo(self._mark.offset, total)
        yield ReaderState(self, self._walk.bytes)

    def _noted(self, told: Told) -> Told:
        for record in told:
            self._note_prompt(record)
            yield record

    def _note_prompt(self, record: Record) -> None:
        if self._first_prompt is None and isinstance(record, MessageRecord) and _is_prompt(record):
            self._first_prompt = title_of(record.content)

    def _can_go_on(self) -> bool:
        """Whether new lines can be told apart: where a copy ends must be known, and for good."""
        plan = self._plan
        copy_end = max(plan.skip_to, plan.copy_end)
        is_settled = self._lineage.copied_from is None or 0 < copy_end <= self._mark.offset
        return is_settled and self._ends_with_a_line and self._path.suffix != ".zst"

    def _title(self, walk: Walk) -> str | None:
        """A title from the first prompt: of a fork the first of its own, if it has one."""
        if self._lineage.relation == Relation.FORK:
            return walk.first_prompt or self._first_prompt or walk.first_answer
        return self._first_prompt or walk.first_answer

    def _planned(self) -> Plan:
        found, parentage = self._survey, self._lineage
        plan = Plan(
            session=parentage.session,
            is_subagent=self._is_subagent,
            started_at_ms=instant_ms(self._meta.get("timestamp")),
            has_ordinals=found.has_ordinals,
            compacted_to=found.compacted_to,
        )
        if parentage.copied_from and parentage.base is None:
            plan = self._with_copy(plan, parentage.copied_from)
        if found.rolls_back:
            walk = Walk(plan)
            for _ in self._own(walk):
                pass
            self._mark = Mark()
            plan = replace(plan, rewound=tuple(walk.rewound))
        return plan

    def _with_copy(self, plan: Plan, parent: str) -> Plan:
        """Say what of the file is a copy. Without the parent's file nothing is taken for one."""
        file = self._file_of(parent)
        if file is None:
            self._is_whole = self._is_subagent and self._survey.copied_from is None
            return plan
        end = survey.end_of_copy(self._survey, _turns(file, _stamp(file)))
        if self._is_subagent:
            return replace(plan, skip_to=end)
        if end or not self._survey.turns:
            bodies = _bodies(file, _stamp(file), self._trail)
            return replace(plan, copy_end=end, inherited=bodies)
        return plan

    def _file_of(self, rollout: str) -> Path | None:
        file = rollout_files.sibling(self._path, rollout)
        usable = file is not None and file not in self._trail and len(self._trail) < DEEPEST
        return file if usable else None

    def _inherited(self) -> Iterator[MessageRecord]:
        """The messages of the rollout that this one goes on from, up to where it does.

        Of its own thread's earlier file the rest is told as well, as undone: the thread was
        taken back to that place.
        """
        base = self._lineage.base
        if base is None or self._is_subagent:
            return
        file = self._file_of(base.rollout)
        if file is None:
            self._is_whole = False
            return
        source = _Rollout(file, self._trail)
        by_ordinal = source._survey.has_ordinals
        cut = base.ordinal if by_ordinal else base.offset
        shift = 0 if by_ordinal and self._survey.has_ordinals else BEFORE_OWN
        session = self._lineage.session
        for record in source.records():
            if not isinstance(record, MessageRecord) or record.position is None or cut is None:
                continue
            placed = replace(record, session=session, position=record.position - shift)
            if record.position < cut:
                yield placed
            elif source._lineage.session == session:
                yield replace(placed, state=MessageState.REWOUND)

    def _own(self, walk: Walk) -> Iterator[Record]:
        total = None if self._path.suffix == ".zst" else self._path.stat().st_size
        told, line, end = 0, 0, 0
        try:
            with rollout_files.opened(self._path) as stream:
                for found in objects(stream, survey.is_record, mark=self._mark):
                    line = found.line
                    if not isinstance(found, JsonObject):
                        yield found
                        continue
                    yield from walk.line(found)
                    self._ends_with_a_line = found.terminated
                    end = found.offset + found.length + found.terminated
                    if end - told >= TELL_EVERY_BYTES:
                        told = end
                        yield ReadTo(walk.told_to, total)
        except (EOFError, rollout_files.UnpackError) as error:
            yield BadSourceRecord(line + 1, f"the archive is damaged from here on: {error}")
        self._ended = walk.apart()
        yield from self._ended.finish()
        yield ReadTo(end, total)

    def _header(self, walk: Walk, derived: str | None) -> SessionRecord:
        meta, parentage = self._meta, self._lineage
        name = self._survey.thread_name or indexed_title(self._path, parentage.session)
        git = mapping(meta.get("git"))
        more = {"tokens": walk.tokens.sum, "history_is_missing": not self._is_whole}
        return SessionRecord(
            native_id=parentage.session,
            kind=parentage.kind,
            parent_native_id=parentage.parent,
            relation=parentage.relation,
            evidence="explicit" if parentage.parent else None,
            title=name or derived,
            title_source=_title_source(name, derived),
            model=walk.model,
            cwd=string(meta.get("cwd")) or walk.cwd,
            git_branch=string(git.get("branch")),
            started_at_ms=self._plan.started_at_ms or walk.first_at_ms,
            updated_at_ms=walk.last_at_ms,
            archived="archived_sessions" in self._path.parts,
            metadata=survey.metadata_of(meta, **more),
        )


def _is_said(record: MessageRecord) -> bool:
    return record.role != Role.SYSTEM and record.origin != Origin.INJECTED


def _is_prompt(record: MessageRecord) -> bool:
    said = record.role == Role.USER and record.origin in PROMPTS
    return said and record.state != MessageState.REWOUND


def _title_source(name: str | None, derived: str | None) -> TitleSource:
    if name:
        return TitleSource.USER
    return TitleSource.DERIVED if derived else TitleSource.NONE


def _stamp(path: Path) -> Stamp:
    facts = path.stat()
    return facts.st_mtime_ns, facts.st_size


@lru_cache(maxsize=64)
def _turns(path: Path, stamp: Stamp) -> frozenset[str]:  # noqa: ARG001 - part of the key
    """The turns of a parent: many subagents ask for the same ones."""
    return frozenset(turn for _, turn in survey.survey(path).turns)


@lru_cache(maxsize=2)
def _bodies(
    path: Path,
    stamp: Stamp,  # noqa: ARG001 - part of the key
    trail: frozenset[Path],
) -> Mapping[str, MessageRecord]:
    """A parent's messages by what their uid says besides the session; without their texts."""
    return {
        record.uid.rpartition(":")[2]: replace(
            record, content="", reasoning=None, tool_calls=(), media_refs=()
        )
        for record in _Rollout(path, trail).records()
        if isinstance(record, MessageRecord)
    }
