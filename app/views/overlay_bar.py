"""A scroll bar over the margin of a text, so that bands run below it to the edge."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractScrollArea, QScrollBar

WIDTH = 10


class OverlayBar(QScrollBar):
    """Shows and moves an area's own vertical scroll bar, which stays hidden.

    Nothing is laid out anew when it comes or goes: it takes no width.
    """

    def __init__(self, area: QAbstractScrollArea) -> None:
        super().__init__(Qt.Orientation.Vertical, area)
        self._area = area
        self._least_maximum = 0
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        real = area.verticalScrollBar()
        real.rangeChanged.connect(self.fit)
        real.valueChanged.connect(self.setValue)
        self.valueChanged.connect(real.setValue)
        self.hide()

    def let_go(self) -> None:
        """Let the range be what the text needs."""
        self._least_maximum = 0

    def reach(self, value: int) -> None:
        """Scroll to `value`, even if the text ends too early: empty space follows it then."""
        real = self._area.verticalScrollBar()
        if value > real.maximum():
            self._least_maximum = value
            real.setMaximum(value)
        real.setValue(value)

    def fit(self) -> None:
        """Take over the range and the place of the area; call it when the area was resized."""
        real = self._area.verticalScrollBar()
        if real.maximum() < self._least_maximum:
            real.setMaximum(self._least_maximum)
            return
        self.setRange(real.minimum(), real.maximum())
        self.setPageStep(real.pageStep())
        self.setSingleStep(real.singleStep())
        self.setVisible(real.maximum() > real.minimum())
        self.setGeometry(self._area.width() - WIDTH, 0, WIDTH, self._area.height())
