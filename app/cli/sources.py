"""`backscroll sources`: where history comes from, and what of it is watched."""

import argparse
import os
from dataclasses import asdict
from typing import Any

from app.cli import source_actions, watching, words
from app.cli.arguments import DONE, given, place, positive, seconds
from app.cli.output import Output
from app.cli.source_actions import drift
from app.cli.store_access import reading, store_path, writing
from core.errors import NotFoundError
from core.source_types import KnownSource, WatchedPlace, WatcherAt
from core.types import FoundSource


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command group to the parser; without an action it lists."""
    group = commands.add_parser(
        "sources",
        parents=[shared],
        help="places found, read and watched; why something is not here",
    )
    group.set_defaults(run=run)
    actions = group.add_subparsers(title="actions", metavar="ACTION", required=False)
    parser = actions.add_parser(
        "watch",
        parents=[shared],
        help="read what changes there, from now on",
        description="The window reads it while it is open, `backscroll import --watch` without.",
    )
    parser.add_argument("path", metavar="PATH", nargs="+", type=place)
    parser.add_argument("--kind", metavar="K", help="read it as this kind")
    parser.set_defaults(run=run_watch)
    parser = actions.add_parser("unwatch", parents=[shared], help="let it be; what was read stays")
    parser.add_argument("path", metavar="PATH", nargs="+", type=place)
    parser.set_defaults(run=run_unwatch)
    for name, does, paused in (("pause", "for a while", True), ("resume", "go on", False)):
        parser = actions.add_parser(name, parents=[shared], help=f"{does}; all without PATH")
        parser.add_argument("path", metavar="PATH", nargs="*", type=place)
        parser.set_defaults(run=run_pause, paused=paused)
    _add_more(actions, shared)


def _add_more(actions: Any, shared: argparse.ArgumentParser) -> None:
    parser = actions.add_parser(
        "remove",
        parents=[shared],
        help="stop and forget a source",
        description="Its sessions stay, marked as of a removed source, or go to the trash. No "
        "file of the source is touched. Importing its place again brings it back.",
    )
    parser.add_argument("source", metavar="SOURCE", type=given, help="its kind, name or folder")
    parser.add_argument("--with-history", action="store_true", help="its sessions to the trash")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=source_actions.run_remove)
    parser = actions.add_parser("report", parents=[shared], help="a source file by file")
    parser.add_argument("source", metavar="SOURCE", type=given, help="its kind, name or folder")
    parser.add_argument("--limit", type=positive, default=1000, metavar="N")
    parser.set_defaults(run=source_actions.run_report)
    parser = actions.add_parser(
        "why",
        parents=[shared],
        help="why a session is not here",
        description="TEXT is an id or its beginning, a title, or words as they were said. Looks "
        "in the store, then in the files of every place that is known; 3 when that was cut short.",
    )
    parser.add_argument("text", metavar="TEXT", nargs="+", type=given)
    parser.add_argument(
        "--seconds", type=seconds, default=8.0, metavar="N", help="how long to look"
    )
    parser.set_defaults(run=source_actions.run_why)


def run(args: argparse.Namespace, output: Output) -> int:
    """Print what is on this machine, beside what the store has; nothing is imported."""
    from core.history import known_sources, watched
    from core.sources.detect import found_on_this_machine

    found = found_on_this_machine()
    stored: tuple[KnownSource, ...] = ()
    places: tuple[WatchedPlace, ...] = ()
    watcher = None
    if os.path.lexists(store_path(args)):
        with reading(args) as db:
            stored = known_sources.known(db)
            places, watcher = watched.places(db), watched.watcher(db)
    if output.as_json:
        output.document(
            {
                "sources": [asdict(each) | _watching(each.path, places) for each in found],
                "stored": [_source(each) for each in stored],
                "watched": [watching.place_document(each) for each in places],
                "watcher": None if watcher is None else _watcher(watcher),
            }
        )
        return DONE
    _print_found(found, places, output)
    if stored:
        output.line()
        output.line("In the store:")
    for source in stored:
        _print_stored(source, output)
    _print_watched(places, watcher, output)
    return DONE


def _watching(path: str, places: tuple[WatchedPlace, ...]) -> dict[str, bool]:
    its = next((each for each in places if each.path == path), None)
    return {"watched": its is not None, "paused": its is not None and its.paused}


def _source(source: KnownSource) -> dict[str, Any]:
    told = asdict(source)
    told.pop("id")
    told["name"] = source.name
    told["source"] = f"{source.kind}#{source.id}"
    told["watch"] = None if source.watch is None else watching.place_document(source.watch)
    return told


def _watcher(watcher: WatcherAt) -> dict[str, Any]:
    return {"program": watcher.program, "pid": int(watcher.pid), "since_ms": watcher.since_ms}


def _print_found(
    found: list[FoundSource], places: tuple[WatchedPlace, ...], output: Output
) -> None:
    if not found:
        output.line("No agent history was found in the usual places.")
        output.line("Import a file or folder by name: backscroll import PATH")
    for source in found:
        sessions = (
            "" if source.sessions is None else f"{words.plural(source.sessions, 'session')}, "
        )
        state = "" if source.importable else f"  not importable: {source.reason}"
        its = next((each for each in places if each.path == source.path), None)
        if its is not None:
            state += "  watching is paused" if its.paused else "  watched"
        output.line(f"{source.name}  {sessions}{words.size(source.size_bytes)}{state}")
        output.line(f"  {source.kind}  {source.path}")


def _print_stored(source: KnownSource, output: Output) -> None:
    state = ""
    if source.is_removed:
        state = "  removed; its sessions are kept"
    elif source.watch is not None:
        state = "  watching is paused" if source.watch.paused else "  watched"
    name = source.name or source.kind
    output.line(f"{name}  {source.kind}#{source.id}{state}")
    counts = [words.plural(source.sessions, "session"), words.plural(source.messages, "message")]
    if source.gone_sessions:
        counts.append(f"{source.gone_sessions:,} gone at the source")
    output.line(f"  {', '.join(counts)}; last run {words.local_time(source.last_run_at_ms)}")
    if source.new is not None:
        output.line(
            f"  {source.new:,} new, {source.changed:,} changed;"
            f" {words.plural(source.skipped or 0, 'file')} unchanged, {source.failed:,} failed,"
            f" {words.plural(source.bad_records, 'broken record')}"
        )
    if source.unknown_records:
        output.line(f"  {drift(source.unknown_records, source.reader_version)}")


def _print_watched(
    places: tuple[WatchedPlace, ...], watcher: WatcherAt | None, output: Output
) -> None:
    if not places:
        return
    output.line()
    active = sum(not each.paused for each in places)
    output.line(f"{words.plural(active, 'place')} watched. {_who(watcher)}")
    for each in places:
        output.line(f"  {each.path}{'  paused' if each.paused else ''}")


def _who(watcher: WatcherAt | None) -> str:
    if watcher is None:
        return (
            "Nobody watches now: open the window, or run backscroll import --watch;"
            " what changes meanwhile is read then."
        )
    who = {"window": "The window", "command": "The command import --watch"}
    return f"{who.get(watcher.program, watcher.program)} watches (process {watcher.pid})."


def run_watch(args: argparse.Namespace, output: Output) -> int:
    """Have places watched from now on."""
    from core.history import watched

    with writing(args) as db:
        paths = watching.add(db, [watching.absolute(each) for each in args.path], args.kind)
        return _told(paths, "watched from now on", watched.watcher(db), output)


def run_unwatch(args: argparse.Namespace, output: Output) -> int:
    """Watch places no longer."""
    from core.history import watched
    from core.store.connection import written

    paths = [str(watching.absolute(each)) for each in args.path]
    with writing(args) as db:
        _require_watched(paths, watched.places(db))
        for path in paths:
            written(db, watched.unwatch, path)
        return _told(paths, "no longer watched", watched.watcher(db), output)


def run_pause(args: argparse.Namespace, output: Output) -> int:
    """Pause the watching of some places or of all, or let it go on."""
    from core.history import watched
    from core.store.connection import written

    with writing(args) as db:
        every = watched.places(db)
        paths = [str(watching.absolute(each)) for each in args.path]
        _require_watched(paths, every)
        if not every and not output.as_json:
            output.line("No place is watched: backscroll sources watch PATH")
            return DONE
        for path in paths or [each.path for each in every]:
            written(db, watched.set_paused, path, paused=args.paused)
        done = "paused" if args.paused else "watched again"
        return _told(paths or [each.path for each in every], done, watched.watcher(db), output)


def _require_watched(paths: list[str], places: tuple[WatchedPlace, ...]) -> None:
    known = {each.path for each in places}
    for path in paths:
        if path not in known:
            raise NotFoundError(f"{path} is not watched")


def _told(paths: Any, done: str, watcher: WatcherAt | None, output: Output) -> int:
    if output.as_json:
        told = None if watcher is None else _watcher(watcher)
        output.document({"paths": list(paths), "done": done, "watcher": told})
        return DONE
    for path in paths:
        output.line(f"{path}: {done}")
    if done != "no longer watched":
        output.note(_who(watcher))
    return DONE
