"""`backscroll sessions`: the list of sessions, and what is done with single ones."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from app.cli import words
from app.cli.arguments import DONE, comma_list, given, positive
from app.cli.documents import session_document
from app.cli.output import Output
from app.cli.store_access import reading, writing
from core.errors import (
    QueryError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)
from core.search.times import parse_time
from core.types import SessionFilter

_MOST_SESSIONS = 1000


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command group to the parser."""
    group = commands.add_parser("sessions", parents=[shared], help="list, delete, restore, pin")
    actions = group.add_subparsers(title="actions", metavar="ACTION", required=True)
    parser = actions.add_parser("list", parents=[shared], help="newest first, page by page")
    parser.add_argument("--limit", type=positive, default=50, metavar="N")
    parser.add_argument("--after", metavar="TOKEN", help="the `next` of the page before")
    parser.add_argument("--source", type=comma_list, default=[], metavar="KIND,…")
    parser.add_argument("--project", type=comma_list, default=[], metavar="NAME,…")
    parser.add_argument("--title", default="", metavar="TEXT", help="text in the title")
    parser.add_argument("--since", type=given, metavar="TIME", help="last active at or after")
    parser.add_argument("--until", type=given, metavar="TIME", help="last active before")
    parser.add_argument("--archived", action="store_true", help="archived ones too")
    parser.add_argument("--all-kinds", action="store_true", help="subagents and tools too")
    parser.add_argument("--sort", choices=("last_active", "started", "messages"))
    parser.set_defaults(run=run)
    parser = _of_sessions(actions, shared, "delete", "to the trash, with their subagents")
    parser.add_argument("--message", metavar="UID", help="only this message of the session")
    parser.set_defaults(run=run_delete)
    parser = _of_sessions(actions, shared, "restore", "from the trash")
    parser.set_defaults(run=run_restore)
    parser = _of_sessions(actions, shared, "pin", "never let them go by age")
    parser.set_defaults(run=run_pin, pinned=True)
    parser = _of_sessions(actions, shared, "unpin", "let them go by age again")
    parser.set_defaults(run=run_pin, pinned=False)


def _of_sessions(
    actions: Any, shared: argparse.ArgumentParser, name: str, does: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, parents=[shared], help=does)
    parser.add_argument("session", nargs="+", metavar="SESSION", type=given)
    return parser


def run(args: argparse.Namespace, output: Output) -> int:
    """Print one page of sessions and how to get the next."""
    from core.history.sessions import list_sessions

    now = datetime.now().astimezone()
    wanted = SessionFilter(
        sources=tuple(args.source),
        projects=tuple(args.project),
        text=args.title,
        since_ms=parse_time(args.since, now=now) if args.since else None,
        until_ms=parse_time(args.until, now=now) if args.until else None,
        include_archived=args.archived,
        include_hidden_kinds=args.all_kinds,
        sort=args.sort or "last_active",
    )
    limit = min(args.limit, _MOST_SESSIONS)
    with reading(args) as db:
        page = list_sessions(db, wanted, limit=limit, after=args.after)
    if output.as_json:
        sessions = [session_document(session) for session in page.sessions]
        output.document({"sessions": sessions, "next": page.next, "total": page.total})
        return DONE
    for session in page.sessions:
        when = words.local_time(session.last_active_at_ms)
        count = words.plural(session.message_count, "message")
        place = f" · {session.project}" if session.project else ""
        output.marked(f"{when}  ", session.title or "(untitled)", ())
        output.marked("    ", f"{session.source}{place} · {count} · {session.ref}", ())
    output.note(f"{len(page.sessions):,} of {words.plural(page.total, 'session')}")
    if page.next:
        output.note(f"more with --after {page.next}")
    return DONE


def run_delete(args: argparse.Namespace, output: Output) -> int:
    """Move sessions, or one message, to the trash, and say how it comes back."""
    from app.cli.trash import print_operation
    from core.history.messages import message_by_ref
    from core.history.sessions import session_by_ref
    from core.store.connection import transaction
    from core.upkeep import trash

    if args.message is not None and len(args.session) != 1:
        raise QueryError("--message is of one session: name that one alone")
    with _said_if_kept(args), writing(args) as db, transaction(db):
        sessions = [session_by_ref(db, ref) for ref in args.session]
        if args.message is not None:
            message = message_by_ref(db, sessions[0].id, args.message)
            done = trash.trash_message(db, message.id, "command")
        else:
            done = trash.trash_sessions(db, [each.id for each in sessions], "command")
    print_operation(done, output)
    if not output.as_json:
        output.line(f"undo: backscroll trash restore --operation {done.id}")
    return DONE


@contextmanager
def _said_if_kept(args: argparse.Namespace) -> Iterator[None]:
    """Say of a deletion that the store did not take what is still there, and what to do."""
    try:
        yield
    except (StoreBusyError, StoreFullError, StoreReadOnlyError) as error:
        what = f"message {args.message}" if args.message else ", ".join(args.session)
        todo = {
            StoreBusyError.code: "try again when the other program is done",
            StoreFullError.code: "make room on the disk and try again",
        }.get(error.code, "make the store and its folder writable and try again")
        told = StoreError(f"{what} was not deleted and is still visible: {error}; {todo}")
        told.code = error.code
        raise told from error


def run_restore(args: argparse.Namespace, output: Output) -> int:
    """Bring sessions back from the trash."""
    from app.cli.trash import print_operation
    from core.store.connection import transaction
    from core.upkeep import trash

    with writing(args) as db, transaction(db):
        rows = [trash.session_in_trash(db, ref) for ref in args.session]
        done = trash.restore_sessions(db, rows, "command")
    print_operation(done, output)
    return DONE


def run_pin(args: argparse.Namespace, output: Output) -> int:
    """Pin sessions, or let them loose."""
    from app.cli.trash import print_operation
    from core.history.sessions import session_by_ref
    from core.store.connection import transaction
    from core.upkeep import lifecycle

    with writing(args) as db, transaction(db):
        rows = [session_by_ref(db, ref).id for ref in args.session]
        done = lifecycle.pin(db, rows, args.pinned, "command")
    print_operation(done, output)
    return DONE
