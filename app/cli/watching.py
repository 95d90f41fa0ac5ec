"""`backscroll import --watch`: read what changes, as it changes, until it is stopped."""

import argparse
import os
import signal
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli import words
from app.cli.arguments import DONE
from app.cli.output import Output
from app.cli.store_access import writing
from core.errors import RunningError, SourceError
from core.source_types import Noticed, WatchedPlace, WatchState

if TYPE_CHECKING:
    import apsw


def run(args: argparse.Namespace, output: Output) -> int:
    """Watch the places named, and those watched before, until Ctrl+C or SIGTERM.

    With --json a document for each thing noticed, one a line.
    """
    from core.history import watched
    from core.sources import watching

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    named = [absolute(each) for each in args.paths]
    with writing(args) as db:
        add(db, named, args.kind)
        if not watched.places(db):
            add_found(db)
        if not watched.places(db):
            raise SourceError("nothing to watch was found on this machine; name a file or folder")
        told = watching.watch_sync(
            db, "command", lambda each: output.progress(words.progress(each))
        )
        with closing(told):  # type: ignore[type-var]
            try:
                for each in told:
                    _show(each, output)
            except RunningError as error:
                if not named:
                    raise
                output.line(f"The places were added. {error}.")
    return DONE


def absolute(path: Path) -> Path:
    """Return a path as an import names it: links in it stay as they are."""
    return Path(os.path.abspath(path))  # noqa: PTH100 (would follow links)


def add(db: "apsw.Connection", paths: Iterable[Path], kind: str | None) -> tuple[str, ...]:
    """Have places watched from now on; returns them as they are stored.

    Raises:
        SourceError: one is not there, or the kind is none; nothing was changed.
    """
    from core.history import watched
    from core.sources import detect, there
    from core.sources.lines import without_surrogates
    from core.store.connection import written

    if kind:
        detect.reader_of(kind)
    found = []
    for path in paths:
        there.require(path)
        is_folder = there.is_dir(path)
        if not is_folder and not there.is_file(path):
            raise SourceError(f"{path} is neither a file nor a folder", path=str(path))
        home = detect.home_of(path) if is_folder and not kind else None
        found.append((without_surrogates(str(path)), kind or (home.KIND if home else "")))

    def store(db: "apsw.Connection") -> None:
        for path, its_kind in found:
            watched.watch(db, path, its_kind)

    if found:
        written(db, store)
    return tuple(path for path, _ in found)


def add_found(db: "apsw.Connection") -> None:
    """Have the homes of programs on this machine watched; exports do not change."""
    from core.history import watched
    from core.sources.detect import found_on_this_machine
    from core.sources.downloads import is_export
    from core.store.connection import written

    found = [each for each in found_on_this_machine() if each.importable]

    def store(db: "apsw.Connection") -> None:
        for each in found:
            if not is_export(Path(each.path)):
                watched.watch(db, each.path, each.kind)

    written(db, store)


def _show(told: WatchState | Noticed, output: Output) -> None:
    output.progress_done()
    if output.as_json:
        output.document(document(told))
        output.out.flush()
        return
    if isinstance(told, WatchState):
        for each in told.places:
            output.note(f"{state_words(each.way)} {each.place.path}{_note(each.note)}")
    elif told.trouble:
        output.note(f"{told.place.path} could not be read: {told.trouble}; it is tried again")
    else:
        _show_report(told, output)
    output.out.flush()


def _show_report(told: Noticed, output: Output) -> None:
    report = told.report
    if report is None or not (report.new or report.changed or report.failed):
        return
    counts = f"{words.plural(report.new, 'new message')}, {report.changed:,} changed"
    output.line(f"{told.place.path}: {counts}")
    for file in report.files:
        if file.outcome == "failed":
            output.line(f"  {words.of_file(file.path, file.reason or '')}")
        for bad in file.bad_records:
            output.line(f"  {bad.path}:{bad.line}: {bad.reason}")


def state_words(way: str) -> str:
    """Return how a place is watched, in a word or two."""
    return {
        "native": "watching",
        "polling": "watching",
        "paused": "paused",
        "missing": "not there:",
        "starting": "starting",
    }[way]


def _note(note: str) -> str:
    return f" ({note})" if note else ""


def document(told: WatchState | Noticed) -> dict[str, Any]:
    """Return what was noticed as a document."""
    if isinstance(told, Noticed):
        report = told.report
        return {
            "noticed": {
                "place": told.place.path,
                "whole": told.whole,
                "new": report.new if report else 0,
                "changed": report.changed if report else 0,
                "failed": report.failed if report else 0,
                "files": [asdict(each) for each in report.files] if report else [],
                "trouble": told.trouble,
            }
        }
    return {
        "watching": [
            {**place_document(each.place), "way": each.way, "note": each.note}
            for each in told.places
        ]
    }


def place_document(place: WatchedPlace) -> dict[str, Any]:
    """Return a watched place as a document."""
    return {
        "path": place.path,
        "kind": place.kind,
        "added_at_ms": place.added_at_ms,
        "paused": place.paused,
    }
