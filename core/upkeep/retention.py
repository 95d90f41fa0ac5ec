"""Retention: what was not active for long goes to the trash, after it was shown what that is.

Age counts from the last activity; a lineage lives as long as its youngest member; what is
pinned, running or without a time stays, and with it its lineage. Off until switched on.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import apsw
import msgspec

from core import settings
from core.errors import RefusedError, SettingError
from core.history.sessions import sessions_by_id
from core.store import clock
from core.store.connection import snapshot, transaction
from core.types import Progress, Session
from core.upkeep import lineages, operations, trash
from core.upkeep.lineages import Row, Sorted, messages_of
from core.upkeep.months import months
from core.upkeep.text_sizes import text_bytes
from core.upkeep.wording import counted
from core.upkeep_types import Actor, Report, RetentionPreview, RetentionRule

OFF = "Retention is off: nothing goes by age. Switch it on with: backscroll retention set DAYS"
CONFIRMED_SHARE = 5
"""More than one in so many of all messages goes only if that is confirmed."""

_BATCH = 500  # sessions moved in one transaction: some 20 ms
_MOST_DAYS = settings.RETENTION_DAYS.most


class _Token(msgspec.Struct, frozen=True):
    """What fixes a preview: the rule, its cutoff, and a hash of the sessions that would go.

    Of their activity and messages too, so that no one is moved that has grown since.
    """

    days: int
    sources: tuple[str, ...]
    cutoff_ms: int
    digest: str


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a rule comes to in one state of the store."""

    rule: RetentionRule
    cutoff_ms: int
    rows: list[Row]
    related: dict[int, int]
    sorted: Sorted

    @property
    def token(self) -> str:
        told = hashlib.blake2b(digest_size=12)
        told.update(msgspec.json.encode(self.sorted.going))
        token = _Token(self.rule.days, self.rule.sources, self.cutoff_ms, told.hexdigest())
        return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def rule(db: apsw.Connection) -> RetentionRule:
    """Return the rule of the store: 0 days, which is off, until another was set."""
    return RetentionRule(
        settings.read(db, settings.RETENTION_DAYS), settings.read(db, settings.RETENTION_SOURCES)
    )


def set_rule(db: apsw.Connection, wanted: RetentionRule) -> None:
    """Set the rule in the caller's transaction; 0 days switch it off.

    Raises:
        SettingError: the days are no whole number in range, or no source is of a kind named.
    """
    checked = _checked(db, wanted)
    settings.write(db, settings.RETENTION_DAYS, checked.days)
    settings.write(db, settings.RETENTION_SOURCES, checked.sources)
    clock.observe(db)


def trust_clock(db: apsw.Connection) -> None:
    """Take the machine's clock for right from now on, in the caller's transaction."""
    clock.trust(db)


def preview(
    db: apsw.Connection,
    wanted: RetentionRule,
    now_ms: int | None = None,
    before_ms: int | None = None,
) -> RetentionPreview:
    """Return what a rule would move to the trash now; reads alone, over one state of the store.

    With `before_ms` what was not active since then goes, whatever the days say. Bytes are exact
    up to some thousand messages, and estimated beyond. Under 300 ms for 100,000 sessions.

    Raises:
        SettingError: as `set_rule`.
    """
    now = clock.now_ms() if now_ms is None else now_ms
    checked = _checked(db, wanted)
    if not checked.days and before_ms is None:
        return _nothing(checked, _all_messages(db))
    cutoff = now - checked.days * clock.DAY_MS if before_ms is None else before_ms
    plan = _plan(db, checked, cutoff, now)
    going = plan.sorted.going
    messages, every = messages_of(going), _all_messages(db)
    size = text_bytes(db, [(row[0], row[2]) for row in going])
    times = [row[1] for row in going if row[1] is not None]
    return RetentionPreview(
        rule=checked,
        token=plan.token,
        cutoff_at_ms=cutoff,
        sessions=len(going),
        messages=messages,
        bytes=size,
        oldest_at_ms=min(times, default=None),
        newest_at_ms=max(times, default=None),
        kept_pinned=plan.sorted.kept_pinned,
        kept_running=plan.sorted.kept_running,
        kept_by_lineage=plan.sorted.kept_by_lineage,
        kept_without_time=plan.sorted.kept_without_time,
        all_messages=every,
        needs_confirmation=messages * CONFIRMED_SHARE > every,
        refused=clock.doubt(db, now),
        months=months(db, plan.rows, plan.sorted.going, size),
    )


def going(
    db: apsw.Connection,
    wanted: RetentionRule,
    now_ms: int | None = None,
    before_ms: int | None = None,
    limit: int = 100,
) -> tuple[Session, ...]:
    """Return the sessions that `preview` counts, the longest inactive first, at most `limit`."""
    now = clock.now_ms() if now_ms is None else now_ms
    checked = _checked(db, wanted)
    if not checked.days and before_ms is None:
        return ()
    cutoff = now - checked.days * clock.DAY_MS if before_ms is None else before_ms
    found = _plan(db, checked, cutoff, now).sorted.going
    ids = [row[0] for row in sorted(found, key=lambda row: (row[1] or 0, row[0]))[:limit]]
    sessions = sessions_by_id(db, ids) if ids else {}
    return tuple(sessions[row] for row in ids)


def apply(
    db: apsw.Connection, token: str, actor: Actor, confirmed: bool = False
) -> Iterator[Progress | Report]:
    """Move to the trash exactly what the preview with this token told, in batches.

    What changed between two batches, so that it would not go now, stays, and the report says
    how many did. One undo brings all of it back. Yields after every transaction, and last a
    report.

    Raises:
        RefusedError: something else would go now; or the clock jumped; or more than a fifth
            of all messages would go, which is not `confirmed`. Nothing was moved.
        RunningError: it is being applied already.
    """
    wanted = _read_token(token)
    now = clock.now_ms()
    with snapshot(db):
        plan = _plan(db, RetentionRule(wanted.days, wanted.sources), wanted.cutoff_ms, now)
        _refuse(db, plan, token, now, confirmed=confirmed)
    arguments = {"cutoff_at_ms": wanted.cutoff_ms, "digest": wanted.digest, "days": wanted.days}
    moved, stayed = {"sessions": 0, "messages": 0}, 0
    with operations.recorded(db, "retention.apply", arguments, actor) as claim:
        total = len(plan.sorted.going)
        for batch in _batches(plan):
            with transaction(db):
                clock.observe(db)
                still = _undisturbed(db, batch, plan.cutoff_ms)
                done = trash.move(db, still, claim.operation.id)
            moved = {name: moved[name] + done[name] for name in moved}
            stayed += len(batch) - done["sessions"]
            claim.receipt = {**moved, "stayed": stayed}
            claim.outcome = _outcome(moved, stayed)
            claim.beat(db)
            yield Progress(moved["sessions"] + stayed, total, "rows", "moving to the trash")
        claim.receipt = {**moved, "stayed": stayed}
        claim.outcome = _outcome(moved, stayed)
    facts = {**claim.receipt, "operation": claim.operation.id}
    yield Report(claim.outcome, facts)


def run_scheduled(db: apsw.Connection, actor: Actor) -> Iterator[Progress | Report]:
    """Apply the store's rule without a person: not where it is off, refused or asks again."""
    with snapshot(db):
        found = preview(db, rule(db))
    reason = found.refused
    if not reason and found.needs_confirmation:
        reason = (
            f"{counted(found.sessions, 'session')} would go, with more than a fifth of all"
            " messages: look at backscroll retention preview and apply it yourself"
        )
    if reason:
        with transaction(db):
            clock.observe(db)  # a doubt begins here, if nowhere else, and ends a day later
        yield Report(reason, {"sessions": 0, "skipped": reason})
    elif not found.sessions:
        with transaction(db):
            clock.observe(db)
        yield Report("No session is old enough to go", {"sessions": 0})
    else:
        yield from apply(db, found.token, actor)


def _checked(db: apsw.Connection, wanted: RetentionRule) -> RetentionRule:
    days: object = wanted.days
    if type(days) is not int or not 0 <= days <= _MOST_DAYS:
        raise SettingError(f"days must be a whole number from 0 (off) to {_MOST_DAYS:,}: {days!r}")
    sources = settings.RETENTION_SOURCES.check(wanted.sources)
    known = {kind for (kind,) in db.execute("SELECT DISTINCT kind FROM sources")}
    for kind in sources:
        if kind not in known:
            raise SettingError(f"no source is of the kind {kind}")
    return RetentionRule(days, tuple(sorted(set(sources))))


def _plan(db: apsw.Connection, wanted: RetentionRule, cutoff_ms: int, now_ms: int) -> _Plan:
    kinds: list[Any] = db.execute("SELECT id, kind FROM sources").fetchall()
    sources = [row for row, kind in kinds if not wanted.sources or kind in wanted.sources]
    rows, related = lineages.live_rows(db, sources), lineages.families(db, sources)
    found = lineages.sort(rows, related, cutoff_ms, now_ms)
    return _Plan(wanted, cutoff_ms, rows, related, found)


def _refuse(db: apsw.Connection, plan: _Plan, token: str, now: int, *, confirmed: bool) -> None:
    if doubt := clock.doubt(db, now):
        raise RefusedError(doubt)
    if plan.token != token:
        raise RefusedError(
            "the store changed since this was previewed, and something else would go now:"
            " nothing was moved; preview it again"
        )
    messages, every = messages_of(plan.sorted.going), _all_messages(db)
    if messages * CONFIRMED_SHARE > every and not confirmed:
        raise RefusedError(
            f"{messages:,} of {counted(every, 'message')} would go, more than a fifth:"
            " nothing was moved; that has to be confirmed"
        )


def _batches(plan: _Plan) -> Iterator[list[int]]:
    """Yield the rows that go, some hundred at a time; a lineage is never in two of them."""
    whole: dict[int, list[int]] = {}
    for session_id, *_ in plan.sorted.going:
        whole.setdefault(plan.related.get(session_id, session_id), []).append(session_id)
    batch: list[int] = []
    for members in whole.values():
        if batch and len(batch) + len(members) > _BATCH:
            yield batch
            batch = []
        batch.extend(members)
    if batch:
        yield batch


def _undisturbed(db: apsw.Connection, batch: Sequence[int], cutoff_ms: int) -> list[int]:
    """Return those of a batch that would still go, asked within the transaction.

    Not one that was active, pinned or brought to life meanwhile, or has a new relative that
    stays; then none of its lineage, as far as that is in the batch.
    """
    rows: Iterable[Any] = db.execute(_STILL, {"ids": json.dumps(list(batch)), "cutoff": cutoff_ms})
    fine = {row: bool(is_fine) for row, is_fine in rows}
    if all(fine.get(row) for row in batch):
        return list(batch)
    source_ids = [row for (row,) in db.execute("SELECT id FROM sources")]
    related = lineages.families(db, source_ids)
    kept = {related.get(row, row) for row in batch if not fine.get(row)}
    return [row for row in batch if related.get(row, row) not in kept]


_STILL = """
SELECT s.id, s.trashed_at_ms IS NULL AND s.pinned_at_ms IS NULL
  AND s.last_active_at_ms IS NOT NULL AND s.last_active_at_ms < :cutoff
  AND NOT EXISTS (SELECT 1 FROM sessions AS c WHERE c.source_id = s.source_id
    AND c.parent_native_id = s.native_id AND c.trashed_at_ms IS NULL
    AND c.id NOT IN (SELECT value FROM json_each(:ids)))
  AND NOT EXISTS (SELECT 1 FROM sessions AS p WHERE p.source_id = s.source_id
    AND p.native_id = s.parent_native_id AND p.trashed_at_ms IS NULL
    AND p.id NOT IN (SELECT value FROM json_each(:ids)))
FROM json_each(:ids) AS j CROSS JOIN sessions AS s ON s.id = j.value
"""


def _nothing(checked: RetentionRule, every: int) -> RetentionPreview:
    """Return the preview of a rule that is off."""
    return RetentionPreview(
        checked, "", 0, 0, 0, 0, None, None, 0, 0, 0, 0, every, needs_confirmation=False,
        refused=OFF,
    )  # fmt: skip


def _all_messages(db: apsw.Connection) -> int:
    """Return the messages of what is not in the trash, from an index that holds nothing else."""
    sql = (
        "SELECT coalesce(sum(message_count), 0) FROM sessions INDEXED BY sessions_by_size"
        " WHERE trashed_at_ms IS NULL"
    )
    return int(db.execute(sql).get)


def _outcome(moved: dict[str, int], stayed: int) -> str:
    told = (
        f"{counted(moved['sessions'], 'session')} with"
        f" {counted(moved['messages'], 'message')} moved to the trash"
    )
    return f"{told}; {stayed:,} stayed because they changed meanwhile" if stayed else told


def _read_token(token: str) -> _Token:
    if not token:
        raise RefusedError(OFF)
    try:
        padded = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        return msgspec.json.decode(padded, type=_Token)
    except (binascii.Error, ValueError, msgspec.DecodeError) as error:
        raise SettingError("this is not the token of a preview of retention") from error
