"""The JSON documents of the commands and of the MCP tools: one place makes them.

What a document says of a session, a message, a hit or an index is the same wherever it stands.
Times are Unix UTC milliseconds, offsets Unicode characters, names the stable ones of the sources.
"""

from datetime import datetime
from typing import Any

from app.cli.words import PATHS
from core.plans import plan_of
from core.types import (
    Hit,
    IndexStatus,
    Message,
    RecallAnswer,
    RecallMatch,
    RecallRequest,
    RecallResult,
    SearchResult,
    SearchStep,
    Session,
    ToolCall,
)
from core.upkeep_types import Operation

Document = dict[str, Any]


def session_document(session: Session) -> Document:
    """Return a session as `show` and `sessions list` give it."""
    return {
        "session": session.ref,
        "title": session.title,
        "title_source": session.title_source.value,
        "source": session.source,
        "kind": session.kind.value,
        "project": session.project,
        "model": session.model,
        "cwd": session.cwd,
        "git_repo_root": session.git_repo_root,
        "git_branch": session.git_branch,
        "started_at_ms": session.started_at_ms,
        "last_active_at_ms": session.last_active_at_ms,
        "message_count": session.message_count,
        "user_turn_count": session.user_turn_count,
        "parent": session.parent_ref,
        "relation": session.relation.value if session.relation else None,
        "reset_cutoff_seq": session.reset_cutoff_seq,
        "channel": session.channel,
        "gone_at_source": session.gone_at_ms is not None,
        "archived_at_ms": session.archived_at_ms,
        "pinned_at_ms": session.pinned_at_ms,
        "end_reason": session.end_reason,
    }


def message_document(message: Message) -> Document:
    """Return a message with all that is known of it, as `show` gives it.

    `next_offset` is where `show --offset` and `read_message` read on when `content` is cut.
    """
    return {
        "message": message.uid,
        "number": message.number,
        "role": message.role.value,
        "origin": message.origin.value,
        "state": message.state.value,
        "created_at_ms": message.created_at_ms,
        "time_quality": message.time_quality.value,
        "model": message.model,
        "content": message.content,
        "content_length": message.content_length,
        "truncated": message.truncated,
        "next_offset": _next_offset(message),
        "reasoning": message.reasoning,
        "tool_calls": [_planned(call) for call in message.tool_calls],
        "tool_call_id": message.tool_call_id,
        "tool_name": message.tool_name,
        "tool_status": message.tool_status.value if message.tool_status else None,
        "media_refs": list(message.media_refs),
        "gone_at_source": message.gone,
    }


def recalled_message(message: Message) -> Document:
    """Return a message as recall gives it: as `message_document`, but what is usual is not said.

    So an answer has room for more of what was said. What was cut beside the content has its
    whole length with it: `reasoning_length`, `arguments_length`, `result_length`,
    `more_tool_calls`.
    """
    whole = message_document(message)
    document = {key: whole[key] for key in _ALWAYS_SAID}
    document |= {key: whole[key] for key in _SAID_IF_ANY if whole[key]}
    if message.tool_calls:  # a plan's steps stand in its arguments already
        document["tool_calls"] = [call_document(call) for call in message.tool_calls]
    if message.state.value != "active":
        document["state"] = whole["state"]
    if message.origin.value in ("injected", "synthetic"):
        document["origin"] = whole["origin"]
    if message.reasoning_length is not None:
        document["reasoning_length"] = message.reasoning_length
    if message.more_tool_calls:
        document["more_tool_calls"] = message.more_tool_calls
    return document


_ALWAYS_SAID = (
    "message", "number", "role", "created_at_ms", "content", "content_length", "truncated",
)  # fmt: skip
_SAID_IF_ANY = (
    *("next_offset", "tool_name", "tool_status", "tool_calls", "reasoning", "media_refs"),
    "gone_at_source",
)


def hit_document(hit: Hit) -> Document:
    """Return a message that a search found."""
    return {
        "message": hit.message,
        "session": hit.session,
        "source": hit.source,
        "role": hit.role.value,
        "state": hit.state.value,
        "origin": hit.origin.value,
        "created_at_ms": hit.created_at_ms,
        "title": hit.title,
        "snippet": hit.snippet,
        "marks": [list(mark) for mark in hit.marks],
        "score": hit.score,
        "path": hit.path,
    }


def index_document(status: IndexStatus) -> Document:
    """Return what an answer says of one index."""
    return {"ready": status.ready, "coverage": round(status.coverage, 4), "state": status.state}


def search_document(result: SearchResult) -> Document:
    """Return the answer of `search` in the shape of the command-line contract."""
    return {
        **_path_of(result),
        "elapsed_ms": round(result.elapsed_ms, 2),
        "complete": result.complete,
        "reason": result.reason,
        **_totals_of(result),
        "index_status": {name: index_document(s) for name, s in result.index_status.items()},
        "legacy_import": {"complete": result.legacy_complete},
        "steps": [_step_document(step) for step in result.steps],
        "hits": [hit_document(hit) for hit in result.hits],
        "title_matches": [
            {"session": s.ref, "title": s.title, "source": s.source} for s in result.title_matches
        ],
    }


def recall_document(request: RecallRequest, answer: RecallAnswer) -> Document:
    """Return the answer of `recall` and of the tool `session_search`.

    The keys of the search behind it are there in every mode; where nothing was searched,
    `search_path` is "empty" and there are no totals.
    """
    found = answer.search
    return {
        "mode": answer.mode,
        **(_path_of(found) if found else _no_path(request)),
        "elapsed_ms": round(answer.elapsed_ms, 2),
        "complete": answer.complete,
        "reason": answer.reason,
        **(_totals_of(found) if found else _NO_TOTALS),
        "index_status": {name: index_document(s) for name, s in answer.index_status.items()},
        "legacy_import": {"complete": answer.legacy_complete},
        "left_out": dict(answer.left_out),
        "warnings": list(answer.warnings),
        "hint": answer.hint,
        "results": [_result_document(result, found) for result in answer.results],
    }


def part_document(
    session: Session, message: Message, text: str, offset: int, total: int
) -> Document:
    """Return a part of one text of a message; `next` is where it goes on, None at its end.

    Named by its id, a message is read in every state: `state` tells what was taken back.
    """
    end = offset + len(text)
    return {
        "session": session.ref,
        "message": message.uid,
        "state": message.state.value,
        "offset": offset,
        "chars": len(text),
        "total_chars": total,
        "text": text,
        "next": end if end < total else None,
    }


def operation_document(found: Operation) -> Document:
    """Return one line of the ledger; its token is the program's own affair."""
    return {
        "id": found.id,
        "kind": found.kind,
        "arguments": dict(found.arguments),
        "actor": found.actor,
        "state": found.state,
        "started_at_ms": found.started_at_ms,
        "ended_at_ms": found.ended_at_ms,
        "outcome": found.outcome,
        "receipt": dict(found.receipt),
        "verified_at_ms": found.verified_at_ms,
    }


def _next_offset(message: Message) -> int | None:
    return len(message.content) if message.truncated else None


def call_document(call: ToolCall) -> Document:
    """Return a tool call, with what came of it where its source keeps that with it."""
    document: Document = {
        "id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": call.status.value,
    }
    if call.arguments_length is not None:
        document["arguments_length"] = call.arguments_length
    if call.result:
        document["result"] = call.result
    if call.result_length is not None:
        document["result_length"] = call.result_length
    return document


def _planned(call: ToolCall) -> Document:
    """A tool call, with the steps of the plan that it writes down, if it does."""
    document = call_document(call)
    steps = plan_of(call)
    if steps is not None:
        document["plan"] = [{"text": step.text, "status": step.status.value} for step in steps]
    return document


def _path_of(result: SearchResult) -> Document:
    return {
        "query": result.query,
        "understood": result.understood,
        "repairs": list(result.repairs),
        "search_path": result.search_path,
        "why": result.why,
    }


def _no_path(request: RecallRequest) -> Document:
    return {
        "query": request.query,
        "understood": "",
        "repairs": [],
        "search_path": "empty",
        "why": "Nothing was searched: this was read from the store by name or by time.",
    }


def _totals_of(result: SearchResult) -> Document:
    return {
        "total_hits": result.total_hits,
        "total_is_exact": result.total_is_exact,
        "inside_words": result.inside_words,
        "ranked_scope": result.ranked_scope,
        "messages_searched": result.messages_searched,
        "not_searched": dict(result.not_searched),
    }


_NO_TOTALS: Document = {
    "total_hits": None,
    "total_is_exact": None,
    "inside_words": None,
    "ranked_scope": None,
    "messages_searched": None,
    "not_searched": {},
}


def _step_document(step: SearchStep) -> Document:
    return {
        "path": step.path,
        "understood": step.understood,
        "hits": step.hits,
        "elapsed_ms": None if step.elapsed_ms is None else round(step.elapsed_ms, 2),
        "note": step.note,
    }


def _result_document(result: RecallResult, found: SearchResult | None) -> Document:
    session, match = result.session, result.match
    at_ms = match.created_at_ms if match else None
    return {
        "session": session.ref,
        "title": session.title,
        "source": session.source,
        "kind": session.kind.value,
        "project": session.project,
        "model": (match.model if match else None) or session.model,
        "when": _iso(at_ms or session.last_active_at_ms or session.started_at_ms),
        "started_at_ms": session.started_at_ms,
        "last_active_at_ms": session.last_active_at_ms,
        "message_count": session.message_count,
        "lineage": result.lineage,
        "parent": session.parent_ref,
        "link": result.link,
        **(_match_document(match, found) if match else _NO_MATCH),
        "preview": result.preview,
        "detail": "full" if result.is_whole else "anchor",
        "before": result.before,
        "after": result.after,
        "opening": [recalled_message(message) for message in result.opening],
        "messages": [recalled_message(message) for message in result.messages],
        "resolution": [recalled_message(message) for message in result.resolution],
    }


def _match_document(match: RecallMatch, found: SearchResult | None) -> Document:
    """Return what matched, under the names that a hit of `search` has."""
    return {
        "message": match.message,
        "role": match.role.value if match.role else None,
        "snippet": match.snippet,
        "marks": [list(mark) for mark in match.marks],
        "created_at_ms": match.created_at_ms,
        "why": why_matched(match, found),
    }


_NO_MATCH: Document = {
    "message": None,
    "role": None,
    "snippet": "",
    "marks": [],
    "created_at_ms": None,
    "why": "",
}


def why_matched(match: RecallMatch, found: SearchResult | None) -> str:
    """Return why a session is among the results, in a sentence."""
    if match.role is None:
        return "The title or the id of the session matches."
    if found is None:
        return "This is the message that was asked for."
    return f"A message of the {match.role.value} matches ({PATHS[found.search_path]})."


def _iso(at_ms: int | None) -> str | None:
    """Return a time as people and models read it: local, with its zone, to the minute."""
    if at_ms is None:
        return None
    try:
        moment = datetime.fromtimestamp(at_ms / 1000).astimezone()
    except (OverflowError, OSError, ValueError):  # a year that the calendar does not have
        return None
    return moment.isoformat(timespec="minutes")
