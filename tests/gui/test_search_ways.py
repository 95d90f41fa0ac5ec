"""What can be asked of an answer: more pages, more time, inside words, everything; and stopping."""

import asyncio
import threading
import time
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

import app.controllers.hit_groups
from core.index import tokenizer
from core.search.run import search as real_search
from core.sources import ingest
from core.store import connection
from tests.gui.conftest import search, until
from tests.gui.talks import hits, talk

KEY = Qt.Key


def facts(program) -> str:
    return program.window.path_bar.accessibleDescription()


def links(program) -> dict[str, str]:
    return {name: link.text() for name, link in program.window.path_bar.links.items()}


async def press(program, name: str) -> None:
    """Press a link of the path bar and return when the search it asks for is answered."""
    before = program.search.result
    program.window.path_bar.links[name].click()
    await until(lambda: program.search.result is not before)


async def imported(program, place, messages: int) -> None:
    """Import a place and return when the window has seen it."""
    program.imports.import_paths([place])
    await until(lambda: not program.imports.running and program.status.status)
    await until(lambda: program.status.status.messages == messages)
    program.window.message_bar.hide()


async def arrive(program, place) -> None:
    """Import a place as another process would, while the window searches."""

    def elsewhere() -> None:
        db = connection.open_store(program.store.path, tokenizer.locate())
        try:
            for _ in ingest.run_sync(db, ingest.Import([place])):
                pass
        finally:
            db.close()

    await asyncio.to_thread(elsewhere)


@pytest.fixture
def slow(monkeypatch):
    """Searches of requests that `slow` says so about wait in SQLite until interrupted."""
    began, interrupted = threading.Event(), threading.Event()
    state = {"when": lambda request: False, "began": began, "interrupted": interrupted}

    def searched(db, request):
        if state["when"](request):
            began.set()
            try:
                db.execute(
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                    " WHERE i < 500000000) SELECT count(*) FROM n"
                ).fetchall()
            except BaseException:  # an interrupt, or APSW's own sign of a cancelled call
                interrupted.set()
                raise
        return real_search(db, request)

    monkeypatch.setattr(app.controllers.hit_groups, "search", searched)
    return state


# Inside words


def test_what_stands_inside_words_is_counted_beside_the_hits_and_asked_by_a_link(
    run, filled, talks
):
    talk(talks / "e.jsonl", "ports", "transport and exports", "port")

    async def ask():
        await imported(filled, talks, 10)
        await search(filled, "port")
        whole = (hits(filled), links(filled))
        await press(filled, "inside")
        inside = (sorted(hits(filled)), links(filled), facts(filled))
        await press(filled, "whole-words")
        return whole, inside, hits(filled)

    whole, inside, back = run(ask())

    assert (whole[0], whole[1]["inside"]) == (["ports-1"], "also inside words (1)")
    assert inside[0] == ["ports-0", "ports-1"]
    assert inside[1]["whole-words"] == "Whole words only"
    assert "inside words too" in inside[2]
    assert back == ["ports-1"]


def test_another_query_is_asked_by_whole_words_again(run, filled, talks):
    talk(talks / "e.jsonl", "ports", "transport and exports", "port")

    async def ask():
        await imported(filled, talks, 10)
        await search(filled, "port")
        await press(filled, "inside")
        await search(filled, "osaka")

    run(ask())

    assert not filled.search._request.inside_words


# Nothing found


def gone(talks) -> None:
    """Write a conversation with a zebra in what was taken back."""
    (talks / "e.jsonl").write_text(
        '{"session":"gone","title":"animals","id":"z","role":"user",'
        '"content":"a zebra","state":"rewound"}\n'
        '{"session":"gone","id":"y","role":"user","content":"a horse"}\n'
    )


def test_scan_everything_finds_what_no_index_holds_and_says_that_all_was_read(run, filled, talks):
    gone(talks)

    async def scan():
        await imported(filled, talks, 10)
        await search(filled, "zebra")
        before = (hits(filled), links(filled))
        await press(filled, "scan")
        return before

    none, offered = run(scan())

    assert none == []
    assert (offered["include"], offered["scan"]) == ("Include", "Scan everything")
    assert hits(filled) == ["z"]
    assert "everything was read" in facts(filled)
    assert "not searched" not in facts(filled)
    assert links(filled)["leave-scan"] == "Ask the indexes"


def test_what_is_found_by_a_button_of_the_page_without_hits_has_the_focus(run, filled, talks):
    window = filled.window
    window.activateWindow()
    gone(talks)

    async def scan():
        await imported(filled, talks, 10)
        session = window.models.sessions.session(0)
        window.sessions_view.session_opened.emit(session.id)
        await until(lambda: window.pane.header.title.text() == session.title)
        await search(filled, "zebra")
        window.zero_hits.scan.setFocus()
        had_it = window.zero_hits.scan.hasFocus()
        window.zero_hits.scan.click()
        await until(lambda: hits(filled))
        return had_it

    assert run(scan())
    assert window.right.currentWidget() is window.pane
    assert QApplication.focusWidget() is window.hits_view


def test_nothing_in_everything_is_said_to_be_so_and_nothing_more_is_offered(run, filled):
    page = filled.window.zero_hits

    async def scan():
        await search(filled, "zebra")
        offered = page.scan.isVisible()
        page.scan.click()
        await until(lambda: filled.search.result.search_path == "like")
        return offered

    assert run(scan())
    assert "Every message was read to its end" in page.sentence.text()
    assert not page.scan.isVisible()
    assert "scan" not in links(filled)


def test_scanning_can_be_stopped_and_really_stops_and_the_answer_before_is_back(run, filled, slow):
    slow["when"] = lambda request: request.everything

    async def stop():
        await search(filled, "zebra")
        filled.window.path_bar.links["scan"].click()
        await until(lambda: "stop" in links(filled) and slow["began"].is_set())
        running = facts(filled)
        began = time.monotonic()
        filled.window.path_bar.links["stop"].click()
        await until(slow["interrupted"].is_set)
        return running, time.monotonic() - began

    running, took_s = run(stop())

    assert running.startswith("Searching, reading everything")
    assert took_s < 1.0
    assert "stopped" in facts(filled)
    assert "0 hits" in facts(filled)
    assert links(filled)["scan"] == "Scan everything"
    assert not filled.search._request.everything


def test_typing_on_ends_a_scan(run, filled, slow):
    slow["when"] = lambda request: request.everything

    async def type_on():
        await search(filled, "zebra")
        filled.window.path_bar.links["scan"].click()
        await until(lambda: "stop" in links(filled) and slow["began"].is_set())
        await search(filled, "osaka")
        await until(slow["interrupted"].is_set)

    run(type_on())

    assert sorted(hits(filled)) == ["osaka-0", "plan-0"]


def test_a_title_that_matches_is_shown_where_no_message_does(run, filled, talks):
    talk(talks / "e.jsonl", "t", "something else", "yes", title="Zebra crossing")

    async def ask():
        await imported(filled, talks, 10)
        await search(filled, "zebra")

    run(ask())

    assert filled.window.models.hits.group(0).title == "Zebra crossing"
    assert filled.window.lists.currentWidget() is filled.window.hits_view
    assert "1 title" in facts(filled)
    assert "scan" in links(filled)


# Partial


def test_what_was_found_before_the_deadline_is_shown_and_one_can_search_on(
    run, filled, monkeypatch
):
    asked = []

    def cut_short(db, request):
        asked.append(request.deadline_s)
        result = real_search(db, request)
        if request.deadline_s > 3:
            return result
        return replace(result, complete=False, reason="query_timeout")

    monkeypatch.setattr(app.controllers.hit_groups, "search", cut_short)

    async def ask():
        await search(filled, "osaka")
        partial = (facts(filled), links(filled))
        await press(filled, "search-on")
        return partial

    said, offered = run(ask())

    assert "2 hits so far" in said
    assert "partial: stopped at the time limit" in said
    assert offered["search-on"] == "Search on"
    assert asked == [3.0, 60.0]
    assert "partial" not in facts(filled)


# What was understood


def test_what_was_mended_is_said_in_the_bar_without_asking(run, filled):
    run(search(filled, 'osaka "'))

    assert "read as osaka: a quote without its pair is left out" in facts(filled)


def test_why_tells_fields_repairs_steps_order_and_indexes(run, filled):
    async def open_why():
        await search(filled, "role:user osaka role:wizard OR")
        filled.window.path_bar.links["why"].click()

    run(open_why())
    popup = QApplication.activePopupWidget()
    words = [label.text() for label in popup.findChildren(QLabel)]
    QTest.keyClick(popup, KEY.Key_Escape)

    text = "\n".join(words)
    for head in ("Understood as", "Mended in the query", "What was tried", "Order", "Indexes"):
        assert head in words
    assert "role:user" in text
    assert "an OR with nothing on one side is left out" in text
    assert "CJK index: ready, covers 100 %" in text


# Order


def test_the_order_is_remembered_and_reached_by_keyboard(run, filled):
    filled.window.activateWindow()

    async def pick():
        await search(filled, "osaka")
        filled.window.search_bar.date.setFocus()
        reached = []
        for _ in range(2):
            QTest.keyClick(QApplication.focusWidget(), KEY.Key_Tab)
            reached.append(QApplication.focusWidget().text())
        QTest.keyClick(QApplication.focusWidget(), KEY.Key_Right)
        QTest.keyClick(QApplication.focusWidget(), KEY.Key_Right)
        QTest.keyClick(QApplication.focusWidget(), KEY.Key_Space)
        await until(lambda: filled.search._request.sort == "oldest")
        return reached

    assert run(pick()) == ["Why?", "newest"]
    assert filled.state.text("search/sort") == "oldest"


# Pages


def many(talks, count: int) -> None:
    talk(talks / "many.jsonl", "many", *(f"needle number {n}" for n in range(count)))


async def read_on(program) -> None:
    """Scroll to the last row there is until nothing is left to load."""
    model = program.window.models.hits
    for pages in range(program.search._pages, 12):
        if model.canFetchMore():
            model.fetchMore()
        await until(lambda most=pages: program.search._pages > most or not _reads_on(program))


def _reads_on(program) -> bool:
    return program.window.models.hits.canFetchMore() or program.tasks.running("search-more")


@pytest.mark.parametrize("sort", ["relevance", "newest", "oldest"])
def test_reading_on_past_300_doubles_and_loses_nothing_while_messages_arrive(
    run, filled, talks, sort
):
    many(talks, 450)
    model = filled.window.models.hits
    filled.search._set_sort(sort)

    async def read():
        await imported(filled, talks, 458)
        await search(filled, "needle")
        first = facts(filled)
        model.fetchMore()
        await until(lambda: filled.search._pages == 2)
        second = facts(filled)
        talk(talks / "late.jsonl", "late", *(f"needle late {n}" for n in range(20)))
        await arrive(filled, talks / "late.jsonl")
        await until(lambda: "again" in links(filled))
        await read_on(filled)
        return first, second

    first, second = run(read())

    assert "450 hits first 100 shown" in first
    assert "450 hits first 200 shown" in second
    assert sorted(hits(filled)) == sorted(f"many-{n}" for n in range(450))
    assert "450 hits in 1 session" in facts(filled)


def test_reading_on_through_everything_can_be_stopped_and_gone_on_with(run, filled, talks, slow):
    many(talks, 250)
    slow["when"] = lambda request: request.everything and request.after is not None
    model = filled.window.models.hits

    async def read():
        await imported(filled, talks, 258)
        await search(filled, "eedle")
        filled.search._links._on_link_pressed("scan")
        await until(lambda: filled.search.result.search_path == "like")
        model.fetchMore()
        await until(lambda: "stop" in links(filled) and slow["began"].is_set())
        filled.window.path_bar.links["stop"].click()
        await until(slow["interrupted"].is_set)
        stopped = (len(hits(filled)), model.canFetchMore(), facts(filled))
        slow["when"] = lambda request: False
        await read_on(filled)
        return stopped

    count, goes_on, said = run(read())

    assert (count, goes_on) == (100, True)
    assert "first 100 shown" in said
    assert sorted(hits(filled)) == sorted(f"many-{n}" for n in range(250))


def test_asking_again_takes_in_what_arrived(run, filled, talks):
    many(talks, 150)

    async def read():
        await imported(filled, talks, 158)
        await search(filled, "needle")
        await read_on(filled)
        talk(talks / "late.jsonl", "late", "needle late")
        await arrive(filled, talks / "late.jsonl")
        await until(lambda: "again" in links(filled))
        await press(filled, "again")

    run(read())

    assert "151 hits" in facts(filled)
    assert "again" not in links(filled)


def test_saving_a_search_makes_no_answer_old(run, filled, talks):
    many(talks, 150)

    async def read():
        await imported(filled, talks, 158)
        await search(filled, "needle")
        await read_on(filled)
        filled.window.search_bar.field.save.trigger()
        await until(lambda: filled.window.models.saved.rowCount() == 1)
        await asyncio.sleep(0.6)  # longer than the store is looked at

    run(read())

    assert "again" not in links(filled)


def test_a_hit_one_stands_on_is_still_stood_on_when_messages_arrive(run, filled, talks):
    view = filled.window.hits_view

    async def grow():
        await search(filled, "osaka")
        row = next(n for n in range(view.model().rowCount()) if view.model().hit(n))
        view.select_row(row)
        standing = view.model().hit(row).message
        talk(talks / "e.jsonl", "new", "Osaka once more", "yes")
        await arrive(filled, talks / "e.jsonl")
        await until(lambda: len(hits(filled)) == 3)
        return standing

    standing = run(grow())

    assert view.model().hit(view.currentIndex().row()).message == standing


def test_another_answer_is_shown_from_its_first_hit(run, filled, talks):
    many(talks, 150)
    view = filled.window.hits_view

    async def scroll():
        await imported(filled, talks, 158)
        await search(filled, "needle")
        view.scrollToBottom()
        await until(lambda: filled.search._pages == 2)
        view.scrollToBottom()
        scrolled = view.verticalScrollBar().value()
        await search(filled, "number")
        typed = view.verticalScrollBar().value()
        view.verticalScrollBar().setValue(view.verticalScrollBar().maximum() // 2)
        filled.window.path_bar.sort_picked.emit("oldest")
        await until(lambda: filled.search.question.sort == "oldest")
        return scrolled, typed, view.verticalScrollBar().value()

    scrolled, typed, sorted_anew = run(scroll())

    assert scrolled > 100
    assert (typed, sorted_anew) == (0, 0)


def test_the_order_there_is_picked_again_changes_nothing(run, filled, talks):
    many(talks, 150)
    view = filled.window.hits_view

    async def pick():
        await imported(filled, talks, 158)
        await search(filled, "needle")
        await read_on(filled)
        view.select_row(140)
        filled.window.path_bar.sort_picked.emit(filled.search.sort)
        await asyncio.sleep(0.1)

    run(pick())

    assert len(hits(filled)) == 150
    assert view.currentIndex().row() == 140


# Typing


def test_of_many_queries_typed_fast_only_the_last_is_shown(run, filled, slow):
    slow["when"] = lambda request: request.query not in ("osaka", "退订")
    shown = []
    filled.search.answered.connect(lambda: shown.append(filled.search.result.query))
    filled.search._debounce.setInterval(0)

    async def type_fast():
        for n in range(1, len("osaka") + 1):
            filled.window.search_bar.field.setText("osaka"[:n])
            await asyncio.sleep(0.02)
        await until(lambda: hits(filled))

    run(type_fast())

    assert shown == ["osaka"]
    assert sorted(hits(filled)) == ["osaka-0", "plan-0"]
