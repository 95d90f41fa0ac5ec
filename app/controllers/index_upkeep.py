"""The Indexes card: how each one stands, how fast it moves, and what is done with it."""

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import apsw
from PySide6.QtCore import QObject, Signal

from app.controllers.backfill import BackfillController
from app.messages import Notice, describe
from app.tasks import TaskScope
from app.views.maintenance.index_words import IndexShown, Verified
from app.views.maintenance.page import MaintenancePage
from app.views.maintenance.rate_plot import SPAN
from core.errors import CoreError
from core.index import backfill, health
from core.index.state import statuses
from core.store.store import Store
from core.types import INDEX_NAMES, IndexName, IndexStatus
from core.upkeep_types import Finding

_SAMPLE_S = 0.8
_VERIFY = "index-verify"


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """What one look at the store tells of its indexes."""

    statuses: tuple[IndexStatus, ...]
    workable: frozenset[str]
    checks: Mapping[str, Finding]


def look(db: apsw.Connection) -> IndexFacts:
    """Return how the indexes stand; reads counters alone."""
    workable = (name for name in INDEX_NAMES if backfill.needs_work(db, name))
    return IndexFacts(statuses(db), frozenset(workable), health.last_checks(db))


class IndexUpkeepController(QObject):
    """Fills the card, and does what its buttons say.

    Signals:
        changed: something else is to be shown.
        repair_asked: the indexes that are damaged should be set aside and filled anew.
    """

    changed = Signal()
    repair_asked = Signal()

    def __init__(
        self, store: Store, page: MaintenancePage, filling: BackfillController, tasks: TaskScope
    ) -> None:
        super().__init__(page)
        self._store, self._card, self._filling, self._tasks = store, page.indexes, filling, tasks
        self._rates: dict[str, deque[float]] = {}
        self._seen: dict[str, tuple[float, int]] = {}
        self._now: dict[str, Finding] = {}  # what this window found, where it cannot be kept
        self._verifying: set[str] = set()
        self._to_verify: list[IndexName] = []
        self.is_repairing = False
        self.shown: tuple[IndexShown, ...] = ()
        self._card.pause_asked.connect(self._on_pause)
        self._card.now_asked.connect(self._on_now)
        self._card.verify_asked.connect(self._on_verify)
        self._card.repair_asked.connect(lambda _: self.repair_asked.emit())

    def show(self, facts: IndexFacts) -> None:
        """Show how the indexes stand now."""
        self.shown = tuple(self._shown(each, facts) for each in facts.statuses)
        self._card.show_indexes(self.shown)

    def verify_unknown(self) -> None:
        """Ask the indexes that nobody asked yet."""
        unknown = [each.status.name for each in self.shown if each.verified is None]
        self.verify(tuple(name for name in INDEX_NAMES if name in unknown))

    def verify(self, names: tuple[IndexName, ...] = INDEX_NAMES) -> None:
        """Ask indexes for a word that they must hold, one after the other."""
        self._to_verify += [name for name in names if name not in self._to_verify]
        if self._to_verify and not self._tasks.running(_VERIFY):
            self._tasks.start(_VERIFY, self._verify())

    async def _verify(self) -> None:
        try:
            while self._to_verify:
                name = self._to_verify.pop(0)
                self._verifying.add(name)
                self.changed.emit()
                finding = await self._store.read(health.verify_index, name)
                self._now[name] = finding
                self._verifying.discard(name)
                if self._store.read_only_reason is None:
                    await self._store.write(health.remember, [finding])
                self.changed.emit()
        except CoreError as error:
            self._card.message.show_notice(describe(error))
        finally:
            self._verifying.clear()
            self._to_verify.clear()

    def _shown(self, status: IndexStatus, facts: IndexFacts) -> IndexShown:
        name = status.name
        return IndexShown(
            status,
            time.time_ns() // 1_000_000,
            verified=_verified(status, facts.checks.get(name), self._now.get(name)),
            is_verifying=name in self._verifying,
            is_now=self._filling.is_hurried(name),
            is_running=self._filling.works_on(name),
            is_repairing=self.is_repairing,
            can_work=self._store.read_only_reason is None and name in facts.workable,
            rates=self._sampled(status),
        )

    def _sampled(self, status: IndexStatus) -> tuple[float, ...]:
        """Note how far an index is, about once a second while it is filled."""
        name, now_s = status.name, time.monotonic()
        if status.state != "building":
            self._rates.pop(name, None)
            self._seen.pop(name, None)
            return ()
        rates = self._rates.setdefault(name, deque(maxlen=SPAN))
        at_s, done = self._seen.setdefault(name, (now_s, status.done))
        if now_s - at_s >= _SAMPLE_S:
            rates.append(max(0, status.done - done) / (now_s - at_s))
            self._seen[name] = (now_s, status.done)
        return tuple(rates)

    # Slots

    def _on_pause(self, name: IndexName, pause: bool) -> None:
        if pause:
            self._filling.calm(name)
        self._tasks.start(f"index-pause-{name}", self._pause(name, pause))

    async def _pause(self, name: IndexName, pause: bool) -> None:
        try:
            await self._store.write(backfill.set_paused, pause, name)
        except CoreError as error:
            self._card.message.show_notice(describe(error))
        self.changed.emit()

    def _on_now(self, name: IndexName) -> None:
        self._filling.hurry(name)
        self.changed.emit()

    def _on_verify(self, name: IndexName) -> None:
        self._card.message.hide()
        self.verify((name,))

    def tell(self, notice: Notice) -> None:
        """Say in the card what came of something asked of it."""
        self._card.message.show_notice(notice)


def _verified(status: IndexStatus, kept: Finding | None, own: Finding | None) -> Verified | None:
    """Return the later of what the store remembers and what this window found.

    What could not be asked was not verified, and what an index lacked before it was begun anew
    is no fault of it now.
    """
    found = max(filter(None, (kept, own)), key=lambda each: each.at_ms or 0, default=None)
    if found is None or found.at_ms is None or found.message.startswith(("not ", "cannot ")):
        return None
    is_begun_anew = status.state in ("building", "settling")
    if not found.ok and is_begun_anew and (status.last_moved_at_ms or 0) > found.at_ms:
        return None
    return Verified(found.at_ms, found.ok, found.match_ms, "" if found.ok else found.message)
