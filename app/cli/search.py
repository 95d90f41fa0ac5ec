"""`backscroll search`: message hits, one list, with the path that found them."""

import argparse
from dataclasses import replace
from datetime import datetime
from typing import Any

import apsw

from app.cli import words
from app.cli.arguments import (
    DONE,
    PARTIAL,
    comma_list,
    given,
    natural,
    positive,
    roles_named,
    seconds,
)
from app.cli.documents import search_document
from app.cli.output import Output
from app.cli.store_access import reading
from core.errors import QueryError
from core.search.times import parse_time
from core.types import SearchRequest, SearchResult, Sort

_INCLUDE = ("rewound", "hidden", "tool", "trash")
_MOST_HITS = 1000
_DEADLINE_S = 3.0
_EVERYTHING_S = 60.0
_SORT: Sort = "relevance"


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "search",
        parents=[shared],
        help="find messages",
        description="Find messages. Words must all occur; see the README for the language. "
        "Use -- before a query that starts with a dash.",
    )
    parser.add_argument("query", metavar="QUERY", nargs="*", help="several words are joined")
    parser.add_argument(
        "--saved", metavar="NAME", help="ask a saved search; other options go before its own"
    )
    parser.add_argument("--limit", type=positive, default=20, metavar="N")
    parser.add_argument("--offset", type=natural, default=0, metavar="N")
    parser.add_argument("--sort", choices=("relevance", "newest", "oldest"))
    parser.add_argument("--role", type=comma_list, default=[], metavar="user,assistant,tool,system")
    parser.add_argument("--source", type=comma_list, default=[], metavar="KIND,…")
    parser.add_argument("--project", type=comma_list, default=[], metavar="NAME,…")
    parser.add_argument("--session", type=comma_list, default=[], metavar="ID,…")
    parser.add_argument(
        "--since", type=given, metavar="TIME", help="a date, a time, or 24h, 7d, 2w, 3mo"
    )
    parser.add_argument(
        "--until", type=given, metavar="TIME", help="the same; this moment is left out"
    )
    parser.add_argument("--include", type=comma_list, default=[], metavar=",".join(_INCLUDE))
    parser.add_argument(
        "--everything",
        action="store_true",
        help="read every message to its end, in every state, and no index; words inside words too",
    )
    parser.add_argument(
        "--deadline",
        type=seconds,
        metavar="SECONDS",
        help="default: 3, with --everything 60",
    )
    parser.set_defaults(run=run, refuse=parser.error)


def run(args: argparse.Namespace, output: Output) -> int:
    """Search and print; 3 when the deadline left the answer partial."""
    from core.search.run import search

    if args.saved is None and not args.query:
        args.refuse("the following arguments are required: QUERY or --saved NAME")
    if args.saved is not None and args.query:
        args.refuse("a QUERY and --saved do not go together: the query is saved")
    request = _request(args)
    with reading(args) as db:
        if args.saved is not None:
            request = _of_saved(db, args.saved, request, args.sort)
        result = search(db, request)
    if output.as_json:
        output.document(search_document(result))
    else:
        _print(result, request, output)
    return DONE if result.complete else PARTIAL


def _request(args: argparse.Namespace) -> SearchRequest:
    for name in args.include:
        if name not in _INCLUDE:
            raise QueryError(f"nothing to include named {name!r}: {', '.join(_INCLUDE)}")
    if args.limit > _MOST_HITS:
        raise QueryError(f"--limit goes up to {_MOST_HITS}; page on with --offset")
    now = datetime.now().astimezone()
    return SearchRequest(
        query=" ".join(args.query),
        limit=args.limit,
        offset=args.offset,
        sort=args.sort or _SORT,
        roles=roles_named(args.role),
        sources=tuple(args.source),
        projects=tuple(args.project),
        sessions=tuple(args.session),
        since_ms=parse_time(args.since, now=now) if args.since else None,
        until_ms=parse_time(args.until, now=now) if args.until else None,
        include=frozenset(args.include),
        deadline_s=args.deadline or (_EVERYTHING_S if args.everything else _DEADLINE_S),
        everything=args.everything,
    )


def _of_saved(
    db: apsw.Connection, name: str, asked: SearchRequest, sort: Sort | None
) -> SearchRequest:
    """Return what the search saved as `name` asks; what was asked for beside it goes first."""
    from core.history.saved_searches import by_name
    from core.search.saved import as_request

    saved = as_request(by_name(db, name), datetime.now().astimezone())
    has_time = asked.since_ms is not None or asked.until_ms is not None
    return replace(
        asked,
        query=saved.query,
        sort=sort or saved.sort,
        roles=asked.roles or saved.roles,
        sources=asked.sources or saved.sources,
        projects=asked.projects or saved.projects,
        since_ms=asked.since_ms if has_time else saved.since_ms,
        until_ms=asked.until_ms if has_time else saved.until_ms,
    )


def _print(result: SearchResult, request: SearchRequest, output: Output) -> None:
    output.line(words.answer(result))
    for repair in result.repairs:
        output.line(f"  read as: {repair}")
    session = None
    for hit in result.hits:
        if hit.session != session:
            session = hit.session
            output.line()
            output.marked("", f"{hit.title or '(untitled)'}  [{hit.source} · {hit.session}]", ())
        when = words.local_time(hit.created_at_ms)
        state = "" if hit.state.value == "active" else f" ({hit.state.value.replace('_', ' ')})"
        output.marked("", f"  {when}  {hit.role.value}{state}  {hit.message}", ())
        output.marked("    ", hit.snippet, hit.marks)
    for match in result.title_matches:
        output.marked("title: ", f"{match.title}  [{match.source} · {match.ref}]", ())
    if result.inside_words:
        output.line(f"also inside words: {result.inside_words:,}")
    shown = request.offset + len(result.hits)
    if result.hits and shown < result.total_hits:
        output.note(f"{shown} of {result.total_hits} shown; more with --offset {shown}")
