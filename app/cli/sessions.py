"""`backscroll sessions`: the list of sessions; `session_steps` has what is done with them."""

import argparse
from datetime import datetime
from typing import Any

from app.cli import session_steps, words
from app.cli.arguments import DONE, comma_list, given, positive
from app.cli.documents import session_document
from app.cli.output import Output
from app.cli.store_access import reading
from core.search.times import parse_time
from core.types import SessionFilter

_MOST_SESSIONS = 1000


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command group to the parser."""
    group = commands.add_parser(
        "sessions", parents=[shared], help="list them; rename, archive, reset, delete…"
    )
    actions = group.add_subparsers(title="actions", metavar="ACTION", required=True)
    parser = actions.add_parser("list", parents=[shared], help="newest first, page by page")
    parser.add_argument("--limit", type=positive, default=50, metavar="N")
    parser.add_argument("--after", metavar="TOKEN", help="the `next` of the page before")
    parser.add_argument("--source", type=comma_list, default=[], metavar="KIND,…")
    parser.add_argument("--project", type=comma_list, default=[], metavar="NAME,…")
    parser.add_argument("--channel", type=comma_list, default=[], metavar="NAME,…")
    parser.add_argument("--title", default="", metavar="TEXT", help="text in the title")
    parser.add_argument("--since", type=given, metavar="TIME", help="last active at or after")
    parser.add_argument("--until", type=given, metavar="TIME", help="last active before")
    parser.add_argument("--archived", action="store_true", help="archived ones too")
    parser.add_argument("--all-kinds", action="store_true", help="subagents and tools too")
    parser.add_argument("--sort", choices=("last_active", "started", "messages"))
    parser.set_defaults(run=run)
    session_steps.add_to(actions, shared)


def run(args: argparse.Namespace, output: Output) -> int:
    """Print one page of sessions and how to get the next."""
    from core.history import facets
    from core.history.sessions import list_sessions
    from core.search.named import said, unknown_places

    now = datetime.now().astimezone()
    wanted = SessionFilter(
        sources=tuple(args.source),
        projects=tuple(args.project),
        channels=tuple(args.channel),
        text=args.title,
        since_ms=parse_time(args.since, now=now) if args.since else None,
        until_ms=parse_time(args.until, now=now) if args.until else None,
        include_archived=args.archived,
        include_hidden_kinds=args.all_kinds,
        sort=args.sort or "last_active",
    )
    limit = min(args.limit, _MOST_SESSIONS)
    with reading(args) as db:
        page = list_sessions(db, wanted, limit=limit, after=args.after)
        channels = facets.channels(db) if output.as_json or args.channel else ()
        kinds = {kind for kind, _ in facets.sources(db)} if args.source else set()
        unknown = [f"no source is of the kind {said(k)}" for k in args.source if k not in kinds]
        unknown += unknown_places(db, (), args.project)
    if not page.total:
        held_in = {name for name, _ in channels}
        unknown += [f"no channel is named {said(c)}" for c in args.channel if c not in held_in]
    if output.as_json:
        sessions = [session_document(session) for session in page.sessions]
        document = {"sessions": sessions, "next": page.next, "total": page.total}
        document["warnings"] = unknown
        held = [{"channel": name, "sessions": count} for name, count in channels]
        output.document(document | {"channels": held})
        return DONE
    for warning in unknown:
        output.note(warning)
    for session in page.sessions:
        when = words.local_time(session.last_active_at_ms)
        count = words.plural(session.message_count, "message")
        place = f" · {session.project}" if session.project else ""
        output.marked(f"{when}  ", session.title or "(untitled)", ())
        channel = f" · {session.channel}" if session.channel else ""
        output.marked("    ", f"{session.source}{channel}{place} · {count} · {session.ref}", ())
    output.note(f"{len(page.sessions):,} of {words.plural(page.total, 'session')}")
    if page.next:
        output.note(f"more with --after {page.next}")
    return DONE
