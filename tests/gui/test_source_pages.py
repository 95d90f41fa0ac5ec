"""The page of sources beside a real store: watched, paused, reported, removed, and asked about."""

import asyncio
import json

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.models.sources import SourceRow
from app.views.report_sheet import ReportSheet
from app.views.source_delegate import SourceDelegate
from app.views.source_menu import SourceMenu
from core.history import known_sources, watched
from core.source_types import KnownSource, WatchedPlace
from core.types import FoundSource
from tests import demo_home
from tests.gui.conftest import search, until


@pytest.fixture
def imported_home(run, program, home):
    """The program over a demo home, all of which was imported and is watched where it lives."""
    demo_home.build(home)

    async def start():
        await program.start()
        await until(lambda: program.window.models.sources.rowCount() == 4)
        program.window.first_run.start.click()
        await until(lambda: program.imports.running)
        await until(lambda: not program.imports.running)
        await until(lambda: program.watching.state.watching == 3)
        await until(lambda: not program.window.on_sources())
        await until(lambda: not program.tasks.running("after-import"))

    run(start())
    return program


def row(program, kind: str) -> SourceRow:
    return next(each for each in program.window.models.sources.rows() if each.found.kind == kind)


def facts(program) -> str:
    return program.window.status_bar.accessibleDescription()


async def show(program) -> None:
    program.imports.show_sources()
    await until(lambda: row(program, "codex").watch)
    await until(lambda: not program.tasks.running("source-places"))


def test_homes_are_watched_after_their_import_and_paused_and_let_be_from_their_rows(
    run, imported_home, qtbot
):
    program, view = imported_home, imported_home.window.first_run

    async def work():
        await show(program)
        kinds = {each.found.kind: each.watch for each in program.window.models.sources.rows()}
        assert kinds == {"hermes": "on", "claude-code": "on", "codex": "on", "chatgpt": ""}
        assert "watching 3 sources" in facts(program)
        await until(lambda: row(program, "chatgpt").read_at_ms is not None)
        path = row(program, "codex").found.path
        view.pause_asked.emit(path)
        await until(lambda: row(program, "codex").watch == "paused")
        await until(lambda: "watching 2 sources" in facts(program))
        view.resume_asked.emit(path)
        await until(lambda: row(program, "codex").watch == "on")
        view.unwatch_asked.emit(path)
        await until(lambda: row(program, "codex").watch == "")
        view.watch_asked.emit(path)
        await until(lambda: row(program, "codex").watch == "on")

    run(work())
    asked: list[int] = []
    view.list.menu_asked.disconnect()
    view.list.menu_asked.connect(lambda n, _at: asked.append(n))
    rect = view.list.visualRect(view.list.model().index(1, 0))
    before = program.window.models.sources.rows()[1].chosen
    at = QPointF(rect.right() - 12, rect.center().y()).toPoint()
    qtbot.mouseClick(view.list.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert asked == [1]
    assert program.window.models.sources.rows()[1].chosen == before


def test_what_was_read_at_another_time_is_not_offered_as_if_it_never_was(run, imported_home, home):
    program, model = imported_home, imported_home.window.models.sources
    start = program.window.first_run.start

    async def work():
        await show(program)
        for n, each in enumerate(model.rows()):  # as after another start
            model.update(n, state="ready", note="", fraction=None, chosen=bool(each.watch))
        model.choice_changed.emit()
        assert start.text().strip() == "Import what is new"
        broken = home / ".codex" / "archived_sessions" / "rollout-2026-01-01T00-00-00-x.jsonl"
        broken.parent.mkdir(exist_ok=True)
        broken.write_text("{not json\n", encoding="utf-8")
        program.watching.look_again()
        await until(lambda: row(program, "codex").trouble)
        return await program.store.read(
            lambda db: known_sources.at(
                db, known_sources.known(db), [str(home / ".codex"), str(home / ".codex/sessions")]
            )
        )

    whole, part = run(work()).values()
    assert (whole.failed, whole.bad_records) in ((1, 0), (0, 1))
    assert (part.failed, part.bad_records) == (0, 0)


def test_a_place_read_again_keeps_the_count_of_what_is_stored_of_it(run, imported_home):
    program, model = imported_home, imported_home.window.models.sources
    shown: list[int | None] = []

    async def work():
        await show(program)
        before = row(program, "codex").messages
        model.dataChanged.connect(lambda *_: shown.append(row(program, "codex").messages))
        for n, each in enumerate(model.rows()):
            model.update(n, chosen=each.found.kind == "codex")
        program.window.first_run.start.click()
        await until(lambda: program.imports.running)
        await until(lambda: not program.imports.running)
        return before

    before = run(work())
    assert before
    assert set(shown) == {before}


def test_nothing_is_watched_where_the_box_is_not_ticked(run, program, home):
    demo_home.build(home)

    async def work():
        await program.start()
        await until(lambda: program.window.models.sources.rowCount() == 4)
        assert program.window.first_run.keep.isVisible()
        assert program.window.first_run.keep.isChecked()
        program.window.first_run.keep.click()
        program.window.first_run.start.click()
        await until(lambda: program.imports.running)
        await until(lambda: not program.imports.running)
        await asyncio.sleep(0.3)
        assert await program.store.read(watched.places) == ()

    run(work())
    assert "watching" not in facts(program)


def test_an_append_shows_up_in_the_list_and_the_search_and_nothing_else_moves(
    run, imported_home, home
):
    program = imported_home
    model = program.window.models.sessions

    async def work():
        await until(lambda: program.window.sessions_view.isVisible() and model.rowCount() > 5)
        program.window.sessions_view.select_row(2)
        chosen = model.session(program.window.sessions_view.currentIndex().row()).id
        path = min((home / ".claude" / "projects").rglob("*.jsonl"))
        lines = map(json.loads, path.read_text("utf-8").splitlines())
        last = [each for each in lines if "uuid" in each][-1]
        line = last | {"uuid": "new-1", "parentUuid": last["uuid"], "type": "user"}
        line["message"] = {"role": "user", "content": "a wholly new quillwort"}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        await search(program, "quillwort")
        await until(lambda: program.search.result.total_hits == 1)
        program.window.search_bar.field.clear()
        await until(lambda: program.window.sessions_view.isVisible())
        await until(lambda: not program.tasks.running("sessions"))
        now = model.session(program.window.sessions_view.currentIndex().row()).id
        assert now == chosen

    run(work())


def test_broken_and_unknown_records_are_told_on_the_page_and_in_the_report(
    run, imported_home, home
):
    program, view = imported_home, imported_home.window.first_run

    async def work():
        await show(program)
        path = max((home / ".codex").rglob("rollout-*.jsonl"))
        with path.open("a", encoding="utf-8") as file:
            file.write('{"timestamp":"2026-11-30T09:00:00Z","type":"holo_item","payload":{}}\n')
            file.write('{"timestamp":"2026-\n')
        await until(lambda: row(program, "codex").trouble)
        await until(view.drift.isVisible)
        view.report_asked.emit(row(program, "codex").source)
        await until(lambda: [e for e in QApplication.topLevelWidgets() if is_open(e)])
        (sheet,) = [e for e in QApplication.topLevelWidgets() if is_open(e)]
        texts = sheet.texts()
        words = sheet.sentence.text()
        sheet.close()
        return texts, words

    def is_open(each) -> bool:
        return isinstance(each, ReportSheet) and each.isVisible()

    texts, words = run(work())
    assert row(program, "codex").trouble == "1 broken record"
    assert "1 record of Codex is of a type that reader" in view.drift.words.text()
    assert "holo_item 1" in words
    assert texts[0][1] == "read in part"
    assert texts[1][0].strip().startswith("line ")


def test_removing_asks_with_counts_and_keeps_or_takes_the_conversations(run, imported_home):
    program, view = imported_home, imported_home.window.first_run

    async def work():
        await show(program)
        codex = row(program, "codex")
        program.dialogs.agrees = False
        view.remove_asked.emit(codex.source, False)
        await until(lambda: program.dialogs.asked)
        assert "4 conversations with 19 messages are kept" in program.dialogs.asked[0].facts[0]
        assert row(program, "codex").watch == "on"
        program.dialogs.agrees = True
        view.remove_asked.emit(codex.source, False)
        await until(lambda: row(program, "codex").source == "")
        await until(lambda: row(program, "codex").watch == "")
        sessions = "SELECT count(*) FROM sessions WHERE trashed_at_ms IS NULL"
        kept = await program.store.read(lambda db: db.execute(sessions).get)
        view.remove_asked.emit(row(program, "claude-code").source, True)
        await until(lambda: row(program, "claude-code").source == "")
        left = await program.store.read(lambda db: db.execute(sessions).get)
        return kept - left

    assert run(work()) == 6


def test_why_is_asked_from_the_page_the_menu_and_a_search_without_hits(run, imported_home, home):
    program, window = imported_home, imported_home.window
    line = {"session": "w", "role": "user", "content": "a walnut cupboard"}
    unread = home / "unread.jsonl"
    unread.write_text(json.dumps(line) + "\n")

    async def work():
        await program.store.write(watched.watch, str(home / "unread.jsonl"), "jsonl")
        await program.store.write(watched.set_paused, str(home / "unread.jsonl"), paused=True)
        await search(program, "walnut cupboard")
        await until(window.zero_hits.why.isVisible)
        window.zero_hits.why.click()
        await until(lambda: program.why_missing.sheet is not None)
        await until(lambda: program.why_missing.sheet.words())
        missing = program.why_missing.sheet.words()
        program.why_missing.sheet.close()
        await until(lambda: program.why_missing.sheet is None)
        window.actions_by_name["why_missing"].trigger()
        sheet = program.why_missing.sheet
        sheet.field.setText("MeCab と unicode61 の検索品質を比較")
        sheet.look.click()
        await until(lambda: sheet.words())
        there = sheet.words()
        finding_button = sheet.findChildren(type(sheet.look))
        next(each for each in finding_button if each.text() == "Open").click()
        await until(lambda: program.context.session is not None)
        return missing, there

    missing, there = run(work())
    assert missing[0].startswith("Not imported: Line 1 of ~/unread.jsonl")
    assert missing[1].startswith("Not watched: Watching ")
    assert there[0].startswith("It is here: “MeCab")
    assert "MeCab" in program.context.session.title


def test_a_drop_is_announced_while_it_hovers(run, program):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile("/somewhere/export.zip")])
    enter = QDragEnterEvent(
        QPoint(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    program.window.dragEnterEvent(enter)
    assert program.window.drop_hint.isVisible()
    assert program.window.drop_hint.geometry() == program.window.rect()
    program.window.dragLeaveEvent(QDragLeaveEvent())
    assert not program.window.drop_hint.isVisible()


def place(path: str = "/x") -> FoundSource:
    return FoundSource("codex", path, "Codex", 1, 10, True)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"state": "ready"}, ("", "ready to import")),
        ({"state": "ready", "watch": "on"}, ("eye", "watched")),
        ({"state": "imported", "watch": "on"}, ("eye", "watched")),
        ({"state": "imported"}, ("ok", "imported")),
        ({"state": "failed", "watch": "on"}, ("fail", "failed")),
        ({"state": "ready", "watch": "paused"}, ("pause", "paused")),
        ({"state": "ready", "watch": "missing"}, ("warning", "not there now")),
        ({"state": "ready", "trouble": "1 file failed"}, ("warning", "in part")),
        ({"state": "unreadable"}, ("fail", "not importable")),
    ],
)
def test_a_row_tells_its_state(themed, fields, told):
    shown = SourceDelegate().told(SourceRow(place(), chosen=True, **fields))
    assert (shown[0], shown[2]) == told


def test_a_reason_leaves_out_the_path_that_stands_beside_it(themed):
    failed = SourceRow(place(), "failed", chosen=True, note="/x does not exist")
    assert SourceDelegate().told(failed)[3] == "does not exist"


@pytest.mark.parametrize(
    ("fields", "first"),
    [
        ({}, "Watch: read what is new by itself"),
        ({"watch": "on"}, "Pause watching"),
        ({"watch": "paused"}, "Go on watching"),
    ],
)
def test_the_menu_offers_what_can_be_done(themed, fields, first):
    menu = SourceMenu(SourceRow(place(), "ready", chosen=True, **fields), None)
    words = [each.text() for each in menu.actions() if each.text()]
    assert words[0] == first
    assert all(not each.isEnabled() for each in menu.actions()[-2:])
    menu.close()


def test_the_card_of_maintenance_says_how_each_is_watched():
    from app.views.maintenance.source_words import how_watched

    numbers = dict.fromkeys(
        ("sessions", "gone_sessions", "messages", "files", "failed", "gone_files", "bad_records"), 0
    )
    none = dict.fromkeys(["last_run_at_ms", "new", "changed", "skipped"])
    base = {"id": 1, "kind": "codex", "instance": "", "name": "Codex", "root": "/x"}
    base |= {"reader_version": 1, "is_removed": False} | numbers | none
    watch = WatchedPlace("/x", "codex", 1)
    assert how_watched(KnownSource(**base)) == "once"
    assert how_watched(KnownSource(**base, watch=watch)) == "watched"
    paused = WatchedPlace("/x", "codex", 1, paused=True)
    assert how_watched(KnownSource(**base, watch=paused)) == "paused"
    assert how_watched(KnownSource(**(base | {"is_removed": True}))) == "removed"


def test_every_row_of_a_long_table_has_its_height(run, program, home):
    view, model = program.window.first_run, program.window.models.sources

    async def work():
        await program.start()
        program.imports.show_sources()
        model.add([place(f"/nowhere/{n}") for n in range(9)])
        view.show_found()
        view.show_leave(True)
        view.drift.show_words("7 records of Codex are of types that nobody knows. " * 4, "codex#1")
        await asyncio.sleep(0.3)

    run(work())
    table = view.list.parentWidget()
    assert view.list.height() == 9 * 56
    assert table.height() >= view.list.y() + view.list.height()
    assert view.drift.words.height() >= view.drift.words.heightForWidth(view.drift.words.width())


def test_the_next_step_and_the_row_one_stands_on_are_in_sight_however_long_the_table(
    run, program, home, qtbot
):
    window, view, model = program.window, program.window.first_run, program.window.models.sources
    bar = view.start.parentWidget()

    def seen(part) -> bool:
        top = part.mapTo(view.viewport(), QPoint(0, 0)).y()
        return top >= 0 and top + part.height() <= view.viewport().height()

    def row_seen() -> bool:
        row = view.list.visualRect(view.list.currentIndex())
        top = view.list.viewport().mapTo(view.viewport(), row.topLeft()).y()
        return top >= 0 and top + row.height() <= bar.y()

    async def work():
        window.resize(1100, 720)
        window.show()
        await program.start()
        program.imports.show_sources()
        await until(lambda: not program.tasks.running("look"))
        model.add([place(f"/nowhere/{n}") for n in range(3)])
        view.show_found()
        await asyncio.sleep(0.2)
        assert not bar.property("stuck")
        assert view.list.mapTo(view.viewport(), QPoint(0, view.list.height())).y() < bar.y()
        model.add([place(f"/nowhere/{n}") for n in range(3, 25)])
        await asyncio.sleep(0.2)
        assert seen(view.start)
        assert seen(view.keep)
        assert bar.property("stuck") is True
        table = view.list.parentWidget()
        assert bar.mapToGlobal(QPoint(0, 0)).x() == table.mapToGlobal(QPoint(0, 0)).x()
        view.list.setFocus()
        for _ in range(24):
            QTest.keyClick(view.list, Qt.Key.Key_Down)
            assert row_seen()
        for _ in range(24):
            QTest.keyClick(view.list, Qt.Key.Key_Up)
            assert row_seen()
        view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
        assert not bar.property("stuck")
        assert seen(view.why.field)

    run(work())


def test_tab_goes_through_the_page_of_sources_from_top_to_bottom(run, program, home):
    view, model = program.window.first_run, program.window.models.sources

    async def work():
        await program.start()
        program.imports.show_sources()
        await until(lambda: not program.tasks.running("look"))
        model.add([place("/nowhere/1")])
        model.update(0, live=True)
        view.show_importing(True)
        view.show_leave(True)
        view.drift.show_words("7 records", "codex#1")
        model.choice_changed.emit()
        program.window.show()
        await asyncio.sleep(0.1)

    run(work())
    order, widget = [], view.list
    while widget not in order:
        order.append(widget)
        widget = widget.nextInFocusChain()
    stops = [each for each in order if view.isAncestorOf(each) and each.isVisible()]
    stops = [each for each in stops if each.focusPolicy() & Qt.FocusPolicy.TabFocus]
    tops = [each.mapTo(view.viewport(), QPoint(0, each.height() // 2)).y() // 20 for each in stops]
    assert len(stops) == 10
    assert tops == sorted(tops)
