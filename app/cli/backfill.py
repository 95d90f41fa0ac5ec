"""`backscroll backfill`: bring the indexes to completeness, or stop and let go on."""

import argparse
from contextlib import closing
from typing import Any

from app.cli.arguments import DONE, PARTIAL
from app.cli.output import Output
from app.cli.status import index_as_json
from app.cli.store_access import writing
from core.types import INDEX_NAMES, IndexStatus, Progress


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("backfill", parents=[shared], help="complete the indexes")
    parser.add_argument("--index", choices=INDEX_NAMES, help="only this one; default: all")
    parser.add_argument("--now", action="store_true", help="without pauses, and what is paused too")
    steer = parser.add_mutually_exclusive_group()
    steer.add_argument("--pause", action="store_true", help="stop it until --resume")
    steer.add_argument("--resume", action="store_true", help="let it go on, and run it")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, output: Output) -> int:
    """Run the backfill to its end, or note that it is to stop; 3 when rows are left to do."""
    from core.index import backfill, state
    from core.store.connection import transaction
    from core.upkeep import indexing
    from core.upkeep_types import Report

    names = (args.index,) if args.index else INDEX_NAMES
    outcome = ""
    with writing(args) as db:
        if args.pause or args.resume:
            with transaction(db):
                backfill.set_paused(db, args.pause, args.index)
        if not args.pause:
            steps: Any = indexing.complete(db, names, now=args.now, actor="command")
            with closing(steps):  # a generator: Ctrl+C ends it before the store is closed
                for step in steps:
                    if isinstance(step, Report):
                        outcome = step.outcome
                    else:
                        output.progress(_progress_words(step))
            output.progress_done()
        paused = backfill.is_paused(db, args.index)
        found = [status for status in state.statuses(db) if status.name in names]
    if output.as_json:
        indexes = {status.name: index_as_json(status) for status in found}
        output.document({"paused": paused, "outcome": outcome, "indexes": indexes})
    else:
        for status in found:
            output.line(_line(status))
        if any(status.paused for status in found):
            output.line("What is paused waits until backscroll backfill --resume.")
        elif outcome:
            output.line(outcome[:1].upper() + outcome[1:] + ".")
    return DONE if all(status.ready for status in found) or args.pause else PARTIAL


def _line(status: IndexStatus) -> str:
    left = f", {status.todo:,} to do" if status.todo else ""
    paused = ", paused" if status.paused else ""
    reason = f": {status.reason}" if status.reason else ""
    return f"{status.name}  {status.state}, {status.coverage:.1%}{left}{paused}{reason}"


def _progress_words(progress: Progress) -> str:
    share = f" {progress.done / progress.total:.0%}" if progress.total else ""
    return f"{progress.what}{share} · {progress.done:,} {progress.unit}"
