"""Asking before what cannot be undone."""

import argparse
import sys

from app.cli.output import Output, printable
from core.errors import RefusedError


def require_yes(args: argparse.Namespace, output: Output, what: str) -> None:
    """Return when a person says yes: by `--yes`, or on the terminal when asked about `what`.

    Raises:
        RefusedError: they said no, or there is no terminal to ask on. Nothing was done.
    """
    if args.yes:
        return
    if output.as_json or not (sys.stdin.isatty() and output.err.isatty()):
        raise RefusedError(f"{what} Nothing was done: there is nobody to ask. Confirm with --yes.")
    output.err.write(printable(f"{what} Do it? [y/N] "))
    output.err.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise RefusedError("Nothing was done.")
