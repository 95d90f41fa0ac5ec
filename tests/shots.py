"""Takes the pictures of `make shots`: the real program over a store made from real imports.

`python -m tests.shots [FOLDER]` writes PNGs of 1440×900 into FOLDER (build/shots).
"""

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["TZ"] = "UTC"

import asyncio
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QApplication
from qasync import QEventLoop

from app import theme
from app.main import Program
from app.qt_guard import check_qt
from core.index import tokenizer
from tests import (
    demo_home,
    shots_lifecycle,
    shots_maintenance,
    shots_plan,
    shots_retention,
    shots_search,
    shots_sources,
)

SIZE = (1440, 900)
_PATIENCE_S = 20.0
_SETTLE_S = 0.4  # for what is laid out in later turns of the loop


class Camera:
    """Drives one program through its pages and takes a picture of each."""

    def __init__(self, program: Program, app: QApplication, folder: Path) -> None:
        self.program, self.app, self.folder = program, app, folder
        self.window = program.window
        self.taken: list[str] = []

    def grab(self, name: str) -> None:
        """Take a picture of the window as it is."""
        self.window.grab().save(str(self.folder / f"{name}.png"))
        self.taken.append(name)

    async def take(self, name: str) -> None:
        """Take a picture once the window has settled, light and dark."""
        await asyncio.sleep(_SETTLE_S)
        self.grab(name)
        theme.apply(self.app, dark=True)
        await asyncio.sleep(_SETTLE_S)
        self.grab(f"{name}-dark")
        theme.apply(self.app, dark=False)
        await asyncio.sleep(_SETTLE_S)

    async def first_run(self, loose: Path) -> None:
        """The sources found, the import while it runs, and the import of a loose folder."""
        model = self.window.models.sources
        await until(lambda: model.rowCount() > 0)
        await self.take("first-run")
        grabbed: list[bool] = []

        def halt_after_one() -> None:
            if not grabbed and any(row.state == "imported" for row in model.rows()):
                grabbed.append(True)
                self.window.first_run.panel.pause_asked.emit(True)

        self.program.imports.progressed.connect(halt_after_one)
        self.window.first_run.start.click()
        await until(lambda: grabbed)
        await asyncio.sleep(_SETTLE_S)
        self.grab("importing")
        self.window.first_run.panel.pause_asked.emit(False)
        await until(lambda: not self.program.imports.running)
        self.program.imports.import_paths([loose])
        await until(lambda: self.program.imports.running)
        await until(lambda: not self.program.imports.running)
        await until(lambda: not self.window.on_sources())
        self.window.message_bar.hide()

    async def bring_in(self, path: Path) -> None:
        """Import a file and wait until that is done."""
        self.program.imports.import_paths([path])
        await until(lambda: self.program.imports.running)
        await until(lambda: not self.program.imports.running)

    async def browse(self) -> None:
        """The list of sessions beside a conversation."""
        await self.open("MeCab と unicode61 の検索品質を比較")
        self.window.sessions_view.setFocus()
        await self.take("browse")

    async def open(self, title: str) -> None:
        """Open the conversation of this title from the list."""
        model = self.window.models.sessions
        await until(lambda: any(model.session(n).title == title for n in range(model.rowCount())))
        row = next(n for n in range(model.rowCount()) if model.session(n).title == title)
        self.window.sessions_view.select_row(row)
        self.window.sessions_view.row_opened.emit(model.index(row))
        await asyncio.sleep(_SETTLE_S)

    async def search(self, query: str) -> None:
        """Type a query and wait for its answer."""
        field = self.window.search_bar.field
        self.window.search_bar.focus()
        field.setText(query)
        await until(
            lambda: (
                self.program.search.result is not None and self.program.search.result.query == query
            )
        )
        await asyncio.sleep(_SETTLE_S)

    async def open_hit(self, text: str) -> None:
        """Open the hit whose snippet holds this text."""
        model = self.window.models.hits
        rows = [n for n in range(model.rowCount()) if model.hit(n) and text in model.hit(n).snippet]
        self.window.hits_view.select_row(rows[0])
        self.window.hits_view.row_opened.emit(model.index(rows[0]))
        self.window.hits_view.setFocus()
        await asyncio.sleep(_SETTLE_S)


async def take_finding(camera: Camera) -> None:
    """The find bar: a match among others, words that are not there, a match far into a text."""
    bar, pane = camera.program.pane.find_bar, camera.program.pane
    await camera.search("订阅")
    await camera.open_hit("原因找到了")
    camera.window.actions_by_name["find"].trigger()
    for words, steps, name in (("状态", 2, "find"), ("没有这个词", 0, "find-nothing")):
        bar.field.setText(words)
        bar.text_edited.emit(words)
        await asyncio.sleep(_SETTLE_S)
        for _ in range(steps):
            bar.next_asked.emit()
        await camera.take(name)
    bar.close_bar()
    path = camera.folder / "long.jsonl"
    log = "".join(
        f"2026-11-29 10:{n // 60 % 60:02}:{n % 60:02} worker {n}: ok\n" for n in range(5_000)
    )
    content = f"What went wrong here?\n\n{log}worker 5000: deadlock\nend of the log"
    line = {"session": "long", "role": "user", "title": "A log of 5,000 lines", "content": content}
    path.write_text(json.dumps(line), encoding="utf-8")
    await camera.bring_in(path)
    path.unlink()
    await camera.search("deadlock")
    await camera.open_hit("deadlock")
    await until(lambda: pane.transcript._current is not None)
    camera.window.message_bar.hide()
    await camera.take("long-text")


async def until(condition: Callable[[], object]) -> None:
    """Return when `condition` holds."""
    async with asyncio.timeout(_PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


async def shoot(app: QApplication, scratch: Path, folder: Path) -> None:
    """Take all pictures."""
    loose = demo_home.build(scratch / "home")
    program = Program(app, scratch / "profile")
    camera = Camera(program, app, folder)
    program.window.resize(*SIZE)
    program.window.show()
    program.window.activateWindow()
    if not await program.start():
        raise SystemExit("the store could not be opened")
    await camera.first_run(loose)
    await camera.browse()
    await camera.search("订阅")
    await camera.open_hit("原因找到了")
    await camera.take("cjk-search")
    program.window.path_bar.link_pressed.emit("why")
    await asyncio.sleep(_SETTLE_S)
    popup = app.activePopupWidget()
    if popup is not None:
        popup.grab().save(str(folder / "why.png"))
        popup.close()
    await camera.search("电影退订")
    await camera.take("zero-hits")
    await camera.search("invoice_0051")
    await camera.open_hit("invoice_0051")
    await camera.take("long-tool-call")
    await shots_search.take_all(camera)
    await take_finding(camera)
    await shots_plan.take(camera)
    await shots_lifecycle.take_all(camera)
    await shots_maintenance.take_all(camera)
    await shots_retention.take_all(camera)
    await shots_sources.take_all(camera, scratch / "home")
    await program.stop()
    print(f"{len(camera.taken)} pictures in {folder}")


def main() -> None:
    """Take the pictures into the folder named on the command line."""
    check_qt()
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/shots").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    app = QApplication(sys.argv[:1])
    if tokenizer.locate() is None:
        tokenizer.build(Path(sys.prefix))
    with tempfile.TemporaryDirectory() as scratch, QEventLoop(app) as loop:
        os.environ["HOME"] = str(Path(scratch, "home"))
        loop.run_until_complete(shoot(app, Path(scratch), folder))


if __name__ == "__main__":
    main()
