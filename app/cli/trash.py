"""`backscroll trash`: what was thrown away, how it comes back, and how it goes for good."""

import argparse
from contextlib import closing
from typing import Any

from app.cli import words
from app.cli.arguments import DONE, given, natural, positive
from app.cli.asking import require_yes
from app.cli.output import Output
from app.cli.retention import run_steps
from app.cli.store_access import reading, writing
from core.errors import QueryError
from core.upkeep_types import Operation, Trash, TrashItem

_MOST_ITEMS = 10_000


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command group to the parser."""
    group = commands.add_parser("trash", parents=[shared], help="what was thrown away")
    actions = group.add_subparsers(title="actions", metavar="ACTION", required=True)
    parser = actions.add_parser("list", parents=[shared], help="the latest first")
    parser.add_argument("--limit", type=positive, default=200, metavar="N")
    parser.set_defaults(run=run_list)
    parser = actions.add_parser("restore", parents=[shared], help="bring back")
    parser.add_argument("session", nargs="*", metavar="SESSION")
    parser.add_argument("--operation", type=positive, metavar="N", help="all that one moved")
    parser.add_argument("--message", metavar="UID", help="a single message of the session")
    parser.set_defaults(run=run_restore)
    parser = actions.add_parser(
        "forget",
        parents=[shared],
        help="let a deleted session be imported again",
        description="Forgets that a session was deleted, so that an import brings it back, if "
        "its source still has it. SESSION is the name that it had there.",
    )
    parser.add_argument("session", metavar="SESSION", type=given)
    parser.set_defaults(run=run_forget)
    parser = actions.add_parser(
        "empty",
        parents=[shared],
        help="delete what is in it",
        description="Deletes for good; no import brings it back, also when its file grows. The "
        "bytes in the store's files go with the next `backscroll purge`.",
    )
    parser.add_argument("--older-than-days", type=natural, metavar="N", help="in it for longer")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run_empty)


def run_list(args: argparse.Namespace, output: Output) -> int:
    """Print what the trash holds."""
    from core.upkeep import trash

    with reading(args) as db:
        found = trash.contents(db, min(args.limit, _MOST_ITEMS))
    if output.as_json:
        output.document(trash_document(found))
        return DONE
    for item in found.items:
        when = words.local_time(item.trashed_at_ms)
        name = item.session if item.message is None else f"{item.session} message {item.message}"
        output.marked(f"{when}  ", item.title or "(untitled)", ())
        count = words.plural(item.messages, "message")
        kept = f"until {words.local_time(item.expires_at_ms)}"
        by = f" · operation {item.operation_id}" if item.operation_id else ""
        output.marked("    ", f"{item.source} · {count} · {kept}{by} · {name}", ())
    if len(found.items) < found.total:
        output.note(f"{len(found.items):,} of {words.plural(found.total, 'item')}")
    if not found.total:
        output.line("The trash is empty.")
    elif found.undoable is not None:
        output.line(f"undo the last: backscroll trash restore --operation {found.undoable}")
    return DONE


def run_restore(args: argparse.Namespace, output: Output) -> int:
    """Bring back sessions, a message, or all that an operation moved."""
    from core.store.connection import transaction
    from core.upkeep import trash

    if (args.operation is None) == (not args.session):
        raise QueryError("name what to bring back: sessions, or --operation N")
    if args.message is not None and len(args.session) != 1:
        raise QueryError("--message is of one session: name that one too")
    with writing(args) as db, transaction(db):
        if args.operation is not None:
            done = trash.undo(db, args.operation, "command")
        elif args.message is not None:
            row = trash.message_in_trash(db, args.session[0], args.message)
            done = trash.restore_message(db, row, "command")
        else:
            rows = [trash.session_in_trash(db, ref) for ref in args.session]
            done = trash.restore_sessions(db, rows, "command")
    print_operation(done, output)
    return DONE


def run_forget(args: argparse.Namespace, output: Output) -> int:
    """Let a deleted session be imported again."""
    from core.store.connection import transaction
    from core.upkeep import trash

    with writing(args) as db, transaction(db):
        done = trash.forget(db, args.session, "command")
    print_operation(done, output)
    if not output.as_json:
        output.line("bring it back: backscroll import")
    return DONE


def run_empty(args: argparse.Namespace, output: Output) -> int:
    """Delete what is in the trash."""
    from core.store import clock
    from core.upkeep import trash

    before_ms = None
    if args.older_than_days is not None:
        before_ms = clock.now_ms() - args.older_than_days * clock.DAY_MS
    with writing(args) as db:
        held = trash.contents(db, limit=0)
        if held.total and not args.yes:
            older = f" longer than {args.older_than_days} days" if before_ms is not None else ""
            what = (
                f"The trash holds {words.plural(held.total, 'item')} with"
                f" {words.plural(held.messages, 'message')}, about {words.size(held.bytes)}."
                f" What is in it{older} is deleted for good."
            )
            require_yes(args, output, what)
        with closing(trash.empty(db, "command", before_ms)) as steps:
            report = run_steps(steps, output)
    if output.as_json:
        output.document({"outcome": report.outcome, **report.facts})
    else:
        output.line(f"{report.outcome}.")
    return DONE


def print_operation(done: Operation, output: Output) -> None:
    """Print what an operation did, as a sentence or a document."""
    if output.as_json:
        output.document({"operation": done.id, "outcome": done.outcome, **done.receipt})
    else:
        output.line(f"{done.outcome}.")


def trash_document(found: Trash) -> dict[str, Any]:
    """Return the trash in the shape of the command-line contract."""
    return {
        "items": [_item_document(item) for item in found.items],
        "total": found.total,
        "messages": found.messages,
        "bytes": found.bytes,
        "next_expiry_at_ms": found.next_expiry_at_ms,
        "undoable": found.undoable,
    }


def _item_document(item: TrashItem) -> dict[str, Any]:
    return {
        "session": item.session,
        "title": item.title,
        "source": item.source,
        "message": item.message,
        "messages": item.messages,
        "bytes": item.bytes,
        "trashed_at_ms": item.trashed_at_ms,
        "expires_at_ms": item.expires_at_ms,
        "operation": item.operation_id,
    }
