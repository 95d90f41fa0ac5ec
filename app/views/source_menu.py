"""What can be done with one place of the page of sources."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QMenu, QWidget

from app.models.sources import SourceRow


class SourceMenu(QMenu):
    """What can be done with one place; it goes when it closes.

    Signals:
        watch_asked, unwatch_asked, pause_asked, resume_asked: carry the path of the place.
        report_asked: carries the name of its source.
        remove_asked: carries that name, and whether its conversations go to the trash.
    """

    watch_asked = Signal(str)
    unwatch_asked = Signal(str)
    pause_asked = Signal(str)
    resume_asked = Signal(str)
    report_asked = Signal(str)
    remove_asked = Signal(str, bool)

    def __init__(self, place: SourceRow, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        path, source = place.found.path, place.source
        if not place.watch and place.found.importable:
            words = self.tr("Watch: read what is new by itself")
            self.addAction(words).triggered.connect(lambda: self.watch_asked.emit(path))
        elif place.watch == "paused":
            words = self.tr("Go on watching")
            self.addAction(words).triggered.connect(lambda: self.resume_asked.emit(path))
        elif place.watch:
            words = self.tr("Pause watching")
            self.addAction(words).triggered.connect(lambda: self.pause_asked.emit(path))
        if place.watch:
            words = self.tr("Stop watching")
            self.addAction(words).triggered.connect(lambda: self.unwatch_asked.emit(path))
        self.addSeparator()
        report = self.addAction(self.tr("Report by file…"))
        report.triggered.connect(lambda: self.report_asked.emit(source))
        remove = self.addAction(self.tr("Remove, keep its conversations…"))
        remove.triggered.connect(lambda: self.remove_asked.emit(source, False))
        clear = self.addAction(self.tr("Remove with its conversations…"))
        clear.triggered.connect(lambda: self.remove_asked.emit(source, True))
        for action in (report, remove, clear):
            action.setEnabled(bool(source))
