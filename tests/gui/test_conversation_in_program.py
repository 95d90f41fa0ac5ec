"""The conversation within the whole program: the way back, and the keys of the menus."""

import json
import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from app.controllers import outline
from tests.gui.conftest import until


@pytest.fixture
def reading(run, program, tmp_path):
    """The program with one conversation of 40 messages, open at the hit of message 20."""
    path = tmp_path / "talk.jsonl"
    lines = [
        {
            "session": "films",
            "id": f"f{n}",
            "role": "assistant" if n % 2 else "user",
            "content": f"message {n}" + (" about 订阅" if n in (20, 30) else ""),
            "created_at": f"2026-11-20T10:{n:02}:00Z",
            "title": "films",
        }
        for n in range(1, 41)
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    hits = program.window.models.hits

    async def open_hit():
        assert await program.start()
        program.imports.import_paths([path])
        await until(lambda: program.window.models.sessions.rowCount() == 1)
        program.window.search_bar.field.setText("订阅")
        await until(lambda: hits.rowCount() == 3)
        found = {hits.hit(row).message: hits.hit(row) for row in (1, 2)}
        hit = found["f20"]
        program.window.hits_view.hit_opened.emit(hit.message_id, hit.session_id)
        await until(lambda: anchor(program) == 20)

    run(open_hit())
    return program


def anchor(program) -> int | None:
    return program.pane.rail._state.anchor


def test_back_and_forward_go_through_the_anchors(run, reading):
    view, actions = reading.pane.transcript, reading.window.actions_by_name
    number = next(item for item in view.items if item.first == 22)

    async def walk():
        view.acted.emit("anchor", number.key, -1)
        await until(lambda: anchor(reading) == 22)
        actions["find_next"].trigger()
        await until(lambda: anchor(reading) == 30)
        actions["back"].trigger()
        await until(lambda: anchor(reading) == 22)
        actions["back"].trigger()
        await until(lambda: anchor(reading) == 20)
        actions["forward"].trigger()
        await until(lambda: anchor(reading) == 22)

    run(walk())
    assert actions["forward"].isEnabled()


def test_the_keys_of_the_menus_reach_the_conversation(run, qtbot, reading):
    window, pane = reading.window, reading.pane
    window.activateWindow()
    pane.setFocus()
    control = Qt.KeyboardModifier.ControlModifier

    async def copy():
        QTest.keyClick(window, Qt.Key.Key_C, control | Qt.KeyboardModifier.ShiftModifier)
        await until(lambda: "backscroll://session/films#f20" in QGuiApplication.clipboard().text())

    async def find():
        QTest.keyClick(window, Qt.Key.Key_F, control)
        QTest.keyClicks(pane.find_bar.field, "message 2")
        await until(lambda: pane.find_bar.count.text())

    run(copy())
    run(find())
    assert pane.find_bar.isVisible()
    QTest.keyClick(window, Qt.Key.Key_Home, control)
    assert pane.transcript.verticalScrollBar().value() == 0
    QTest.keyClick(window, Qt.Key.Key_End, control)
    bar = pane.transcript.verticalScrollBar()
    assert bar.value() == bar.maximum()


def test_leaving_while_a_conversation_is_being_opened_leaves_nothing_behind(run, reading):
    reading.context.open_session(1)
    reading.pane.transcript.acted.emit("all", "after", -1)
    run(reading.stop())

    names = ("context", "context-more", "context-draw", "context-outline", "context-warm")
    assert not any(reading.tasks.running(name) for name in names)


def test_a_step_to_the_next_match_waits_for_hits_that_are_still_read(run, reading, monkeypatch):
    may_read, find = threading.Event(), outline.find_in_session

    def find_late(*args, **options):
        assert may_read.wait(10)
        return find(*args, **options)

    monkeypatch.setattr(outline, "find_in_session", find_late)

    hits = reading.window.models.hits
    hit = next(h for row in (1, 2) if (h := hits.hit(row)).message == "f20")

    async def step_early():
        await until(lambda: not reading.tasks.running("context-outline"))
        reading.context.open_message(hit.message_id, hit.session_id, "订阅 -nothing")
        await until(lambda: reading.tasks.running("context-outline"))
        reading.window.actions_by_name["find_next"].trigger()
        assert anchor(reading) == 20
        may_read.set()
        await until(lambda: anchor(reading) == 30)

    run(step_early())


def grown(path, first: int, last: int) -> None:
    lines = [
        {"session": "films", "id": f"f{n}", "role": "user", "content": f"message {n}"}
        for n in range(first, last + 1)
    ]
    with path.open("a", encoding="utf-8") as file:
        file.writelines("\n" + json.dumps(line) for line in lines)


def top_of(view) -> tuple[str, int]:
    """The first item in view and the pixel it begins at."""
    first = view._seen()[0]
    top = view._tables.rect(first.key).top()
    return first.key, round(top) - view.verticalScrollBar().value()


@pytest.mark.parametrize("at_end", [True, False])
def test_an_open_conversation_goes_on_below_without_moving(run, reading, tmp_path, at_end):
    view, path = reading.pane.transcript, tmp_path / "talk.jsonl"
    session_id = reading.context.session.id

    async def work():
        reading.context.open_session(session_id)
        await until(lambda: anchor(reading) is None and view.items)
        (reading.pane.go_to_resolution if at_end else reading.pane.go_to_opening)()
        before = top_of(view)
        for first, last in ((41, 43), (44, 75)):
            grown(path, first, last)
            reading.imports.import_paths([path])
            reading.window.show_list(reading.window.lists.currentWidget())
            await until(lambda last=last: reading.pane.rail._state.total == last)
            assert top_of(view) == before
            shown = [item.first for item in view.items if item.is_full]
            assert shown == sorted(set(range(1, 21)) | set(range(31, last + 1)))
        assert reading.pane.header._count.text() == "75 messages, 55 prompts"

    run(work())


def test_around_a_hit_what_is_new_is_counted_and_told_at_the_end(run, reading, tmp_path):
    view = reading.pane.transcript

    async def work():
        before = top_of(view)
        grown(tmp_path / "talk.jsonl", 41, 42)
        reading.imports.import_paths([tmp_path / "talk.jsonl"])
        await until(lambda: reading.pane.rail._state.total == 42)
        assert top_of(view) == before
        assert anchor(reading) == 20
        assert [item.first for item in view.items if not item.is_full][-3:] == [40, 41, 42]

    run(work())
