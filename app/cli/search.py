"""`backscroll search`: message hits, one list, with the path that found them."""

import argparse
from datetime import datetime
from typing import Any

from app.cli import words
from app.cli.arguments import DONE, PARTIAL, comma_list, natural, positive, seconds
from app.cli.output import Output
from app.cli.store_access import reading
from core.errors import QueryError
from core.search.times import parse_time
from core.types import Hit, IndexStatus, Role, SearchRequest, SearchResult

_INCLUDE = ("rewound", "hidden", "tool", "trash")
_MOST_HITS = 1000


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "search",
        parents=[shared],
        help="find messages",
        description="Find messages. Words must all occur; see the README for the language. "
        "Use -- before a query that starts with a dash.",
    )
    parser.add_argument("query", metavar="QUERY", nargs="+", help="several words are joined")
    parser.add_argument("--limit", type=positive, default=20, metavar="N")
    parser.add_argument("--offset", type=natural, default=0, metavar="N")
    parser.add_argument("--sort", choices=("relevance", "newest", "oldest"), default="relevance")
    parser.add_argument("--role", type=comma_list, default=[], metavar="user,assistant,tool,system")
    parser.add_argument("--source", type=comma_list, default=[], metavar="KIND,…")
    parser.add_argument("--project", type=comma_list, default=[], metavar="NAME,…")
    parser.add_argument("--session", type=comma_list, default=[], metavar="ID,…")
    parser.add_argument("--since", metavar="TIME", help="a date, a time, or 24h, 7d, 2w, 3mo")
    parser.add_argument("--until", metavar="TIME", help="the same; this moment is left out")
    parser.add_argument("--include", type=comma_list, default=[], metavar=",".join(_INCLUDE))
    parser.add_argument("--deadline", type=seconds, default=3.0, metavar="SECONDS")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, output: Output) -> int:
    """Search and print; 3 when the deadline left the answer partial."""
    from core.search.run import search

    request = _request(args)
    with reading(args) as db:
        result = search(db, request)
    if output.as_json:
        output.document(as_json(result))
    else:
        _print(result, request, output)
    return DONE if result.complete else PARTIAL


def _request(args: argparse.Namespace) -> SearchRequest:
    known = [role.value for role in Role]
    for role in args.role:
        if role not in known:
            raise QueryError(f"no role {role!r}: {', '.join(known)}")
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
        sort=args.sort,
        roles=tuple(Role(role) for role in args.role),
        sources=tuple(args.source),
        projects=tuple(args.project),
        sessions=tuple(args.session),
        since_ms=parse_time(args.since, now=now) if args.since else None,
        until_ms=parse_time(args.until, now=now) if args.until else None,
        include=frozenset(args.include),
        deadline_s=args.deadline,
    )


def as_json(result: SearchResult) -> dict[str, Any]:
    """Return the answer in the shape of the command-line contract."""
    return {
        "query": result.query,
        "understood": result.understood,
        "repairs": list(result.repairs),
        "search_path": result.search_path,
        "why": result.why,
        "elapsed_ms": round(result.elapsed_ms, 2),
        "complete": result.complete,
        "reason": result.reason,
        "total_hits": result.total_hits,
        "total_is_exact": result.total_is_exact,
        "ranked_scope": result.ranked_scope,
        "messages_searched": result.messages_searched,
        "not_searched": dict(result.not_searched),
        "index_status": {n: index_as_json(s) for n, s in result.index_status.items()},
        "hits": [_hit_as_json(hit) for hit in result.hits],
        "title_matches": [
            {"session": s.ref, "title": s.title, "source": s.source} for s in result.title_matches
        ],
    }


def index_as_json(status: IndexStatus) -> dict[str, Any]:
    """Return what an answer says of one index."""
    return {"ready": status.ready, "coverage": round(status.coverage, 4), "state": status.state}


def _hit_as_json(hit: Hit) -> dict[str, Any]:
    return {
        "message": hit.message,
        "session": hit.session,
        "source": hit.source,
        "role": hit.role.value,
        "state": hit.state.value,
        "origin": hit.origin.value,
        "created_at_ms": hit.created_at_ms,
        "title": hit.title,
        "snippet": hit.snippet,
        "marks": [list(mark) for mark in hit.marks],
        "score": hit.score,
        "path": hit.path,
    }


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
    shown = request.offset + len(result.hits)
    if result.hits and shown < result.total_hits:
        output.note(f"{shown} of {result.total_hits} shown; more with --offset {shown}")
