"""`backscroll show`: the text itself, page by page, to the last character."""

import argparse
from typing import Any

from app.cli import words
from app.cli.arguments import DONE, natural, positive
from app.cli.documents import message_document, part_document, session_document
from app.cli.output import Output
from app.cli.store_access import reading
from core.plans import read_plan
from core.types import Message, PlanStatus, Session, ToolCall

_MOST_MESSAGES = 200
_MOST_CHARS = 1_000_000
_COUNT = 50
_CHARS = 10_000


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("show", parents=[shared], help="read a session")
    parser.add_argument("session", metavar="SESSION", help="its id, or source/id")
    parser.add_argument(
        "--from", dest="first", type=positive, metavar="N", help="the first message"
    )
    parser.add_argument(
        "--count",
        type=positive,
        metavar="N",
        help=f"of messages: {_COUNT}, at most {_MOST_MESSAGES}",
    )
    parser.add_argument(
        "--active", action="store_true", help="only what was said since it was last reset"
    )
    parser.add_argument("--message", metavar="MSG", help="one message, from --offset on")
    parser.add_argument("--offset", type=natural, metavar="CHARS", help="where in the message")
    parser.add_argument(
        "--chars",
        type=positive,
        metavar="N",
        help=f"of the message: {_CHARS:,}, at most {_MOST_CHARS:,}",
    )
    parser.set_defaults(run=run, refuse=parser.error)


def run(args: argparse.Namespace, output: Output) -> int:
    """Print messages by their number, or a part of one message by its id."""
    from core.history.sessions import session_by_ref

    if args.message is None and (args.offset is not None or args.chars is not None):
        args.refuse("--offset and --chars are of one message: --message is needed too")
    if args.message is not None and (args.first or args.count or args.active):
        args.refuse("--from, --count and --active are of a session: not beside --message")
    with reading(args) as db:
        session = session_by_ref(db, args.session)
        if args.message is None:
            return _show_page(db, session, args, output)
        return _show_part(db, session, args, output)


def _show_page(db: Any, session: Session, args: argparse.Namespace, output: Output) -> int:
    from core.history.messages import messages_page
    from core.history.segments import active_from

    first, count = args.first or 1, min(args.count or _COUNT, _MOST_MESSAGES)
    begins = active_from(db, session.id)
    if args.active:
        first = max(first, begins)
    messages = messages_page(db, session.id, first=first, count=count)
    last = messages[-1].number if messages else first - 1
    following = last + 1 if last < session.message_count and messages else None
    if output.as_json:
        output.document(
            {
                "session": session_document(session),
                "messages": [message_document(message) for message in messages],
                "active_from": begins,
                "next": following,
            }
        )
        return DONE
    _print_header(session, output)
    for message in messages:
        if 1 < begins == message.number and not args.active:
            output.line()
            output.line("── reset: the active segment begins here ──")
        _print_message(message, output)
    if following:
        output.note(f"more with --from {following}")
    if 0 < session.message_count < first and not args.active:
        output.note(f"no message {first:,}: there are {session.message_count:,}")
    return DONE


def _show_part(db: Any, session: Session, args: argparse.Namespace, output: Output) -> int:
    from core.history.messages import message_by_ref, message_text

    message = message_by_ref(db, session.id, args.message)
    offset, chars = args.offset or 0, min(args.chars or _CHARS, _MOST_CHARS)
    text, total = message_text(db, message.id, offset=offset, chars=chars)
    following = offset + len(text) if offset + len(text) < total else None
    if output.as_json:
        output.document(part_document(session, message, text, offset, total))
        return DONE
    output.line(text)
    if following is not None:
        output.note(f"{following:,} of {total:,} characters; more with --offset {following}")
    return DONE


def _print_header(session: Session, output: Output) -> None:
    output.marked("", session.title or "(untitled)", ())
    facts = [session.source, session.channel or "", session.project, session.model or ""]
    facts += ["gone at the source" if session.gone_at_ms is not None else "", session.ref]
    facts.append(words.plural(session.message_count, "message"))
    output.marked("", " · ".join(fact for fact in facts if fact), ())


def _print_message(message: Message, output: Output) -> None:
    label = message.role.value
    if message.tool_name:
        label += f" {message.tool_name}"
    if message.tool_status:
        label += f" ({message.tool_status.value})"
    if message.origin.value in ("injected", "synthetic"):
        label += f" [{message.origin.value}]"
    if message.state.value != "active":
        label += f" [{message.state.value}]"
    output.line()
    when = words.local_time(message.created_at_ms)
    output.marked(f"#{message.number} ", f"{label}  {when}  {message.uid}", ())
    if message.content:
        output.line(message.content)
    for call in message.tool_calls:
        _print_call(call, output)
        if call.result:
            output.line(call.result)
    if message.truncated:
        output.line(
            f"… {message.content_length - len(message.content):,} more characters: "
            f"--message {message.uid} --offset {len(message.content)}"
        )


def _print_call(call: ToolCall, output: Output) -> None:
    """Print a call: the steps of a plan each on a line of its own, else its arguments."""
    plan = read_plan(call)
    if plan is None:
        output.marked("  → ", f"{call.name} {call.arguments} ({call.status.value})", ())
        return
    told = f"{plan.done} of {words.plural(len(plan.steps), 'step')} done"
    others = " ".join(f"{name}: {value}" for name, value in plan.others.items())
    output.marked("  → ", f"{call.name} {others} ({call.status.value}) {told}", ())
    for step in plan.steps:
        sign, word = _PLAN_WORDS[step.status]
        output.marked(f"    [{sign}] ", f"{step.text}{word}", ())


_PLAN_WORDS = {
    PlanStatus.PENDING: (" ", ""),
    PlanStatus.IN_PROGRESS: (">", " (in progress)"),
    PlanStatus.COMPLETED: ("x", ""),
    PlanStatus.BLOCKED: ("!", " (blocked)"),
    PlanStatus.CANCELLED: ("-", " (cancelled)"),
}
