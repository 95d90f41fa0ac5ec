"""`backscroll purge`: erase from every file what was deleted."""

import argparse
from typing import Any

from app.cli import words
from app.cli.arguments import DONE, PARTIAL
from app.cli.asking import require_yes
from app.cli.output import Output
from app.cli.store_access import writing
from app.cli.upkeep import report_of, show
from core.upkeep_types import PurgePreview


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "purge",
        parents=[shared],
        help="erase the bytes of what was deleted",
        description="What was deleted is found nowhere any more, but its bytes lie in the store's "
        "files, and in snapshots, until a purge. What the disk itself keeps aside (worn cells of "
        "an SSD, copies of the file system, swap) and backups in other folders are out of its "
        "reach.",
    )
    parser.add_argument("--now", action="store_true", help="also when one was made today")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, output: Output) -> int:
    """Erase what waits; 3 while a reader keeps the old state."""
    from core.errors import RefusedError
    from core.upkeep import purge

    with writing(args) as db:
        preview = purge.preview(db)
        if preview.not_now and not args.now:
            raise RefusedError(f"{preview.not_now}; --now does it all the same")
        require_yes(args, output, in_words(preview))
        report = report_of(purge.run(db, "command", args.now), output)
    show(report, output)
    return DONE if report.state == "succeeded" else PARTIAL


def in_words(preview: PurgePreview) -> str:
    """Return what would be done: counts, bytes, dates, and for how long others wait."""
    waiting = preview.waiting
    parts = [
        f"{words.plural(waiting.messages, 'deleted message')}"
        f" ({words.size(waiting.bytes)}) will be erased for good."
    ]
    if preview.snapshots:
        oldest, newest = preview.snapshots[-1], preview.snapshots[0]
        dates = [words.local_time(each.created_at_ms) for each in (oldest, newest)]
        size = words.size(sum(each.bytes for each in preview.snapshots))
        count = words.plural(len(preview.snapshots), "snapshot")
        parts.append(f"{count} ({size}, {dates[0]} to {dates[1]}) will be deleted, one made anew.")
    if preview.folders:
        size = words.size(preview.folder_bytes)
        parts.append(f"{', '.join(preview.folders)} ({size}) will be deleted.")
    needed, free = words.size(preview.needed_bytes), words.size(preview.free_bytes)
    seconds = words.plural(preview.lock_s, "second")
    parts.append(f"Others cannot write for about {seconds}; {needed} are needed, {free} are free.")
    return " ".join(parts)
