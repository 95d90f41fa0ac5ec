"""What is done with single sessions: their life, each step in the ledger and undone from there."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw

from app.cli.arguments import DONE, given
from app.cli.output import Output
from app.cli.store_access import writing
from core.errors import (
    QueryError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)
from core.upkeep_types import Operation


def add_to(actions: Any, shared: argparse.ArgumentParser) -> None:
    """Add the actions to the command group."""
    parser = actions.add_parser("rename", parents=[shared], help="'': as its source calls it")
    parser.add_argument("session", metavar="SESSION", type=given)
    parser.add_argument("title", metavar="TITLE")
    parser.set_defaults(run=run_rename)
    parser = actions.add_parser("move", parents=[shared], help="to a project; '': its source's own")
    parser.add_argument("session", nargs="+", metavar="SESSION", type=given)
    parser.add_argument("project", metavar="PROJECT")
    parser.set_defaults(run=run_move)
    for name, does in _HELP.items():
        parser = _of_sessions(actions, shared, name, does)
        parser.set_defaults(run=run_step, step=name)
    parser = _of_sessions(actions, shared, "delete", "to the trash, with their subagents")
    parser.add_argument("--message", metavar="UID", help="only this message of the session")
    parser.set_defaults(run=run_delete)
    parser = _of_sessions(actions, shared, "restore", "from the trash")
    parser.set_defaults(run=run_restore)


_HELP = {
    "pin": "never let them go by age",
    "unpin": "let them go by age again",
    "archive": "put them away; a new message brings them back",
    "unarchive": "list them again",
    "reset": "begin anew below: nothing is deleted, all stays readable",
    "clear": "every message to the trash; the session stays",
}


def _of_sessions(
    actions: Any, shared: argparse.ArgumentParser, name: str, does: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, parents=[shared], help=does)
    parser.add_argument("session", nargs="+", metavar="SESSION", type=given)
    return parser


def run_rename(args: argparse.Namespace, output: Output) -> int:
    """Call a session otherwise, or as its source calls it."""
    from core.upkeep import lifecycle

    refs = [args.session]
    return _do(
        args, output, refs, lambda db, rows: lifecycle.rename(db, rows[0], args.title, "command")
    )


def run_move(args: argparse.Namespace, output: Output) -> int:
    """Move sessions to a project, or back where their sources have them."""
    from core.upkeep import lifecycle

    return _do(
        args,
        output,
        args.session,
        lambda db, rows: lifecycle.move(db, rows, args.project, "command"),
    )


def run_step(args: argparse.Namespace, output: Output) -> int:
    """Pin sessions, archive, reset or clear them, or take the first two back."""
    from core.upkeep import lifecycle

    steps: dict[str, Callable[[apsw.Connection, list[int]], Operation]] = {
        "pin": lambda db, rows: lifecycle.pin(db, rows, True, "command"),
        "unpin": lambda db, rows: lifecycle.pin(db, rows, False, "command"),
        "archive": lambda db, rows: lifecycle.archive(db, rows, True, "command"),
        "unarchive": lambda db, rows: lifecycle.archive(db, rows, False, "command"),
        "reset": lambda db, rows: lifecycle.reset(db, rows, "command"),
        "clear": lambda db, rows: lifecycle.clear(db, rows, "command"),
    }
    return _do(args, output, args.session, steps[args.step])


def _do(
    args: argparse.Namespace,
    output: Output,
    refs: list[str],
    work: Callable[[apsw.Connection, list[int]], Operation],
) -> int:
    """Do one step to the sessions named, and say how it is taken back."""
    from app.cli.trash import print_operation
    from core.history.sessions import session_by_ref
    from core.store.connection import transaction

    with writing(args) as db, transaction(db):
        done = work(db, [session_by_ref(db, ref).id for ref in refs])
    print_operation(done, output)
    if not output.as_json:
        output.line(f"undo: backscroll operations undo {done.id}")
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
