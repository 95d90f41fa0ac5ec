"""`backscroll sources`: the places on this machine that history can be imported from."""

import argparse
from dataclasses import asdict
from typing import Any

from app.cli import words
from app.cli.arguments import DONE
from app.cli.output import Output


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("sources", parents=[shared], help="places found on this machine")
    parser.set_defaults(run=run)


def run(_args: argparse.Namespace, output: Output) -> int:
    """Look at the default places and print what is there; nothing is imported."""
    from core.sources.detect import found_on_this_machine

    found = found_on_this_machine()
    if output.as_json:
        output.document({"sources": [asdict(source) for source in found]})
        return DONE
    if not found:
        output.line("No agent history was found in the usual places.")
        output.line("Import a file or folder by name: backscroll import PATH")
    for source in found:
        sessions = (
            "" if source.sessions is None else f"{words.plural(source.sessions, 'session')}, "
        )
        state = "" if source.importable else f"  not importable: {source.reason}"
        output.line(f"{source.name}  {sessions}{words.size(source.size_bytes)}{state}")
        output.line(f"  {source.kind}  {source.path}")
    return DONE
