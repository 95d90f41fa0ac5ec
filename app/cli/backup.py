"""`backscroll backup`: snapshots of the store, each proved by restoring it."""

import argparse
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from app.cli import words
from app.cli.arguments import DONE, FAILED, place
from app.cli.output import Output
from app.cli.store_access import store_path, writing
from app.cli.upkeep import in_words
from core.types import Progress
from core.upkeep_types import Snapshot


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "backup",
        parents=[shared],
        help="keep a copy of the store",
        description="Copies the store as it is now, also while others write, and proves the copy "
        "by restoring it to a private place. Without DIR it goes to the profile's snapshots.",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("dir", nargs="?", type=place, metavar="DIR", help="a folder of your choice")
    what.add_argument("--list", action="store_true", help="the snapshots there are")
    what.add_argument(
        "--prove", nargs="?", const="", metavar="NAME", help="restore one and compare; default: all"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, output: Output) -> int:
    """Make a snapshot, list them, or prove them; 1 where one is not what it should be."""
    from core.upkeep import backup

    profile = store_path(args).parent
    if args.list:
        found = backup.snapshots_of(profile)
        if not found and not output.as_json:
            output.line("There are no snapshots yet.")
    elif args.prove is not None:
        chosen = [Path(each.path) for each in backup.snapshots_of(profile)]
        if args.prove:
            chosen = [named(profile, args.prove)]
        found = tuple(_last(backup.prove(path), output) for path in chosen)
    else:
        with writing(args) as db:
            found = (_last(backup.make(db, "manual", "command", args.dir), output),)
    _show(found, output)
    return FAILED if any(each.problem for each in found) and not args.list else DONE


def named(profile: Path, name: str) -> Path:
    """Return the snapshot of this name, or the file at this path.

    Raises:
        NotFoundError: there is neither.
    """
    from core.errors import NotFoundError
    from core.upkeep import backup

    for each in backup.snapshots_of(profile):
        if name in (Path(each.path).name, Path(each.path).stem):
            return Path(each.path)
    path = Path(name).expanduser().absolute()
    if not os.path.lexists(path):
        raise NotFoundError(f"there is no snapshot {name}; backscroll backup --list shows them")
    return path


def line(snapshot: Snapshot) -> str:
    """Return one line about a snapshot."""
    proved = "not proved yet"
    if snapshot.problem:
        proved = f"NOT GOOD: {snapshot.problem}"
    elif snapshot.proved_at_ms is not None:
        proved = f"proved {words.local_time(snapshot.proved_at_ms)}"
    return (
        f"{words.local_time(snapshot.created_at_ms)}  {snapshot.reason or 'of unknown reason'},"
        f" {words.plural(snapshot.messages, 'message')}, {words.size(snapshot.bytes)}, {proved}"
    )


def document(snapshot: Snapshot) -> dict[str, object]:
    """Return a snapshot in the shape of the command-line contract."""
    return {
        "path": snapshot.path,
        "reason": snapshot.reason,
        "created_at_ms": snapshot.created_at_ms,
        "bytes": snapshot.bytes,
        "schema": snapshot.schema,
        "sessions": snapshot.sessions,
        "messages": snapshot.messages,
        "rolling_hash": snapshot.rolling_hash,
        "proved_at_ms": snapshot.proved_at_ms,
        "problem": snapshot.problem,
    }


def _last(steps: Iterator[Progress | Snapshot], output: Output) -> Snapshot:
    with closing(cast(Any, steps)):  # a generator: Ctrl+C ends it before the store is closed
        for found in steps:
            if isinstance(found, Snapshot):
                output.progress_done()
                return found
            output.progress(in_words(found))
    raise AssertionError("a snapshot always comes last")


def _show(found: Iterable[Snapshot], output: Output) -> None:
    if output.as_json:
        output.document({"snapshots": [document(each) for each in found]})
        return
    for each in found:
        output.line(line(each))
        output.line(f"    {each.path}")
