"""`backscroll repair`: make anew what is damaged, or rescue what can be read of a damaged file."""

import argparse
from typing import Any

from app.cli.arguments import DONE, PARTIAL
from app.cli.asking import require_yes
from app.cli.output import Output
from app.cli.store_access import store_path, writing
from app.cli.upkeep import report_of, show
from core.upkeep_types import Report


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "repair",
        parents=[shared],
        help="make damaged indexes anew",
        description="Damaged indexes are set aside and filled anew from the messages. Where the "
        "file itself is damaged that is said, and nothing is changed without --salvage.",
    )
    parser.add_argument(
        "--salvage",
        action="store_true",
        help="read what can be read of a damaged file into a new store; the file is kept",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, output: Output) -> int:
    """Repair the indexes, or salvage the store; 3 when not all of it could be read."""
    from core.index.tokenizer import locate
    from core.store.errors import translated
    from core.upkeep import repair, salvage

    path = store_path(args)
    if args.salvage:
        found = salvage.preview(path)
        require_yes(args, output, f"{found} is read into a new store; the damaged file is kept.")
        with translated(path):
            report = report_of(salvage.run(path, "command", tokenizer=locate()), output)
    else:
        with writing(args) as db:
            report = report_of(repair.run(db, "command"), output)
    show(report, output)
    return PARTIAL if args.salvage and _is_partial(report) else DONE


def _is_partial(report: Report) -> bool:
    """Tell whether a salvage lost messages, or came back with nothing at all."""
    return bool(report.facts["lost_messages"]) or not report.facts["messages"]
