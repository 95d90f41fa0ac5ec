"""Throwing away in the window: at once, and back again; by keyboard, menu, and after a restart."""

from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtTest import QTest

from core.upkeep import trash
from tests.gui.conftest import search, until
from tests.gui.talks import hits, sessions


def press_delete(program) -> None:
    QTest.keyClick(program.window.sessions_view, Qt.Key.Key_Delete)


def stand_on(program, row: int):
    """Give the list the focus, on a row; return its session."""
    view = program.window.sessions_view
    program.window.activateWindow()
    view.setFocus()
    view.select_row(row)
    return view.current_session()


def test_delete_throws_away_at_once_and_ctrl_z_brings_back(run, filled):
    window = filled.window

    async def scenario():
        before = sessions(filled)
        gone = stand_on(filled, 1)
        next_one = window.models.sessions.session(2)
        press_delete(filled)
        await until(lambda: window.list_undo.isVisible())
        assert sessions(filled) == [each for n, each in enumerate(before) if n != 1]
        assert window.sessions_view.current_session().id == next_one.id
        assert gone.title in window.list_undo.words.text()
        assert window.actions_by_name["undo"].isEnabled()
        window.actions_by_name["undo"].trigger()
        await until(lambda: len(sessions(filled)) == 4)
        assert sessions(filled) == before
        assert window.sessions_view.current_session().id == gone.id
        assert not window.list_undo.isVisible()
        assert not window.actions_by_name["undo"].isEnabled()

    run(scenario())
