"""Completing a query: what is offered, what a key does while it is, and when it keeps away."""

import asyncio

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAccessible, QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.models.choices import Offer
from app.views.completion_popup import CompletionPopup
from app.views.main_window import MainWindow
from tests.gui.conftest import until

KEY = Qt.Key


@pytest.fixture
def window(filled) -> MainWindow:
    filled.window.activateWindow()
    filled.window.search_bar.field.setFocus()
    return filled.window


def popup(window) -> CompletionPopup:
    return window.completion_popup


def offered(window) -> list[str]:
    model = popup(window).model
    return [model.offer(row).text for row in range(model.rowCount())]


async def type_in(window, text: str) -> None:
    """Type as a keyboard or an input method does: each character is an edit."""
    for character in text:
        window.search_bar.field.insert(character)
    await asyncio.sleep(0)


async def settled(window) -> None:
    """Return when what was typed last has been asked for and answered."""
    field = window.search_bar.field
    controller = window.property("completion")
    await until(lambda: not controller._rest.isActive())
    await until(lambda: not controller._tasks.running("completion"))
    assert field is not None


@pytest.fixture(autouse=True)
def told(filled):
    filled.window.setProperty("completion", filled.completion)


def test_two_letters_of_a_field_offer_its_name_and_tab_takes_it_and_then_its_values(run, window):
    field = window.search_bar.field

    async def journey():
        await type_in(window, "ro")
        await until(popup(window).isVisible)
        names = offered(window)
        QTest.keyClick(field, KEY.Key_Tab)
        named = field.text()
        await until(lambda: popup(window).isVisible() and "user" in offered(window))
        roles = offered(window)
        QTest.keyClick(field, KEY.Key_Down)
        QTest.keyClick(field, KEY.Key_Down)
        chosen = popup(window).current().text
        QTest.keyClick(field, KEY.Key_Return)
        return names, named, roles, chosen

    names, named, roles, chosen = run(journey())

    assert (names, named) == (["role:"], "role:")
    assert set(roles) >= {"user", "assistant", "tool", "system"}
    assert (field.text(), chosen) == (f"role:{roles[1]}", roles[1])
    assert field.hasFocus()


def test_enter_searches_for_a_word_that_is_also_a_field_s_name(run, window, filled):
    field = window.search_bar.field

    async def enter():
        await type_in(window, "role")
        await until(popup(window).isVisible)
        QTest.keyClick(field, KEY.Key_Return)
        await until(lambda: filled.search.result and filled.search.result.query == "role")

    run(enter())

    assert field.text() == "role"
    assert not popup(window).isVisible()
    assert filled.state.recent()[0].query == "role"


@pytest.mark.parametrize(
    "text", ["r", "roles", "osaka", "-", '"role', "role:user ", "订阅", "ROLE"]
)
def test_what_does_not_begin_a_field_is_left_alone(run, window, text):
    async def quiet():
        await type_in(window, text)
        await settled(window)

    run(quiet())

    assert not popup(window).isVisible()


def test_esc_closes_the_list_and_only_then_the_search(run, window):
    field = window.search_bar.field

    async def escape():
        await type_in(window, "source:")
        await until(popup(window).isVisible)
        QTest.keyClick(field, KEY.Key_Escape)
        first = (popup(window).isVisible(), field.text())
        QTest.keyClick(field, KEY.Key_Escape)
        return first

    assert run(escape()) == (False, "source:")
    assert field.text() == ""


def test_up_from_the_first_choice_leaves_the_list_and_enter_searches_again(run, window):
    field = window.search_bar.field

    async def up():
        await type_in(window, "role:")
        await until(popup(window).isVisible)
        QTest.keyClick(field, KEY.Key_Down)
        QTest.keyClick(field, KEY.Key_Up)
        none = popup(window).current()
        QTest.keyClick(field, KEY.Key_Return)
        return none

    assert run(up()) is None
    assert field.text() == "role:"


def test_a_value_is_put_in_behind_characters_of_two_units_and_what_follows_stays(run, window):
    field = window.search_bar.field

    async def take():
        field.setText("🎬 source:js 订阅")
        field.setCursorPosition(12)  # behind "js": the emoji has two units
        field.insert("o")
        await until(popup(window).isVisible)
        QTest.keyClick(field, KEY.Key_Tab)

    run(take())

    assert field.text() == "🎬 source:jsonl 订阅"


def test_while_an_input_method_composes_nothing_is_offered(run, window):
    field = window.search_bar.field

    async def compose():
        await type_in(window, "source:")
        await until(popup(window).isVisible)
        QApplication.sendEvent(field, QInputMethodEvent("jso", []))
        composing = popup(window).isVisible()
        await asyncio.sleep(0.2)
        still = popup(window).isVisible()
        committed = QInputMethodEvent("", [])
        committed.setCommitString("js")
        QApplication.sendEvent(field, committed)
        await until(popup(window).isVisible)
        return composing, still

    assert run(compose()) == (False, False)
    assert offered(window) == ["jsonl"]


def test_it_goes_with_the_focus_and_does_not_come_back_by_itself(run, window):
    async def leave():
        await type_in(window, "role:")
        await until(popup(window).isVisible)
        window.sessions_view.setFocus()
        gone = not popup(window).isVisible()
        window.search_bar.field.setFocus()
        await asyncio.sleep(0.2)
        return gone

    assert run(leave())
    assert not popup(window).isVisible()


def test_an_answer_that_comes_after_the_focus_left_is_not_shown(run, window):
    async def leave():
        await type_in(window, "role:")
        window.sessions_view.setFocus()
        await settled(window)

    run(leave())

    assert not popup(window).isVisible()


def test_a_query_that_is_opened_offers_nothing(run, window):
    async def put():
        window.search_bar.set_query("role:")
        await asyncio.sleep(0.2)

    run(put())

    assert not popup(window).isVisible()


def test_typing_fast_offers_what_fits_the_last_text(run, window):
    async def fast():
        for text in ("ti", "\b\b", "so", "urce:"):
            for character in text:
                if character == "\b":
                    window.search_bar.field.backspace()
                else:
                    window.search_bar.field.insert(character)
            await asyncio.sleep(0.03)
        await until(lambda: popup(window).isVisible() and offered(window) == ["jsonl"])

    run(fast())

    assert window.search_bar.field.text() == "source:"


def test_a_choice_of_an_earlier_text_cannot_be_taken(run, window, filled):
    field = window.search_bar.field
    filled.completion._rest.setInterval(60_000)

    async def stale():
        await type_in(window, "ro")
        filled.completion._ask()
        await until(popup(window).isVisible)
        await type_in(window, "x")
        QTest.keyClick(field, KEY.Key_Tab)

    run(stale())

    assert field.text() == "rox"


def test_it_has_a_name_a_role_and_says_what_is_chosen(run, window, monkeypatch):
    said = []
    monkeypatch.setattr(
        "app.views.completion_popup.QAccessible.updateAccessibility",
        lambda event: said.append(event.message()),
    )

    async def choose():
        await type_in(window, "role:")
        await until(popup(window).isVisible)
        QTest.keyClick(window.search_bar.field, KEY.Key_Down)

    run(choose())

    face = QAccessible.queryAccessibleInterface(popup(window).list)
    assert face.role() == QAccessible.Role.List
    assert face.text(QAccessible.Text.Name) == "Completions"
    assert said[0].startswith("4 completions: ")
    assert said[1].startswith(offered(window)[0])


def test_the_list_stays_inside_the_window_and_below_the_field(run, window):
    window.resize(960, 600)

    async def far_right():
        await type_in(window, "a" * 70 + " role:")
        await until(popup(window).isVisible)

    run(far_right())

    inside = popup(window).parentWidget().rect()
    assert inside.contains(popup(window).geometry())
    field = window.search_bar.field
    assert popup(window).mapToGlobal(popup(window).rect().topLeft()).y() > (
        field.mapToGlobal(field.rect().bottomLeft()).y()
    )


def test_a_click_takes_a_choice_without_taking_the_focus(run, window):
    field = window.search_bar.field

    async def click():
        await type_in(window, "source:")
        await until(popup(window).isVisible)
        shown = popup(window).list
        at = shown.visualRect(popup(window).model.index(0)).center()
        QTest.mouseClick(shown.viewport(), Qt.MouseButton.LeftButton, pos=at)

    run(click())

    assert (field.text(), field.hasFocus()) == ("source:jsonl", True)


def test_stored_text_in_a_choice_is_shown_on_one_line(qtbot, window):
    popup(window).show_offers([Offer("a\nb", "a\nb\x07", "c\td")], 0)

    index = popup(window).model.index(0)
    assert index.data() == "a b\u2407"
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "a b\u2407, c d"


def test_a_window_that_grows_closes_the_list(run, window):
    async def grow():
        await type_in(window, "role:")
        await until(popup(window).isVisible)
        window.resize(window.width() - 100, window.height())
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        await asyncio.sleep(0.05)

    run(grow())

    assert not popup(window).isVisible()
