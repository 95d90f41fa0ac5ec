"""The pictures of the maintenance page: whole, and each card in a good and in a bad state."""

import asyncio
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app import theme
from app.messages import Notice
from app.views.maintenance.page import MaintenancePage
from core.upkeep_types import RetentionRule
from tests.gui import keeping_values, upkeep_values

if TYPE_CHECKING:
    from tests.shots import Camera

_SETTLE_S = 0.4
_SIZE = (1440, 900)
_CARDS = ("indexes", "tokenizer", "retention", "sources", "store", "operations")
_PAGE_HEIGHT = 788  # what menu, search row and foot leave of 900


async def take_all(camera: "Camera") -> None:
    """Take the page as the program shows it, then cards of stores that are better and worse."""
    window = camera.window
    window.actions_by_name["maintenance"].trigger()
    await _until_verified(camera)
    await camera.take("maintenance")
    for width, height in ((1180, 900), (960, 600)):
        window.resize(width, height)
        await asyncio.sleep(_SETTLE_S)
        camera.grab(f"maintenance-{width}")
    window.resize(*_SIZE)
    window.leave_maintenance()
    await _cards(camera)


async def _until_verified(camera: "Camera") -> None:
    rows = camera.window.maintenance.indexes.rows
    async with asyncio.timeout(20):
        while not rows or not all("verified" in row.facts.text() for row in rows.values()):
            await asyncio.sleep(0.05)
        while not camera.window.maintenance.store.parts:
            await asyncio.sleep(0.05)


async def _cards(camera: "Camera") -> None:
    ground = QWidget()
    column = QVBoxLayout(ground)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    page = MaintenancePage()
    column.addWidget(page.bar)
    column.addWidget(page, 1)
    ground.resize(_SIZE[0], _PAGE_HEIGHT)
    ground.show()
    for name, show in (("good", fill), ("bad", spoil)):
        show(page)
        for dark in (False, True):
            theme.apply(camera.app, dark=dark)
            await asyncio.sleep(_SETTLE_S)
            end = f"{name}-dark.png" if dark else f"{name}.png"
            ground.grab().save(str(camera.folder / f"maintenance-{end}"))
            camera.taken.append(f"maintenance-{end}")
            for card in _CARDS:
                getattr(page, card).grab().save(str(camera.folder / f"card-{card}-{end}"))
                camera.taken.append(f"card-{card}-{end}")
        theme.apply(camera.app, dark=False)
    ground.close()
    ground.deleteLater()


def fill(page: MaintenancePage) -> None:
    """Show a store that is well kept, one index of it being filled."""
    words = "1 index building"
    page.bar.show_state("pending", "info", words, "everything stays searchable meanwhile")
    page.bar.show_path("/home/dev/profiles/9f3c/state.db", "profiles/9f3c/state.db")
    page.indexes.show_indexes(upkeep_values.good_indexes())
    page.tokenizer.show_tokenizer(upkeep_values.tokenizer())
    page.tokenizer.show_split(upkeep_values.split())
    page.store.show_store(upkeep_values.good_store())
    page.store.message.hide()
    page.retention.show_rule(RetentionRule(180), ("claude-code", "codex", "hermes"), "03:00")
    page.retention.show_preview(keeping_values.preview())
    page.retention.show_trash(keeping_values.trash())
    page.sources.show_sources(keeping_values.good_sources())
    page.operations.show_operations(keeping_values.good_operations(), 412)
    page.operations.show_jobs(keeping_values.jobs(), upkeep_values.NOW_MS)


def spoil(page: MaintenancePage) -> None:
    """Show a store with nearly everything wrong that can be."""
    words = "1 index damaged, 1 stuck, 1 detached"
    page.bar.show_state("fail", "err", words, "searches go other ways and say so")
    page.indexes.show_indexes(upkeep_values.bad_indexes())
    page.tokenizer.show_tokenizer(upkeep_values.no_tokenizer())
    problem = "Without the tokenizer it cannot be shown how a text is cut."
    page.tokenizer.show_split(upkeep_values.Split("", (), problem))
    page.store.show_store(upkeep_values.bad_store())
    page.store.message.show_notice(
        Notice("err", "The disk is full.", "It needs 1.2 GB, 410 MB are free.", "store-full: …")
    )
    refused = "The clock jumped by more than a day: nothing goes until you say that it is right."
    page.retention.show_preview(keeping_values.preview(refused=refused))
    page.retention.show_trash(keeping_values.trash(0))
    page.sources.show_sources(keeping_values.bad_sources())
    page.operations.show_operations(keeping_values.bad_operations(), 412)
    failed = keeping_values.jobs(last_status="error", last_error="the disk is full")
    page.operations.show_jobs(failed, upkeep_values.NOW_MS)
