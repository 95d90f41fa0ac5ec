"""Pictures of a session's life: its title typed, its project chosen, reset, cleared, and gone."""

import asyncio
import json
from typing import TYPE_CHECKING

from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QDialog, QWidget

from app import theme
from core.upkeep import lifecycle

if TYPE_CHECKING:
    from tests.shots import Camera

_SETTLE_S = 0.4
_TITLE = "把发票对账的脚本改成每晚运行"
_SAID = (
    ("user", "发票对账的脚本能不能每晚自己跑？"),
    ("assistant", "可以。我先看现在的定时任务，再决定放在哪里。"),
    ("user", "放在 02:30，备份之后。"),
    ("assistant", "已经加好：每天 02:30，备份完成之后才开始。"),
)
_AFTER = (
    ("user", "New month: start from the new chart of accounts, please."),
    ("assistant", "Understood. I will read the new chart first and forget the old mapping."),
)


async def take_all(camera: "Camera") -> None:
    """Take them over the program that the camera drives."""
    await _bring_in(camera, _SAID)
    store = camera.program.store
    assert store is not None
    row = int(await store.read(lambda db: db.execute(_ROW).get))
    await store.write(lifecycle.reset, [row], "you")
    await _bring_in(camera, (*_SAID, *_AFTER))
    await store.write(_mark)
    await camera.browse()
    await camera.open(_TITLE)
    camera.window.message_bar.hide()
    await camera.take("reset-line")
    await _titles(camera)
    await _menu(camera)
    await _project(camera)
    camera.window.actions_by_name["clear"].trigger()
    await asyncio.sleep(2 * _SETTLE_S)
    await camera.take("cleared")
    camera.window.actions_by_name["undo"].trigger()
    await asyncio.sleep(2 * _SETTLE_S)


_ROW = "SELECT id FROM sessions WHERE native_id = 'ledger'"


def _mark(db) -> None:  # type: ignore[no-untyped-def]
    db.execute(f"UPDATE sessions SET channel = 'feishu', gone_at_ms = 1 WHERE id = ({_ROW})")


async def _bring_in(camera: "Camera", said: tuple[tuple[str, str], ...]) -> None:
    path = camera.folder / "ledger.jsonl"
    lines = [
        {"session": "ledger", "id": f"l{n}", "role": role, "content": text, "title": _TITLE,
         "cwd": "/home/dev/ledger", "created_at": f"2026-11-30T08:0{n}:00Z"}
        for n, (role, text) in enumerate(said)
    ]  # fmt: skip
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    await camera.bring_in(path)
    path.unlink()


async def _titles(camera: "Camera") -> None:
    """The title as it is typed: in the header, and in the row of the list."""
    window = camera.window
    window.pane.transcript.setFocus()
    window.actions_by_name["rename"].trigger()
    await camera.take("rename-header")
    window.pane.header.title_editor.leave()
    window.sessions_view.setFocus()
    window.actions_by_name["rename"].trigger()
    await camera.take("rename-list")
    window.sessions_view.title_editor.leave()


async def _menu(camera: "Camera") -> None:
    view = camera.window.sessions_view
    where = view.visualRect(view.currentIndex()).center()
    view.contextMenuEvent(
        QContextMenuEvent(QContextMenuEvent.Reason.Mouse, where, view.viewport().mapToGlobal(where))
    )
    await asyncio.sleep(_SETTLE_S)
    await _grab(camera, camera.app.activePopupWidget(), "session-menu")


async def _project(camera: "Camera") -> None:
    camera.window.sessions_view.setFocus()
    camera.window.actions_by_name["move"].trigger()
    await asyncio.sleep(2 * _SETTLE_S)
    dialog = next(each for each in camera.window.findChildren(QDialog) if each.isVisible())
    await _grab(camera, dialog, "move-to-project")


async def _grab(camera: "Camera", shown: QWidget | None, name: str) -> None:
    """Take a picture of what stands over the window, light and dark, and close it."""
    assert shown is not None
    for dark in (False, True):
        theme.apply(camera.app, dark=dark)
        await asyncio.sleep(_SETTLE_S)
        shown.grab().save(str(camera.folder / f"{name}{'-dark' * dark}.png"))
        camera.taken.append(name)
    theme.apply(camera.app, dark=False)
    shown.close()
    await asyncio.sleep(_SETTLE_S)
