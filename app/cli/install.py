"""`backscroll install cjk`: build and verify the tokenizer, or only verify it."""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.cli.arguments import DONE, FAILED, place
from app.cli.output import Output
from app.cli.status import tokenizer_as_json
from app.cli.store_access import store_path, writing


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command group to the parser."""
    group = commands.add_parser("install", parents=[shared], help="build the CJK tokenizer")
    parts = group.add_subparsers(title="parts", metavar="PART", required=True)
    parser = parts.add_parser("cjk", parents=[shared], help="the CJK tokenizer")
    parser.add_argument("--venv", type=place, metavar="DIR", help="the environment to put it in")
    parser.add_argument("--check", action="store_true", help="only verify, build nothing")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, output: Output) -> int:
    """Print where the tokenizer is and whether it works; 1 when it does not."""
    from core.index import tokenizer

    prefix = args.venv or Path(sys.prefix)
    if args.check:
        path = tokenizer.installed_in(prefix) if args.venv else tokenizer.locate()
        found = tokenizer.verify(path)
    else:
        for line in _log(args, prefix):
            output.progress(line)
        output.progress_done()
        found = tokenizer.verify(tokenizer.installed_in(prefix))
    works = found.loads and found.acceptance
    if output.as_json:
        output.document(tokenizer_as_json(found))
    else:
        output.line(f"{'works' if works else 'does not work'}: {found.path or 'no file'}")
        output.line(found.reason)
        if found.next_step:
            output.line(found.next_step)
    return DONE if works else FAILED


def _log(args: argparse.Namespace, prefix: Path) -> Iterator[str]:
    """Build it, and note that in the ledger where there is one; yields the log."""
    from core.index import tokenizer
    from core.types import Progress
    from core.upkeep import tokenizing

    if not os.path.lexists(store_path(args)):  # a store is not made for this alone
        yield from filter(None, tokenizer.building(prefix))
        return
    with writing(args) as db:
        for step in tokenizing.install(db, prefix, "command"):
            if isinstance(step, Progress) and step.what:
                yield step.what
