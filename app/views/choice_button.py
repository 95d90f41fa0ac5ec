"""A field that shows what is chosen of a few; pressing it opens the choice."""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QPushButton, QSizePolicy

from app import theme

_CHEVRON = 16
_SIDE = 8


class ChoiceButton(QPushButton):
    """Any number of values; none chosen means all of them.

    Signals:
        chosen: the choice changed; carries the keys chosen, in order, as a list.
    """

    chosen = Signal(list)

    def __init__(self, name: str, all_words: str) -> None:
        super().__init__(all_words)
        self._name, self._all = name, all_words
        self._options: list[tuple[str, str]] = []
        self._keys: list[str] = []
        self.setProperty("class", "choice")
        self.setFont(theme.font("ui"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self.open_menu)
        theme.changed.connect(self.update)
        self._show()

    def show_options(self, options: Sequence[tuple[str, str]], keys: Sequence[str]) -> None:
        """Offer (key, words) and show `keys` as chosen; emits nothing."""
        self._options = list(options)
        self._keys = list(keys)
        self._show()

    def keys(self) -> tuple[str, ...]:
        """Return the keys chosen; none means all."""
        return tuple(self._keys)

    def open_menu(self) -> QMenu:
        """Open the choice; returns its menu."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setMinimumWidth(self.width())
        everything = menu.addAction(self._all)
        everything.setCheckable(True)
        everything.setChecked(not self._keys)
        everything.triggered.connect(lambda: self._choose([]))
        menu.addSeparator()
        for key, words in self._options:
            action = menu.addAction(words.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(key in self._keys)
            action.triggered.connect(lambda checked, each=key: self._toggle(each, checked))
        menu.popup(self.mapToGlobal(QPoint(0, self.height() + 2)))
        return menu

    def _toggle(self, key: str, on: bool) -> None:
        wanted = {*self._keys, key} if on else set(self._keys) - {key}
        self._choose([each for each, _ in self._options if each in wanted])

    def _choose(self, keys: list[str]) -> None:
        if keys != self._keys:
            self._keys = keys
            self._show()
            self.chosen.emit(keys)

    def _show(self) -> None:
        names = dict(self._options)
        words = ", ".join(names.get(each, each) for each in self._keys) or self._all
        self.setText("")
        self._words = words
        self.setAccessibleName(f"{self._name}: {words}")
        self.update()

    # QPushButton

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        box = self.rect().adjusted(_SIDE, 0, -_CHEVRON - _SIDE, 0)
        words = self.fontMetrics().elidedText(self._words, Qt.TextElideMode.ElideRight, box.width())
        painter.setFont(self.font())
        painter.setPen(theme.color("text" if self.isEnabled() else "text3"))
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, words)
        left = self.width() - _CHEVRON - _SIDE + 2
        top = (self.height() - _CHEVRON) / 2
        theme.paint_icon(painter, "chevron-down", "text2", QRectF(left, top, _CHEVRON, _CHEVRON))
