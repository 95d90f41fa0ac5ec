"""`backscroll retention`: what goes to the trash for its age, and what would."""

import argparse
from contextlib import closing
from datetime import datetime
from typing import Any

from app.cli import words
from app.cli.arguments import DONE, PARTIAL, WHOLE, comma_list, given
from app.cli.asking import require_yes
from app.cli.documents import session_document
from app.cli.output import Output
from app.cli.store_access import reading, writing
from core.errors import SettingError
from core.types import Progress
from core.upkeep_types import Report, RetentionPreview, RetentionRule

_LISTED = 100


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command group to the parser."""
    group = commands.add_parser(
        "retention",
        parents=[shared],
        help="let old sessions go to the trash",
        description="Sessions not active for longer than some days go to the trash. Age counts "
        "from the last activity; a lineage lives as long as its youngest member; what is pinned, "
        "running or without a time stays. Off until it is set.",
    )
    actions = group.add_subparsers(title="actions", metavar="ACTION", required=True)
    parser = actions.add_parser("show", parents=[shared], help="the rule")
    parser.set_defaults(run=run_show)
    parser = actions.add_parser("set", parents=[shared], help="set the rule; 0 days: off")
    parser.add_argument("days", metavar="DAYS", help="days without activity")
    parser.add_argument("--source", type=comma_list, default=[], metavar="KIND,…", help="only of")
    parser.set_defaults(run=run_set)
    parser = actions.add_parser("off", parents=[shared], help="nothing goes by age")
    parser.set_defaults(run=run_set, days="0", source=[])
    parser = actions.add_parser("preview", parents=[shared], help="what would go now")
    _add_bounds(parser)
    parser.add_argument("--list", action="store_true", help=f"its first {_LISTED} sessions too")
    parser.set_defaults(run=run_preview)
    parser = actions.add_parser("apply", parents=[shared], help="move it to the trash")
    _add_bounds(parser)
    parser.add_argument("--token", metavar="TOKEN", type=given, help="exactly what that one told")
    parser.add_argument("--yes", action="store_true", help="also more than a fifth of everything")
    parser.set_defaults(run=run_apply)


def _add_bounds(parser: argparse.ArgumentParser) -> None:
    bound = parser.add_mutually_exclusive_group()
    bound.add_argument("--days", metavar="N", help="instead of the rule's")
    bound.add_argument("--before", metavar="DATE", type=given, help="not active since then, local")
    parser.add_argument("--source", type=comma_list, metavar="KIND,…", help="only of these")
    parser.add_argument(
        "--clock-is-right", action="store_true", help="when a leap of the clock held it up"
    )


def run_show(args: argparse.Namespace, output: Output) -> int:
    """Print the rule."""
    from core.upkeep import retention

    with reading(args) as db:
        found = retention.rule(db)
    _print_rule(found, output)
    return DONE


def run_set(args: argparse.Namespace, output: Output) -> int:
    """Set the rule."""
    from core.store.connection import transaction
    from core.upkeep import retention

    wanted = RetentionRule(_days(args.days), tuple(args.source))
    with writing(args) as db:
        with transaction(db):
            retention.set_rule(db, wanted)
        found = retention.rule(db)
    _print_rule(found, output)
    return DONE


def run_preview(args: argparse.Namespace, output: Output) -> int:
    """Print what would go now, and what stays all the same."""
    from core.upkeep import retention

    _trust(args)
    with reading(args) as db:
        wanted, before_ms = _asked(db, args)
        found = retention.preview(db, wanted, before_ms=before_ms)
        listed = retention.going(db, wanted, before_ms=before_ms, limit=_LISTED)
    if output.as_json:
        document = preview_document(found)
        if args.list:
            document["going"] = [session_document(session) for session in listed]
        output.document(document)
        return DONE
    _print_preview(found, output)
    if args.list:
        for session in listed:
            when = words.local_time(session.last_active_at_ms)
            output.marked(f"  {when}  ", session.title or "(untitled)", ())
            output.marked("      ", f"{session.source} · {session.ref}", ())
        if len(listed) < found.sessions:
            output.note(f"{len(listed):,} of {words.plural(found.sessions, 'session')}")
    return DONE


def run_apply(args: argparse.Namespace, output: Output) -> int:
    """Move to the trash what a preview tells; it can be brought back at once."""
    from core.upkeep import retention

    _trust(args)
    with writing(args) as db:
        token = args.token
        if token is None:
            wanted, before_ms = _asked(db, args)
            found = retention.preview(db, wanted, before_ms=before_ms)
            token = found.token
            if found.needs_confirmation and not found.refused:
                what = (
                    f"{words.plural(found.sessions, 'session')} with {found.messages:,} of"
                    f" {words.plural(found.all_messages, 'message')} would go to the trash, "
                    "more than a fifth."
                )
                require_yes(args, output, what)
                args.yes = True
        with closing(retention.apply(db, token, "command", confirmed=args.yes)) as steps:
            report = run_steps(steps, output)
    number = report.facts.get("operation")
    if output.as_json:
        output.document({"outcome": report.outcome, **report.facts})
    else:
        output.line(f"{report.outcome}.")
        if report.facts.get("sessions"):
            output.line(f"undo: backscroll trash restore --operation {number}")
    return PARTIAL if report.facts.get("stayed") else DONE


def run_steps(steps: Any, output: Output) -> Report:
    """Run upkeep to its end, showing how far it is, and return what it says last."""
    report = Report("")
    for step in steps:
        if isinstance(step, Progress):
            total = f" of {step.total:,}" if step.total else ""
            output.progress(f"{step.what} {step.done:,}{total}")
        else:
            report = step
    output.progress_done()
    return report


def preview_document(found: RetentionPreview) -> dict[str, Any]:
    """Return a preview in the shape of the command-line contract."""
    return {
        "days": found.rule.days,
        "sources": list(found.rule.sources),
        "token": found.token,
        "cutoff_at_ms": found.cutoff_at_ms,
        "cutoff_local": words.local_time(found.cutoff_at_ms),
        "sessions": found.sessions,
        "messages": found.messages,
        "bytes": found.bytes,
        "oldest_at_ms": found.oldest_at_ms,
        "newest_at_ms": found.newest_at_ms,
        "kept": {
            "pinned": found.kept_pinned,
            "running": found.kept_running,
            "lineage": found.kept_by_lineage,
            "without_time": found.kept_without_time,
        },
        "all_messages": found.all_messages,
        "needs_confirmation": found.needs_confirmation,
        "refused": found.refused,
        "months": [
            {
                "month": f"{each.year:04}-{each.month:02}",
                "going_sessions": each.going_sessions,
                "going_bytes": each.going_bytes,
                "staying_sessions": each.staying_sessions,
                "staying_bytes": each.staying_bytes,
            }
            for each in found.months
        ],
    }


def _print_preview(found: RetentionPreview, output: Output) -> None:
    if found.refused:
        output.line(found.refused)
        if not found.token:
            return
    output.line(f"not active since {words.local_time(found.cutoff_at_ms)}:")
    output.line(
        f"  {words.plural(found.sessions, 'session')} of"
        f" {words.plural(found.messages, 'message')}, about {words.size(found.bytes)}"
    )
    if found.sessions:
        oldest, newest = map(words.local_time, (found.oldest_at_ms, found.newest_at_ms))
        output.line(f"  last active {oldest} to {newest}")
    for count, why in (
        (found.kept_pinned, "pinned, or of a lineage with a pinned one"),
        (found.kept_running, "running, or of a lineage with a running one"),
        (found.kept_by_lineage, "of a lineage that is still active"),
        (found.kept_without_time, "without a time"),
    ):
        if count:
            output.line(
                f"  {words.plural(count, 'session')} {'stays' if count == 1 else 'stay'}: {why}"
            )
    if found.needs_confirmation:
        output.line("  that is more than a fifth of all messages: apply asks again")


def _print_rule(found: RetentionRule, output: Output) -> None:
    if output.as_json:
        on = found.days > 0
        output.document({"on": on, "days": found.days, "sources": list(found.sources)})
    elif found.days:
        whose = f" of {', '.join(found.sources)}" if found.sources else ""
        output.line(
            f"Sessions{whose} go to the trash after {words.plural(found.days, 'day')}"
            " without activity."
        )
    else:
        output.line("Retention is off: nothing goes by age.")


def _asked(db: Any, args: argparse.Namespace) -> tuple[RetentionRule, int | None]:
    """Return the rule that the options ask for, and the moment of `--before`."""
    from core.search.times import parse_time
    from core.upkeep import retention

    own = retention.rule(db)
    days = own.days if args.days is None else _days(args.days)
    sources = own.sources if args.source is None else tuple(args.source)
    before_ms = None
    if args.before is not None:
        before_ms = parse_time(args.before, now=datetime.now().astimezone())
    return RetentionRule(days, sources), before_ms


def _days(text: str) -> int:
    if WHOLE.fullmatch(text) is None:
        raise SettingError(f"days must be a whole number, 0 is off: {text!r}")
    return int(text)


def _trust(args: argparse.Namespace) -> None:
    """Take the clock for right, if the user says so."""
    from core.store.connection import transaction
    from core.upkeep import retention

    if args.clock_is_right:
        with writing(args) as db, transaction(db):
            retention.trust_clock(db)
