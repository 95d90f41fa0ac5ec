"""A filter as a button: what it narrows, what is chosen, and a way to clear it."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QMenu, QToolButton

from app import theme
from app.text_ranges import visible

_CLEAR_WIDTH = 28
_SHOWN = 2


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing a filter can be set to. `key` is what core understands."""

    key: str
    label: str
    count: int | None = None


class _OpenMenu(QMenu):
    """A menu that stays open while things are ticked."""

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if not self._tick(self.actionAt(event.position().toPoint())):
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() != Qt.Key.Key_Space or not self._tick(self.activeAction()):
            super().keyPressEvent(event)

    @staticmethod
    def _tick(action: QAction | None) -> bool:
        if action is None or not action.isCheckable() or action.actionGroup() is not None:
            return False
        action.trigger()
        return True


class FilterChip(QToolButton):
    """Shows what is chosen; never decides what that means.

    Signals:
        chosen: the choice changed; carries the keys, in the order offered.
    """

    chosen = Signal(tuple)

    def __init__(self, name: str, *, exclusive: bool = False) -> None:
        super().__init__()
        self._name = name
        self._exclusive = exclusive
        self._choices: tuple[Choice, ...] = ()
        self._keys: tuple[str, ...] = ()
        self._menu = _OpenMenu(self)
        self._menu.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.setProperty("class", "chip")
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setFont(theme.font("ui"))
        self.setIconSize(QSize(14, 14))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the icon stands behind the word
        self.clicked.connect(self._on_clicked)
        theme.changed.connect(self._show)
        self._show()

    def offer(self, choices: Sequence[Choice]) -> None:
        """Offer other choices; what was chosen stays chosen, even where it is not offered."""
        if tuple(choices) != self._choices:
            self._choices = tuple(choices)
            self._show()

    def chosen_keys(self) -> tuple[str, ...]:
        """Return what is chosen."""
        return self._keys

    def choose(self, keys: Sequence[str]) -> None:
        """Choose `keys`; says nothing when they are chosen already."""
        if tuple(keys) != self._keys:
            self._keys = tuple(keys)
            self._show()
            self.chosen.emit(self._keys)

    def clear(self) -> None:
        """Choose nothing, which narrows nothing."""
        self.choose(())

    def label(self, key: str) -> str:
        """Return the words for a key."""
        return visible(next((each.label for each in self._choices if each.key == key), key))

    def _show(self) -> None:
        self.setChecked(bool(self._keys))
        if self._keys:
            labels = [self.label(key) for key in self._keys]
            more = f" +{len(labels) - _SHOWN}" if len(labels) > _SHOWN else ""
            self.setText(f"{self._name}: {', '.join(labels[:_SHOWN])}{more}")
            self.setIcon(theme.icon("close", "accent", 14))
            self.setAccessibleDescription(self.tr("Active filter; press Delete to clear it"))
        else:
            self.setText(self._name)
            self.setIcon(theme.icon("chevron-down", "text2", 14))
            self.setAccessibleDescription("")
        self.setAccessibleName(self.tr("Filter: %1").replace("%1", self.text()))

    def _on_clicked(self) -> None:
        self.setChecked(bool(self._keys))
        self._fill()
        self._menu.popup(self.mapToGlobal(QPoint(0, self.height() + 4)))

    def _fill(self) -> None:
        self._menu.clear()
        group = QActionGroup(self._menu) if self._exclusive else None
        for choice in self._choices:
            label = visible(choice.label).replace("&", "&&")
            action = self._menu.addAction(label if choice.count is None else _counted(choice))
            action.setCheckable(True)
            action.setChecked(choice.key in self._keys)
            action.setData(choice.key)
            if group is not None:
                group.addAction(action)
            action.triggered.connect(self._on_ticked)
        if not self._choices:
            self._menu.addAction(self.tr("Nothing to choose from yet")).setEnabled(False)
        if self._keys:
            self._menu.addSeparator()
            self._menu.addAction(self.tr("Clear")).triggered.connect(self.clear)

    def _on_ticked(self) -> None:
        ticked = [str(each.data()) for each in self._menu.actions() if each.isChecked()]
        self.choose(tuple(ticked))

    # QWidget

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._keys and event.position().x() >= self.width() - _CLEAR_WIDTH:
            self.clear()
            event.accept()
            return
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self._keys:
            self.clear()
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._on_clicked()
        else:
            super().keyPressEvent(event)


def _counted(choice: Choice) -> str:
    return f"{visible(choice.label).replace('&', '&&')}\t{choice.count}"
