"""`backscroll status`: the store, its indexes, the tokenizer, the sources."""

import argparse
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from app.cli import words
from app.cli.arguments import DONE
from app.cli.jobs import as_json as job_as_json
from app.cli.output import Output
from app.cli.store_access import reading, store_path
from core.types import IndexStatus, StoreStatus, TokenizerStatus
from core.upkeep_types import Finding, Job, OpenElsewhere, StoreSizes


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("status", parents=[shared], help="store, indexes, tokenizer")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, output: Output) -> int:
    """Print what the store holds and how complete its indexes are."""
    from core.history import legacy_imports
    from core.index.health import last_checks, status
    from core.store import holders
    from core.upkeep.schedule import jobs
    from core.upkeep.sizes import sizes, sizes_at_once

    with reading(args) as db:
        found = status(db, store_path(args))
        scheduled = jobs(db)
        found_sizes = sizes(db) if output.as_json else sizes_at_once(db)
        told = Told(
            found_sizes,
            last_checks(db),
            holders.open_elsewhere(store_path(args)),
            legacy_imports.is_complete(db),
        )
    if output.as_json:
        output.document(as_json(found, scheduled) | told.as_json())
    else:
        _print(found, output)
        _print_health(told, output)
        _print_jobs(scheduled, output)
    return DONE


@dataclass(frozen=True, slots=True)
class Told:
    """What status tells beside the store itself: bytes, checks, who has it open, what is pending.

    `legacy_complete` is false while a snapshot is being moved in.
    """

    sizes: StoreSizes
    checks: Mapping[str, Finding]
    open_elsewhere: tuple[OpenElsewhere, ...]
    legacy_complete: bool

    def as_json(self) -> dict[str, Any]:
        """Return it in the shape of the command-line contract."""
        return {
            "sizes": asdict(self.sizes),
            "checks": {name: asdict(found) for name, found in self.checks.items()},
            "open_elsewhere": [asdict(each) for each in self.open_elsewhere],
            "legacy_import": {"complete": self.legacy_complete},
        }


def as_json(found: StoreStatus, scheduled: tuple[Job, ...]) -> dict[str, Any]:
    """Return the status in the shape of the command-line contract."""
    return {
        "store": {
            "path": found.path,
            "bytes": found.bytes,
            "sessions": found.sessions,
            "messages": found.messages,
            "read_only_reason": found.read_only_reason,
            "warning": found.warning,
        },
        "indexes": {index.name: index_as_json(index) for index in found.indexes},
        "tokenizer": tokenizer_as_json(found.tokenizer),
        "sources": [dict(source) for source in found.sources],
        "jobs": [job_as_json(job) for job in scheduled],
    }


def index_as_json(index: IndexStatus) -> dict[str, Any]:
    """Return one index: its state, how much it holds, when it last moved."""
    return {
        "state": index.state,
        "coverage": round(index.coverage, 4),
        "done": index.done,
        "todo": index.todo,
        "cursor": index.cursor,
        "last_moved_at_ms": index.last_moved_at_ms,
        "rate_rows_s": None if index.rate_rows_s is None else round(index.rate_rows_s, 1),
        "eta_s": None if index.eta_s is None else round(index.eta_s),
        "paused": index.paused,
        "stuck": index.stuck,
        "queued": index.queued,
        "worker": index.worker,
        "reason": index.reason,
    }


def tokenizer_as_json(found: TokenizerStatus) -> dict[str, Any]:
    """Return what is known of the tokenizer."""
    return {
        "path": found.path,
        "loads": found.loads,
        "acceptance": found.acceptance,
        "fingerprint": found.fingerprint,
        "version": found.version,
        "reason": found.reason,
        "state": found.state,
        "next_step": found.next_step,
        "built_for": found.built_for,
        "sha256": found.sha256,
        "load_ms": None if found.load_ms is None else round(found.load_ms, 2),
        "sqlite_version": found.sqlite_version,
    }


def _print(found: StoreStatus, output: Output) -> None:
    output.line(f"Store      {found.path}")
    counts = f"{words.plural(found.sessions, 'session')}, {words.plural(found.messages, 'message')}"
    output.line(f"           {counts}, {words.size(found.bytes)}")
    if found.read_only_reason:
        output.line(f"           read-only: {found.read_only_reason}")
    if found.warning:
        output.line(f"           warning: {found.warning}")
    for index in found.indexes:
        reason = f"  {index.reason}" if index.reason else ""
        todo = f"  {index.todo:,} to do" if index.todo else ""
        output.line(f"{index.name:<20} {index.state:<9} {index.coverage:>6.1%}{todo}{reason}")
    tokenizer = found.tokenizer
    verdict = "verified" if tokenizer.loads and tokenizer.acceptance else tokenizer.reason
    output.line(f"CJK tokenizer        {verdict}")
    if tokenizer.path:
        output.line(f"                     {tokenizer.path}")
    for source in found.sources:
        sessions, run_at = source.get("sessions"), source.get("last_run_at_ms")
        count = f", {words.plural(sessions, 'session')}" if isinstance(sessions, int) else ""
        when = f", read {words.local_time(run_at)}" if isinstance(run_at, int) else ""
        output.marked(
            "Source     ",
            f"{source['display_name'] or source['kind']} ({source['kind']}){count}{when}",
            (),
        )
        output.marked("           ", str(source["root"]), ())


def _print_health(told: Told, output: Output) -> None:
    sizes = told.sizes
    output.line(
        f"Sizes                free pages {words.size(sizes.free_pages_bytes)},"
        f" log {words.size(sizes.wal_bytes)}, snapshots {words.size(sizes.snapshots_bytes)},"
        f" set aside as damaged {words.size(sizes.damaged_bytes)},"
        f" disk free {words.size(sizes.disk_free_bytes)}"
    )
    for found in told.checks.values():
        when = f" at {words.local_time(found.at_ms)}" if found.at_ms is not None else ""
        took = f", MATCH {found.match_ms:.1f} ms" if found.match_ms is not None else ""
        verdict = "verified" if found.ok else f"FAILED: {found.message};"
        output.line(f"{found.name:<20} {verdict}{when}{took}")
    for other in told.open_elsewhere:
        does = "reads and writes" if other.writes else "reads"
        output.line(f"Open in              {other.program}, process {other.pid}: {does}")
    if not told.legacy_complete:
        output.line("Old history          not moved in completely: run import again")


def _print_jobs(scheduled: tuple[Job, ...], output: Output) -> None:
    """Print in one line what is next, and what went wrong last."""
    if not scheduled:
        return
    waiting = [job for job in scheduled if job.state == "scheduled"]
    told = f"{len(waiting):,} of {words.plural(len(scheduled), 'job')} scheduled"
    if waiting:
        told += f", next {waiting[0].id} {words.local_time(waiting[0].next_fire_at_ms)}"
    wrong = [job.id for job in scheduled if job.last_status == "error"]
    if wrong:
        told += f", went wrong: {', '.join(wrong)}"
    output.line(f"Jobs       {told}")
