"""The CJK tokenizer card: looking for it, trying it, building it, and how it cuts."""

import asyncio
import sys
import time
from contextlib import aclosing
from pathlib import Path
from shutil import which

import apsw
from PySide6.QtCore import QObject, QTimer, Signal

from app.messages import Notice, describe
from app.tasks import TaskScope
from app.views.maintenance.page import MaintenancePage
from app.views.maintenance.split_tiles import Split, SplitToken
from app.views.maintenance.tokenizer_card import TokenizerShown
from core.errors import CoreError
from core.index import splitting, tokenizer
from core.store.connection import tokenizer_fingerprint
from core.store.store import Store
from core.types import Progress, TokenizerStatus
from core.upkeep import tokenizing

DEBOUNCE_MS = 150
_BUILD = "tokenizer-build"
_REMEDIES = (
    ("apt", "sudo apt install build-essential libsqlite3-dev"),
    ("dnf", "sudo dnf install gcc sqlite-devel"),
    ("brew", "brew install sqlite"),
    ("xcode-select", "xcode-select --install"),
)


class TokenizerController(QObject):
    """Shows the tokenizer of this process; what takes long runs off the window's thread.

    Signals:
        checked: it was looked at anew; carries its status.
    """

    checked = Signal(TokenizerStatus)

    def __init__(self, store: Store, page: MaintenancePage, tasks: TaskScope) -> None:
        super().__init__(page)
        self._store, self._card, self._tasks = store, page.tokenizer, tasks
        self._is_open_with: str | None = None
        self._checked_at_ms = 0
        self.status: TokenizerStatus | None = None
        self._edited = QTimer(self, singleShot=True, interval=DEBOUNCE_MS)
        self._edited.timeout.connect(self._split)
        self._card.check_asked.connect(self.check)
        self._card.build_asked.connect(self.build)
        self._card.text_edited.connect(lambda _: self._edited.start())

    @property
    def is_building(self) -> bool:
        """Whether it is being built."""
        return self._tasks.running(_BUILD)

    def check(self) -> None:
        """Look for it and try it again."""
        if not self.is_building:
            self._tasks.start("tokenizer-check", self._check())

    def build(self) -> None:
        """Build and install it, with its log in the card."""
        if not self.is_building:
            self._card.begin_log()
            self._tasks.start(_BUILD, self._build())

    async def _check(self) -> None:
        self.status = await asyncio.to_thread(_verified)
        try:
            self._is_open_with = await self._store.read(tokenizer_fingerprint)
        except CoreError as error:
            self._card.message.show_notice(describe(error))
        self._checked_at_ms = time.time_ns() // 1_000_000
        self._show()
        self.checked.emit(self.status)
        self._split()

    async def _build(self) -> None:
        if self.status is None:
            self.status = await asyncio.to_thread(_verified)
        self._show(is_busy=True)
        steps = self._store.steps(tokenizing.install, Path(sys.prefix), "you")
        try:
            async with aclosing(steps) as found:
                async for step in found:
                    if isinstance(step, Progress) and step.what:
                        self._card.add_line(step.what)
            if (built := tokenizer.locate()) is not None:
                await self._store.load_tokenizer(built)
        except CoreError as error:
            words = describe(error)
            self._card.message.show_notice(
                Notice("err", self.tr("It was not built."), str(error), words.details)
            )
        await self._check()

    def _show(self, *, is_busy: bool = False) -> None:
        if self.status is None:
            return
        self._card.show_tokenizer(
            TokenizerShown(
                self.status,
                self._checked_at_ms,
                apsw.sqlite_lib_version(),
                is_busy=is_busy,
                is_restart_needed=self.status.fingerprint != self._is_open_with,
                remedy=_remedy(self.status),
            )
        )

    def _split(self) -> None:
        self._tasks.start("tokenizer-split", self._cut(self._card.field.text()))

    async def _cut(self, text: str) -> None:
        status = self.status
        if status is None or status.path is None or not status.loads:
            words = self.tr("Without the tokenizer it cannot be shown how a text is cut.")
            self._card.show_split(Split(text, (), words))
            return
        try:
            tokens = await asyncio.to_thread(splitting.split, Path(status.path), text)
        except CoreError as error:
            self._card.show_split(Split(text, (), str(error)))
            return
        self._card.show_split(Split(text, tuple(SplitToken(*each) for each in tokens)))


def _verified() -> TokenizerStatus:
    return tokenizer.verify(tokenizer.locate())


def _remedy(status: TokenizerStatus) -> str:
    """Return a command that gets what a build lacks, '' where that is not what is wrong."""
    if status.state == "verified" or any(which(name) for name in ("cc", "gcc", "clang", "cl")):
        return ""
    return next((command for program, command in _REMEDIES if which(program)), "")
