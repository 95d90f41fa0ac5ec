"""`backscroll import`: read history into the store."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.cli import watching, words
from app.cli.arguments import DONE, FAILED, PARTIAL, place
from app.cli.output import Output
from app.cli.store_access import writing
from core.errors import SourceError
from core.sources.kinds import KINDS
from core.types import UNCHANGED, FileReport, ImportReport, Progress

_SHOWN_REASONS = 20


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "import",
        parents=[shared],
        help="read a file, folder, zip, or everything found",
        description="Read history into the store. What is already there is not read twice; "
        "an interrupted import goes on where it stopped.",
    )
    parser.add_argument("paths", metavar="PATH", nargs="*", type=place)
    parser.add_argument("--kind", metavar="K", help=f"read it as {', '.join(KINDS)}")
    parser.add_argument(
        "--watch",
        action="store_true",
        help="and read what changes there, as it changes, until Ctrl+C; without PATH the places "
        "watched before, or the programs found",
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="read the files that PATH names once more, even what was moved in completely; a "
        "folder is not enough",
    )
    parser.set_defaults(run=run, refuse=parser.error)


def run(args: argparse.Namespace, output: Output) -> int:
    """Import and report; 3 when records or files could not be read, 1 when none could."""
    from core.sources import ingest, there
    from core.sources.detect import found_on_this_machine
    from core.upkeep import importing, operations

    if args.again and not args.paths:
        args.refuse("--again needs the PATH of the files to read once more")
    if args.watch:
        return watching.run(args, output)
    paths = args.paths or [Path(f.path) for f in found_on_this_machine() if f.importable]
    if not paths:
        raise SourceError("nothing to import was found on this machine; name a file or folder")
    for path in paths:
        there.require(path)
        if args.again and there.is_dir(path):
            args.refuse(f"--again reads files once more, and {path} is a folder: name the file")
    job = ingest.Import(paths, kind=args.kind, again=args.again)
    told = importing.arguments(paths, args.kind)
    with writing(args) as db, operations.recorded(db, importing.KIND, told, "command") as claim:
        try:
            for progress in ingest.run_sync(db, job):
                output.progress(_progress_words(progress))
                claim.beat(db)
        finally:
            output.progress_done()
            claim.state, claim.outcome, claim.receipt = importing.ended(job.report())
    report = job.report()
    if output.as_json:
        output.document(as_json(report))
    else:
        _print(report, output)
    return _exit_code(report)


def _progress_words(progress: Progress) -> str:
    share = f"{progress.done / progress.total:.0%}" if progress.total else ""
    return f"{progress.what} {share} · {words.plural(progress.messages, 'message')}"


def as_json(report: ImportReport) -> dict[str, Any]:
    """Return the report in the shape of the command-line contract."""
    return {
        "new": report.new,
        "changed": report.changed,
        "skipped": report.skipped,
        "failed": report.failed,
        "conflicts": report.conflicts,
        "files": [asdict(file) for file in report.files],
        "unknown_records": dict(report.unknown_records),
        "sessions_without_messages": report.sessions_without_messages,
    }


def _print(report: ImportReport, output: Output) -> None:
    output.line(
        f"{words.plural(report.new, 'new message')}, {report.changed:,} changed; "
        f"{words.plural(report.skipped, 'file')} skipped, {report.failed:,} failed"
    )
    if report.conflicts:
        output.line(f"{report.conflicts:,} kept beside an earlier message of the same id")
    if report.unchanged:
        output.line(f"  {words.plural(report.unchanged, 'file')} unchanged since the last import")
    if report.sessions_without_messages:
        output.line(f"  {report.sessions_without_messages:,} without messages")
    told = sorted(report.files, key=_weight)
    reasons = [line for file in told for line in _reasons(file)]
    for line in reasons[:_SHOWN_REASONS]:
        output.line(f"  {line}")
    if len(reasons) > _SHOWN_REASONS:
        output.line(f"  … and {len(reasons) - _SHOWN_REASONS:,} more; all of them with --json")
    for kind, count in sorted(report.unknown_records.items()):
        output.line(f"  {words.plural(count, 'record')} of the unknown type {kind!r}")


def _weight(file: FileReport) -> int:
    """What failed comes first, then what was read in part: the lines that are shown are few."""
    return 0 if file.outcome == "failed" else 1 if file.bad_records else 2


def _reasons(file: FileReport) -> list[str]:
    lines = [f"{bad.path}:{bad.line}: {bad.reason}" for bad in file.bad_records]
    if file.reason and file.reason != UNCHANGED:
        lines.insert(0, words.of_file(file.path, file.reason))
    return lines


def _exit_code(report: ImportReport) -> int:
    bad = any(file.bad_records for file in report.files)
    read = any(file.outcome != "failed" for file in report.files)
    if report.failed and not read:
        return FAILED
    return PARTIAL if report.failed or bad else DONE
