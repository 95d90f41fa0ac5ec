"""A whole number between two others, typed or stepped by the arrow keys."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QIntValidator, QKeyEvent
from PySide6.QtWidgets import QLineEdit

_STEPS = {
    Qt.Key.Key_Up: 1,
    Qt.Key.Key_Down: -1,
    Qt.Key.Key_PageUp: 30,
    Qt.Key.Key_PageDown: -30,
}


class NumberField(QLineEdit):
    """Takes digits only. While it is empty or out of range it keeps the value before.

    Signals:
        value_changed: another value stands in the field; carries it.
    """

    value_changed = Signal(int)

    def __init__(self, name: str, least: int, most: int, value: int) -> None:
        super().__init__(str(value))
        self._least, self._most, self._value = least, most, value
        self._is_typing = False
        self.setAccessibleName(name)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setMaxLength(len(str(most)))
        self.setValidator(QIntValidator(least, most, self))
        self.textEdited.connect(self._on_edited)
        self.editingFinished.connect(self._on_finished)

    def value(self) -> int:
        """Return the number."""
        return self._value

    def show_value(self, value: int) -> None:
        """Show another number; emits nothing. What is being typed stays."""
        if not self._is_typing:
            self._value = value
            self.setText(str(value))

    def _on_finished(self) -> None:
        self._is_typing = False
        self.setText(str(self._value))

    def _on_edited(self, text: str) -> None:
        self._is_typing = True
        if self.hasAcceptableInput() and int(text) != self._value:
            self._value = int(text)
            self.value_changed.emit(self._value)

    # QLineEdit

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _STEPS.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        value = min(max(self._value + step, self._least), self._most)
        if value != self._value:
            self._value = value
            self.setText(str(value))
            self.value_changed.emit(value)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Go back to the last good number where none stands in the field: Qt says nothing then."""
        super().focusOutEvent(event)
        if self._is_typing:
            self._on_finished()
