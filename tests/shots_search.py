"""The pictures of searching: completion, saved searches, why, no hits, words inside words."""

import asyncio
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app import theme
from app.views.path_facts import INSIDE, SCAN

if TYPE_CHECKING:
    from tests.shots import Camera

_SETTLE_S = 0.5


async def take_all(camera: "Camera") -> None:
    """Take them over the program that the camera drives."""
    await completion(camera)
    await saved(camera)
    await mended(camera)
    await inside_words(camera)
    await no_hits(camera)
    await keys(camera)


async def typed(camera: "Camera", text: str) -> None:
    """Type into the empty field as a person does."""
    field = camera.window.search_bar.field
    field.setFocus()
    field.clear()
    for character in text:
        field.insert(character)
    await asyncio.sleep(_SETTLE_S)


async def completion(camera: "Camera") -> None:
    """The empty field with the focus, names of fields, values of one, and one chosen."""
    await typed(camera, "")
    await camera.take("search-focus")
    await typed(camera, "so")
    await camera.take("completion-names")
    await typed(camera, "订阅 source:")
    QTest.keyClick(camera.window.search_bar.field, Qt.Key.Key_Down)
    await camera.take("completion-values")
    camera.window.completion_popup.close_list()


async def saved(camera: "Camera") -> None:
    """Saved and recent searches, and the name of one being typed."""
    window = camera.window
    for query, role in (
        ("失败的导入 role:tool", ""),
        ('"rate limit" after:30d', "tool"),
        ("索引 OR 重建", ""),
    ):
        window.search_bar.role.choose((role,) if role else ())
        await typed(camera, query)
        QTest.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
        await asyncio.sleep(_SETTLE_S)
    window.search_bar.role.clear()
    await camera.take("saved-just-now")
    window.message_bar.hide()
    await typed(camera, "")
    QTest.keyClick(window.search_bar.field, Qt.Key.Key_Down)
    await camera.take("saved-searches")
    QTest.keyClick(window.recent_view.saved, Qt.Key.Key_F2)
    await camera.take("saved-rename")
    QTest.keyClick(window.recent_view.saved.focusWidget(), Qt.Key.Key_Escape)
    window.search_bar.field.setFocus()


async def mended(camera: "Camera") -> None:
    """A query that had to be mended, with why."""
    await camera.search('role:user "订阅 role:wizard OR')
    await camera.take("repairs")
    await popup(camera, "why-repairs")
    await camera.search("role:user,assistant 订阅 -title:RSS")
    await popup(camera, "why-fields")


async def inside_words(camera: "Camera") -> None:
    """Whole words with a link to more, and what it leads to."""
    await camera.search("invoice")
    await camera.take("inside-words")
    camera.window.path_bar.link_pressed.emit(INSIDE)
    await camera.take("inside-words-asked")


async def no_hits(camera: "Camera") -> None:
    """Nothing found, with what can be done; and nothing in everything."""
    await camera.search("zebra crossing")
    await camera.take("zero-hits-words")
    camera.window.path_bar.link_pressed.emit(SCAN)
    await asyncio.sleep(_SETTLE_S)
    await camera.take("zero-hits-everything")


async def keys(camera: "Camera") -> None:
    """The sheet of keys and fields."""
    camera.window.actions_by_name["shortcuts"].trigger()
    await asyncio.sleep(_SETTLE_S)
    sheet = next(each for each in QApplication.topLevelWidgets() if each.isModal())
    await both(camera, sheet, "keys")
    sheet.close()


async def popup(camera: "Camera", name: str) -> None:
    """The popup of why."""
    camera.window.path_bar.link_pressed.emit("why")
    await asyncio.sleep(_SETTLE_S)
    found = QApplication.activePopupWidget()
    if found is not None:
        await both(camera, found, name)
        found.close()


async def both(camera: "Camera", widget, name: str) -> None:
    """Take a picture of a window of its own, light and dark."""
    for dark in (False, True):
        theme.apply(camera.app, dark=dark)
        await asyncio.sleep(_SETTLE_S)
        file = f"{name}-dark.png" if dark else f"{name}.png"
        widget.grab().save(str(camera.folder / file))
        camera.taken.append(file)
    theme.apply(camera.app, dark=False)
