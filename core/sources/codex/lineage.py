"""Where a rollout hangs: its thread, its parent, and what it shows of its parent's history.

Three ways to inherit: a subagent or fork begins with a copy of the parent's lines under new
times (0.14x); a paginated fork holds none of them and names the place where it starts
(0.154, `history_base`); a thread that was taken back goes on in a new file the same way.
"""

from dataclasses import dataclass
from pathlib import Path

from core.sources.codex import rollout_files, survey
from core.sources.codex.survey import JsonDict, Survey
from core.sources.codex.texts import mapping, string
from core.types import Relation, SessionKind


@dataclass(frozen=True, slots=True)
class Base:
    """The place in another rollout where a paginated one starts. Both ends are exclusive."""

    rollout: str
    ordinal: int | None
    offset: int | None


@dataclass(frozen=True, slots=True)
class Lineage:
    """A rollout's thread and what it comes from."""

    session: str
    kind: SessionKind
    parent: str | None
    relation: Relation | None
    base: Base | None
    copied_from: str | None


def lineage(path: Path, found: Survey) -> Lineage:
    """Read the lineage from the first header; a subagent is no fork, though it names one."""
    meta = found.meta
    session = survey.thread_id(meta) or rollout_files.id_in(path.name) or path.stem
    source = mapping(meta.get("source"))
    told = source.get("subagent")
    spawn = mapping(mapping(told).get("thread_spawn"))
    is_subagent = told is not None or meta.get("thread_source") == "subagent"
    parent = string(spawn.get("parent_thread_id")) or string(meta.get("parent_thread_id"))
    forked = string(meta.get("forked_from_id"))
    base = _base(meta)
    parent = parent or forked or (base.rollout if base else None)
    if parent == session:
        parent = None
    relation = Relation.SUBAGENT if is_subagent else Relation.FORK
    return Lineage(
        session=session,
        kind=SessionKind.SUBAGENT if is_subagent else SessionKind.INTERACTIVE,
        parent=parent,
        relation=relation if parent else None,
        base=base,
        copied_from=found.copied_from or forked or (parent if is_subagent else None),
    )


def _base(meta: JsonDict) -> Base | None:
    base = mapping(meta.get("history_base"))
    rollout = string(base.get("thread_id"))
    ordinal, offset = base.get("end_ordinal_exclusive"), base.get("end_byte_offset")
    if rollout is None:
        return None
    return Base(
        rollout,
        ordinal if isinstance(ordinal, int) else None,
        offset if isinstance(offset, int) else None,
    )
