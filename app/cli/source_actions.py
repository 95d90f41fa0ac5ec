"""`backscroll sources remove`, `report` and `why`: what came of a source, and of a session."""

import argparse
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from app.cli import words
from app.cli.arguments import DONE, PARTIAL
from app.cli.asking import require_yes
from app.cli.output import Output
from app.cli.store_access import reading, writing
from core.source_types import Absence, SourceReport

_SHOWN_FILES = 100


def drift(unknown: Mapping[str, int], version: int) -> str:
    """Return how many records a reader does not know, by type: its format may have changed."""
    told = ", ".join(f"{kind} {count:,}" for kind, count in sorted(unknown.items()))
    many = words.plural(sum(unknown.values()), "record")
    return f"{many} of types that reader {version} does not know, left where they are: {told}"


def run_remove(args: argparse.Namespace, output: Output) -> int:
    """Forget a source; its sessions stay, or go to the trash."""
    from core.history import known_sources
    from core.store.connection import written
    from core.upkeep import removal

    with writing(args) as db:
        source = known_sources.named(db, args.source)
        what = removal.preview(source, with_history=args.with_history)
        require_yes(args, output, what)
        removed = written(db, removal.remove, source, "command", with_history=args.with_history)
    if output.as_json:
        output.document(
            {
                "source": f"{source.kind}#{source.id}",
                "files": removed.files,
                "sessions_trashed": removed.trashed,
                "sessions_kept": removed.kept,
                "operation": removed.operation,
            }
        )
        return DONE
    output.line(removed.outcome)
    if removed.trashed:
        output.note(f"backscroll trash restore --operation {removed.operation} brings them back")
    return DONE


def run_report(args: argparse.Namespace, output: Output) -> int:
    """Print how each file of a source stands, what is wrong first."""
    from core.history import known_sources

    with reading(args) as db:
        report = known_sources.report(db, known_sources.named(db, args.source), args.limit)
    if output.as_json:
        output.document(asdict(report))
        return DONE
    _print_report(report, output)
    return DONE


def _print_report(report: SourceReport, output: Output) -> None:
    removed = "  removed; its sessions are kept" if report.is_removed else ""
    output.line(f"{report.name or report.kind}  {report.root}{removed}")
    output.line(
        f"{words.plural(report.total, 'file')}, {words.plural(report.sessions, 'session')},"
        f" {words.plural(report.messages, 'message')}"
    )
    if report.unknown_records:
        output.line(drift(report.unknown_records, report.reader_version))
    states = {"done": "read", "failed": "FAILED", "gone": "gone at the source", "reading": "begun"}
    for file in report.files[:_SHOWN_FILES]:
        counts = f"{words.plural(file.sessions, 'session')}, {words.size(file.bytes)}"
        output.line(f"  {states[file.state]}  {file.path}  {counts}")
        if file.error:
            output.line(f"    {file.error}")
        for bad in file.bad[:20]:
            output.line(f"    line {bad.line}: {bad.reason}")
        if len(file.bad) > 20:
            output.line(f"    … and {len(file.bad) - 20:,} more broken records")
    if report.total > _SHOWN_FILES:
        more = report.total - min(len(report.files), _SHOWN_FILES)
        output.line(f"  … and {more:,} more files; all of them with --json --limit N")


def run_why(args: argparse.Namespace, output: Output) -> int:
    """Say why a session is not seen; 3 when not everything could be looked through."""
    from core.sources import absence

    text = " ".join(args.text)
    began = time.monotonic()
    with reading(args) as db:
        stored = absence.in_store(db, text)
    raw = absence.looked(stored, text, most_s=args.seconds)
    told = absence.judged(stored, raw, text, time.monotonic() - began)
    if output.as_json:
        output.document(_absence(told))
    else:
        for each in told.findings:
            output.line(each.sentence)
            if each.next_step:
                output.line(f"  {each.next_step}")
        if not told.complete:
            output.line(f"Not everything was looked through: {told.reason}")
    return DONE if told.complete else PARTIAL


def _absence(told: Absence) -> dict[str, Any]:
    return {
        "text": told.text,
        "visible": told.is_visible,
        "complete": told.complete,
        "reason": told.reason or None,
        "looked_through": {"places": told.places, "files": told.files, "bytes": told.bytes},
        "elapsed_ms": round(told.elapsed_ms, 1),
        "findings": [
            {
                "kind": each.kind,
                "sentence": each.sentence,
                "next_step": each.next_step or None,
                "session": each.session.ref if each.session else None,
                "title": each.session.title if each.session else None,
                "path": each.path or None,
                "facts": dict(each.facts),
            }
            for each in told.findings
        ],
    }
