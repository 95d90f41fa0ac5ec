"""Real widgets on a real store, drawn offscreen, driven by the loop that the program has."""

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import asyncio
import gc
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication
from qasync import QEventLoop

from app import theme
from app.dialogs import Question
from app.main import Program
from app.qt_guard import check_qt
from core.sources import ingest
from core.store import connection
from core.store.store import Store
from tests.gui.talks import talk_files

check_qt()

LONGEST_WAIT_S = 10.0
_POLL_S = 0.01


async def until(condition: Callable[[], object]) -> None:
    """Return as soon as `condition` holds; the test fails when it never does."""
    end = time.monotonic() + LONGEST_WAIT_S
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(_POLL_S)


async def search(program: Program, query: str) -> None:
    """Put a query into the field and return when it is answered."""
    program.window.search_bar.field.setText(query)
    await until(lambda: program.search.result and program.search.result.query == query)


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Garbage of a test dies here: in a thread of the store it would end the process."""
    gc.disable()
    yield
    gc.collect()
    gc.enable()


class Loop(QEventLoop):
    """The program's loop, which a test leaves and enters again.

    Qt also runs timers between two runs, when pytest-qt lets it process what is pending. The
    steps of tasks that it brings about then must see their loop all the same.
    """

    def call_later(self, delay, callback, *args, context=None):
        return super().call_later(delay, self._call, callback, *args, context=context)

    def _call(self, callback, *args):
        if asyncio._get_running_loop() is not None:
            callback(*args)
            return
        asyncio._set_running_loop(self)
        try:
            callback(*args)
        finally:
            asyncio._set_running_loop(None)


@pytest.fixture
def loop(qapp: QApplication) -> Iterator[QEventLoop]:
    """The loop of the program; a lost task or an error in a callback fails the test."""
    lost: list[object] = []
    found = Loop(qapp)
    found.set_exception_handler(lambda _, context: lost.append(context))
    asyncio.set_event_loop(found)
    try:
        yield found
        for task in asyncio.all_tasks(found):
            task.cancel()
        found.run_until_complete(asyncio.sleep(0))
    finally:
        found.close()
        asyncio.set_event_loop(None)
    assert lost == []


@pytest.fixture
def run(loop: QEventLoop) -> Callable[[Awaitable[object]], object]:
    """Run a coroutine to its end, for ten seconds at most."""

    def runner(work: Awaitable[object]) -> object:
        return loop.run_until_complete(asyncio.wait_for(work, LONGEST_WAIT_S))

    return runner


@pytest.fixture
def themed(qapp: QApplication) -> Iterator[QApplication]:
    """The application in its light colours; text size as designed."""
    qapp.setQuitOnLastWindowClosed(False)
    theme.set_text_scale(1.0)
    theme.apply(qapp, dark=False)
    yield qapp
    theme.set_text_scale(1.0)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, so that nothing of the person who tests is found."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "HERMES_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """The folder of a profile that does not exist yet."""
    return tmp_path / "profile"


@pytest.fixture
def opened(run, profile: Path, tokenizer_path: Path) -> Iterator[Store]:
    """An open store; what a test writes before the program starts."""
    store = run(Store.open(profile, tokenizer=tokenizer_path))
    yield store
    run(store.close())


class FakeDialogs:
    """Answers at once with what a test put here."""

    def __init__(self) -> None:
        self.files: list[Path] = []
        self.folder: list[Path] = []
        self.agrees = True
        self.asked: list[Question] = []
        self.project: str | None = None
        self.offered: list[tuple[str, list[str]]] = []

    async def choose_files(self) -> list[Path]:
        return self.files

    async def choose_folder(self) -> list[Path]:
        return self.folder

    async def choose_days(self, first, last):
        return first, last

    async def choose_project(self, now, known):
        self.offered.append((now, list(known)))
        return self.project

    async def confirm(self, question: Question) -> bool:
        self.asked.append(question)
        return self.agrees


@pytest.fixture
def program(
    run, themed: QApplication, home: Path, profile: Path, tokenizer_path: Path, monkeypatch
) -> Iterator[Program]:
    """The program over a fresh profile, its window shown, not started yet."""
    monkeypatch.setenv("BACKSCROLL_FTS5_CJK", str(tokenizer_path))

    async def build() -> Program:
        return Program(themed, profile, FakeDialogs())

    made = run(build())
    made.window.show()
    yield made
    run(made.stop())
    made.window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def talks(tmp_path) -> Path:
    return talk_files(tmp_path / "talks")


@pytest.fixture(scope="module")
def imported(tmp_path_factory, tokenizer_path) -> Path:
    """A profile that holds the four conversations; to be copied, not to be opened."""
    folder = tmp_path_factory.mktemp("imported")
    db = connection.open_store(folder / "profile" / "state.db", tokenizer_path)
    try:
        for _ in ingest.run_sync(db, ingest.Import([talk_files(folder / "talks")])):
            pass
    finally:
        db.close()
    return folder / "profile"


@pytest.fixture
def filled(run, imported, profile, program):
    """The program over a store with the four conversations, all listed."""
    shutil.copytree(imported, profile, dirs_exist_ok=True)

    async def start():
        assert await program.start()
        await until(lambda: program.window.models.sessions.rowCount() == 4)

    run(start())
    return program
