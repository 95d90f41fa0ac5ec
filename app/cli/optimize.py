"""`backscroll optimize`: merge the indexes, so that searches read as little as they can."""

import argparse
from typing import Any

from app.cli.arguments import DONE
from app.cli.output import Output
from app.cli.store_access import writing
from app.cli.upkeep import report_of, show


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("optimize", parents=[shared], help="merge the indexes")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, output: Output) -> int:
    """Merge every index in small steps; others write in between."""
    from core.upkeep import optimize

    with writing(args) as db:
        report = report_of(optimize.run(db, "command"), output)
    show(report, output)
    return DONE
