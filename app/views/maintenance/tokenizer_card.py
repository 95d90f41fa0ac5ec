"""The card CJK tokenizer: what was found, whether it works, how it cuts, how it is built."""

from dataclasses import dataclass
from itertools import pairwise

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QVBoxLayout,
)

from app import formatting, theme
from app.text_ranges import visible
from app.views.maintenance.card import Card, Facts, PathText
from app.views.maintenance.index_words import sentence, when
from app.views.maintenance.split_tiles import Split, SplitTiles
from app.views.parts import Badge, Button, IconButton, Text, rule
from app.views.source_delegate import short_path
from core.types import TokenizerStatus

PROBE = "电影订阅成功"
WORD = "订阅"
COMMAND = "backscroll install cjk"
LONGEST = 200
_LABEL_WIDTH = 76
_LOG_HEIGHT = 108
_LOG_LINES = 500


@dataclass(frozen=True, slots=True)
class TokenizerShown:
    """What the card shows. `remedy` is a command that gets what building it lacks, or empty."""

    status: TokenizerStatus
    checked_at_ms: int
    sqlite_version: str
    is_busy: bool = False
    is_restart_needed: bool = False
    remedy: str = ""


class TokenizerCard(Card):
    """Shows the tokenizer of this process.

    Signals:
        check_asked: look for it and try it again.
        build_asked: build and install it.
        text_edited: another text should be cut; carries it.
    """

    check_asked = Signal()
    build_asked = Signal()
    text_edited = Signal(str)

    def __init__(self) -> None:
        super().__init__("", "path-cjk")
        self.title.setText(self.tr("CJK tokenizer"))
        self.setAccessibleName(self.title.text())
        self.check = Button(self.tr("Check again"), "small", "rebuild")
        self.more = IconButton("more", self.tr("More for the CJK tokenizer"), 24)
        self.place.addWidget(self.check)
        self.place.addWidget(self.more)
        self.badge = Badge("pending", self.tr("looking"), "unk")
        self.version = Text("", "caption", "text2")
        self.reason = Facts()
        self.build = Button(self.tr("Build and install"), "small", "now")
        self.command = PathText()
        self.copy = Button(self.tr("Copy"), "small", "copy")
        self._help = QFrame()
        self.found = PathText(ink="text2")
        self.built_for = Text("", "caption")
        self.digest = PathText(ink="text2")
        self.load = Text("", "caption")
        self.acceptance = Text("", "caption")
        self.field = QLineEdit(PROBE)
        self.field.setFont(theme.font("ui"))
        self.field.setMaxLength(LONGEST)
        self.field.setAccessibleName(self.tr("Split this text"))
        self.tiles = SplitTiles()
        self._split = ""
        self.tokens = Facts()
        self.log = QPlainTextEdit()
        self._path = ""
        self._build_rows()
        self._connect()

    def _connect(self) -> None:
        self.tiles.fitted.connect(self._show_tokens)
        self.check.clicked.connect(self.check_asked)
        self.build.clicked.connect(self.build_asked)
        self.more.clicked.connect(self._on_more)
        self.copy.clicked.connect(lambda: _copy(self.command.text()))
        self.field.textChanged.connect(self.text_edited)

    def _build_rows(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.badge)
        head.addWidget(self.version, 1)
        help_row = QHBoxLayout()
        help_row.setSpacing(8)
        help_row.addWidget(self.command, 1)
        help_row.addWidget(self.copy)
        help_column = QVBoxLayout(self._help)
        help_column.setContentsMargins(0, 6, 0, 0)
        help_column.setSpacing(6)
        help_column.addWidget(self.reason)
        help_column.addLayout(help_row)
        build = QHBoxLayout()
        build.addWidget(self.build)
        build.addStretch(1)
        help_column.addLayout(build)
        field = QHBoxLayout()
        field.setSpacing(8)
        label = Text(self.tr("Split this text"), "caption", "text2")
        label.setBuddy(self.field)
        field.addWidget(label)
        field.addWidget(self.field, 1)
        self._shape_log()
        column = self.column
        column.addSpacing(4)
        column.addLayout(head)
        column.addWidget(self._help)
        column.addWidget(self.log)
        column.addSpacing(8)
        column.addLayout(self._grid())
        column.addSpacing(8)
        column.addWidget(rule())
        column.addSpacing(8)
        column.addLayout(field)
        column.addSpacing(8)
        column.addWidget(self.tiles)
        column.addWidget(self.tokens)
        column.addStretch(1)

    def _shape_log(self) -> None:
        self.log.setReadOnly(True)
        self.log.setProperty("class", "log")
        self.log.setFont(theme.code_font("caption"))
        self.log.setMaximumBlockCount(_LOG_LINES)
        self.log.setFixedHeight(_LOG_HEIGHT)
        self.log.setTabChangesFocus(True)
        self.log.setAccessibleName(self.tr("Log of the build"))
        self.log.hide()

    def _grid(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(3)
        grid.setColumnMinimumWidth(0, _LABEL_WIDTH)
        grid.setColumnStretch(1, 1)
        rows = (
            (self.tr("Found"), self.found),
            (self.tr("Built for"), self.built_for),
            ("SHA-256", self.digest),
            (self.tr("Load test"), self.load),
            (self.tr("Acceptance"), self.acceptance),
        )
        for n, (words, value) in enumerate(rows):
            grid.addWidget(Text(words, "caption", "text2"), n, 0)
            grid.addWidget(value, n, 1)
        return grid

    # What is shown

    def show_tokenizer(self, shown: TokenizerShown) -> None:
        """Show what was found."""
        status = shown.status
        icon, word, kind = self._look(shown)
        self.badge.show_badge(icon, word, kind)
        checked = self.tr("checked %1").replace("%1", when(shown.checked_at_ms))
        name = f"cjk_unicode61 {visible(status.version)}, " if status.version else ""
        self.version.setText(name + checked)
        self._show_help(shown)
        self._path = status.path or ""
        self.found.show_path(self._path, short_path(self._path) or self.tr("nowhere"))
        machine = ", ".join(
            filter(
                None, (status.built_for, f"SQLite {shown.sqlite_version}" if status.loads else "")
            )
        )
        self.built_for.setText(machine or "–")
        self.digest.show_path(status.sha256 or "", short_digest(status.sha256))
        self.load.setText(self._load_words(status))
        self.acceptance.setText(self._acceptance_words(status))
        for button in (self.check, self.build):
            button.setEnabled(not shown.is_busy)

    def _look(self, shown: TokenizerShown) -> tuple[str, str, str]:
        if shown.is_busy:
            return "pending", self.tr("working"), "info"
        looks = {
            "verified": ("ok", self.tr("check passed"), "ok"),
            "found": ("pending", self.tr("found, not tried"), "info"),
            "missing": ("warning", self.tr("missing"), "warn"),
            "wrong_architecture": ("fail", self.tr("for another machine"), "err"),
            "wrong_hash": ("warning", self.tr("not the expected one"), "warn"),
            "unusable": ("fail", self.tr("not usable"), "err"),
            "refused": ("fail", self.tr("refused"), "err"),
        }
        return looks[shown.status.state]

    def _show_help(self, shown: TokenizerShown) -> None:
        status = shown.status
        runs: list[tuple[str, bool]] = []
        if status.state != "verified":
            runs = [(sentence(status.reason), False), (sentence(status.next_step), True)]
            words = self.tr("Until then Chinese, Japanese and Korean are searched by slower paths.")
            runs.append((words, False))
        elif shown.is_restart_needed:
            words = self.tr(
                "Close and start Backscroll once more: what is open goes on as it began."
            )
            runs = [(words, True)]
        self.reason.show_runs([(f"{words} ", bold) for words, bold in runs if words])
        self._help.setVisible(bool(runs))
        self.command.show_path(shown.remedy or COMMAND)
        is_bad = status.state != "verified"
        self.command.setVisible(is_bad)
        self.copy.setVisible(is_bad)
        self.build.setVisible(is_bad)

    def _load_words(self, status: TokenizerStatus) -> str:
        if not status.loads:
            return self.tr("not loaded")
        if status.load_ms is None:
            return self.tr("loaded, switched off again")
        words = self.tr("loaded in %1, switched off again")
        return words.replace("%1", formatting.elapsed(status.load_ms))

    def _acceptance_words(self, status: TokenizerStatus) -> str:
        if not status.loads:
            return self.tr("not asked")
        words = self.tr("%1 answers %2") if status.acceptance else self.tr("%1 misses %2")
        return words.replace("%1", PROBE).replace("%2", WORD)

    def show_split(self, split: Split) -> None:
        """Show how a text is cut, or why it cannot be."""
        self.tiles.setVisible(bool(split.tokens))
        self.tiles.show_split(split)
        if split.problem:
            self._split = ""
            self.tokens.show_words(split.problem)
            return
        count = formatting.counted(len(split.tokens), self.tr("%1 token."), self.tr("%1 tokens."))
        words = self.tr("The last character stands alone, so phrases stay exact.")
        pairs = any(one.end > other.start for one, other in pairwise(split.tokens))
        self._split = f"{count} {words}" if pairs else count
        self._show_tokens()

    def _show_tokens(self) -> None:
        """Say how many tokens there are, and when not all of them are drawn."""
        if not self._split:
            return
        shown, letters = self.tiles.drawn()
        words = self.tr("Drawn are the first %1 of %2 characters.")
        words = words.replace("%1", formatting.number(shown))
        words = words.replace("%2", formatting.number(letters))
        self.tokens.show_words(self._split if shown == letters else f"{self._split} {words}")

    def begin_log(self) -> None:
        """Show an empty log."""
        self.log.clear()
        self.log.show()

    def add_line(self, line: str) -> None:
        """Add a line to the log."""
        self.log.appendPlainText(visible(line))

    def _on_more(self) -> None:
        menu = QMenu(self)
        build = menu.addAction(self.tr("Build and install"))
        build.setEnabled(self.build.isEnabled())
        build.triggered.connect(self.build_asked)
        path = menu.addAction(self.tr("Copy its path"))
        path.setEnabled(bool(self._path))
        path.triggered.connect(lambda: _copy(self._path))
        log = menu.addAction(self.tr("Hide the log"))
        log.setVisible(not self.log.isHidden())
        log.triggered.connect(self.log.hide)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.more.mapToGlobal(QPoint(0, self.more.height() + 4)))


def short_digest(digest: str | None) -> str:
    """Return the first and last eight digits in fours: `9f3c 41d7 … a08e e21a`."""
    if not digest:
        return "–"
    return f"{digest[:4]} {digest[4:8]} … {digest[-8:-4]} {digest[-4:]}"


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
