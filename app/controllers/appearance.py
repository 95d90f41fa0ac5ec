"""Light or dark, how large message text is, and where the window stands."""

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication

from app import theme
from app.view_state import ViewState
from app.views.actions import Actions
from app.views.main_window import MainWindow

_CHOICES = ("system", "light", "dark")


class AppearanceController(QObject):
    """Follows the system's colours, or the choice made in the menu."""

    def __init__(self, app: QApplication, actions: Actions, state: ViewState) -> None:
        super().__init__(actions)
        self._app, self._actions, self._state = app, actions, state
        choice = state.text("view/theme", _CHOICES[0])
        self._choice = choice if choice in _CHOICES else _CHOICES[0]
        actions[f"theme_{self._choice}"].setChecked(True)
        actions.themes.triggered.connect(self._on_theme_picked)
        actions["larger"].triggered.connect(lambda: self._step_text(1))
        actions["smaller"].triggered.connect(lambda: self._step_text(-1))
        actions["normal_size"].triggered.connect(lambda: self._set_text(1.0))
        app.styleHints().colorSchemeChanged.connect(self._apply)
        scale = state.number("view/text_scale", 1.0)
        theme.set_text_scale(min(theme.TEXT_SCALES, key=lambda each: abs(each - scale)))
        self._apply()

    def restore(self, window: MainWindow) -> None:
        """Put the window where it was, and back onto a screen when that one is gone."""
        geometry = self._state.bytes("window/geometry")
        if not geometry.isEmpty():
            window.restoreGeometry(geometry)
            window.bring_back()
        splitter = self._state.bytes("window/splitter")
        if not splitter.isEmpty():
            window.splitter.restoreState(splitter)

    def remember(self, window: MainWindow) -> None:
        """Keep where the window is, and write down everything that is kept."""
        self._state.set_bytes("window/geometry", window.saveGeometry())
        self._state.set_bytes("window/splitter", window.splitter.saveState())
        self._state.save()

    def _on_theme_picked(self, action: QAction) -> None:
        self._choice = action.objectName().removeprefix("theme_")
        self._state.set_text("view/theme", self._choice)
        self._apply()

    def _apply(self) -> None:
        dark = self._choice == "dark"
        if self._choice == "system":
            dark = self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark
        if dark != theme.current().dark or not self._app.styleSheet():
            theme.apply(self._app, dark)

    def _step_text(self, step: int) -> None:
        scales = theme.TEXT_SCALES
        now = scales.index(theme.text_scale())
        self._set_text(scales[min(max(now + step, 0), len(scales) - 1)])

    def _set_text(self, scale: float) -> None:
        theme.set_text_scale(scale)
        self._state.set_number("view/text_scale", scale)
