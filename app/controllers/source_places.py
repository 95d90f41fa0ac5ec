"""The page of sources beside the store: what it has of each place, watched or not, and why not."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
from PySide6.QtCore import QCoreApplication, QObject, QTimer

from app import formatting
from app.controllers.described import described
from app.controllers.imports import ImportController
from app.controllers.watching import WatchingController
from app.dialogs import Dialogs, Question
from app.messages import Notice, describe
from app.models.sources import Watch
from app.tasks import TaskScope
from app.text_ranges import one_line
from app.views import report_sheet
from app.views.main_window import MainWindow
from app.views.report_sheet import ReportSheet
from core.errors import CoreError
from core.history import known_sources, watched
from core.source_types import KnownSource, PlaceState, SourceReport, StoredPlace, WatchWay
from core.store.store import Store
from core.upkeep import removal

_SETTLE_MS = 300
_WATCHES: dict[WatchWay, Watch] = {
    "native": "on",
    "polling": "on",
    "starting": "on",
    "paused": "paused",
    "missing": "missing",
}


class SourcePlacesController(QObject):
    """Keeps the rows true while the page is shown, and does what is asked of a place."""

    def __init__(
        self,
        store: Store,
        window: MainWindow,
        dialogs: Dialogs,
        imports: ImportController,
        watching: WatchingController,
        tasks: TaskScope,
    ) -> None:
        super().__init__(window)
        self._store, self._window, self._dialogs = store, window, dialogs
        self._watching, self._tasks = watching, tasks
        self._model = window.models.sources
        self._settles = QTimer(self, singleShot=True, interval=_SETTLE_MS)
        self._settles.timeout.connect(lambda: tasks.start("source-places", self._read()))
        view = window.first_run
        view.watch_asked.connect(self.watch)
        view.unwatch_asked.connect(lambda path: self._change(watched.unwatch, path))
        view.pause_asked.connect(lambda path: self._pause(path, paused=True))
        view.resume_asked.connect(lambda path: self._pause(path, paused=False))
        view.report_asked.connect(lambda name: tasks.start("report", self._report(name)))
        view.remove_asked.connect(self._on_remove_asked)
        imports.looked.connect(self.refresh)
        imports.finished.connect(self.refresh)
        watching.changed.connect(self.refresh)
        watching.noticed.connect(self.refresh)

    def refresh(self) -> None:
        """Read anew what the store has of the places, soon, if the page is shown."""
        if self._window.on_sources():
            self._settles.start()

    # What is shown

    async def _read(self) -> None:
        try:
            await self._add_watched()
            paths = [row.found.path for row in self._model.rows()]
            known, stored = await self._store.read(_known, paths)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        states = {each.place.path: each for each in self._watching.state.places}
        for n, row in enumerate(self._model.rows()):
            state, there = states.get(row.found.path), stored.get(row.found.path)
            self._model.update(n, **_facts(state, there))
        self._model.choice_changed.emit()
        self._show_drift(known)

    async def _add_watched(self) -> None:
        """List the places that are watched and were not found by themselves."""
        listed = {row.found.path for row in self._model.rows()}
        places = (each.place.path for each in self._watching.state.places)
        new = [Path(path) for path in places if path not in listed]
        if new:
            found = await asyncio.to_thread(described, new)
            self._model.add([each for each in found if self._model.row_of(each.path) < 0])
            self._window.first_run.show_found()

    def _show_drift(self, known: tuple[KnownSource, ...]) -> None:
        unknown = [each for each in known if each.unknown_records and not each.is_removed]
        worst = max(unknown, key=lambda each: sum(each.unknown_records.values()), default=None)
        drift = self._window.first_run.drift
        if worst is None:
            drift.show_words("", "")
            return
        words = report_sheet.drift(
            worst.name or worst.kind, worst.unknown_records, worst.reader_version
        )
        drift.show_words(words, _name(worst))

    # What is asked

    def watch(self, path: str) -> None:
        """Watch a place from now on."""
        row = self._model.row_of(path)
        kind = self._model.rows()[row].found.kind if row >= 0 else ""
        self._change(watched.watch, path, kind)

    def _pause(self, path: str, *, paused: bool) -> None:
        self._change(watched.set_paused, path, paused=paused)

    def _change(self, work: Callable[..., object], *args: Any, **kwargs: Any) -> None:
        self._tasks.start("change-watching", self._changed(work, *args, **kwargs))

    async def _changed(self, work: Callable[..., object], *args: Any, **kwargs: Any) -> None:
        try:
            await self._store.write(work, *args, **kwargs)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
        self._watching.look_again()

    def _on_remove_asked(self, name: str, with_history: bool) -> None:
        self._tasks.start("remove-source", self._remove(name, with_history=with_history))

    async def _report(self, name: str) -> None:
        try:
            report = await self._store.read(_report_of, name)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        ReportSheet(report, self._window).open()

    async def _remove(self, name: str, *, with_history: bool) -> None:
        try:
            source = await self._store.read(known_sources.named, name)
            if not await self._dialogs.confirm(_question(source, with_history=with_history)):
                return
            removed = await self._store.write(
                removal.remove, source, "you", with_history=with_history
            )
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        self._window.message_bar.show_notice(_removed(source, removed))
        self._watching.look_again()
        self.refresh()


def _known(
    db: apsw.Connection, paths: Sequence[str]
) -> tuple[tuple[KnownSource, ...], dict[str, StoredPlace]]:
    known = known_sources.known(db)
    return known, known_sources.at(db, known, paths)


def _report_of(db: apsw.Connection, name: str) -> SourceReport:
    return known_sources.report(db, known_sources.named(db, name))


def _name(source: KnownSource) -> str:
    return f"{source.kind}#{source.id}"


def _facts(state: PlaceState | None, there: StoredPlace | None) -> dict[str, object]:
    """Return the fields of a row that come from the store and from the watching."""
    facts: dict[str, object] = {"watch": "", "watch_note": "", "source": "", "trouble": ""}
    if state is not None:
        facts["watch"] = _WATCHES[state.way]
        facts["watch_note"] = state.note
    if there is not None and not there.source.is_removed:
        source = there.source
        facts |= {
            "source": _name(source),
            "sessions": there.sessions,
            "messages": there.messages,
            "read_at_ms": source.last_run_at_ms,
            "trouble": _trouble(there),
        }
    return facts


def _trouble(there: StoredPlace) -> str:
    if there.failed:
        return formatting.counted(there.failed, _tr("%1 file failed"), _tr("%1 files failed"))
    if there.bad_records:
        return formatting.counted(
            there.bad_records, _tr("%1 broken record"), _tr("%1 broken records")
        )
    return ""


def _question(source: KnownSource, *, with_history: bool) -> Question:
    name = one_line(source.name or source.kind)
    held = formatting.counted(source.sessions, _tr("%1 conversation"), _tr("%1 conversations"))
    messages = formatting.counted(source.messages, _tr("%1 message"), _tr("%1 messages"))
    files = formatting.counted(source.files + source.gone_files, _tr("%1 file"), _tr("%1 files"))
    becomes = (
        _tr("%1 with %2 move to the trash, and can be restored from there.")
        if with_history
        else _tr("%1 with %2 are kept and can be searched as before.")
    )
    return Question(
        _tr("Remove %1?").replace("%1", name),
        (
            becomes.replace("%1", held).replace("%2", messages),
            _tr(
                "What was known of %1 is forgotten, and nothing new is read. No file is touched."
            ).replace("%1", files),
        ),
        _tr("Remove"),
    )


def _removed(source: KnownSource, removed: removal.Removed) -> Notice:
    cause = _tr("%1 was removed.").replace("%1", one_line(source.name or source.kind))
    if removed.trashed:
        moved = _tr("%1 conversations are in the trash now.")
        return Notice(
            "ok", cause, moved.replace("%1", formatting.number(removed.trashed)), removed.outcome
        )
    kept = _tr("Its %1 conversations are kept; importing the place again brings it back.")
    return Notice("ok", cause, kept.replace("%1", formatting.number(removed.kept)), removed.outcome)


def _tr(text: str) -> str:
    return QCoreApplication.translate("source-places", text)
