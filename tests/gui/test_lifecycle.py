"""The life of a session in the window: each step at once, told by the bar, and taken back."""

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QDialogButtonBox, QWidget

from app.dialogs import Dialogs
from app.views.parts import Link
from core.history.sessions import session_by_ref
from tests.gui.conftest import until
from tests.gui.talks import sessions
from tests.gui.test_trash import stand_on

STEPS = ("rename", "pin", "archive", "move", "reset", "clear")


def act(program, name: str) -> None:
    program.window.actions_by_name[name].trigger()


async def stored(program, name: str):
    return await program.store.read(session_by_ref, name)


async def told(program) -> str:
    await until(lambda: program.window.list_undo.isVisible())
    return program.window.list_undo.words.text()


async def undo(program) -> None:
    act(program, "undo")
    await until(lambda: not program.window.list_undo.isVisible())
    await asyncio.sleep(0.1)


def row_of(program, title: str) -> int:
    return sessions(program).index(title)


async def open_one(program, title: str) -> None:
    stand_on(program, row_of(program, title))
    view = program.window.sessions_view
    QTest.keyClick(view, Qt.Key.Key_Return)
    await until(lambda: program.context.session is not None)
    await until(lambda: program.pane.header.title.text() == title)


def test_f2_lets_the_title_be_typed_in_the_list_and_esc_leaves_it(run, filled):
    view = filled.window.sessions_view

    async def scenario():
        before = await stored(filled, "films")
        stand_on(filled, row_of(filled, "电影订阅"))
        act(filled, "rename")
        editor = view.title_editor
        assert editor.isVisible()
        assert (editor.text(), editor.selectedText()) == ("电影订阅", "电影订阅")
        assert view.visualRect(view.currentIndex()).contains(editor.geometry())
        QTest.keyClicks(editor, "never kept")
        QTest.keyClick(editor, Qt.Key.Key_Escape)
        assert not editor.isVisible()
        await asyncio.sleep(0.1)
        assert (await stored(filled, "films")).title == "电影订阅"
        act(filled, "rename")
        QTest.keyClicks(editor, "Films, twice")
        QTest.keyClick(editor, Qt.Key.Key_Return)
        assert await told(filled) == "Renamed: Films, twice"
        assert "Films, twice" in sessions(filled)
        assert view.current_session().title == "Films, twice"
        await undo(filled)
        assert "电影订阅" in sessions(filled)
        assert await stored(filled, "films") == before

    run(scenario())


def test_f2_in_the_conversation_lets_the_title_be_typed_in_the_header(run, filled):
    header = filled.pane.header

    async def scenario():
        await open_one(filled, "电影订阅")
        filled.pane.transcript.setFocus()
        act(filled, "rename")
        assert header.title_editor.isVisible()
        assert not header.title.isVisible()
        header.title_editor.setText("")
        QTest.keyClicks(header.title_editor, "In the header")
        QTest.keyClick(header.title_editor, Qt.Key.Key_Return)
        await until(lambda: header.title.text() == "In the header")
        assert header.title.isVisible()
        assert not header.title_editor.isVisible()
        assert "In the header" in sessions(filled)
        await undo(filled)
        await until(lambda: header.title.text() == "电影订阅")

    run(scenario())


def test_another_place_in_focus_leaves_the_title_as_it_was(run, filled):
    view = filled.window.sessions_view

    async def scenario():
        stand_on(filled, 0)
        before = sessions(filled)
        act(filled, "rename")
        QTest.keyClicks(view.title_editor, "lost")
        filled.window.search_bar.field.setFocus(Qt.FocusReason.MouseFocusReason)
        await until(lambda: not view.title_editor.isVisible())
        assert sessions(filled) == before

    run(scenario())


def test_an_empty_title_takes_the_sources_own_back(run, filled):
    view = filled.window.sessions_view

    async def scenario():
        for text in ("Mine", ""):
            stand_on(filled, row_of(filled, "电影订阅" if text else "Mine"))
            act(filled, "rename")
            view.title_editor.setText(text)
            QTest.keyClick(view.title_editor, Qt.Key.Key_Return)
            words = "Renamed: Mine" if text else "Called again as its source calls it"
            await until(lambda words=words: filled.window.list_undo.words.text() == words)
        assert "电影订阅" in sessions(filled)

    run(scenario())


def test_a_session_is_moved_to_a_project_known_or_new(run, filled):
    header = filled.pane.header

    async def scenario():
        await open_one(filled, "电影订阅")
        filled.dialogs.project = "  Fenwick works "
        act(filled, "move")
        assert await told(filled) == "Moved to the project Fenwick works"
        assert filled.dialogs.offered == [("", ["mailer"])]
        await until(lambda: "Fenwick works" in header._facts.text())
        filled.dialogs.project = ""
        act(filled, "move")
        words = "Back in the project of its source"
        await until(lambda: filled.window.list_undo.words.text() == words)
        await undo(filled)
        assert (await stored(filled, "films")).project == "Fenwick works"
        filled.dialogs.project = None
        act(filled, "move")
        await asyncio.sleep(0.2)
        assert filled.dialogs.offered[-1] == ("Fenwick works", ["Fenwick works", "mailer"])
        assert not filled.window.list_undo.isVisible()

    run(scenario())


def test_a_reset_draws_its_line_once_something_follows_and_is_taken_back(run, filled):
    async def scenario():
        await open_one(filled, "电影订阅")
        act(filled, "reset")
        assert await told(filled) == "Reset; nothing was deleted"
        assert (await stored(filled, "films")).user_turn_count == 0
        act(filled, "reset")
        await asyncio.sleep(0.2)
        await undo(filled)
        assert (await stored(filled, "films")).user_turn_count == 1

    run(scenario())


def test_a_cleared_conversation_is_empty_stays_and_comes_back(run, filled):
    async def scenario():
        before = sessions(filled)
        await open_one(filled, "电影订阅")
        act(filled, "clear")
        assert await told(filled) == "2 messages moved to the trash"
        assert sessions(filled) == before
        await until(lambda: filled.context.session.message_count == 0)
        await until(lambda: "占位" not in filled.pane.transcript.toPlainText())
        await undo(filled)
        await until(lambda: "占位" in filled.pane.transcript.toPlainText())
        assert (await stored(filled, "films")).message_count == 2

    run(scenario())


def test_archived_ones_are_shown_when_all_are_listed_and_say_so_in_the_header(run, filled):
    header = filled.pane.header

    async def scenario():
        await open_one(filled, "电影订阅")
        act(filled, "archive")
        await until(lambda: "电影订阅" not in sessions(filled))
        await until(lambda: "archived" in header._facts.text())
        await undo(filled)
        assert "电影订阅" in sessions(filled)
        await until(lambda: "archived" not in header._facts.text())

    run(scenario())


def test_the_header_says_where_it_was_held_and_that_its_source_no_longer_has_it(run, filled):
    async def scenario():
        await filled.store.write(
            lambda db: db.execute(
                "UPDATE sessions SET channel = 'feishu', gone_at_ms = 1 WHERE native_id = 'films'"
            ).fetchall()
        )
        await open_one(filled, "电影订阅")
        await until(lambda: "gone at the source" in filled.pane.header._facts.text())
        assert "feishu" in filled.pane.header._facts.text()

    run(scenario())


def test_every_step_stands_in_the_menu_of_the_list_and_of_the_window(filled):
    menu = [each.objectName() for each in filled.window.sessions_view.menu_actions]
    assert menu == [*STEPS, "trash"]
    shown = {
        action.objectName()
        for top in filled.window.menuBar().actions()
        for action in top.menu().actions()
    }
    assert set(STEPS) <= shown


@pytest.mark.parametrize("answer", ["typed", "back", "no"])
def test_the_dialog_offers_the_known_projects_and_takes_a_new_name(run, themed, answer):
    parent = QWidget()
    parent.show()

    async def scenario():
        asked = asyncio.ensure_future(Dialogs(parent).choose_project("mailer", ["infra", "mailer"]))
        await asyncio.sleep(0.05)
        dialog = parent.findChild(QComboBox).window()
        field = dialog.findChild(QComboBox)
        assert [field.itemText(n) for n in range(field.count())] == ["infra", "mailer"]
        assert field.currentText() == "mailer"
        if answer == "typed":
            field.lineEdit().selectAll()
            QTest.keyClicks(field.lineEdit(), "new one")
            QTest.keyClick(field.lineEdit(), Qt.Key.Key_Return)
        elif answer == "back":
            next(each for each in dialog.findChildren(Link) if "source" in each.text()).click()
        else:
            buttons = dialog.findChild(QDialogButtonBox)
            buttons.button(QDialogButtonBox.StandardButton.Cancel).click()
        return await asked

    expected = {"typed": "new one", "back": "", "no": None}
    assert run(scenario()) == expected[answer]
    parent.deleteLater()
