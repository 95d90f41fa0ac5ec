"""Scheduled upkeep as a sheet: when each job runs next, and pausing it."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app import formatting
from app.views.maintenance import operation_words
from app.views.maintenance.list_sheet import Column, ListSheet, Row
from app.views.parts import Button
from core.upkeep_types import Job


class JobsSheet(ListSheet):
    """Shows; never asks.

    Signals:
        pause_asked: pause these jobs; carries their ids.
        resume_asked: let these jobs run again; carries their ids.
    """

    pause_asked = Signal(list)
    resume_asked = Signal(list)

    def __init__(self, parent: QWidget) -> None:
        columns = (
            Column(self.tr("Job")),
            Column(self.tr("Schedule"), 120),
            Column(self.tr("Last run"), 100, right=True),
            Column(self.tr("Next run"), 130, right=True),
            Column(self.tr("State"), 150),
        )
        super().__init__(self.tr("Schedule"), columns, parent)
        self._jobs: dict[str, Job] = {}
        self.pause = Button(self.tr("Pause"), icon="pause")
        self.resume = Button(self.tr("Go on"), icon="play")
        self.add_action(self.pause)
        self.add_action(self.resume)
        self.pause.clicked.connect(lambda: self.pause_asked.emit(self._chosen(paused=False)))
        self.resume.clicked.connect(lambda: self.resume_asked.emit(self._chosen(paused=True)))
        self.table.itemSelectionChanged.connect(self._show_choice)
        self.sentence.show_words(
            self.tr(
                "Jobs run while a window is open, one after the other; what was missed "
                "meanwhile is done once."
            )
        )
        self._show_choice()

    def show_jobs(self, jobs: Sequence[Job], now_ms: int) -> None:
        """Show the jobs; those chosen stay chosen."""
        self._jobs = {each.id: each for each in jobs}
        self.show_rows([self._row(each, now_ms) for each in jobs])
        self._show_choice()

    def _row(self, job: Job, now_ms: int) -> Row:
        last = formatting.moment(job.last_fired_at_ms) if job.last_fired_at_ms else "–"
        coming = "–"
        if job.next_fire_at_ms is not None and job.state == "scheduled":
            coming = operation_words.coming(job.next_fire_at_ms, now_ms)
        ink = "err" if job.last_status == "error" else "warn" if job.state == "paused" else ""
        texts = (
            operation_words.kind(job.kind),
            operation_words.schedule(job.schedule),
            last,
            coming,
            operation_words.job_state(job),
        )
        return Row(job.id, texts, ("", "", "", "", ink))

    def _chosen(self, *, paused: bool) -> list[str]:
        found = (self._jobs[str(key)] for key in self.chosen())
        return [
            job.id
            for job in found
            if job.state != "completed" and (job.state == "paused") == paused
        ]

    def _show_choice(self) -> None:
        self.pause.setEnabled(bool(self._chosen(paused=False)))
        self.resume.setEnabled(bool(self._chosen(paused=True)))
