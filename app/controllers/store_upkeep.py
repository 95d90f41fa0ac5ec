"""The Store card: what the file is made of, and the long work that keeps it whole."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import apsw
from PySide6.QtCore import QObject, Signal

from app.controllers import upkeep_words
from app.dialogs import Dialogs
from app.messages import describe
from app.tasks import TaskScope
from app.views.maintenance.index_words import IndexShown, look
from app.views.maintenance.page import MaintenancePage
from app.views.maintenance.store_words import Checked, Running, StoreShown
from core.errors import CoreError
from core.store import damage, holders
from core.store.store import Store
from core.types import Progress
from core.upkeep import backup, compact, erasure, health, optimize, purge, repair
from core.upkeep.sizes import sizes
from core.upkeep_types import Erasure, Finding, OpenElsewhere, Snapshot, StoreSizes

_TASK = "upkeep"
_REASON = "you"
_SHOW_S = 0.1  # steps may be as short as a millisecond
Steps = Callable[..., Iterator[Any]]


@dataclass(frozen=True, slots=True)
class Beside:
    """What lies beside the store's file, and who else has it open (None: cannot be told)."""

    snapshots: tuple[Snapshot, ...] = ()
    elsewhere: tuple[OpenElsewhere, ...] | None = None


class StoreUpkeepController(QObject):
    """Fills the card, and does what its buttons say: one thing at a time.

    Signals:
        changed: something else is to be shown.
        done: something came to its end, so sizes are others than before; carries its name.
    """

    changed = Signal()
    done = Signal(str)

    def __init__(
        self, store: Store, page: MaintenancePage, dialogs: Dialogs, tasks: TaskScope
    ) -> None:
        super().__init__(page)
        self._store, self._card, self._dialogs, self._tasks = store, page.store, dialogs, tasks
        self._sizes: StoreSizes | None = None
        self._beside = Beside()
        self._erasure = Erasure(0, 0, None)
        self.running: Running | None = None
        self.library: Path | None = None  # of the tokenizer, for the full check
        self._card.asked.connect(self.ask)
        self._card.cancel_asked.connect(self.cancel)

    # What is shown

    def show(
        self, size: int, indexes: tuple[IndexShown, ...], checks: Mapping[str, Finding]
    ) -> None:
        """Show the store as it is now."""
        looks = {each.status.name: (each, look(each)) for each in indexes}
        proven = [each.proved_at_ms for each in self._beside.snapshots if each.proved_at_ms]
        newest = [each.created_at_ms for each in self._beside.snapshots]
        self._card.show_store(
            StoreShown(
                size,
                self._sizes,
                states={
                    name: found.word for name, (each, found) in looks.items() if not each.is_whole
                },
                off=frozenset(name for name, (_, found) in looks.items() if found.bar == "off"),
                checked=checked(checks),
                snapshots=len(self._beside.snapshots),
                proven_at_ms=max(proven, default=None),
                newest_at_ms=max(newest, default=None),
                elsewhere=self._beside.elsewhere,
                erasure=self._erasure,
                running=self.running,
                damage=damage.broken(str(self._store.path)) or "",
            )
        )

    async def measure(self) -> None:
        """Read what takes longer: sizes by table, snapshots, who else has the store open."""
        try:
            self._beside = await asyncio.to_thread(_beside, self._store.path)
            self._erasure = await self._store.read(erasure.waiting)
            self.changed.emit()  # the sizes read every page of the store
            self._sizes = await self._store.read(sizes)
        except CoreError as error:
            self._card.message.show_notice(describe(error))
        self.changed.emit()

    # What is done

    def ask(self, name: str) -> None:
        """Do one of the card's actions, after a question where it cannot be undone."""
        if self.running is None and not self._tasks.running(_TASK):
            self._card.message.hide()
            self._tasks.start(_TASK, self._do(name))

    def cancel(self) -> None:
        """Stop what runs at its next safe point."""
        if self.running is not None:
            self.running = replace(self.running, is_stopping=True)
            self._tasks.cancel(_TASK)
            self.changed.emit()

    async def _do(self, name: str) -> None:
        try:
            if await self._is_wanted(name):
                await self._carry_out(name)
        except CoreError as error:
            self._card.message.show_notice(upkeep_words.failure(error))
        except asyncio.CancelledError:
            self._card.message.show_notice(upkeep_words.stopped())
            raise
        finally:
            self.running = None
            self.changed.emit()
            self.done.emit(name)

    async def _is_wanted(self, name: str) -> bool:
        if name == "compact":
            found = await self._store.read(sizes)
            elsewhere = await asyncio.to_thread(holders.open_elsewhere, self._store.path)
            return await self._dialogs.confirm(upkeep_words.ask_compact(found, elsewhere))
        if name == "erase":
            preview = await self._store.read(purge.preview)
            return await self._dialogs.confirm(upkeep_words.ask_erase(preview))
        return True

    async def _carry_out(self, name: str) -> None:
        if name == "salvage":
            self._card.message.show_notice(upkeep_words.how_to_salvage())
            return
        works: dict[str, tuple[Steps, tuple[Any, ...], dict[str, Any]]] = {
            "check": (health.full, ("you",), {"tokenizer": self.library}),
            "backup": (backup.make, (_REASON, "you"), {}),
            "prove": (_prove_newest, (), {}),
            "optimize": (optimize.run, ("you",), {}),
            "compact": (compact.run, ("you",), {}),
            "repair": (repair.run, ("you",), {}),
            "erase": (purge.run, ("you",), {"now": True}),
        }
        work, args, options = works[name]
        last: object = None
        shown_s = 0.0
        self._show_running(name, None)
        steps = self._store.steps(work, *args, **options)
        async with aclosing(steps) as found:
            async for step in found:
                if isinstance(step, Progress):
                    if time.monotonic() - shown_s >= _SHOW_S:
                        shown_s = time.monotonic()
                        self._show_running(name, step)
                else:
                    last = step
        self._card.message.show_notice(upkeep_words.outcome(name, last))

    def _show_running(self, name: str, step: Progress | None) -> None:
        fraction = min(1.0, step.done / step.total) if step and step.total else None
        self.running = Running(
            name,
            upkeep_words.doing(name, step.what if step else ""),
            fraction,
            upkeep_words.may_close(name),
            is_stopping=self.running is not None and self.running.is_stopping,
        )
        self._card.running.show_running(self.running)
        if step is None:
            self.changed.emit()


def checked(checks: Mapping[str, Finding]) -> Checked | None:
    """Return what the last check came to, from what was found last of each part."""
    known = [
        each
        for each in checks.values()
        if each.at_ms is not None and not each.message.startswith(("not ", "cannot "))
    ]
    if not known:
        return None
    at_ms = max(each.at_ms or 0 for each in known)
    bad = [each for each in known if not each.ok]
    words = "; ".join(f"{each.name}: {each.message}" for each in bad)
    pages = checks.get("pages")
    is_full = pages is not None and pages.at_ms is not None and at_ms - pages.at_ms < 60_000
    return Checked(at_ms, not bad, is_full, words)


def _beside(path: Path) -> Beside:
    elsewhere = holders.open_elsewhere(path) if holders.is_known() else None
    return Beside(backup.snapshots_of(path.parent), elsewhere)


def _prove_newest(db: apsw.Connection) -> Iterator[Progress | Snapshot]:
    """Prove the newest snapshot; the store itself is not touched."""
    newest = next(iter(backup.snapshots_of(Path(db.filename).parent)), None)
    if newest is not None:
        yield from backup.prove(Path(newest.path))
