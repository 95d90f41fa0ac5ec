"""`backscroll compact`: give the space of what was deleted back to the disk."""

import argparse
from typing import Any

from app.cli import words
from app.cli.arguments import DONE, PARTIAL
from app.cli.asking import require_yes
from app.cli.output import Output
from app.cli.store_access import store_path, writing
from app.cli.upkeep import report_of, show


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("compact", parents=[shared], help="give free space back")
    parser.add_argument("--yes", action="store_true", help="do not ask, though others have it open")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, output: Output) -> int:
    """Write the store anew without its free pages; 3 while a reader keeps its log long."""
    from core.store import holders
    from core.upkeep import compact

    with writing(args) as db:
        others = holders.open_elsewhere(store_path(args))
        if others:
            who = holders.in_words(others)
            needed = words.size(compact.compact_needs_bytes(db))
            require_yes(
                args,
                output,
                f"{who} has the store open and cannot write while it is compacted"
                f" (some 30 s at 4 GB; {needed} must be free).",
            )
        report = report_of(compact.run(db, "command"), output)
    show(report, output)
    return DONE if report.state == "succeeded" else PARTIAL
