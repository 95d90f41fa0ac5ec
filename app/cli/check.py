"""`backscroll check`: really ask each index, and compare what it holds with what it should."""

import argparse
from dataclasses import asdict
from typing import Any

from app.cli.arguments import DONE, FAILED
from app.cli.output import Output
from app.cli.store_access import reading


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("check", parents=[shared], help="verify the indexes")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, output: Output) -> int:
    """Print one verdict per index; 1 when any of them fails."""
    from core.index.health import check

    with reading(args) as db:
        findings = check(db)
    healthy = all(finding.ok for finding in findings)
    if output.as_json:
        output.document({"ok": healthy, "checks": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            output.line(f"{'ok  ' if finding.ok else 'FAIL'}  {finding.name}: {finding.message}")
    return DONE if healthy else FAILED
