"""What can be taken back now: one thing at a time, by its bar or by Ctrl+Z."""

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from app.views.undo_bar import UndoBar


class Undoing(QObject):
    """Offers the way back from what was done last; the offer before it goes.

    `action` is the one with Ctrl+Z: it can be used as long as a bar is shown.
    """

    def __init__(self, action: QAction, bars: tuple[UndoBar, ...], parent: QObject) -> None:
        super().__init__(parent)
        self._action, self._bars = action, bars
        self._take_back: Callable[[], None] | None = None
        action.setEnabled(False)
        action.triggered.connect(self.undo)
        for bar in bars:
            bar.undo_asked.connect(self.undo)
            bar.gone.connect(self._forget)

    def offer(self, bar: UndoBar, words: str, take_back: Callable[[], None]) -> None:
        """Tell in `bar` what was done; `take_back` is called when it is to be undone."""
        self.withdraw()
        self._take_back = take_back
        self._action.setEnabled(True)
        bar.offer(words)

    def undo(self) -> None:
        """Take back what was done last, once."""
        take_back = self._take_back
        self.withdraw()
        if take_back is not None:
            take_back()

    def withdraw(self) -> None:
        """Offer nothing any more."""
        for bar in self._bars:
            bar.leave()
        self._forget()

    def _forget(self) -> None:
        self._take_back = None
        self._action.setEnabled(False)
