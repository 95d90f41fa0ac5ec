"""`backscroll recall`: conversations found, read, scrolled through or browsed, ready to be used."""

import argparse
import shlex
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from app.cli import words
from app.cli.arguments import DONE, PARTIAL, comma_list, given, positive, roles_named, seconds
from app.cli.documents import recall_document, why_matched
from app.cli.output import Output
from app.cli.store_access import reading
from core.errors import QueryError
from core.recall.link import place_of
from core.search.times import parse_time
from core.types import Message, RecallAnswer, RecallRequest, RecallResult, Session

_Marks = Sequence[tuple[int, int]]
_Marker = Callable[[str], _Marks]


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "recall",
        parents=[shared],
        help="recall conversations: find, read, scroll, browse",
        description="With a query: the conversations that match, the first of them with its "
        "beginning, what surrounds the match and its end. With --session: how that conversation "
        "begins and ends; with --around too: what surrounds that message. With neither: the "
        "newest conversations. Use -- before a query that starts with a dash.",
    )
    parser.add_argument("query", metavar="QUERY", nargs="*", help="several words are joined")
    parser.add_argument("--session", metavar="ID", help="read this session")
    parser.add_argument("--around", metavar="MSG", help="a message of --session to read around")
    parser.add_argument(
        "--active", action="store_true", help="of --session, only what was said since a reset"
    )
    parser.add_argument("--window", type=positive, default=5, metavar="N", help="1 to 20 each side")
    parser.add_argument("--limit", type=positive, default=3, metavar="N", help="1 to 10 sessions")
    parser.add_argument("--detail", choices=("adaptive", "full"), default="adaptive")
    parser.add_argument("--sort", choices=("relevance", "newest", "oldest"), default="relevance")
    parser.add_argument(
        "--role",
        type=comma_list,
        default=["user", "assistant"],
        metavar="user,assistant,tool,system",
    )
    parser.add_argument("--source", type=comma_list, default=[], metavar="KIND,…")
    parser.add_argument("--project", type=comma_list, default=[], metavar="NAME,…")
    parser.add_argument(
        "--since", type=given, metavar="TIME", help="a date, a time, or 24h, 7d, 2w, 3mo"
    )
    parser.add_argument(
        "--until", type=given, metavar="TIME", help="the same; this moment is left out"
    )
    parser.add_argument(
        "--exclude", type=comma_list, default=[], metavar="ID,…", help="up to 20 to leave out"
    )
    parser.add_argument("--current", metavar="ID", help="the session that asks")
    parser.add_argument("--deadline", type=seconds, default=3.0, metavar="SECONDS")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, output: Output) -> int:
    """Recall and print; 3 when the deadline left the answer partial."""
    from core.recall.recall import recall

    request = _request(args)
    with reading(args) as db:
        answer = recall(db, request)
    if output.as_json:
        output.document(recall_document(request, answer))
    else:
        _print(answer, _marker(answer), output)
    return DONE if answer.complete else PARTIAL


def _request(args: argparse.Namespace) -> RecallRequest:
    if args.around is not None and args.session is None:
        raise QueryError("--around names a message of a session: --session is needed too")
    if args.active and args.session is None:
        raise QueryError("--active is of one session: --session is needed too")
    now = datetime.now().astimezone()
    return RecallRequest(
        query=" ".join(args.query),
        session=args.session,
        around=args.around,
        window=args.window,
        limit=args.limit,
        sort=args.sort,
        detail=args.detail,
        roles=roles_named(args.role),
        sources=tuple(args.source),
        projects=tuple(args.project),
        since_ms=parse_time(args.since, now=now) if args.since else None,
        until_ms=parse_time(args.until, now=now) if args.until else None,
        exclude_sessions=tuple(args.exclude),
        current_session=args.current,
        deadline_s=args.deadline,
        active=args.active,
    )


def _marker(answer: RecallAnswer) -> _Marker:
    """Return what marks in a text the words that were looked for."""
    from core.search.language import parse
    from core.search.snippet import find_marks

    if answer.search is None:
        return lambda _text: ()
    return partial(find_marks, parse(answer.search.query))


def _print(answer: RecallAnswer, marker: _Marker, output: Output) -> None:
    if answer.search is not None:
        output.line(words.answer(answer.search))
        for repair in answer.search.repairs:
            output.line(f"  read as: {repair}")
    elif not answer.complete:
        output.line(f"partial ({answer.reason})")
    for warning in answer.warnings:
        output.line(f"note: {warning}")
    for result in answer.results:
        output.line()
        _print_result(result, answer, marker, output)
    left_out = [f"{n:,} {what.replace('_', ' ')}" for what, n in answer.left_out.items() if n]
    if left_out:
        output.note("conversations left out: " + ", ".join(left_out))
    if answer.hint:
        output.note(answer.hint)


def _print_result(
    result: RecallResult, answer: RecallAnswer, marker: _Marker, output: Output
) -> None:
    session, match = result.session, result.match
    output.marked("", f"{session.title or '(untitled)'}  [{session.source} · {session.ref}]", ())
    facts = [
        words.local_time(match.created_at_ms if match else session.last_active_at_ms),
        session.project,
        (match.model if match else None) or session.model or "",
        words.plural(session.message_count, "message"),
        result.link,
    ]
    output.marked("  ", " · ".join(fact for fact in facts if fact), ())
    if match is not None:
        output.marked("  ", why_matched(match, answer.search), ())
        output.marked("    ", match.snippet, match.marks)
    elif result.preview:
        output.marked("    ", result.preview, ())
    anchor = place_of(result.link).message
    for messages in (result.opening, result.messages, result.resolution):
        _print_gap(messages, result, output)
        for message in messages:
            _print_message(message, marker, output, is_anchor=message.uid == anchor)
            if message.truncated:
                output.line(f"    … {_reading_on(session, message)}")
    if not result.resolution and result.messages and result.after:
        output.line(f"  … {result.after:,} after")


def _print_gap(messages: Sequence[Message], result: RecallResult, output: Output) -> None:
    """Say how many messages are left out ahead of a stretch of a session."""
    if not messages:
        return
    shown = [m.number for part in (result.opening, result.messages) for m in part]
    before = [number for number in shown if number < messages[0].number]
    missing = messages[0].number - 1 - (max(before) if before else 0)
    if missing:
        output.line(f"  … {words.plural(missing, 'message')}")


def _print_message(message: Message, marker: _Marker, output: Output, *, is_anchor: bool) -> None:
    label = message.role.value + (f" {message.tool_name}" if message.tool_name else "")
    if message.state.value != "active":
        label += f" [{message.state.value}]"
    sign = "▸" if is_anchor else " "
    when = words.local_time(message.created_at_ms)
    output.marked(f" {sign}#{message.number} ", f"{label}  {when}  {message.uid}", ())
    for line, marks in lines_of(message.content, marker(message.content)):
        output.marked("    ", line, marks)
    for call in message.tool_calls:
        output.marked("    → ", f"{call.name} {call.arguments[:200]} ({call.status.value})", ())
        if call.result:
            output.marked("      ", call.result[:200], ())


def _reading_on(session: Session, message: Message) -> str:
    """Return how much of a message was cut, and the command that shows it."""
    shown = len(message.content)
    names = f"{shlex.quote(session.ref)} --message {shlex.quote(message.uid)}"
    left = message.content_length - shown
    return f"{left:,} more characters: show {names} --offset {shown}"


def lines_of(text: str, marks: _Marks) -> Iterator[tuple[str, tuple[tuple[int, int], ...]]]:
    """Yield the lines of a text, each with the marks in it, moved to its start; none of ''."""
    starts = [mark[0] for mark in marks]
    at = 0
    for line in text.split("\n") if text else ():
        end = at + len(line)
        first = max(0, bisect_left(starts, at) - 1)
        near = marks[first : bisect_left(starts, end)]
        inside = [(max(start, at) - at, min(stop, end) - at) for start, stop in near if stop > at]
        yield line, tuple(inside)
        at = end + 1
