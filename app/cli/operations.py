"""`backscroll operations`: the ledger of what was done to the store."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

import apsw

from app.cli import words
from app.cli.arguments import DONE, PARTIAL, comma_list, positive
from app.cli.documents import operation_document
from app.cli.output import Output, json_text
from app.cli.store_access import writing
from core.errors import QueryError
from core.upkeep_types import Operation, OperationState


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command group to the parser."""
    group = commands.add_parser(
        "operations",
        parents=[shared],
        help="what was done to the store, and what came of it",
        description="The ledger: every action with effects. One whose program died while it ran "
        "is unknown until somebody looks; verify looks, and repeats nothing.",
    )
    actions = group.add_subparsers(title="actions", metavar="ACTION", required=True)
    parser = actions.add_parser("list", parents=[shared], help="the latest, newest first")
    parser.add_argument("--state", type=comma_list, default=[], metavar=",".join(_STATES))
    parser.add_argument("--kind", type=comma_list, default=[], metavar="KIND,…")
    parser.add_argument("--limit", type=positive, default=20, metavar="N")
    parser.add_argument("--before", type=positive, metavar="ID", help="only older ones than this")
    parser.set_defaults(run=run_list)
    for name, does, run in (
        ("show", "one, with its receipt", run_show),
        ("verify", "look at what came of an unknown one", run_verify),
        ("undo", "take back what one did to sessions or messages", run_undo),
    ):
        parser = actions.add_parser(name, parents=[shared], help=does)
        parser.add_argument("operation", metavar="ID", type=positive)
        parser.set_defaults(run=run)


_STATES: tuple[str, ...] = get_args(OperationState)


def run_list(args: argparse.Namespace, output: Output) -> int:
    """Print the latest operations."""
    from core.upkeep.operations import listing

    for state in args.state:
        if state not in _STATES:
            raise QueryError(f"no state {state!r}: {', '.join(_STATES)}")
    with _looked_over(args) as db:
        found = listing(db, args.limit, args.before, args.state, args.kind)
    if output.as_json:
        output.document({"operations": [operation_document(each) for each in found]})
        return DONE
    for each in found:
        output.line(_line(each))
    output.note(words.plural(len(found), "operation"))
    return DONE


def run_show(args: argparse.Namespace, output: Output) -> int:
    """Print one operation."""
    from core.upkeep.operations import get

    with _looked_over(args) as db:
        found = get(db, args.operation)
    _tell(found, output)
    return DONE


def run_verify(args: argparse.Namespace, output: Output) -> int:
    """Look at what came of an operation; 3 when the store does not tell."""
    from core.store.connection import transaction
    from core.upkeep.operations import recover, verify

    with writing(args) as db:
        with transaction(db):
            recover(db)
        with transaction(db):
            found = verify(db, args.operation, "command")
    _tell(found, output)
    return PARTIAL if found.state == "unknown" else DONE


def run_undo(args: argparse.Namespace, output: Output) -> int:
    """Take back what an operation did to sessions or messages, as far as it is as it left it."""
    from app.cli.trash import print_operation
    from core.store.connection import transaction
    from core.upkeep import lifecycle

    with writing(args) as db, transaction(db):
        done = lifecycle.undo(db, args.operation, "command")
    print_operation(done, output)
    return DONE


@contextmanager
def _looked_over(args: argparse.Namespace) -> Iterator[apsw.Connection]:
    """Give a connection after what died is no longer said to be running."""
    from core.store.connection import transaction
    from core.upkeep.operations import has_dead, recover

    with writing(args) as db:
        if has_dead(db) and not db.readonly("main"):
            with transaction(db):
                recover(db)
        yield db


def _tell(found: Operation, output: Output) -> None:
    if output.as_json:
        output.document({"operation": operation_document(found)})
        return
    output.line(_line(found))
    output.line(f"    arguments  {json_text(dict(found.arguments))}")
    output.line(f"    receipt    {json_text(dict(found.receipt))}")
    if found.ended_at_ms is not None:
        output.line(f"    ended      {words.local_time(found.ended_at_ms)}")
    if found.verified_at_ms is not None:
        output.line(f"    looked at  {words.local_time(found.verified_at_ms)}")


def _line(each: Operation) -> str:
    outcome = f": {each.outcome}" if each.outcome else ""
    when = words.local_time(each.started_at_ms)
    return f"{each.id:>6}  {when}  {each.kind}  {each.state}  by {each.actor}{outcome}"
