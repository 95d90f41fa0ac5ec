"""`backscroll restore`: go back to a snapshot."""

import argparse
import os
from typing import Any

from app.cli import backup, words
from app.cli.arguments import DONE, given
from app.cli.asking import require_yes
from app.cli.output import Output
from app.cli.store_access import store_path
from app.cli.upkeep import report_of, show


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "restore",
        parents=[shared],
        help="go back to a snapshot",
        description="Puts a copy of a snapshot in the place of the store, whose files are kept "
        "aside until the next purge. What was deleted for good since stays deleted; the trash "
        "and the ledger are as they were then. Nobody may have the store open.",
    )
    parser.add_argument(
        "file", metavar="FILE", type=given, help="a snapshot, by its name or its path"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, output: Output) -> int:
    """Look at the snapshot, ask, and restore it."""
    from core.store.errors import translated
    from core.upkeep import restore

    profile = store_path(args).parent
    chosen = backup.named(profile, args.file)
    found = restore.look(chosen)
    count, sessions = (
        words.plural(found.messages, "message"),
        words.plural(found.sessions, "session"),
    )
    proved = "proved" if found.proved_at_ms is not None else "never proved"
    what = (
        f"{chosen.name} of {words.local_time(found.created_at_ms)} ({count} in {sessions},"
        f" {words.size(found.bytes)}, {proved}) takes the place of the store"
    )
    if os.path.lexists(store_path(args)):
        size = words.size(store_path(args).stat().st_size)
        what += f" ({size}), whose newer messages are then only in the folder it is moved to"
    require_yes(args, output, f"{what}.")
    with translated(store_path(args)):
        report = report_of(restore.restore(profile, chosen, "command"), output)
    show(report, output)
    return DONE
