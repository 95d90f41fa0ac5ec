"""The whole program: a real store, real imports, real widgets, as a person drives it."""

import asyncio
import shutil
import threading
import time
from pathlib import Path

import apsw
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QAccessible, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QApplication, QLineEdit

import app.controllers.hit_groups
import app.controllers.sessions
from app import theme
from core.sources import ingest
from core.store import connection
from tests import demo_home
from tests.gui.conftest import search, until
from tests.gui.talks import hits, sessions, talk, talk_files

KEY = Qt.Key


# First run and import


def _import_elsewhere(path: Path, talks: Path) -> None:
    """Import as another program does, by a connection of its own."""
    db = connection.open_store(path, None)
    try:
        for _ in ingest.run_sync(db, ingest.Import([talk_files(talks)])):
            pass
    finally:
        db.close()


def test_an_empty_machine_says_so_and_offers_to_add_something(run, program):
    async def start():
        await program.start()
        await until(lambda: "No conversations" in program.window.first_run.title.text())

    run(start())

    assert program.window.on_sources()
    assert not program.window.first_run.start.isVisible()
    assert program.window.first_run.add.isVisible()


def test_an_empty_page_gives_way_to_what_another_program_stored(run, program, tmp_path):
    window = program.window

    async def start():
        await program.start()
        await until(lambda: "No conversations" in window.first_run.title.text())
        await asyncio.to_thread(_import_elsewhere, program.store.path, tmp_path / "talks")
        await until(lambda: not window.on_sources())
        await until(lambda: sessions(program))

    run(start())


def test_what_is_found_is_imported_and_then_listed(run, program, home):
    demo_home.build(home)
    first_run = program.window.first_run
    model = program.window.models.sources

    async def start():
        await program.start()
        await until(lambda: model.rowCount() == 4)

    async def import_all():
        first_run.start.click()
        await until(lambda: sessions(program))
        await until(lambda: not program.imports.running)
        await until(lambda: not program.tasks.running("after-import"))

    run(start())
    names = [row.found.name for row in model.rows()]
    asked = first_run.start.text().strip()
    run(import_all())

    assert names[:3] == ["Hermes", "Claude Code", "Codex"]
    assert asked == "Import 4 sources"
    assert not program.window.on_sources()
    assert "MeCab と unicode61 の検索品質を比較" in sessions(program)
    assert {row.state for row in model.rows()} <= {"imported", "partial"}
    assert program.window.message_bar.notice().cause.startswith("Imported ")


def many(folder: Path, count: int) -> Path:
    """A conversation so long that its import takes several batches."""
    return talk(folder / "long.jsonl", "long", *(f"line {n} of many" for n in range(count)))


def stored(program) -> int:
    db = apsw.Connection(str(program.store.path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return db.execute("SELECT count(*) FROM messages").get
    finally:
        db.close()


def test_a_cancelled_import_keeps_what_it_stored_and_the_next_one_completes_it(
    run, program, tmp_path
):
    place = many(tmp_path / "big", 5000)
    panel = program.window.first_run.panel

    async def cancel():
        await program.start()
        program.imports.progressed.connect(
            lambda now: now.messages and not now.paused and panel.pause.click()
        )
        program.imports.import_paths([place])
        await until(lambda: panel.pause.text().strip() == "Go on")
        began = time.monotonic()
        panel.cancel.click()
        await until(lambda: not program.imports.running)
        program.imports.progressed.disconnect()
        return time.monotonic() - began

    async def again():
        program.imports.import_paths([place])
        await until(lambda: program.imports.running)
        await until(lambda: not program.imports.running)

    took_s = run(cancel())
    after_cancel = stored(program)
    row = program.window.models.sources.rows()[0]
    run(again())

    assert took_s < 1.0
    assert 0 < after_cancel < 5000
    assert (row.state, row.note) == ("ready", "stopped")
    assert stored(program) == 5000


def test_who_stops_an_import_stays_where_it_goes_on_and_is_told_what_is_there(
    run, program, talks, tmp_path
):
    window, place = program.window, many(tmp_path / "big", 5000)
    panel = window.first_run.panel
    told = []

    async def cancel():
        await program.start()
        program.imports.progressed.connect(
            lambda now: now.messages > 100 and not now.paused and panel.pause.click()
        )
        program.imports.import_paths([talks, place])
        await until(lambda: panel.pause.text().strip() == "Go on")
        assert not window.first_run.start.isEnabled()  # all that was chosen is under way
        panel.cancel.click()
        await until(lambda: not program.imports.running)
        await until(lambda: not program.tasks.running("after-import"))
        program.imports.progressed.disconnect()

    async def again():
        program.imports.progressed.connect(lambda now: told.append(now.searchable))
        program.imports.import_paths([place])
        await until(lambda: program.imports.running)
        await until(lambda: not program.imports.running)

    run(cancel())
    assert window.on_sources()
    assert window.first_run.start.text().strip() == "Import 1 source"
    before = stored(program)
    run(again())
    assert min(told) >= before > 0


def test_a_paused_import_stores_nothing_until_it_goes_on(run, program, tmp_path):
    place = many(tmp_path / "big", 4000)
    panel = program.window.first_run.panel

    async def pause():
        await program.start()
        program.imports.progressed.connect(
            lambda now: now.messages and program.imports._going.clear()
        )
        program.imports.import_paths([place])
        await until(lambda: program.imports._messages > 0)
        await asyncio.sleep(0.1)
        before = stored(program)
        await asyncio.sleep(0.3)
        paused = stored(program)
        program.imports.progressed.disconnect()
        panel.pause_asked.emit(False)
        await until(lambda: not program.imports.running)
        return before, paused

    before, paused = run(pause())

    assert before == paused < 4000
    assert stored(program) == 4000


def test_files_dropped_onto_the_window_are_imported(run, program, talks):
    async def drop():
        await program.start()
        dropped = QMimeData()
        dropped.setUrls([QUrl.fromLocalFile(str(talks / "b.jsonl"))])
        event = QDropEvent(
            QPointF(200, 200),
            Qt.DropAction.CopyAction,
            dropped,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
        program.window.dropEvent(event)
        await until(lambda: sessions(program))

    run(drop())

    assert sessions(program) == ["we land in Osaka at nine"]


def test_a_file_of_no_known_kind_is_listed_with_its_reason(run, program, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("hello")

    async def add():
        await program.start()
        program.dialogs.files = [path]
        program.window.actions_by_name["add_files"].trigger()
        await until(lambda: program.window.models.sources.rowCount() == 1)

    run(add())

    row = program.window.models.sources.rows()[0]
    assert (row.state, row.chosen) == ("unreadable", False)
    assert row.note


# Search


def test_typing_a_word_lists_the_messages_that_hold_it(run, qtbot, filled):
    async def type_and_wait():
        qtbot.keyClicks(filled.window.search_bar.field, "osaka")
        await until(lambda: hits(filled))

    run(type_and_wait())

    assert sorted(hits(filled)) == ["osaka-0", "plan-0"]
    assert filled.window.lists.currentWidget() is filled.window.hits_view


def test_two_chinese_characters_are_answered_by_the_cjk_index_and_the_bar_says_so(run, filled):
    run(search(filled, "订阅"))

    assert hits(filled) == ["films-0"]
    assert filled.window.path_bar.chip.word.text() == "CJK index"
    assert "1 hit in 1 session" in filled.window.path_bar.accessibleDescription()
    hit = filled.window.models.hits.hit(1)
    assert [hit.snippet[a:b] for a, b in hit.marks] == ["订阅"]


def test_enter_searches_without_waiting_for_the_typing_to_end(run, qtbot, filled):
    filled.search._debounce.setInterval(60_000)

    async def enter():
        field = filled.window.search_bar.field
        qtbot.keyClicks(field, "osaka")
        qtbot.keyClick(field, KEY.Key_Return)
        await until(lambda: hits(filled))

    run(enter())

    assert filled.state.recent()[0].query == "osaka"


def test_the_latest_query_wins_over_a_slower_one_before(run, filled, monkeypatch):
    slow_has_ended = threading.Event()
    real = app.controllers.hit_groups.search

    def slow_for_osaka(db, request):
        found = real(db, request)
        if request.query == "osaka":
            time.sleep(0.4)
            slow_has_ended.set()
        return found

    monkeypatch.setattr(app.controllers.hit_groups, "search", slow_for_osaka)

    async def race():
        filled.window.search_bar.set_query("osaka")
        await asyncio.sleep(0.1)
        filled.window.search_bar.set_query("退订")
        await until(lambda: hits(filled) == ["mail-0"])
        await until(slow_has_ended.is_set)
        await asyncio.sleep(0.05)

    run(race())

    assert hits(filled) == ["mail-0"]
    assert filled.search.result.query == "退订"


def test_a_slow_search_says_so_and_can_be_stopped(run, filled, monkeypatch):
    goes_on = threading.Event()
    real = app.controllers.hit_groups.search

    def slow(db, request):
        goes_on.wait(5)
        return real(db, request)

    monkeypatch.setattr(app.controllers.hit_groups, "search", slow)
    bar = filled.window.path_bar

    async def stop():
        filled.window.search_bar.set_query("osaka")
        await until(lambda: "stop" in bar.links)
        said = bar.accessibleDescription()
        bar.links["stop"].click()
        goes_on.set()
        await until(lambda: not filled.tasks.running("search"))
        await asyncio.sleep(0.05)
        return said

    assert run(stop()) == "Searching, still looking for “osaka”"
    assert hits(filled) == []
    assert "stopped" in bar.accessibleDescription()


def test_after_a_search_without_hits_the_conversation_is_shown_again(run, filled):
    window = filled.window

    async def away_and_back():
        window.sessions_view.session_opened.emit(window.models.sessions.session(0).id)
        await search(filled, "电影退订")
        away = window.right.currentWidget()
        window.search_bar.field.clear()
        await until(lambda: window.right.currentWidget() is window.pane)
        return away

    assert run(away_and_back()) is window.zero_hits
    assert window.lists.currentWidget() is window.sessions_view


def test_zero_hits_tell_how_many_messages_were_searched_and_offer_what_would_hit(run, filled):
    async def ask():
        await search(filled, "电影退订")
        await until(lambda: filled.window.zero_hits.split.isVisible())

    run(ask())

    page = filled.window.zero_hits
    assert filled.window.right.currentWidget() is page
    assert page.title.text() == "0 hits in 8 messages"
    assert "影退 0" in page.split.accessibleName()
    assert "电影 1" in page.split.accessibleName()
    assert filled.window.lists.currentWidget() is filled.window.recent_view


def test_clearing_the_search_brings_the_sessions_back(run, qtbot, filled):
    run(search(filled, "osaka"))

    async def clear():
        qtbot.keyClick(filled.window.search_bar.field, KEY.Key_Escape)
        await until(lambda: filled.window.lists.currentWidget() is filled.window.sessions_view)

    run(clear())

    assert filled.window.path_bar.chip.word.text() == "Browse"


def test_what_was_typed_on_the_way_is_no_recent_search(run, qtbot, filled):
    async def type_slowly():
        for text in ("osa", "osaka", "osaka plan"):
            await search(filled, text)

    run(type_slowly())

    assert [each.query for each in filled.state.recent()] == ["osaka plan"]


def test_filters_narrow_the_search_and_the_list(run, filled):
    bar = filled.window.search_bar

    async def narrow():
        await search(filled, "osaka")
        bar.role.choose(("assistant",))
        await until(lambda: hits(filled) == [])
        bar.role.clear()
        bar.field.clear()
        bar.project.choose(("mailer",))
        await until(lambda: len(sessions(filled)) == 1)

    run(narrow())

    assert sessions(filled) == ["退订链接没有反应"]


def test_projects_and_sources_to_choose_from_are_those_of_the_store(run, filled):
    bar = filled.window.search_bar
    run(until(lambda: bar.project._choices))

    assert [choice.key for choice in bar.project._choices] == ["mailer"]
    assert [(choice.key, choice.count) for choice in bar.source._choices] == [("jsonl", 4)]


def test_the_order_can_be_changed_from_the_path_bar(run, filled):
    async def sort():
        await search(filled, "osaka")
        filled.window.path_bar.segments.picked.emit("oldest")
        await until(lambda: filled.search._request.sort == "oldest" and hits(filled))

    run(sort())

    assert filled.state.text("search/sort") == "oldest"


def test_why_opens_what_was_tried(run, filled):
    run(search(filled, "订阅"))

    filled.window.path_bar.links["why"].click()
    popup = QApplication.activePopupWidget()
    popup_name = popup.accessibleName()
    QTest.keyClick(popup, KEY.Key_Escape)

    assert popup_name == "Why this answer"
    assert QApplication.activePopupWidget() is None


# Reading


def test_by_keyboard_alone_one_finds_opens_reads_and_comes_back(run, qtbot, filled):
    window = filled.window
    window.activateWindow()

    async def journey():
        QTest.keyClick(window, KEY.Key_K, Qt.KeyboardModifier.ControlModifier)
        field = window.search_bar.field
        assert field.hasFocus()
        qtbot.keyClicks(field, "osaka")
        qtbot.keyClick(field, KEY.Key_Return)
        await until(lambda: len(hits(filled)) == 2)
        qtbot.keyClick(field, KEY.Key_Down)
        assert window.hits_view.hasFocus()
        qtbot.keyClick(window.hits_view, KEY.Key_Down)
        await until(lambda: filled.navigation.current() is not None)
        first = filled.navigation.current()
        QTest.keyClick(window, KEY.Key_Down, Qt.KeyboardModifier.AltModifier)
        await until(lambda: filled.navigation.current() != first)
        second = filled.navigation.current()
        qtbot.keyClick(window.hits_view, KEY.Key_Return)
        await until(lambda: window.pane.isAncestorOf(QApplication.focusWidget()))
        QTest.keyClick(window, KEY.Key_Left, Qt.KeyboardModifier.AltModifier)
        await until(lambda: filled.navigation.current() == first)
        QTest.keyClick(window, KEY.Key_Right, Qt.KeyboardModifier.AltModifier)
        await until(lambda: filled.navigation.current() == second)
        return first, second

    first, second = run(journey())

    assert {first.query, second.query} == {"osaka"}
    assert first.message_id != second.message_id


def test_f6_goes_through_the_panes_and_back(run, filled):
    window = filled.window
    window.activateWindow()

    async def around():
        window.sessions_view.session_opened.emit(window.models.sessions.session(0).id)
        await until(lambda: window.right.currentWidget() is window.pane)
        window.search_bar.focus()
        seen = []
        for _ in range(len(window.panes())):
            QTest.keyClick(window, KEY.Key_F6)
            seen.append(QApplication.focusWidget())
        QTest.keyClick(window, KEY.Key_F6, Qt.KeyboardModifier.ShiftModifier)
        return seen, QApplication.focusWidget()

    seen, before = run(around())

    assert seen[0] is window.sessions_view
    assert seen[-1] is window.search_bar.field
    assert len(set(seen)) == len(seen) >= 3
    assert before is seen[-2]


def test_new_messages_arrive_without_stealing_the_place(run, filled, talks):
    window = filled.window

    async def grow():
        window.sessions_view.select_session(window.models.sessions.session(2).id)
        standing = window.sessions_view.current_session().title
        talk(talks / "e.jsonl", "new", "a new conversation", "yes")
        filled.imports.import_paths([talks])
        await until(lambda: len(sessions(filled)) == 5)
        return standing

    standing = run(grow())

    assert window.sessions_view.current_session().title == standing


# The window


def test_every_control_has_a_name(run, filled):
    run(search(filled, "订阅"))
    controls = [
        each
        for kind in (QAbstractButton, QLineEdit, QAbstractItemView)
        for each in filled.window.findChildren(kind)
        if each.isVisible() and each.focusPolicy() != Qt.FocusPolicy.NoFocus
    ]

    unnamed = [
        (type(each).__name__, each.objectName())
        for each in controls
        if not QAccessible.queryAccessibleInterface(each).text(QAccessible.Text.Name)
    ]

    assert len(controls) > 10
    assert unnamed == []


def test_no_two_actions_share_a_key(program):
    keys = [
        key.toString()
        for action in program.window.actions_by_name._actions.values()
        for key in action.shortcuts()
    ]

    assert len(keys) == len(set(keys)) > 15


def test_the_dark_theme_is_kept_for_the_next_start(run, program):
    program.window.actions_by_name["theme_dark"].trigger()

    assert theme.current() is theme.DARK
    assert program.state.text("view/theme") == "dark"
    assert program.window.palette().window().color().name() == theme.DARK.window.lower()


def test_text_grows_and_shrinks_and_comes_back(program):
    actions = program.window.actions_by_name
    sizes = []
    for name in ("larger", "larger", "smaller", "normal_size"):
        actions[name].trigger()
        sizes.append(theme.text_scale())

    assert sizes == [1.1, 1.25, 1.1, 1.0]


def test_a_window_too_narrow_for_everything_keeps_its_bars(run, filled):
    filled.window.resize(960, 600)
    run(search(filled, "订阅"))

    assert filled.window.size().width() == 960
    assert filled.window.path_bar.links["why"].isVisible()
    assert filled.window.path_bar.segments.isVisible()


def test_the_status_bar_counts_what_is_stored(run, filled):
    bar = filled.window.status_bar
    run(until(lambda: "4 sessions" in bar.accessibleDescription()))

    assert bar.accessibleDescription() == "4 sessions, 8 messages, index 100 %"


def test_closing_ends_everything_and_remembers_the_window(run, filled, profile):
    filled.window.resize(1100, 700)

    async def close():
        filled.window.close()
        await until(filled.closed.is_set)

    run(close())

    assert not filled.window.isVisible()
    assert (profile / "window.ini").read_text().count("geometry") == 1


# States in which not everything works


def test_the_conversation_read_last_is_opened_though_the_list_does_not_show_it(
    run, program, imported, profile, tokenizer_path, monkeypatch
):
    monkeypatch.setattr(app.controllers.sessions, "PAGE", 1)
    shutil.copytree(imported, profile, dirs_exist_ok=True)

    async def start(session):
        program.state.set_text("session", str(session))
        await program.start()
        await until(lambda: program.pane.header.title.text())

    db = connection.open_store(profile / "state.db", tokenizer_path)
    oldest = db.execute("SELECT id FROM sessions ORDER BY last_active_at_ms LIMIT 1").get
    db.close()
    run(start(oldest))

    model = program.window.models.sessions
    assert [model.session(row).id for row in range(model.rowCount())] != [oldest]
    assert program.navigation.current().session_id == oldest
    assert program.window.right.currentWidget() is program.pane


@pytest.mark.parametrize("last", ["4711", "9" * 40, "²", "-1"])
def test_a_conversation_that_is_not_there_is_not_opened(run, program, imported, profile, last):
    shutil.copytree(imported, profile, dirs_exist_ok=True)
    program.state.set_text("session", last)

    assert run(program.start())

    assert program.navigation.current() is None
    assert program.window.message_bar.notice() is None
    assert program.pane.message_bar.notice() is None


def test_a_file_that_is_no_store_is_said_to_be_none_and_left_alone(run, program, profile):
    profile.mkdir(mode=0o700)
    store = profile / "state.db"
    store.write_bytes(b"not a database at all" * 100)
    store.chmod(0o600)

    assert run(program.start()) is False

    words = program.window.message_bar.notice()
    assert words.cause == "The file in the store's place is not a Backscroll store."
    assert program.window.message_bar.action.text().strip() == "Try again"
    assert store.read_bytes().startswith(b"not a database")


def test_a_store_of_a_later_version_is_opened_to_be_read(run, program, profile, tokenizer_path):
    connection.open_store(profile / "state.db", tokenizer_path).close()
    db = apsw.Connection(str(profile / "state.db"))
    db.execute("PRAGMA user_version = 999")
    db.close()

    assert run(program.start()) is True

    cause = program.window.message_bar.notice().cause
    assert cause == "The store was written by a later version of Backscroll."


def test_without_the_tokenizer_the_window_says_so_and_works(run, program, talks, monkeypatch):
    monkeypatch.setenv("BACKSCROLL_FTS5_CJK", str(talks / "none.so"))

    async def fill():
        assert await program.start()
        said = program.window.message_bar.notice().cause
        program.imports.import_paths([talks])
        await until(lambda: len(sessions(program)) == 4)
        await search(program, "订阅")
        return said

    said = run(fill())

    assert said == "The CJK tokenizer is not there."
    assert hits(program) == ["films-0"]
    assert program.window.path_bar.chip.word.text() != "CJK index"


def test_what_was_written_without_the_tokenizer_is_indexed_by_the_next_window(
    run, program, profile, talks
):
    many(talks, 700)  # more than what opening the store indexes by itself
    jobs = []
    bar = program.window.status_bar
    show_job = bar.show_job
    bar.show_job = lambda *job: (jobs.append(job[0]), show_job(*job))
    db = connection.open_store(profile / "state.db", None)
    try:
        for _ in ingest.run_sync(db, ingest.Import([talks])):
            pass
    finally:
        db.close()

    async def start():
        assert await program.start()
        await until(lambda: jobs and not program.tasks.running("backfill"))
        await until(lambda: "CJK" not in bar.accessibleDescription())
        await search(program, "订阅")

    run(start())

    assert set(jobs) == {"CJK index"}
    assert not bar.job_bar.isVisible()
    assert program.window.path_bar.chip.word.text() == "CJK index"
    assert hits(program) == ["films-0"]


def test_a_crash_is_told_without_any_text_of_messages(program, tmp_path):
    program.tell_crash("ValueError", tmp_path / "crash-1.txt")

    words = program.window.message_bar.notice()
    assert words.cause == "Backscroll made a mistake."
    assert "crash-1.txt" in words.consequence
