"""The foot of the window: how much is stored, how much of it is indexed, what is running."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QToolButton, QWidget

from app import theme
from app.views.parts import Dot, Text

HEIGHT = 28
_SCALE = 1000


class MaintenanceButton(QToolButton):
    """The way to the maintenance page and back; pressed while it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("class", "status")
        self.setCheckable(True)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(QSize(14, 14))
        self.setFont(theme.font("caption"))
        self.setText("\u2002" + self.tr("Maintenance  %1").replace("%1", "Ctrl+M"))
        self.setAccessibleName(self.tr("Maintenance"))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._tint()
        self.toggled.connect(self._tint)
        theme.changed.connect(self._tint)

    def _tint(self) -> None:
        self.setIcon(theme.icon("gauge", "accent" if self.isChecked() else "text2"))


class StatusBar(QFrame):
    """Shows facts at the left, at most one running job and the way to maintenance at the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("statusbar")
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName(self.tr("Status"))
        self._facts = QHBoxLayout()
        self._facts.setSpacing(12)
        self._job = QWidget()
        self.job_name = Text("", "caption", "text2")
        self.job_bar = QProgressBar(textVisible=False)
        self.job_bar.setFixedWidth(72)
        self.job_bar.setRange(0, _SCALE)
        self.job_percent = Text("", "caption", "text2")
        self.job_left = Text("", "caption", "text3")
        self.maintenance = MaintenanceButton()
        job = QHBoxLayout(self._job)
        job.setContentsMargins(0, 0, 0, 0)
        job.setSpacing(8)
        for part in (self.job_name, self.job_bar, self.job_percent, self.job_left):
            job.addWidget(part)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 1, 6, 0)
        row.setSpacing(12)
        row.addLayout(self._facts)
        row.addStretch(1)
        row.addWidget(self._job)
        row.addWidget(self.maintenance)
        self._job.hide()

    def show_facts(self, facts: tuple[str, ...]) -> None:
        """Show facts from left to right."""
        while (item := self._facts.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for n, fact in enumerate(facts):
            if n:
                self._facts.addWidget(Dot())
            self._facts.addWidget(Text(fact, "caption", "text2"))
        self.setAccessibleDescription(", ".join(facts))

    def show_job(self, name: str, fraction: float | None, percent: str, left: str) -> None:
        """Show a running job; `fraction` is None while the whole is not known."""
        self.job_name.setText(name)
        self.job_bar.setRange(0, 0 if fraction is None else _SCALE)
        if fraction is not None:
            self.job_bar.setValue(round(fraction * _SCALE))
        self.job_bar.setAccessibleName(name)
        self.job_percent.setText(percent)
        self.job_left.setText(left)
        self._job.show()

    def hide_job(self) -> None:
        """Show that nothing is running."""
        self._job.hide()
