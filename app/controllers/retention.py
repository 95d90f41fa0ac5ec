"""Retention in the window: a live preview, the rule, and moving what it names now."""

import re
import time
from contextlib import aclosing
from dataclasses import dataclass

import apsw
from PySide6.QtCore import QObject, QTimer

from app import formatting
from app.controllers.undoing import Undoing
from app.dialogs import Dialogs, Question
from app.messages import describe
from app.tasks import TaskScope
from app.view_state import ViewState
from app.views.main_window import MainWindow
from app.views.maintenance import operation_words, retention_words
from app.views.maintenance.going_sheet import GoingSheet
from core.errors import CoreError
from core.history import sources
from core.store import clock
from core.store.store import Store
from core.upkeep import retention, schedule, trash
from core.upkeep_types import Report, RetentionPreview, RetentionRule, Trash

SETTLE_MS = 250
_LISTED = 500
_REST = 10
_DAYS = re.compile("[1-9][0-9]{0,3}")
_TASK = "retention"
_DAYS_KEY = "retention/days"


@dataclass(frozen=True, slots=True)
class RetentionFacts:
    """What the card shows, over one state of the store."""

    rule: RetentionRule
    kinds: tuple[str, ...]
    preview: RetentionPreview
    trash: Trash
    next_run_at_ms: int | None


def look(db: apsw.Connection, wanted: RetentionRule) -> RetentionFacts:
    """Return the rule in force, and what `wanted` would do where none is."""
    rule = retention.rule(db)
    coming = [
        each.next_fire_at_ms
        for each in schedule.jobs(db)
        if each.kind == "retention.apply" and each.state == "scheduled" and each.next_fire_at_ms
    ]
    return RetentionFacts(
        rule=rule,
        kinds=tuple(dict.fromkeys(each.kind for each in sources.states(db, 0))),
        preview=retention.preview(db, wanted),
        trash=trash.contents(db),
        next_run_at_ms=min(coming, default=None),
    )


class RetentionController(QObject):
    """Shows what the rule in the fields would do; changes nothing but the rule by itself."""

    def __init__(
        self,
        store: Store,
        window: MainWindow,
        dialogs: Dialogs,
        undoing: Undoing,
        tasks: TaskScope,
        state: ViewState,
    ) -> None:
        super().__init__(window)
        self._store, self._window, self._dialogs = store, window, dialogs
        self._undoing, self._tasks, self._state = undoing, tasks, state
        self._card = window.maintenance.retention
        self._is_known = self._is_edited = False
        self._took_ms = 0.0
        self._settles = QTimer(self, singleShot=True, interval=SETTLE_MS)
        self._settles.timeout.connect(self._read_soon)
        self._connect()
        kept = state.text(_DAYS_KEY)
        if _DAYS.fullmatch(kept):
            self._card.days.show_value(int(kept))

    def _connect(self) -> None:
        card = self._card
        self._window.maintenance_shown.connect(lambda shown: shown and self.refresh())
        card.rule_edited.connect(self._on_edited)
        card.rule_settled.connect(self._on_settled)
        card.turned.connect(self._on_turned)
        card.move_asked.connect(self._on_move_asked)
        card.sessions_asked.connect(self._on_sessions_asked)
        card.undo_asked.connect(self._on_undo_asked)
        card.trust_asked.connect(lambda: self._tasks.start("retention-rule", self._trust()))

    def refresh(self) -> None:
        """Count anew, soon, if the page is shown; ten times as long is left between as it takes."""
        if self._window.on_maintenance() and not self._settles.isActive():
            self._settles.start(max(SETTLE_MS, round(_REST * self._took_ms)))

    def _read_soon(self) -> None:
        self._tasks.start(_TASK, self._read())

    async def _read(self) -> None:
        if not self._is_known:
            await self._take_rule()
        wanted = self._card.rule()
        began = time.monotonic()
        try:
            facts = await self._store.read(look, wanted)
        except CoreError as error:
            self._card.message.show_notice(describe(error))
            return
        self._took_ms = (time.monotonic() - began) * 1000
        self._show(facts)

    async def _take_rule(self) -> None:
        """Put the rule in force into the fields, before the first preview of it."""
        try:
            rule = await self._store.read(retention.rule)
        except CoreError:
            return  # the same reading tells it right after
        self._is_known = True
        if not self._is_edited:
            self._card.show_rule(rule, rule.sources)

    def _show(self, facts: RetentionFacts) -> None:
        coming = ""
        if facts.next_run_at_ms is not None:
            coming = operation_words.coming(facts.next_run_at_ms, clock.now_ms())
        if self._card.rule() == facts.preview.rule:  # else another one is being typed
            if self._is_edited:
                self._card.show_schedule(coming)
            else:
                self._card.show_rule(facts.rule, facts.kinds, coming)
            self._card.show_preview(facts.preview)
        self._card.show_trash(facts.trash)
        self._card.show_writable(writable=self._store.read_only_reason is None)

    # The rule

    def _on_edited(self) -> None:
        self._is_edited = True
        self._state.set_text(_DAYS_KEY, str(self._card.days.value()))
        self._settles.start(SETTLE_MS)

    def _on_settled(self) -> None:
        """Take what was edited for the rule, where one is in force."""
        if self._is_edited and self._card.switch.isChecked():
            self._tasks.start("retention-rule", self._turn(self._card.rule()))

    def _on_turned(self, on: bool) -> None:
        wanted = self._card.rule() if on else RetentionRule(0, self._card.sources.keys())
        self._tasks.start("retention-rule", self._turn(wanted))

    async def _turn(self, wanted: RetentionRule) -> None:
        try:
            before = await self._store.read(retention.rule)
            await self._set_rule(wanted, before)
            self._is_edited = False
        except CoreError as error:
            self._card.message.show_notice(describe(error))
        await self._read()

    async def _trust(self) -> None:
        try:
            await self._store.write(retention.trust_clock)
        except CoreError as error:
            self._card.message.show_notice(describe(error))
        await self._read()

    async def _set_rule(self, wanted: RetentionRule, before: RetentionRule) -> None:
        """Set the rule, and offer the way back to the one before.

        Raises:
            CoreError: it was not set.
        """
        if wanted == before:
            return
        await self._store.write(retention.set_rule, wanted)
        self._undoing.offer(
            self._window.page_undo,
            self._rule_words(wanted),
            lambda: self._tasks.start("retention-rule", self._turn_back(before)),
        )

    async def _turn_back(self, rule: RetentionRule) -> None:
        try:
            await self._store.write(retention.set_rule, rule)
        except CoreError as error:
            self._card.message.show_notice(describe(error))
        self._is_known = self._is_edited = False
        await self._read()

    def _rule_words(self, rule: RetentionRule) -> str:
        if not rule.days:
            return self.tr("Retention is off: nothing goes by age")
        words = self.tr("Retention is on: sessions without activity for %1 go to the trash")
        days = formatting.counted(rule.days, self.tr("%1 day"), self.tr("%1 days"))
        return words.replace("%1", days)

    # Moving now

    def _on_move_asked(self) -> None:
        preview = self._card.preview
        if preview is not None and not self._tasks.running("retention-move"):
            self._tasks.start("retention-move", self._move(preview))

    async def _move(self, preview: RetentionPreview) -> None:
        if preview.needs_confirmation and not await self._dialogs.confirm(self._question(preview)):
            return
        self._card.move_now.setEnabled(False)
        report: Report | None = None
        try:
            steps = self._store.steps(
                retention.apply, preview.token, "you", preview.needs_confirmation
            )
            async with aclosing(steps):
                async for each in steps:
                    if isinstance(each, Report):
                        report = each
        except CoreError as error:
            self._card.message.show_notice(describe(error))
        await self._read()
        if report is not None:
            self._offer_back(report)

    def _offer_back(self, report: Report) -> None:
        operation_id = int(str(report.facts.get("operation", 0)))
        moved = int(str(report.facts.get("sessions", 0)))
        words = formatting.counted(
            moved,
            self.tr("%1 session moved to the trash"),
            self.tr("%1 sessions moved to the trash"),
        )
        self._undoing.offer(self._window.page_undo, words, lambda: self._undo(operation_id))

    def _question(self, preview: RetentionPreview) -> Question:
        amount = (
            retention_words.sessions(preview.sessions),
            retention_words.messages(preview.messages),
            formatting.size(preview.bytes),
        )
        share = self.tr("That is %1 of all messages.")
        back = self.tr("They can be brought back from the trash until it is emptied.")
        return Question(
            self.tr("Move more than a fifth of everything to the trash?"),
            (
                ", ".join(amount),
                retention_words.span(preview.oldest_at_ms, preview.newest_at_ms),
                f"{share.replace('%1', retention_words.share(preview))} {back}",
            ),
            self.tr("Move to trash"),
        )

    def _on_undo_asked(self) -> None:
        self._tasks.start("retention-undo", self._undo_last())

    async def _undo_last(self) -> None:
        try:
            held = await self._store.read(trash.contents)
        except CoreError as error:
            self._card.message.show_notice(describe(error))
            return
        if held.undoable is not None:
            await self._undo_one(held.undoable)

    def _undo(self, operation_id: int) -> None:
        self._tasks.start("retention-undo", self._undo_one(operation_id))

    async def _undo_one(self, operation_id: int) -> None:
        try:
            await self._store.write(trash.undo, operation_id, "you")
        except CoreError as error:
            self._card.message.show_notice(describe(error))
        await self._read()

    # The sessions that would go

    def _on_sessions_asked(self) -> None:
        preview = self._card.preview
        if preview is not None:
            self._tasks.start("retention-list", self._list(preview))

    async def _list(self, preview: RetentionPreview) -> None:
        try:
            found = await self._store.read(
                retention.going, preview.rule, before_ms=preview.cutoff_at_ms, limit=_LISTED
            )
        except CoreError as error:
            self._card.message.show_notice(describe(error))
            return
        GoingSheet(preview, found, self._window).open()
