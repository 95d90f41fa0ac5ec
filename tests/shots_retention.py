"""Pictures of throwing away: the list with its undo bar, the trash, the ledger, the schedule."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QDialog

from app import theme

if TYPE_CHECKING:
    from tests.shots import Camera

_SETTLE_S = 0.4
_THROWN = 3


async def take_all(camera: "Camera") -> None:
    """Throw some conversations away, look at the trash, the ledger and the schedule, undo."""
    window, cards = camera.window, camera.program.cards
    camera.program.sessions.browse()
    view = window.sessions_view
    await asyncio.sleep(_SETTLE_S)
    view.setFocus()
    view.select_row(0)
    window.actions_by_name["pin"].trigger()
    await asyncio.sleep(_SETTLE_S)
    view.select_row(2)
    for _ in range(_THROWN):
        window.actions_by_name["trash"].trigger()
        await asyncio.sleep(_SETTLE_S)
    await camera.take("undo-bar")
    await _sheet(camera, "trash", cards.trash_can.open, lambda: cards.trash_can.panel)
    window.show_maintenance()
    await _sheet(camera, "ledger", cards.ledger.open, lambda: cards.ledger.sheet)
    await _sheet(camera, "schedule", cards.jobs.open, lambda: cards.jobs.sheet)
    window.leave_maintenance()
    for _ in range(_THROWN):
        window.maintenance.retention.undo_asked.emit()
        await asyncio.sleep(_SETTLE_S)


async def _sheet(
    camera: "Camera", name: str, open_it: Callable[[], None], sheet: Callable[[], QDialog | None]
) -> None:
    open_it()
    found = sheet()
    if found is None:
        raise SystemExit(f"the sheet {name} did not open")
    found.table.setFocus()
    for dark in (False, True):
        theme.apply(camera.app, dark=dark)
        await asyncio.sleep(_SETTLE_S)
        if found.table.rowCount():
            found.table.selectRow(0)
        file = f"sheet-{name}{'-dark' if dark else ''}"
        found.grab().save(str(camera.folder / f"{file}.png"))
        camera.taken.append(file)
    theme.apply(camera.app, dark=False)
    found.close()
    await asyncio.sleep(_SETTLE_S)
