"""Running long upkeep from a command: its progress, and the report at its end."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any, cast

from app.cli.output import Output
from core.types import Progress
from core.upkeep_types import Report


def report_of(steps: Iterator[Progress | Report], output: Output) -> Report:
    """Run upkeep to its end, show how far it is, and return what it reports.

    Stopped with Ctrl+C it has put its own things away when this is left.
    """
    report = Report("nothing was to be done")
    with closing(cast(Any, steps)):  # a generator
        for found in steps:
            if isinstance(found, Report):
                report = found
            else:
                output.progress(in_words(found))
    output.progress_done()
    return report


def in_words(progress: Progress) -> str:
    """Return how far it is: `copying 40% · 1,000 bytes`."""
    share = f" {progress.done / progress.total:.0%}" if progress.total else ""
    return f"{progress.what}{share} · {progress.done:,} {progress.unit}"


def show(report: Report, output: Output) -> None:
    """Print a report, for people or for programs."""
    if output.as_json:
        output.document({"outcome": report.outcome, "state": report.state, **report.facts})
    else:
        output.line(report.outcome)
