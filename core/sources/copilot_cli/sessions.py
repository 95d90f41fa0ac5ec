"""The sessions of a log of Copilot CLI: its own, and one for each subagent."""

from collections.abc import Iterator
from pathlib import Path

from core.sources.copilot_cli.outline import Facts, Outline, told_beside
from core.sources.instants import instant_ms
from core.sources.loose import json_text, text
from core.sources.records import SessionRecord
from core.types import Relation, SessionKind, TitleSource


def sessions(path: Path, outline: Outline) -> Iterator[SessionRecord]:
    """Yield the session of a log that was outlined, then those of its subagents."""
    beside = told_beside(path)
    main = outline.lanes[""]
    title, source = _title(outline, beside, main)
    started = instant_ms(outline.start.get("startTime")) or main.started_at_ms
    context = outline.context
    yield SessionRecord(
        outline.session,
        title=title,
        title_source=source,
        model=main.model,
        cwd=text(context, "cwd") or beside.get("cwd"),
        git_repo_root=text(context, "gitRoot") or beside.get("git_root"),
        git_branch=text(context, "branch") or beside.get("branch"),
        started_at_ms=started or instant_ms(beside.get("created_at")),
        updated_at_ms=main.updated_at_ms or instant_ms(beside.get("updated_at")),
        metadata=_metadata(outline, beside),
    )
    for lane, facts in outline.lanes.items():
        if lane:
            yield _subagent(outline, lane, facts)


def _subagent(outline: Outline, lane: str, facts: Facts) -> SessionRecord:
    derived = facts.prompt or facts.agent or facts.answer
    return SessionRecord(
        outline.conversation(lane),
        kind=SessionKind.SUBAGENT,
        parent_native_id=outline.session,
        relation=Relation.SUBAGENT,
        evidence="explicit",
        title=derived,
        title_source=TitleSource.DERIVED if derived else TitleSource.NONE,
        model=facts.model,
        cwd=text(outline.context, "cwd"),
        git_branch=text(outline.context, "branch"),
        started_at_ms=facts.started_at_ms,
        updated_at_ms=facts.updated_at_ms,
        metadata=json_text({"toolCallId": lane}),
    )


def _title(outline: Outline, beside: dict[str, str], main: Facts) -> tuple[str | None, TitleSource]:
    if beside.get("name"):
        typed = beside.get("user_named") == "true"
        return beside["name"], TitleSource.USER if typed else TitleSource.MODEL
    given = outline.title or beside.get("summary")
    if given:
        return given, TitleSource.MODEL
    derived = main.prompt or main.answer
    return derived, TitleSource.DERIVED if derived else TitleSource.NONE


def _metadata(outline: Outline, beside: dict[str, str]) -> str | None:
    told = {
        "version": text(outline.start, "copilotVersion"),
        "producer": text(outline.start, "producer"),
        "repository": text(outline.context, "repository") or beside.get("repository"),
        # Counts per model stand here alone, for the whole session, and are missing after a crash.
        "modelMetrics": outline.usage.get("modelMetrics"),
        "tokenDetails": outline.usage.get("tokenDetails"),
        "totalPremiumRequests": outline.usage.get("totalPremiumRequests"),
    }
    told = {name: value for name, value in told.items() if value is not None}
    return json_text(told) if told else None
