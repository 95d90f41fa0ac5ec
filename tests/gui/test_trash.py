"""Throwing away in the window: at once, and back again; by keyboard, menu, and after a restart."""

import asyncio
import shutil

from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from app.controllers.navigation import Place
from core.sources import ingest
from core.store import connection
from core.upkeep import trash
from tests.gui.conftest import search, until
from tests.gui.talks import hits, sessions, talk


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
        assert window.list_undo.words.text() == f"Moved to the trash: {gone.title}"
        assert window.actions_by_name["undo"].isEnabled()
        window.actions_by_name["undo"].trigger()
        await until(lambda: len(sessions(filled)) == 4)
        assert sessions(filled) == before
        assert window.sessions_view.current_session().id == gone.id
        assert not window.list_undo.isVisible()
        assert not window.actions_by_name["undo"].isEnabled()

    run(scenario())


def test_r11_undo_takes_back_the_last_alone_and_a_restart_keeps_the_rest(
    run, filled, profile, tokenizer_path, monkeypatch, themed
):
    """Delete A, delete B, undo once; after a restart A comes back from the trash."""
    from app.main import Program
    from tests.gui.conftest import FakeDialogs

    window = filled.window

    async def before_restart():
        a = stand_on(filled, sessions(filled).index("电影订阅"))
        window.actions_by_name["pin"].trigger()
        await until(lambda: window.list_undo.isVisible())
        press_delete(filled)
        await until(lambda: len(sessions(filled)) == 3)
        await until(lambda: a.title in window.list_undo.words.text())
        b = window.sessions_view.current_session()
        press_delete(filled)
        await until(lambda: len(sessions(filled)) == 2)
        await until(lambda: b.title in window.list_undo.words.text())
        window.list_undo.undo.click()
        await until(lambda: len(sessions(filled)) == 3)
        assert b.title in sessions(filled)
        held = await filled.store.read(trash.contents)
        assert [each.session for each in held.items] == [a.ref]
        await filled.stop()
        return a

    a = run(before_restart())

    async def build():
        return Program(themed, profile, FakeDialogs())

    again = run(build())

    async def after_restart():
        assert await again.start()
        await until(lambda: len(sessions(again)) == 3)
        assert a.title not in sessions(again)
        held = await again.store.read(trash.contents)
        assert held.undoable == held.items[0].operation_id
        await again.store.write(trash.undo, held.undoable, "you")
        await until(lambda: len(sessions(again)) == 4)
        row = again.window.models.sessions.row_of(a.id)
        assert again.window.models.sessions.session(row).pinned_at_ms is not None
        await search(again, "电影订阅")
        assert len(hits(again)) == 1
        await again.stop()

    again.window.show()
    run(after_restart())
    again.window.deleteLater()


def test_many_are_one_step_and_their_number_is_said(run, filled):
    window = filled.window

    async def scenario():
        stand_on(filled, 0)
        window.sessions_view.selectAll()
        press_delete(filled)
        await until(lambda: window.list_undo.isVisible())
        assert window.list_undo.words.text() == "4 sessions moved to the trash"
        assert sessions(filled) == []
        filled.undoing.undo()
        await until(lambda: len(sessions(filled)) == 4)

    run(scenario())


def test_300_go_by_one_key_and_come_back_by_another(
    run, program, tmp_path, profile, tokenizer_path
):
    db = connection.open_store(profile / "state.db", tokenizer_path)
    for n in range(300):
        talk(tmp_path / "many.jsonl", f"s{n}", f"text {n}", title=f"talk {n}")
    for _ in ingest.run_sync(db, ingest.Import([tmp_path / "many.jsonl"])):
        pass
    db.close()
    window = program.window

    async def scenario():
        assert await program.start()
        await until(lambda: len(sessions(program)) == 200)
        window.models.sessions.fetchMore()
        await until(lambda: len(sessions(program)) == 300)
        stand_on(program, 0)
        QTest.keyClick(window.sessions_view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        press_delete(program)
        await until(lambda: window.list_undo.isVisible())
        assert window.list_undo.words.text() == "300 sessions moved to the trash"
        assert (await program.store.read(trash.contents)).total == 300
        QTest.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: len(sessions(program)) == 200)
        assert (await program.store.read(trash.contents)).total == 0

    run(scenario())


def test_the_open_conversation_closes_and_undo_opens_it_where_it_was(run, filled):
    window = filled.window

    async def scenario():
        await search(filled, "osaka")
        window.hits_view.row_opened.emit(window.models.hits.index(1))
        await until(lambda: filled.context.session is not None)
        place = filled.navigation.current()
        filled.pane.setFocus()
        window.actions_by_name["trash"].trigger()
        await until(lambda: window.right.currentWidget() is window.nothing_open)
        await until(lambda: window.list_undo.isVisible())
        assert filled.navigation.current() is None
        window.actions_by_name["undo"].trigger()
        await until(lambda: window.right.currentWidget() is filled.pane)
        assert filled.navigation.current() == place

    run(scenario())


def test_what_is_in_the_trash_is_not_found(run, filled):
    window = filled.window

    async def scenario():
        await search(filled, "电影订阅")
        assert len(hits(filled)) == 1
        window.search_bar.field.clear()
        await until(lambda: window.lists.currentWidget() is window.sessions_view)
        titles = sessions(filled)
        stand_on(filled, titles.index("电影订阅"))
        press_delete(filled)
        await until(lambda: len(sessions(filled)) == 3)
        await search(filled, "电影订阅")
        assert hits(filled) == []

    run(scenario())


def test_a_message_goes_and_comes_back(run, filled):
    window, pane = filled.window, filled.pane

    async def scenario():
        titles = sessions(filled)
        stand_on(filled, titles.index("电影订阅"))
        window.sessions_view.row_opened.emit(window.sessions_view.currentIndex())
        await until(lambda: "先占位再入队" in pane.transcript.toPlainText())
        item = next(each for each in pane.transcript.items if each.last == 1)
        pane.transcript.trash_asked.emit(item.key)
        await until(lambda: pane.undo_bar.isVisible())
        await until(lambda: "每次刷新" not in pane.transcript.toPlainText())
        assert "先占位再入队" in pane.transcript.toPlainText()
        window.activateWindow()
        pane.transcript.setFocus()
        QTest.keyClick(pane.transcript, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: "每次刷新" in pane.transcript.toPlainText())

    run(scenario())


def test_delete_in_the_field_deletes_letters(run, filled):
    window = filled.window

    async def scenario():
        window.activateWindow()
        field = window.search_bar.field
        field.setFocus()
        field.setText("ab")
        field.home(False)
        QTest.keyClick(field, Qt.Key.Key_Delete)
        assert field.text() == "b"
        assert (await filled.store.read(trash.contents)).total == 0

    run(scenario())


def test_a_pin_is_shown_and_taken_back(run, filled):
    window = filled.window

    async def scenario():
        session = stand_on(filled, 1)
        window.sessions_view.row_opened.emit(window.sessions_view.currentIndex())
        await until(lambda: filled.context.session is not None)
        window.actions_by_name["pin"].trigger()
        await until(lambda: filled.pane.header.pin.isVisible())
        filled.context.theme_changed()  # draws everything anew, from what is known
        await asyncio.sleep(0.3)
        assert filled.pane.header.pin.isVisible()
        row = window.models.sessions.row_of(session.id)
        assert window.models.sessions.session(row).pinned_at_ms is not None
        window.actions_by_name["undo"].trigger()
        await until(lambda: not filled.pane.header.pin.isVisible())
        assert window.models.sessions.session(row).pinned_at_ms is None

    run(scenario())


def test_the_bar_stays_while_it_is_used_and_goes_by_itself(run, filled):
    bar = filled.window.list_undo

    async def scenario():
        stand_on(filled, 0)
        press_delete(filled)
        await until(lambda: bar.isVisible())
        bar._ends.setInterval(1)
        bar.undo.setFocus()
        bar._ends.start(1)
        bar._on_time()
        assert bar.isVisible()
        filled.window.sessions_view.setFocus()
        bar._ends.start(1)
        await until(lambda: not bar.isVisible())
        assert not filled.window.actions_by_name["undo"].isEnabled()

    run(scenario())


def test_rows_that_are_only_chosen_are_not_opened(run, filled):
    view, opened = filled.window.sessions_view, []
    view.session_opened.connect(opened.append)

    async def scenario():
        stand_on(filled, 0)
        QTest.keyClick(view, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
        assert len(view.chosen_sessions()) == 2
        await asyncio.sleep(0.3)
        assert opened == []
        QTest.keyClick(view, Qt.Key.Key_Down)
        await until(lambda: opened == [view.current_session().id])

    run(scenario())


def test_a_refresh_keeps_what_is_chosen(run, filled):
    view = filled.window.sessions_view

    async def scenario():
        stand_on(filled, 0)
        flags = QItemSelectionModel.SelectionFlag.Select
        view.selectionModel().select(filled.window.models.sessions.index(2), flags)
        chosen = [each.id for each in view.chosen_sessions()]
        assert len(chosen) == 2
        await filled.sessions.load()
        assert [each.id for each in view.chosen_sessions()] == chosen

    run(scenario())


def test_undo_with_ctrl_held_chooses_nothing_beside_what_came_back(run, filled):
    view = filled.window.sessions_view
    control = Qt.KeyboardModifier.ControlModifier

    async def deleted():
        gone = stand_on(filled, 0)
        press_delete(filled)
        await until(lambda: filled.window.list_undo.isVisible())
        return gone

    async def taken_back():
        assert QGuiApplication.keyboardModifiers() == control
        filled.undoing.undo()
        await until(lambda: len(sessions(filled)) == 4)
        await until(lambda: view.current_session() == gone)
        assert view.chosen_sessions() == [gone]

    gone = run(deleted())
    # Not from a coroutine: a key of the window is sent with all other events that wait, and
    # they would step into tasks while this one runs.
    QTest.keyPress(filled.window.windowHandle(), Qt.Key.Key_Control, control)
    try:
        run(taken_back())
    finally:
        QTest.keyRelease(filled.window.windowHandle(), Qt.Key.Key_Control)


def test_a_conversation_in_the_trash_is_not_opened_at_the_start(
    run, imported, program, profile, tokenizer_path
):
    shutil.copytree(imported, profile, dirs_exist_ok=True)
    db = connection.open_store(profile / "state.db", tokenizer_path)
    with connection.transaction(db):
        trash.trash_sessions(db, [1], "command")
    db.close()
    program.state.set_text("session", "1")

    async def scenario():
        assert await program.start()
        await until(lambda: len(sessions(program)) == 3)
        assert program.navigation.current() is None
        assert program.window.right.currentWidget() is program.window.nothing_open

    run(scenario())


def test_nothing_is_thrown_away_while_another_conversation_is_being_opened(run, filled):
    window = filled.window

    async def scenario():
        await search(filled, "osaka")
        window.hits_view.row_opened.emit(window.models.hits.index(1))
        await until(lambda: filled.context.session is not None)
        filled.pane.setFocus()
        other = next(n for n in range(1, 5) if n != filled.context.session.id)
        filled.navigation.open(Place(other))
        assert filled.context.session.id != other
        assert filled.trash.targets() == []

    run(scenario())
