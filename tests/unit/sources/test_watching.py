"""Watching: what changes is in the store within two seconds, by one program, at no cost else."""

import asyncio
import json
import os
import shutil
import time
from contextlib import aclosing
from pathlib import Path

import apsw
import pytest

from core.history import watched
from core.history.sessions import list_sessions
from core.source_types import Noticed, WatchState
from core.sources import notifier, watch_round, watched_place, watching
from core.store.store import Store
from core.types import SessionFilter
from tests.unit.sources.hermes_home import Home

SEEN_WITHIN_S = 2.0


def claude_line(session: str, uid: str, text: str, role: str = "user") -> str:
    """A line as Claude Code writes it."""
    content = text if role == "user" else [{"type": "text", "text": text}]
    line = {
        "type": role,
        "uuid": uid,
        "parentUuid": None,
        "sessionId": session,
        "timestamp": "2026-11-30T08:00:00.000Z",
        "cwd": "/home/me/garden",
        "message": {"role": role, "content": content},
    }
    if role == "assistant":
        line["message"] |= {"id": f"msg_{uid}", "type": "message", "model": "claude-x"}
    return json.dumps(line) + "\n"


def texts(db: apsw.Connection) -> list[str]:
    return [text for (text,) in db.execute("SELECT content FROM messages ORDER BY id")]


def sessions(db: apsw.Connection) -> list[str]:
    found = list_sessions(db, SessionFilter(include_archived=True, include_hidden_kinds=True))
    return sorted(each.native_id for each in found.sessions)


class Watching:
    """A store with a watcher at work; `told` is all that it said."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.told: list[object] = []
        self.wake = asyncio.Event()
        self.may_read = True
        self._task: asyncio.Task[None] | None = None

    @property
    def state(self) -> WatchState:
        return [each for each in self.told if isinstance(each, WatchState)][-1]

    @property
    def noticed(self) -> list[Noticed]:
        return [each for each in self.told if isinstance(each, Noticed)]

    async def begin(self, *places: tuple[Path, str]) -> None:
        """Watch places; returns when each was looked through once."""
        for path, kind in places:
            await self.store.write(watched.watch, str(path), kind)
        self._task = asyncio.create_task(self._run())
        await self.until(lambda: sum(each.whole for each in self.noticed) >= len(places), 10)

    async def _run(self) -> None:
        found = watching.watch(self.store, "window", self.wake, lambda: self.may_read)
        async with aclosing(found) as told:
            async for each in told:
                self.told.append(each)

    async def until(self, condition, within_s: float = SEEN_WITHIN_S) -> float:
        began = time.monotonic()
        while not condition():
            assert time.monotonic() - began < within_s, f"waited in vain; told: {self.told}"
            if self._task is not None and self._task.done():
                self._task.result()
            await asyncio.sleep(0.02)
        return time.monotonic() - began

    async def until_stored(self, text: str, within_s: float = SEEN_WITHIN_S) -> float:
        began = time.monotonic()
        while not any(text in each for each in await self.store.read(texts)):
            assert time.monotonic() - began < within_s, f"not stored in time; told: {self.told}"
            await asyncio.sleep(0.02)
        return time.monotonic() - began

    async def until_state(self, state: str, within_s: float = 5.0) -> None:
        began = time.monotonic()
        read = "SELECT state FROM source_files"
        while await self.store.read(lambda db: db.execute(read).get) != state:
            assert time.monotonic() - began < within_s, f"told: {self.told}"
            await asyncio.sleep(0.02)

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            assert self._task.cancelled(), self._task.exception()
            self._task = None


@pytest.fixture
def run(tmp_path):
    """Run a coroutine function with a `Watching` over a new store, in a loop of its own."""

    def runner(work):
        async def whole():
            store = await Store.open(tmp_path / "store", tokenizer=None)
            one = Watching(store)
            try:
                await work(one)
                await one.end()
            finally:
                if one._task is not None:
                    one._task.cancel()
                    await asyncio.wait({one._task})
                await store.close()

        asyncio.run(whole())

    return runner


@pytest.fixture
def projects(tmp_path):
    folder = tmp_path / "home" / ".claude" / "projects" / "-home-me-garden"
    folder.mkdir(parents=True)
    (folder / "s1.jsonl").write_text(claude_line("s1", "u1", "what is sown in March?"))
    return folder.parent


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def test_an_append_is_stored_within_two_seconds(run, projects):
    async def work(one: Watching):
        await one.begin((projects, "claude-code"))
        append(projects / "-home-me-garden/s1.jsonl", claude_line("s1", "u2", "and in April?"))
        await one.until_stored("and in April?")
        await one.until(lambda: not one.noticed[-1].whole)
        last = one.noticed[-1]
        assert [Path(each.path).name for each in last.report.files] == ["s1.jsonl"]

    run(work)


def test_a_new_file_in_a_new_folder_is_seen_and_what_is_no_history_is_not_read(run, projects):
    async def work(one: Watching):
        await one.begin((projects, "claude-code"))
        new = projects / "-home-me-house"
        new.mkdir()
        (new / "notes.txt").write_text("not for us")
        (new / "s2.jsonl").write_text(claude_line("s2", "u1", "which paint dries fast?"))
        await one.until_stored("which paint dries fast?")
        await one.until(lambda: not one.noticed[-1].whole)
        read = {Path(file.path).name for each in one.noticed for file in each.report.files}
        assert read == {"s1.jsonl", "s2.jsonl"}

    run(work)


def test_a_torn_line_is_held_back_until_it_is_whole(run, projects):
    async def work(one: Watching):
        await one.begin((projects, "claude-code"))
        path = projects / "-home-me-garden/s1.jsonl"
        line = claude_line("s1", "u2", "peas and radishes")
        append(path, line[:60])
        await one.until(lambda: len(one.noticed) > 1)
        assert await one.store.read(texts) == ["what is sown in March?"]
        assert all(each.report.failed == 0 for each in one.noticed)
        assert not any(f.bad_records for each in one.noticed for f in each.report.files)
        append(path, line[60:])
        await one.until_stored("peas and radishes")

    run(work)


def test_a_renamed_file_is_known_again_and_a_deleted_one_takes_nothing_along(run, projects):
    async def work(one: Watching):
        await one.begin((projects, "claude-code"))
        folder = projects / "-home-me-garden"
        other = projects / "-home-me-shed"
        other.mkdir()
        (folder / "s1.jsonl").rename(other / "s1.jsonl")
        await one.until(lambda: len(one.noticed) > 1, 4)
        append(other / "s1.jsonl", claude_line("s1", "u2", "after the move"))
        await one.until_stored("after the move")
        assert await one.store.read(texts) == ["what is sown in March?", "after the move"]
        (other / "s1.jsonl").unlink()
        await one.until_state("gone")
        assert await one.store.read(texts) == ["what is sown in March?", "after the move"]
        assert await one.store.read(sessions) == ["s1"]

    run(work)


@pytest.mark.parametrize("place", ["hermes", "hermes/state.db"])
def test_a_database_is_read_when_its_log_grows(run, tmp_path, place):
    home = Home(tmp_path / "hermes")
    home.session("s")
    home.message("before")

    async def work(one: Watching):
        await one.begin((tmp_path / place, "hermes"))
        other = apsw.Connection(str(home.path))
        other.execute("PRAGMA journal_mode = wal")
        other.execute("PRAGMA wal_autocheckpoint = 0")
        before = home.path.stat()
        for text in ("written into the log", "and again"):
            other.execute(
                "INSERT INTO messages(session_id, role, content, timestamp)"
                " VALUES ('s', 'user', ?, 1780000000)",
                (text,),
            )
            await one.until_stored(text)
        assert home.path.stat().st_size == before.st_size
        other.close()

    run(work)


def test_a_folder_of_anything_is_watched_file_by_file(run, tmp_path):
    folder = tmp_path / "exports"
    folder.mkdir()

    async def work(one: Watching):
        await one.begin((folder, ""))
        (folder / "junk.jsonl").write_text("{}\n")
        line = {"session": "s", "role": "user", "content": "loose words"}
        (folder / "talk.jsonl").write_text(json.dumps(line) + "\n")
        await one.until_stored("loose words")
        assert all(each.report.failed == 0 for each in one.noticed)

    run(work)


def test_a_file_alone_is_watched_also_where_another_one_takes_its_place(run, tmp_path):
    path = tmp_path / "one" / "talk.jsonl"
    path.parent.mkdir()
    first = {"session": "s", "id": "m1", "role": "user", "content": "first"}
    path.write_text(json.dumps(first) + "\n")

    async def work(one: Watching):
        await one.begin((path, "jsonl"))
        (path.parent / "beside.jsonl").write_text(json.dumps(first | {"content": "not mine"}))
        second = first | {"id": "m2", "content": "second"}
        new = path.with_suffix(".new")
        new.write_text(json.dumps(first) + "\n" + json.dumps(second) + "\n")
        new.replace(path)
        await one.until_stored("second")
        assert await one.store.read(texts) == ["first", "second"]

    run(work)


def test_what_happened_while_nobody_watched_is_found_at_the_start(run, projects):
    async def work(one: Watching):
        await one.begin((projects, "claude-code"))
        await one.end()
        append(projects / "-home-me-garden/s1.jsonl", claude_line("s1", "u2", "in between"))
        await one.begin((projects, "claude-code"))
        await one.until_stored("in between")

    run(work)


def test_a_paused_place_waits_and_goes_on(run, projects):
    async def work(one: Watching):
        await one.begin((projects, "claude-code"))
        assert one.state.watching == 1
        await one.store.write(watched.set_paused, str(projects), paused=True)
        one.wake.set()
        await one.until(lambda: one.state.places[0].way == "paused")
        assert one.state.watching == 0
        append(projects / "-home-me-garden/s1.jsonl", claude_line("s1", "u2", "while paused"))
        await asyncio.sleep(0.7)
        assert await one.store.read(texts) == ["what is sown in March?"]
        await one.store.write(watched.set_paused, str(projects), paused=False)
        one.wake.set()
        await one.until_stored("while paused")

    run(work)


def test_nothing_is_read_while_something_else_has_the_word(run, projects):
    async def work(one: Watching):
        await one.begin((projects, "claude-code"))
        one.may_read = False
        append(projects / "-home-me-garden/s1.jsonl", claude_line("s1", "u2", "later"))
        await asyncio.sleep(0.7)
        assert await one.store.read(texts) == ["what is sown in March?"]
        one.may_read = True
        one.wake.set()
        await one.until_stored("later")

    run(work)


def test_a_place_that_is_gone_is_said_to_be_and_watched_again_when_it_is_back(
    run, projects, monkeypatch
):
    monkeypatch.setattr(watching, "LOOK_S", 0.2)
    monkeypatch.setattr(watch_round, "LOOK_S", 0.2)
    away = projects.with_name("away")

    async def work(one: Watching):
        await one.begin((projects, "claude-code"))
        projects.rename(away)
        await one.until(lambda: one.state.places[0].way == "missing")
        assert "not there" in one.state.places[0].note
        away.rename(projects)
        await one.until(lambda: one.state.places[0].way == "native")
        append(projects / "-home-me-garden/s1.jsonl", claude_line("s1", "u2", "back again"))
        await one.until_stored("back again")
        assert await one.store.read(sessions) == ["s1"]

    run(work)


def test_another_folder_in_the_place_of_one_is_watched_instead(run, projects, monkeypatch):
    monkeypatch.setattr(watching, "LOOK_S", 0.2)
    monkeypatch.setattr(watch_round, "LOOK_S", 0.2)

    async def work(one: Watching):
        await one.begin((projects, "claude-code"))
        whole = sum(each.whole for each in one.noticed)
        projects.rename(projects.with_name("away"))
        shutil.copytree(projects.with_name("away"), projects)
        new = projects / "-home-me-garden" / "s2.jsonl"
        new.write_text(claude_line("s2", "u1", "in the new folder"))
        await one.until(lambda: sum(each.whole for each in one.noticed) > whole, 5)
        append(new, claude_line("s2", "u2", "and told of"))
        await one.until_stored("and told of")
        assert await one.store.read(sessions) == ["s1", "s2"]

    run(work)


def test_where_the_system_cannot_tell_it_is_looked(run, projects, monkeypatch):
    monkeypatch.setattr(notifier, "_mounted", lambda _path: "nfs4")

    async def work(one: Watching):
        await one.begin((projects, "claude-code"))
        (state,) = one.state.places
        assert state.way == "polling"
        assert "nfs4" in state.note
        assert "every 1 s" in state.note
        path = projects / "-home-me-garden/s1.jsonl"
        append(path, claude_line("s1", "u2", "by looking"))
        await one.until_stored("by looking")
        append(path, claude_line("s1", "u3", "and once more"))
        await one.until_stored("and once more")

    run(work)


def test_the_limit_of_the_system_is_said_and_it_is_looked_instead(run, projects, monkeypatch):
    from watchfiles import _rust_notify

    def refuse(*_args):
        raise OSError(28, "OS file watch limit reached.")

    monkeypatch.setattr(_rust_notify, "RustNotify", refuse)

    async def work(one: Watching):
        await one.begin((projects, "claude-code"))
        (state,) = one.state.places
        assert state.way == "polling"
        assert "fs.inotify.max_user_watches" in state.note
        append(projects / "-home-me-garden/s1.jsonl", claude_line("s1", "u2", "all the same"))
        await one.until_stored("all the same")

    run(work)


def test_one_program_watches_and_the_next_one_takes_over(run, projects, tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "LOOK_S", 0.2)
    monkeypatch.setattr(watch_round, "LOOK_S", 0.2)

    async def work(one: Watching):
        await one.begin((projects, "claude-code"))
        second = Watching(one.store)
        task = asyncio.create_task(second._run())
        await one.until(lambda: second.told)
        held = second.state.held_by
        assert held is not None
        assert (held.program, held.pid) == ("window", str(os.getpid()))
        assert second.state.watching == 1
        append(projects / "-home-me-garden/s1.jsonl", claude_line("s1", "u2", "read once"))
        await one.until_stored("read once")
        assert second.noticed == []
        await one.end()
        await one.until(lambda: second.state.held_by is None and second.noticed)
        task.cancel()
        await asyncio.wait({task})
        assert await one.store.read(watched.watcher) is None

    run(work)


def test_a_dead_watcher_holds_nobody_up(run):
    async def work(one: Watching):
        def of_the_dead(db):
            lease = {
                "holder": "1.1.000000000000/x",
                "program": "command",
                "since_ms": 1,
                "heard_ms": 1,
            }
            db.execute(
                "INSERT INTO meta(key, value) VALUES ('sources.watcher', ?)", (json.dumps(lease),)
            )

        await one.store.write(of_the_dead)
        assert await one.store.read(watched.watcher) is None
        assert await one.store.write(watched.claim, watched.new_holder(), "window") is None

    run(work)


def test_no_time_is_used_when_nothing_moves(run, projects):
    async def work(one: Watching):
        await one.begin((projects, "claude-code"))
        await asyncio.sleep(0.5)
        cpu, began = time.process_time(), time.monotonic()
        await asyncio.sleep(4)
        share = (time.process_time() - cpu) / (time.monotonic() - began)
        assert share < 0.005

    run(work)


def test_a_file_that_always_changes_is_read_once_a_second_and_slower_if_that_takes_long():
    place = watched_place.Following(watched.WatchedPlace("/nowhere", "", 0), Path("/own"))
    job = watched_place.Job((Path("/nowhere"),), None, whole=False)
    place.walk_at = 1e12  # looked through already
    for cost, others, next_at in ((0.01, 0.0, 101.0), (0.5, 0.0, 102.5), (0.5, 0.3, 104.0)):
        place.began(100.0)
        place.ended(job, 100.0 + cost, others)
        place.notice(["/nowhere"])
        assert place.due_at() == pytest.approx(next_at)


def test_the_store_does_not_read_itself_nor_open_its_files(run, tmp_path, monkeypatch):
    looked_at: list[str] = []
    detected = watched_place.detect.detect

    def noting(path: Path):
        looked_at.append(path.name)
        return detected(path)

    async def work(one: Watching):
        await one.begin((tmp_path, ""))
        monkeypatch.setattr(watched_place.detect, "detect", noting)
        count = len(one.noticed)
        await one.store.write(lambda db: db.execute("CREATE TABLE moved(x)"))
        (tmp_path / "other.jsonl").write_text("{}")
        await one.until(lambda: looked_at)
        await asyncio.sleep(0.5)
        assert len(one.noticed) == count
        assert set(looked_at) == {"other.jsonl"}

    run(work)
