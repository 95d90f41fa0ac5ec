"""`backscroll jobs`: scheduled upkeep."""

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import apsw

from app.cli import words
from app.cli.arguments import DONE, FAILED, PARTIAL, given, positive
from app.cli.output import Output
from app.cli.store_access import writing
from core.upkeep_types import Job, Report

_SCHEDULES = (
    "A schedule is delay:10m (once, so long from now), every:30m, at:2026-12-01T03:00 (once) or"
    " cron:'0 3 * * *' (minute hour day month weekday). Times are local ones; units are s m h d w."
)


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command group to the parser."""
    group = commands.add_parser(
        "jobs",
        parents=[shared],
        help="scheduled upkeep",
        description="Upkeep that is done by itself. The window runs what is due while it is "
        "open; where it seldom is, let the system run `backscroll jobs run-due` now and then.",
    )
    actions = group.add_subparsers(title="actions", metavar="ACTION", required=True)
    parser = actions.add_parser("list", parents=[shared], help="every job, the next one first")
    parser.set_defaults(run=run_list)
    _named(actions, shared, "show", "one job", run_show)
    parser = actions.add_parser("add", parents=[shared], help="make one", description=_SCHEDULES)
    parser.add_argument("kind", metavar="KIND", help="what it does, as list shows it")
    parser.add_argument("schedule", metavar="SCHEDULE", type=given)
    parser.add_argument("--max-runs", type=positive, metavar="N", help="complete after so many")
    parser.set_defaults(run=run_add)
    parser = _named(actions, shared, "change", "give one another schedule", run_change)
    parser.description = _SCHEDULES
    parser.add_argument("schedule", metavar="SCHEDULE", type=given)
    _named(actions, shared, "pause", "keep one from firing", run_pause)
    _named(actions, shared, "resume", "let one fire again", run_resume)
    _named(actions, shared, "remove", "forget one", run_remove)
    _named(actions, shared, "run", "run one now, due or not", run_one)
    parser = actions.add_parser("run-due", parents=[shared], help="run what is due, each once")
    parser.set_defaults(run=run_due)


def _named(actions: Any, shared: argparse.ArgumentParser, name: str, does: str, run: Any) -> Any:
    parser = actions.add_parser(name, parents=[shared], help=does)
    parser.add_argument("job", metavar="ID", type=given)
    parser.set_defaults(run=run)
    return parser


def run_list(args: argparse.Namespace, output: Output) -> int:
    """Print the jobs."""
    from core.upkeep.schedule import jobs

    with _prepared(args) as db:
        found = jobs(db)
    if output.as_json:
        output.document({"jobs": [as_json(job) for job in found]})
        return DONE
    for job in found:
        output.line(f"{job.id:<18} {job.kind:<16} {job.schedule:<20} {described(job)}")
    output.note(words.plural(len(found), "job"))
    return DONE


def run_show(args: argparse.Namespace, output: Output) -> int:
    """Print one job."""
    from core.upkeep.schedule import get

    with _prepared(args) as db:
        return _told(get(db, args.job), output)


def run_add(args: argparse.Namespace, output: Output) -> int:
    """Make a job."""
    from core.store.connection import transaction
    from core.upkeep.schedule import add

    with _prepared(args) as db, transaction(db):
        made = add(db, args.kind, args.schedule, max_runs=args.max_runs)
    return _told(made, output)


def run_change(args: argparse.Namespace, output: Output) -> int:
    """Give a job another schedule."""
    from core.store.connection import transaction
    from core.upkeep.schedule import set_schedule

    with _prepared(args) as db, transaction(db):
        changed = set_schedule(db, args.job, args.schedule)
    return _told(changed, output)


def run_pause(args: argparse.Namespace, output: Output) -> int:
    """Pause a job."""
    return _set_paused(args, output, paused=True)


def run_resume(args: argparse.Namespace, output: Output) -> int:
    """Let a job go on."""
    return _set_paused(args, output, paused=False)


def _set_paused(args: argparse.Namespace, output: Output, *, paused: bool) -> int:
    from core.store.connection import transaction
    from core.upkeep.schedule import set_paused

    with _prepared(args) as db, transaction(db):
        changed = set_paused(db, args.job, paused)
    return _told(changed, output)


def run_remove(args: argparse.Namespace, output: Output) -> int:
    """Remove a job; what it was is printed, so that it can be made again."""
    from core.store.connection import transaction
    from core.upkeep.schedule import remove

    with _prepared(args) as db, transaction(db):
        gone = remove(db, args.job)
    if output.as_json:
        output.document({"removed": as_json(gone)})
    else:
        output.line(f"removed {gone.id}: {gone.kind} {gone.schedule}")
    return DONE


def run_one(args: argparse.Namespace, output: Output) -> int:
    """Run one job now; 1 when it fails."""
    from core.upkeep.schedule import get

    with _prepared(args) as db:
        report = _fired(db, get(db, args.job), output, by_hand=True)
    assert report is not None  # by hand it runs, or says why not
    _print_runs([report], output)
    return FAILED if report.facts["status"] == "error" else DONE


def run_due(args: argparse.Namespace, output: Output) -> int:
    """Run what is due, each job once; 3 when one of them fails."""
    from core.upkeep.runs import due

    with _prepared(args) as db:
        reports = [_fired(db, job, output, by_hand=False) for job in due(db)]
    done = [report for report in reports if report is not None]
    _print_runs(done, output)
    return PARTIAL if any(report.facts["status"] == "error" for report in done) else DONE


@contextmanager
def _prepared(args: argparse.Namespace) -> Iterator[apsw.Connection]:
    """Give a connection to a store whose jobs are made, and recovered from what was cut off."""
    from core.store.connection import transaction
    from core.upkeep.firing import prepare

    with writing(args) as db:
        if not db.readonly("main"):
            with transaction(db):
                prepare(db)
        yield db


def _fired(db: apsw.Connection, job: Job, output: Output, *, by_hand: bool) -> Report | None:
    """Run a job to its end; None where another program was first."""
    from core.upkeep.firing import fire

    actor = "command" if by_hand else "schedule"
    report = None
    with closing(fire(db, job, actor=actor, by_hand=by_hand)) as steps:
        for step in steps:
            if isinstance(step, Report):
                report = step
            else:
                output.progress(f"{job.id} {words.progress(step)}")
    output.progress_done()
    return report


def as_json(job: Job) -> dict[str, Any]:
    """Return a job in the shape of the command-line contract."""
    return {
        "id": job.id,
        "kind": job.kind,
        "schedule": job.schedule,
        "state": job.state,
        "last_status": job.last_status,
        "last_error": job.last_error,
        "run_count": job.run_count,
        "max_runs": job.max_runs,
        "last_fired_at_ms": job.last_fired_at_ms,
        "next_fire_at_ms": job.next_fire_at_ms,
    }


def described(job: Job) -> str:
    """Return on one line how a job stands."""
    parts = [job.state]
    if job.state == "scheduled" and job.next_fire_at_ms is not None:
        parts = [f"next {words.local_time(job.next_fire_at_ms)}"]
    if job.last_status is not None:
        parts.append(f"last {job.last_status} {words.local_time(job.last_fired_at_ms)}")
    runs = words.plural(job.max_runs or job.run_count, "run")
    if job.max_runs is not None:
        runs = f"{job.run_count:,} of {runs}"
    parts.append(runs)
    return ", ".join(parts) + (f": {job.last_error}" if job.last_error else "")


def _told(job: Job, output: Output) -> int:
    if output.as_json:
        output.document({"job": as_json(job)})
    else:
        output.line(f"{job.id}  {job.kind} {job.schedule}")
        output.line(f"    {described(job)}")
    return DONE


def _print_runs(reports: list[Report], output: Output) -> None:
    if output.as_json:
        runs = [{**report.facts, "words": report.outcome} for report in reports]
        output.document({"runs": runs})
        return
    for report in reports:
        output.line(f"{report.facts['job']}  {report.facts['status']}: {report.outcome}")
    output.note(f"{words.plural(len(reports), 'job')} run")
