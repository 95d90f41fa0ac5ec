"""Tasks, crash files, remembered state, one instance: what the window stands on."""

import asyncio
import sys

import pytest

from app.controllers.pace import Pace
from app.crash import CrashLog
from app.instance import Instance
from app.tasks import TaskScope
from app.view_state import RecentSearch, ViewState
from tests.gui.conftest import until


def test_a_task_started_under_a_name_ends_the_one_before(run):
    ended = []

    async def work(name):
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            ended.append(name)
            raise

    async def both():
        scope = TaskScope()
        scope.start("search", work("first"))
        await asyncio.sleep(0)
        scope.start("search", work("second"))
        await until(lambda: ended == ["first"])
        running = scope.running("search")
        await scope.close()
        return running

    assert run(both())
    assert ended == ["first", "second"]


def test_an_error_nobody_handled_reaches_the_hook(run, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: seen.append(kind))

    async def fail():
        raise ZeroDivisionError

    async def start():
        TaskScope().start("x", fail())
        await until(lambda: seen)

    run(start())

    assert seen == [ZeroDivisionError]


def test_a_crash_file_holds_places_and_kinds_but_no_text(tmp_path):
    log = CrashLog(tmp_path / "log")
    try:
        try:
            raise KeyError("what the user wrote")
        except KeyError as cause:
            raise ValueError("another secret") from cause
    except ValueError as error:
        path = log.report(error)

    text = path.read_text()
    assert "builtins.KeyError" in text
    assert "builtins.ValueError" in text
    assert "test_parts_of_program.py" in text
    assert "what the user wrote" not in text
    assert "another secret" not in text
    assert path.stat().st_mode & 0o077 == 0


def test_state_is_there_at_the_next_start(qapp, tmp_path):
    state = ViewState(tmp_path / "window.ini")
    state.set_texts("filters/role", ("user", "tool"))
    state.set_number("view/text_scale", 1.25)
    state.add_recent(RecentSearch("订阅", 212))
    state.save()

    again = ViewState(tmp_path / "window.ini")

    assert again.texts("filters/role") == ("user", "tool")
    assert again.number("view/text_scale", 1.0) == 1.25
    assert again.recent() == (RecentSearch("订阅", 212),)


def test_a_state_file_edited_by_hand_stops_nothing(qapp, tmp_path):
    path = tmp_path / "window.ini"
    path.write_text(
        '[filters]\nrole={\n[search]\nrecent=[1, [2], [\\"a\\", 1]\n[view]\ntext_scale=x\n'
    )
    state = ViewState(path)

    assert state.texts("filters/role") == ()
    assert state.recent() == ()
    assert state.number("view/text_scale", 1.0) == 1.0


def test_a_search_made_again_moves_to_the_front_and_a_draft_is_forgotten(qapp, tmp_path):
    state = ViewState(tmp_path / "window.ini")
    for query in ("a", "b", "a"):
        state.add_recent(RecentSearch(query, 1))
    state.add_recent(RecentSearch("bcd", 2), instead_of="b")

    assert [each.query for each in state.recent()] == ["bcd", "a"]


def test_a_second_start_raises_the_first(run, qapp, tmp_path):
    async def two():
        first, second = Instance(tmp_path / "state.db"), Instance(tmp_path / "state.db")
        other = Instance(tmp_path / "other.db")
        raised = []
        first.raise_asked.connect(lambda: raised.append(1))
        claims = [first.claim(), second.claim(), other.claim()]
        await until(lambda: raised)
        first.release()
        other.release()
        return claims, Instance(tmp_path / "state.db").claim()

    assert run(two()) == ([True, False, True], True)


def test_the_time_left_is_said_after_five_seconds_and_without_the_pauses():
    pace = Pace(100.0)
    pace.note(104.0, 400, 40)
    early = pace.left_s(2000)
    pace.note(110.0, 1000, 100)
    pace.skip(50.0)
    pace.note(160.0 + 10.0, 2000, 200)

    assert early is None
    assert pace.messages_per_second() == pytest.approx(10.0)
    assert pace.left_s(3000) == pytest.approx(10.0)
