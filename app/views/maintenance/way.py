"""The way to the page of maintenance and back to where one was."""

from PySide6.QtCore import QEvent, QKeyCombination, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QStackedWidget, QWidget
from shiboken6 import isValid

from app.views.maintenance.page import MaintenancePage

_BACK = QKeyCombination(Qt.KeyboardModifier.AltModifier, Qt.Key.Key_Left)


class MaintenanceWay(QObject):
    """Shows the page among `pages`, its bar in the place of `bar`, and `button` pressed.

    Signals:
        shown: the page came, or was left; carries which.
    """

    shown = Signal(bool)

    def __init__(
        self, pages: QStackedWidget, page: MaintenancePage, bar: QWidget, button: QAbstractButton
    ) -> None:
        super().__init__(pages)
        self._pages, self._page, self._bar, self._button = pages, page, bar, button
        self._left: tuple[QWidget, QWidget | None] = (pages.widget(0), None)
        page.bar.hide()
        pages.currentChanged.connect(self._on_page_changed)

    def is_shown(self) -> bool:
        """Tell whether the page is shown."""
        return self._pages.currentWidget() is self._page

    def go(self) -> None:
        """Show the page over everything else, with its bar and the focus."""
        if not self.is_shown():
            self._left = (self._pages.currentWidget(), QApplication.focusWidget())
            self._pages.setCurrentWidget(self._page)
        self._page.enter()

    def back(self) -> bool:
        """Go back to what was shown before; returns whether the focus is where it was, too."""
        page, focus = self._left
        self._pages.setCurrentWidget(page)
        if focus is None or not isValid(focus) or not focus.isVisibleTo(focus.window()):
            return False
        focus.setFocus(Qt.FocusReason.OtherFocusReason)
        return True

    def eventFilter(self, window: QObject, event: QEvent) -> bool:
        """Let Alt+Left lead back, in the next turn of the loop.

        Else the way through the conversations behind the page would take it, and after that a
        button with the focus, which makes an arrow of it.
        """
        is_asked = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
        if not is_asked or not self.is_shown() or event.keyCombination() != _BACK:
            return False
        event.accept()
        QTimer.singleShot(0, self._page.left.emit)
        return True

    def _on_page_changed(self) -> None:
        is_shown = self.is_shown()
        self._bar.setVisible(not is_shown)
        self._page.bar.setVisible(is_shown)
        self._button.setChecked(is_shown)
        self.shown.emit(is_shown)
