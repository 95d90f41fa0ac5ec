"""The bar that is always there: which index answered, how much, how fast, over what."""

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QSizePolicy, QToolButton, QWidget

from app import theme
from app.views.parts import Badge, Dot, ElidedText, Link, Text
from app.views.path_facts import Fact
from app.views.path_looks import look

HEIGHT = 36
_CHIP_HEIGHT = 24
_WIDEST = 480
_CUT = 160
_SPACE = 12


class Segments(QWidget):
    """Exclusive small buttons in a row.

    Signals:
        picked: another one was pressed; carries its key.
    """

    picked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(0)
        self._group = QButtonGroup(self)
        self._buttons: dict[str, QToolButton] = {}
        self._group.buttonClicked.connect(self._on_clicked)

    def offer(self, choices: Sequence[tuple[str, str]], current: str) -> None:
        """Show `choices` as (key, words) with `current` pressed."""
        if [key for key, _ in choices] != list(self._buttons):
            self._build(choices)
        button = self._buttons.get(current)
        if button is not None:
            button.setChecked(True)

    def buttons(self) -> list[QToolButton]:
        """Return the buttons from left to right."""
        return list(self._buttons.values())

    def _build(self, choices: Sequence[tuple[str, str]]) -> None:
        for old in self._buttons.values():
            self._group.removeButton(old)
            self._row.removeWidget(old)
            old.hide()
            old.deleteLater()
        self._buttons.clear()
        for n, (key, words) in enumerate(choices):
            button = QToolButton()
            button.setProperty("class", "seg")
            button.setProperty("first", "true" if n == 0 else "false")
            button.setProperty("last", "true" if n == len(choices) - 1 else "false")
            button.setText(words)
            button.setFont(theme.font("caption"))
            button.setCheckable(True)
            button.setAccessibleName(self.tr("Sort: %1").replace("%1", words))
            self._group.addButton(button)
            self._row.addWidget(button)
            button.show()  # at once, not with the next event: the bar asks how wide it is
            self._buttons[key] = button

    def _on_clicked(self, pressed: QToolButton) -> None:
        key = next(key for key, button in self._buttons.items() if button is pressed)
        self.picked.emit(key)


class PathBar(QFrame):
    """Shows the path of an answer, always in the same place and order.

    Signals:
        link_pressed: a fact that is a link was pressed; carries its name.
        sort_picked: another order was asked for; carries its key.
    """

    link_pressed = Signal(str)
    sort_picked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("pathbar")
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName(self.tr("Search path"))
        self.chip = Badge("path-browse", "", "unk", bold=True, height=_CHIP_HEIGHT)
        self.segments = Segments()
        self._facts = QWidget()
        self._facts.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._row = QHBoxLayout(self._facts)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(_SPACE)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 0, 16, 1)
        row.setSpacing(_SPACE)
        row.addWidget(self.chip)
        row.addWidget(self._facts, 1)
        row.addWidget(self.segments)
        self.segments.picked.connect(self.sort_picked)
        self.links: dict[str, Link] = {}
        self.comes_after: QWidget | None = None  # in the Tab order
        self._widths: list[int] = []  # of the facts, at least, with the dot before each
        self._minor: list[tuple[int, Dot, QWidget]] = []

    def show_path(
        self,
        path: str,
        facts: Sequence[Fact],
        sorts: Sequence[tuple[str, str]] = (),
        sort: str = "",
    ) -> None:
        """Show one path with its facts; `sorts` are the orders to choose from."""
        shown = look(path)
        self.chip.show_badge(shown.icon, shown.word, shown.kind)
        self._clear()
        for n, fact in enumerate(facts):
            dot, part = Dot(), self._part(fact)
            if n:
                self._row.addWidget(dot)
            self._row.addWidget(part)
            self._widths.append(_least_width(part) + dot.width() + 2 * _SPACE)
            if fact.minor:
                self._minor.append((n, dot, part))
        self._row.addStretch(1)
        self.segments.setVisible(bool(sorts))
        self.segments.offer(sorts, sort)
        self._fit()
        self._follow_in_tab_order()
        self.setAccessibleDescription(self.sentence(path, facts))

    @staticmethod
    def sentence(path: str, facts: Sequence[Fact]) -> str:
        """Return path and facts as one line, as a screen reader says it."""
        words = [f"{fact.strong} {fact.text}".strip() for fact in facts if not fact.link]
        return ", ".join([look(path).word, *words])

    def _part(self, fact: Fact) -> QWidget:
        if fact.link:
            link = Link(fact.text)
            link.clicked.connect(lambda: self.link_pressed.emit(fact.link))
            self.links[fact.link] = link
            return link
        if not fact.strong:
            if not fact.gives_way:
                return Text(fact.text, "ui", fact.ink)
            text = ElidedText(fact.text, "ui", fact.ink)
            text.setMaximumWidth(_WIDEST)  # so that two of them share the room
            return text
        pair = QWidget()
        row = QHBoxLayout(pair)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(Text(fact.strong, bold=True))
        if fact.text:
            space = "" if fact.text.startswith(",") else " "
            row.addWidget(Text(space + fact.text, ink="text2"))
        return pair

    def _follow_in_tab_order(self) -> None:
        """Come behind what stands above: parts made just now would be the last of the window."""
        chain = [*self.links.values(), *self.segments.buttons()]
        if self.comes_after is not None:
            chain.insert(0, self.comes_after)
        for before, after in pairwise(chain):
            QWidget.setTabOrder(before, after)

    def _fit(self) -> None:
        """Leave out minor facts, the last first, until the others have room."""
        margins = self.layout().contentsMargins()
        beside = self.chip.sizeHint().width() + margins.left() + margins.right() + 2 * _SPACE
        if not self.segments.isHidden():
            beside += _least_width(self.segments)
        over = sum(self._widths) - (self.width() - beside)
        for n, dot, part in reversed(self._minor):
            dot.setVisible(over <= 0)
            part.setVisible(over <= 0)
            over -= self._widths[n] if over > 0 else 0

    def _clear(self) -> None:
        self.links.clear()
        self._widths.clear()
        self._minor.clear()
        while (item := self._row.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()

    # QWidget

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()


def _least_width(widget: QWidget) -> int:
    """Return the width a widget needs, also before it was ever shown."""
    for each in (widget, *widget.findChildren(QWidget)):
        each.ensurePolished()
    if isinstance(widget, ElidedText):  # less is possible, but says little
        return min(widget.sizeHint().width(), _CUT)
    return widget.minimumSizeHint().width()
