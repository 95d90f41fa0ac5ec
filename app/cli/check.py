"""`backscroll check`: really ask each index, and compare what it holds with what it should."""

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import apsw

from app.cli.arguments import DONE, FAILED
from app.cli.output import Output
from app.cli.store_access import writing
from app.cli.upkeep import report_of
from core.upkeep_types import Finding

_NOTE_WITHIN_MS = 1_000


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("check", parents=[shared], help="verify the indexes")
    parser.add_argument(
        "--full", action="store_true", help="every page and posting, on a private copy"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, output: Output) -> int:
    """Print one verdict per index; 1 when any of them fails."""
    from core.index.health import check
    from core.index.tokenizer import locate
    from core.store.connection import snapshot
    from core.upkeep import health

    with writing(args) as db:
        if args.full:
            report = report_of(health.full(db, "command", tokenizer=locate()), output)
            checks: Any = report.facts["checks"]
        else:
            with snapshot(db):
                findings = check(db)
            if not db.readonly("main"):
                _note(db, findings, output)
            checks = [asdict(finding) for finding in findings]
    return _told(checks, output)


def _note(db: apsw.Connection, findings: Iterable[Finding], output: Output) -> None:
    """Keep the verdict in the store, unless another program is writing for long."""
    from core.index.health import remember
    from core.store.connection import transaction
    from core.store.waiting import wait_for_locks

    wait_for_locks(db, _NOTE_WITHIN_MS)
    try:
        with transaction(db):
            remember(db, findings)
    except apsw.BusyError:
        output.note("The verdict is not kept: another program is writing to the store.")


def _told(checks: Iterable[Mapping[str, Any]], output: Output) -> int:
    checks = list(checks)
    healthy = all(each["ok"] for each in checks)
    if output.as_json:
        output.document({"ok": healthy, "checks": checks})
        return DONE if healthy else FAILED
    for each in checks:
        took = f" ({each['match_ms']:.1f} ms)" if each.get("match_ms") is not None else ""
        output.line(f"{'ok  ' if each['ok'] else 'FAIL'}  {each['name']}: {each['message']}{took}")
    return DONE if healthy else FAILED
