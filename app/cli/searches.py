"""`backscroll searches`: what was saved under a name."""

import argparse
import time
from datetime import datetime
from typing import Any

from app.cli import words
from app.cli.arguments import DONE, comma_list, given, roles_named
from app.cli.output import Output
from app.cli.store_access import reading, writing
from core.history.saved_searches import SavedFilters, SavedSearch
from core.search.times import parse_time


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command group to the parser."""
    group = commands.add_parser("searches", parents=[shared], help="saved searches")
    actions = group.add_subparsers(title="actions", metavar="ACTION", required=True)
    parser = actions.add_parser("list", parents=[shared], help="what is saved")
    parser.set_defaults(run=run_list)
    parser = actions.add_parser(
        "save",
        parents=[shared],
        help="save a search; one of the same name is replaced",
        description="Save a search under a name. `search --saved NAME` asks it; an age such as "
        "7d counts from then.",
    )
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("query", metavar="QUERY", nargs="+", help="several words are joined")
    parser.add_argument("--sort", choices=("relevance", "newest", "oldest"), default="relevance")
    parser.add_argument("--role", type=comma_list, default=[], metavar="user,assistant,tool,system")
    parser.add_argument("--source", type=comma_list, default=[], metavar="KIND,…")
    parser.add_argument("--project", type=comma_list, default=[], metavar="NAME,…")
    parser.add_argument("--since", type=given, metavar="TIME")
    parser.add_argument("--until", type=given, metavar="TIME")
    parser.set_defaults(run=run_save)
    parser = actions.add_parser("rename", parents=[shared], help="give one another name")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("new_name", metavar="NEW")
    parser.set_defaults(run=run_rename)
    parser = actions.add_parser("remove", parents=[shared], help="forget one")
    parser.add_argument("name", metavar="NAME")
    parser.set_defaults(run=run_remove)


def run_list(args: argparse.Namespace, output: Output) -> int:
    """Print the saved searches."""
    from core.history.saved_searches import saved

    with reading(args) as db:
        found = saved(db)
    if output.as_json:
        output.document({"searches": [as_json(search) for search in found]})
        return DONE
    for search in found:
        output.marked("", search.name, ())
        output.marked("    ", described(search), ())
    output.note(f"{len(found):,} saved search{'' if len(found) == 1 else 'es'}")
    return DONE


def run_save(args: argparse.Namespace, output: Output) -> int:
    """Save one."""
    from core.history.saved_searches import save
    from core.store.connection import transaction

    filters = _filters(args)
    with writing(args) as db, transaction(db):
        at_ms = round(time.time() * 1000)
        made = save(db, args.name, " ".join(args.query), filters, args.sort, at_ms=at_ms)
    return _done(made, f"saved as {made.name}", output)


def run_rename(args: argparse.Namespace, output: Output) -> int:
    """Rename one."""
    from core.history.saved_searches import rename
    from core.store.connection import transaction

    with writing(args) as db, transaction(db):
        renamed = rename(db, args.name, args.new_name)
    return _done(renamed, f"saved as {renamed.name}", output)


def run_remove(args: argparse.Namespace, output: Output) -> int:
    """Remove one; what it asked is printed, so that it can be saved again."""
    from core.history.saved_searches import remove
    from core.store.connection import transaction

    with writing(args) as db, transaction(db):
        gone = remove(db, args.name)
    return _done(gone, f"removed {gone.name}: {described(gone)}", output)


def as_json(search: SavedSearch) -> dict[str, Any]:
    """Return a saved search in the shape of the command-line contract."""
    filters = search.filters
    return {
        "name": search.name,
        "query": search.query,
        "sort": search.sort,
        "saved_at_ms": search.saved_at_ms,
        "roles": [role.value for role in filters.roles],
        "sources": list(filters.sources),
        "projects": list(filters.projects),
        "days": filters.days,
        "since": filters.since or None,
        "until": filters.until or None,
    }


def described(search: SavedSearch) -> str:
    """Return on one line what a saved search asks."""
    filters = search.filters
    parts = [search.query, search.sort if search.sort != "relevance" else ""]
    parts += [
        f"{name} {', '.join(values)}"
        for name, values in (
            ("role", [role.value for role in filters.roles]),
            ("source", filters.sources),
            ("project", filters.projects),
        )
        if values
    ]
    if filters.days is not None:
        parts.append("last " + words.plural(filters.days, "day"))
    parts += [f"{name} {at}" for name, at in _times(filters) if at]
    return " · ".join(part for part in parts if part)


def _times(filters: SavedFilters) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("since", filters.since), ("until", filters.until)


def _filters(args: argparse.Namespace) -> SavedFilters:
    now = datetime.now().astimezone()
    for at in filter(None, (args.since, args.until)):
        parse_time(at, now=now)
    return SavedFilters(
        roles_named(args.role),
        tuple(args.source),
        tuple(args.project),
        since=args.since or "",
        until=args.until or "",
    )


def _done(search: SavedSearch, said: str, output: Output) -> int:
    if output.as_json:
        output.document({"search": as_json(search)})
    else:
        output.line(said)
    return DONE
