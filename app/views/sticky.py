"""A part of a page that stays in sight: at its place, or at the foot of the view above it."""

from PySide6.QtCore import QEvent, QObject, QPoint
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

_GAP = 12  # between what stands at the foot of the view and what scrolls beneath


class Sticky(QWidget):
    """Keeps room in a page for `bar`, which is shown there or at the foot of the page's view.

    `bar.property("stuck")` tells the style which of the two.
    """

    def __init__(self, page: QScrollArea) -> None:
        super().__init__()
        self._page = page
        self.bar = QFrame(page.viewport(), objectName="sticky")
        self.column = QVBoxLayout(self.bar)
        self.column.setContentsMargins(0, _GAP, 0, 8)
        self.column.setSpacing(0)
        page.verticalScrollBar().valueChanged.connect(self.place)
        for each in (self, self.bar, page.viewport()):
            each.installEventFilter(self)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ParentChange and self.parentWidget() is not None:
            self.parentWidget().installEventFilter(self)  # it moves when a scroll bar appears
        return super().event(event)

    def covered(self) -> int:
        """Return how many pixels at the foot of the view the bar covers of what scrolls."""
        return self.bar.height() if self.bar.property("stuck") else 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kinds = (QEvent.Type.LayoutRequest, QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.Show)
        if event.type() in kinds and (watched is not self.bar or event.type() == kinds[0]):
            self.place()
        return False

    def place(self) -> None:
        """Put the bar where it belongs now."""
        height = self.column.sizeHint().height()
        self.setFixedHeight(height)
        view = self._page.viewport()
        own = self.mapTo(view, QPoint(0, 0)) if view.isAncestorOf(self) else QPoint()
        foot = view.height() - height
        stuck = own.y() > foot
        self.bar.setGeometry(own.x(), min(own.y(), foot), self.width(), height)
        if stuck != bool(self.bar.property("stuck")):
            self.bar.setProperty("stuck", stuck)
            self.bar.style().polish(self.bar)
        self.bar.raise_()
