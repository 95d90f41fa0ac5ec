"""`backscroll install cjk`: build and verify the tokenizer, or only verify it."""

import argparse
import sys
from pathlib import Path
from typing import Any

from app.cli.arguments import DONE, FAILED
from app.cli.output import Output
from app.cli.status import tokenizer_as_json


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command group to the parser."""
    group = commands.add_parser("install", parents=[shared], help="build the CJK tokenizer")
    parts = group.add_subparsers(title="parts", metavar="PART", required=True)
    parser = parts.add_parser("cjk", parents=[shared], help="the CJK tokenizer")
    parser.add_argument("--venv", type=Path, metavar="DIR", help="the environment to put it in")
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
        found = tokenizer.build(prefix)
    works = found.loads and found.acceptance
    if output.as_json:
        output.document(tokenizer_as_json(found))
    else:
        output.line(f"{'works' if works else 'does not work'}: {found.path or 'no file'}")
        output.line(found.reason)
    return DONE if works else FAILED
