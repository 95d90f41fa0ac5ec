"""Public faults of live and incremental imports, from file to search.

| case | where it is held |
|---|---|
| I01 I04 I05 I18 I19 I23-I31 I35 I36 | here |
| I06-I15 I17 | `test_public_cases_of_transcripts` |
| I20 | `test_gemini_cli` |
| I22 | `test_opencode` |
| C07 | `test_gone` |
| C10 | `tests/faults/test_kills` |

I30's labels of days are the window's: `tests/gui/test_days` holds them against the filter.
"""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from core.history.messages import messages_page
from core.history.sessions import list_sessions, session_by_ref
from core.search.run import search
from core.sources.following import Followed
from core.sources.ingest import Import, run_sync
from core.sources.instants import instant
from core.store.connection import transaction
from core.types import Relation, SearchRequest, SessionFilter, TimeQuality
from tests.unit.sources import codex_lines as codex
from tests.unit.sources.hermes_home import TIME, Home
from tests.unit.store.making import store_at

DAY = "2026-05-01T10:{:02}:{:02}Z"


@pytest.fixture
def db(tmp_path):
    store = store_at(tmp_path / "store")
    yield store
    store.close()


@pytest.fixture
def zone(monkeypatch):
    def choose(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield choose
    monkeypatch.undo()
    time.tzset()


def imported(db, *paths, kind=None, followed=None):
    job = Import(list(paths), kind, followed=followed)
    for _ in run_sync(db, job):
        pass
    return job.report()


def found(db, query, **more):
    return [hit.message for hit in search(db, SearchRequest(query, limit=100, **more)).hits]


def shown(db, session):
    """The visible messages of a session, in order."""
    row = session_by_ref(db, session).id
    return [m.content for m in messages_page(db, row, first=1, count=1000)]


def lines(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def turn(kind, uuid, content, at=None, session="s", **more):
    stamp = {} if at is None else {"timestamp": DAY.format(0, at) if type(at) is int else at}
    message = {"role": kind, "content": content}
    return {"type": kind, "uuid": uuid, "sessionId": session, "message": message, **stamp, **more}


def user(uuid, content, at=None, **more):
    return turn("user", uuid, content, at, **more)


def answer(uuid, content, at=None, **more):
    return turn("assistant", uuid, content, at, **more)


def test_i01_a_torn_or_broken_line_costs_itself_alone(db, tmp_path):
    first = user("u1", "first apple", "2026-05-01T10:00:00Z")
    third = answer("u3", "third cherry", "2026-05-03T10:00:00Z")
    torn = json.dumps(user("u4", "torn grape", "2026-05-03T11:00:00Z"))
    path, followed = tmp_path / "a.jsonl", Followed()
    broken = '{"type":"user","uuid":"u2","message":{"role":"us'
    path.write_text(f"{json.dumps(first)}\n{broken}\n{json.dumps(third)}\n{torn[:-6]}")

    report = imported(db, path, followed=followed)

    assert len(found(db, "apple")) == len(found(db, "cherry")) == 1
    assert found(db, "torn") == []
    assert [bad.line for bad in report.files[0].bad_records] == [2]
    last = session_by_ref(db, "a").last_active_at_ms
    assert last == instant("2026-05-03T10:00:00Z")[0]

    with path.open("a") as stream:
        stream.write(torn[-6:] + "\n")
    report = imported(db, path, followed=followed)
    assert (report.new, report.files[0].messages) == (1, 1), "only what is new was read"
    assert len(found(db, '"torn grape"')) == 1
    assert shown(db, "a") == ["first apple", "third cherry", "torn grape"]


@pytest.mark.parametrize("followed", [None, Followed()])
def test_i04_a_byte_order_mark_is_no_text(db, tmp_path, followed):
    rows = [user("u1", "first\ufefflynx"), user("u2", "puma")]
    text = "\ufeff" + "".join(json.dumps(row, ensure_ascii=False) + "\r\n" for row in rows)
    path = tmp_path / "a.jsonl"
    path.write_bytes(text.encode())
    imported(db, path, followed=followed)
    assert shown(db, "a") == ["first\ufefflynx", "puma"]
    assert len(found(db, "lynx")) == 1 or len(found(db, "firstlynx")) == 1


def test_i04_in_an_export(db, tmp_path):
    exported = [{"id": "c", "title": "t", "mapping": tree("seen by an ocelot")}]
    path = tmp_path / "conversations.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(exported).encode())
    imported(db, path)
    assert shown(db, "c") == ["seen by an ocelot"]


def tree(text):
    content = {"content_type": "text", "parts": [text]}
    message = {"id": "m", "author": {"role": "user"}, "content": content, "create_time": 1785899243}
    return {
        "root": {"id": "root", "message": None, "parent": None, "children": ["m"]},
        "m": {"id": "m", "message": message, "parent": "root", "children": []},
    }


def test_i05_utf_16_is_read_and_bytes_that_are_no_text_cost_their_line(db, tmp_path):
    exported = json.dumps([{"id": "c", "title": "t", "mapping": tree("a 鹭 in utf-16")}])
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "conversations.json").write_bytes(b"\xff\xfe" + exported.encode("utf-16-le"))
    wide = json.dumps(user("u1", "wide 狐 words"), ensure_ascii=False) + "\n"
    (tmp_path / "p" / "b.jsonl").write_bytes(b"\xfe\xff" + wide.encode("utf-16-be"))
    latin = json.dumps(user("u2", "caf\u00e9 owl"), ensure_ascii=False).encode("latin-1")
    (tmp_path / "p" / "c.jsonl").write_bytes(latin + b"\n" + json.dumps(user("u3", "x")).encode())

    report = imported(db, tmp_path / "p")

    assert report.failed == 0
    assert len(found(db, "鹭")) == len(found(db, "狐")) == 1
    assert shown(db, "chatgpt/c") == ["a 鹭 in utf-16"]
    assert shown(db, "claude-code/c") == ["caf\ufffd owl", "x"]
    (told,) = [file.reason for file in report.files if file.path.endswith("c.jsonl")]
    assert "not UTF-8" in told
    assert db.execute("SELECT count(*) FROM messages WHERE instr(content, char(0))").get == 0


def test_i18_a_fork_is_known_by_its_own_header(db, tmp_path):
    own = codex.meta(codex.TWO, cwd="/w/b", forked_from_id=codex.ONE)
    source = codex.meta(codex.ONE, cwd="/w/a")
    said = [codex.turn("t1"), codex.item("user", "ask"), codex.item("assistant", "told")]
    codex.written(tmp_path, source, *said)
    after = [codex.turn("t2"), codex.item("user", "after fork wren")]
    codex.written(tmp_path, own, source, *said, *after, session=codex.TWO, hour=11)
    imported(db, tmp_path)
    fork = session_by_ref(db, codex.TWO)
    assert (fork.cwd, fork.relation, fork.parent_ref) == ("/w/b", Relation.FORK, codex.ONE)
    assert [hit.message for hit in search(db, SearchRequest("wren")).hits] == found(db, "wren")
    (hit,) = search(db, SearchRequest("wren")).hits
    assert hit.session == codex.TWO
    assert db.execute("SELECT count(*) FROM messages WHERE content IN ('ask', 'told')").get == 2


def test_i19_undone_turns_and_summaries_are_told_as_what_they_are(db, tmp_path):
    history = [{"type": "message", "role": "user", "content": "old"}]
    codex.written(
        tmp_path,
        codex.meta(),
        codex.item("user", "try plan crow"),
        codex.item("assistant", "crow ok"),
        codex.event("thread_rolled_back", num_turns=1),
        codex.item("user", "try plan rook"),
        codex.line("compacted", {"message": "summary jay", "replacement_history": history}),
        codex.item("assistant", "rook ok"),
    )
    imported(db, tmp_path)
    assert shown(db, codex.ONE) == ["try plan rook", "summary jay", "rook ok"]
    assert found(db, "crow") == []
    assert len(found(db, "crow", include=frozenset({"rewound"}))) == 2
    origins = db.execute("SELECT origin FROM messages WHERE content = 'summary jay'").get
    assert origins == "synthetic"


def test_i23_flags_of_compaction_hide_only_what_was_undone(db, tmp_path):
    home = Home(tmp_path / "hermes")
    home.session("s")
    rows = [
        (0, 1, "early linnet"), (0, 1, "early reply"), (0, 0, "undone siskin"),
        (0, 1, "tail finch"), (1, 0, "[summary]"), (1, 0, "tail finch"), (1, 0, "now robin"),
    ]  # fmt: skip
    for number, (active, compacted, text) in enumerate(rows):
        at = TIME + (3 if text == "tail finch" else number)
        home.message(text, active=active, compacted=compacted, at=at)
    imported(db, home.path)
    told = shown(db, "s")
    assert [t for t in told if t != "tail finch"] == [
        "early linnet", "early reply", "[summary]", "now robin",
    ]  # fmt: skip
    assert told.count("tail finch") == len(found(db, "finch")) == 1
    assert found(db, "siskin") == []
    assert len(found(db, "siskin", include=frozenset({"rewound"}))) == 1


def test_i24_a_chain_of_compressions_is_one_conversation(db, tmp_path):
    home = Home(tmp_path / "hermes")
    start = TIME
    home.session("A", started_at=start - 7200, ended_at=start, end_reason="compression", archived=1)
    home.session("B", parent_session_id="A", started_at=start, ended_at=start + 3600,
                 end_reason="compression")  # fmt: skip
    home.session("C", parent_session_id="B", started_at=start + 3600, ended_at=start + 7000,
                 end_reason="new_session", session_key="k")  # fmt: skip
    home.session("D", parent_session_id="A", started_at=start - 1800)
    home.session("E", parent_session_id="C", started_at=start + 7200, session_key="k")
    for session, text in (("B", "dove"), ("C", "pigeon"), ("D", "sparrow"), ("E", "starling")):
        home.message(text, session=session)
    imported(db, home.path)
    for session, text in (("B", "dove"), ("C", "pigeon"), ("D", "sparrow"), ("E", "starling")):
        (hit,) = search(db, SearchRequest(text)).hits
        assert hit.session == session
    relations = dict(db.execute("SELECT native_id, relation FROM sessions"))
    assert relations["B"] == relations["C"] == "continuation"
    assert relations["D"] == "subagent"
    listed = {s.native_id for s in list_sessions(db, SessionFilter()).sessions}
    assert {"C", "E"} <= listed, "archiving the first hides none of the rest"
    assert "D" not in listed


@pytest.mark.parametrize("broken", [False, True])
def test_i25_a_text_of_parts_is_its_words(db, tmp_path, broken):
    parts = [
        {"type": "text", "text": "look at the 鹭"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAABBBB"}},
    ]
    content = "\0json:" + json.dumps(parts)
    home = Home(tmp_path / "hermes")
    home.session("s")
    home.message(content[:-4] if broken else content)
    home.message("after it")
    assert imported(db, home.path).failed == 0
    first, after = shown(db, "s")
    assert after == "after it"
    if broken:
        assert first.startswith('[{"type": "text"')
    else:
        assert first.startswith("look at the 鹭")
        assert len(found(db, "鹭")) == 1
        assert found(db, "image_url") == found(db, "AAAABBBB") == []
    db.execute("INSERT INTO messages_fts(messages_fts) VALUES ('integrity-check')")


def test_i26_a_subagent_is_no_ghost_in_its_parents_talk(db, tmp_path):
    task = {"type": "tool_use", "id": "t", "name": "Task", "input": {"prompt": "go find coot"}}
    project = tmp_path / "projects" / "-w"
    inline = {"isSidechain": True, "agentId": "a0"}
    lines(
        project / "S.jsonl",
        user("u1", "main rail", 1, session="S"),
        answer("u2", [task], 2, session="S", parentUuid="u1"),
        user("u3", "inline snipe", 3, session="S", **inline),
    )
    agent = {"isSidechain": True, "agentId": "a1"}
    lines(project / "S" / "subagents" / "agent-a1.jsonl",
          user("u4", "go find coot", 4, session="S", **agent))  # fmt: skip
    lines(project / "agent-b2.jsonl", user("u5", "flat teal", 5, session="S", **agent))
    imported(db, tmp_path / "projects")
    assert shown(db, "S") == ["main rail", ""]
    (hit,) = search(db, SearchRequest("coot", roles=("user",))).hits
    assert session_by_ref(db, hit.session).parent_ref == "S"
    assert len(found(db, "snipe")) == len(found(db, "teal")) == 1
    assert [s.native_id for s in list_sessions(db, SessionFilter()).sessions] == ["S"]
    assert session_by_ref(db, "S").title == "main rail"


def test_i27_a_project_is_where_it_ran(db, tmp_path):
    root = tmp_path / "projects"
    shared = root / "-home-u-my-cool-app"
    lines(shared / "a.jsonl", user("1", "x", 1, cwd="/home/u/my-cool-app"))
    lines(shared / "b.jsonl", user("2", "x", 2, cwd="/home/u/my/cool app"))
    windows = root / "C--git-cc-plus"
    lines(windows / "c.jsonl", user("3", "x", 3, cwd="C:\\git\\cc-plus"))
    lines(windows / "d.jsonl", user("4", "x", 4, cwd="c:/git/cc-plus/"))
    lines(root / "-w-none" / "e.jsonl", user("5", "x", 5))
    imported(db, root)
    projects = {s.native_id: s.project for s in list_sessions(db, SessionFilter()).sessions}
    assert projects == {
        "a": "my-cool-app", "b": "cool app", "c": "cc-plus", "d": "cc-plus", "e": "-w-none",
    }  # fmt: skip


SAME = [
    1785899243, 1785899243000, 1785899243000000, 1785899243000000000, 1785899243.285031,
    "1785899243", "1785899243000", "2026-08-05T03:07:23Z", "2026-08-05T11:07:23+08:00",
    "2026-08-05T03:07:23.123456789Z",
]  # fmt: skip
NONE = [
    -1, 0, 9223372036854775807, "2262-04-12T00:00:00Z", "soon", float("nan"), float("inf"), True,
    "", None, [], {}, 10**400, "-1", "1e400", "NaN",
]  # fmt: skip


@pytest.mark.parametrize("value", SAME, ids=repr)
def test_i28_one_instant_however_it_is_written(value):
    ms, quality = instant(value)
    assert ms // 60_000 == 1785899243 // 60
    assert quality == TimeQuality.EXACT


@pytest.mark.parametrize("value", NONE, ids=lambda value: repr(value)[:30])
def test_i28_what_can_be_no_time_is_none(value):
    assert instant(value) == (None, TimeQuality.NONE)


def test_i28_a_message_without_a_time_keeps_its_place(db, tmp_path):
    rows = [user(str(n), f"word{n}") for n, _ in enumerate([*SAME, *NONE])]
    told = [row | {"timestamp": v} for row, v in zip(rows, [*SAME, *NONE], strict=True)]
    path = tmp_path / "a.jsonl"
    with path.open("w") as stream:
        for row in told:
            stream.write(json.dumps(row).replace("NaN", "null").replace("Infinity", "1e400"))
            stream.write("\n")
    report = imported(db, path, kind="claude-code")
    known = shown(db, "a")
    assert known == sorted(known, key=lambda text: int(text[4:]))
    assert len(known) + len(report.files[0].bad_records) == len(told)


def test_i29_order_is_the_files_and_no_time_is_made_up(db, tmp_path):
    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "file"}
    path = lines(
        tmp_path / "a.jsonl",
        user("1", "q1", 0),
        answer("2", "a1"),
        answer("3", [call], 5),
        user("4", [result], 5),
        user("5", "q2", "2026-05-01T09:59:00Z"),
    )
    imported(db, path)
    assert shown(db, "a") == ["q1", "a1", "", "file", "q2"]
    times = dict(db.execute("SELECT content, created_at_ms FROM messages"))
    assert times["a1"] is None
    session = session_by_ref(db, "a")
    assert session.started_at_ms == instant("2026-05-01T09:59:00Z")[0]
    assert session.last_active_at_ms == instant("2026-05-01T10:00:05Z")[0]


@pytest.mark.parametrize("kind", ["claude-code", "jsonl"])
def test_i29_without_any_time_a_session_is_as_old_as_its_file(db, tmp_path, kind):
    neutral_row = {"session": "a", "id": "1", "role": "user", "content": "q"}
    row = user("1", "q") if kind == "claude-code" else neutral_row
    path = lines(tmp_path / "a.jsonl", row)
    then = instant("2026-02-01T12:00:00Z")[0]
    os.utime(path, ns=(then * 1_000_000, then * 1_000_000))
    for _ in range(2):
        imported(db, path)
        session = session_by_ref(db, "a")
        assert session.started_at_ms is None, "when it began is not known"
        assert session.last_active_at_ms == then
        db.execute("UPDATE source_files SET reader_version = 0")
    assert db.execute("SELECT created_at_ms FROM messages").get is None


@pytest.mark.parametrize("name", ["Asia/Shanghai", "America/Bogota", "Europe/Berlin"])
def test_i30_a_local_day_holds_all_of_it(db, tmp_path, zone, name):
    zone(name)
    moments = [
        "2026-03-10T16:30:00Z", "2026-03-11T04:30:00Z", "2026-03-29T00:59:59Z",
        "2026-03-29T01:00:00Z", "2026-03-11 00:30:00",
    ]  # fmt: skip
    imported(db, lines(tmp_path / "a.jsonl", *(
        {"session": f"s{n}", "role": "user", "content": f"crane w{n}", "created_at": at}
        for n, at in enumerate(moments)
    )))  # fmt: skip
    naive = db.execute("SELECT created_at_ms FROM messages WHERE content LIKE '%w4'").get
    assert time.strftime("%Y-%m-%d %H:%M", time.localtime(naive / 1000)) == "2026-03-11 00:30"
    days = {}
    for content, at_ms in db.execute("SELECT content, created_at_ms FROM messages"):
        day = time.strftime("%Y-%m-%d", time.localtime(at_ms / 1000))
        days.setdefault(day, set()).add(content)
    for day, texts in days.items():
        following = time.strftime(
            "%Y-%m-%d", time.localtime(time.mktime(time.strptime(day, "%Y-%m-%d")) + 36 * 3600)
        )
        query = f"crane after:{day} before:{following}"
        hits = search(db, SearchRequest(query, limit=50)).hits
        assert len(hits) == len(texts), (day, query)


@pytest.mark.parametrize("follows", [False, True])
def test_i31_whatever_becomes_of_a_file_is_seen(db, tmp_path, follows):
    followed = Followed() if follows else None

    def row(uid, text):
        return {"session": "s", "id": uid, "role": "user", "content": text}

    def refresh(*rows):
        with path.open("w") as stream:  # in place: the same inode
            stream.write("".join(json.dumps(each) + "\n" for each in rows))
        imported(db, path, followed=followed)

    path = tmp_path / "a.jsonl"
    refresh(row("1", "INCONE"), row("2", "second"))
    assert len(found(db, "INCONE")) == 1
    refresh(row("1", "INCTWO"), row("2", "second"), row("3", "third"))
    assert (len(found(db, "INCONE")), len(found(db, "INCTWO"))) == (0, 1)

    refresh(row("1", "AAAA"), row("2", "second"))
    before = path.stat()
    text = path.read_text().replace("AAAA", "BBBB")
    with path.open("r+") as stream:
        stream.write(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    imported(db, path, followed=followed)
    assert (len(found(db, "AAAA")), len(found(db, "BBBB"))) == (0, 1)

    refresh(row("1", "BBBB"))
    assert len(found(db, "BBBB")) == 1
    before = path.stat()
    with path.open("a") as stream:
        stream.write(json.dumps(row("9", "appended")) + "\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    imported(db, path, followed=followed)
    assert len(found(db, "appended")) == 1
    uids = "SELECT count(*), count(DISTINCT uid) FROM messages WHERE state <> 'superseded'"
    assert db.execute(uids).get == (4, 4)


def test_i31_a_plain_append_reads_only_what_is_new(db, tmp_path, monkeypatch):
    path, followed = tmp_path / "a.jsonl", Followed()
    lines(path, *(user(str(n), f"early {n}", n % 60) for n in range(2_000)))
    imported(db, path, followed=followed)
    for name in ("read", "read_named"):
        monkeypatch.setattr(f"core.sources.claude_code.{name}", lambda *_: pytest.fail("all read"))
    for number in range(5):
        with path.open("a") as stream:
            stream.write(json.dumps(user(f"late{number}", f"late heron {number}")) + "\n")
        report = imported(db, path, followed=followed)
        assert (report.new, report.files[0].messages) == (1, 1)
    assert len(found(db, "heron")) == 5
    size = path.stat().st_size
    assert db.execute("SELECT size, offset FROM source_files").get == (size, size)


def test_i35_a_session_is_one_wherever_its_file_goes(db, tmp_path):
    project = tmp_path / "place" / "p"
    path = lines(project / "a.jsonl", user("u1", "seen a dunlin", 1, cwd="/w/p"))
    name = "a"
    place = tmp_path / "place"
    imported(db, place)
    with transaction(db):
        db.execute("UPDATE sessions SET pinned_at_ms = 1")
    pages = db.pragma("page_count")

    def refresh(appended=None):
        if appended:
            with path.open("a") as stream:
                stream.write(json.dumps(appended) + "\n")
        report = imported(db, place)
        assert report.failed == 0
        (session,) = list_sessions(db, SessionFilter(include_hidden_kinds=True)).sessions
        assert (session.native_id, session.pinned_at_ms, session.gone_at_ms) == (name, 1, None)
        assert len(found(db, "dunlin")) == 1
        there = db.execute("SELECT path FROM source_files WHERE state <> 'gone'").fetchall()
        assert there == [(str(path),)]
        return report

    for number in range(20):
        path = path.rename(project / f"b{number}.jsonl")
        report = refresh()
        assert (report.new, report.changed) == (0, 0)
    assert db.pragma("page_count") - pages <= 4
    path = path.rename(project / "grown.jsonl")
    refresh(user("u2", "and a knot", 2))
    (place / "archived").mkdir()
    path = path.rename(place / "archived" / path.name)
    refresh()
    (place / "archived").rename(place / "q")
    path = place / "q" / path.name
    refresh(user("u3", "and a ruff", 3))
    assert shown(db, name) == ["seen a dunlin", "and a knot", "and a ruff"]


def test_i35_a_copy_on_another_disk_is_the_same_session(db, tmp_path):
    name = "0199aaaa-0000-4000-8000-00000000000b.jsonl"
    path = lines(tmp_path / "place" / name, user("u1", "seen a dunlin", 1))
    imported(db, tmp_path / "place")
    (tmp_path / "place" / "archive").mkdir()
    shutil.copyfile(path, tmp_path / "place" / "archive" / name)
    path.unlink()
    report = imported(db, tmp_path / "place")
    assert (report.new, report.changed) == (0, 0)
    (session,) = list_sessions(db, SessionFilter()).sessions
    assert session.gone_at_ms is None
    assert len(found(db, "dunlin")) == 1


def test_i35_a_file_that_was_rotated_is_two(db, tmp_path):
    row = {"session": "s", "role": "user"}
    path = lines(tmp_path / "p" / "log.jsonl", {**row, "id": "1", "content": "before"})
    imported(db, tmp_path / "p")
    path.rename(tmp_path / "p" / "log.1.jsonl")
    lines(path, {**row, "id": "2", "content": "behind"})
    imported(db, tmp_path / "p")
    assert shown(db, "s") == ["before", "behind"]
    assert db.execute("SELECT count(*) FROM gone_messages").get == 0
    stored = "SELECT path, state FROM source_files ORDER BY path"
    names = [str(tmp_path / "p" / each) for each in ("log.1.jsonl", "log.jsonl")]
    assert db.execute(stored).fetchall() == [(name, "done") for name in names]


def test_i36_odd_sessions_break_no_list(db, tmp_path):
    place = tmp_path / "p"
    dated = {"created_at": "2026-05-01T10:00:00Z"}
    row = {"role": "user", "content": "words"}
    lines(place / "a.jsonl", *({"session": "A", "id": str(n), **row, **dated} for n in range(3)))
    lines(place / "b.jsonl", *({"session": "B", "id": f"b{n}", **row, "created_at": None}
                               for n in range(2)))  # fmt: skip
    (place / "c.jsonl").touch()
    lines(place / "D.jsonl", {"type": "summary", "summary": "x", "leafUuid": "y"},
          {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}})  # fmt: skip
    lines(place / "E.jsonl", user("e", "   ", 1))
    home = Home(tmp_path / "hermes")
    home.run("ALTER TABLE sessions ADD COLUMN message_count INTEGER DEFAULT 0")
    home.session("F", message_count=0)
    home.messages([f"words {n}" for n in range(103)], session="F")
    title = "long " * 1000
    lines(place / "g.jsonl", {"session": "G", "id": "g", **row, **dated, "title": title},
          {"session": "H", "id": "h", **row, **dated, "title": "two\nlines"})  # fmt: skip

    report = imported(db, place, home.path)

    page = list_sessions(db, SessionFilter())
    listed = {session.native_id: session for session in page.sessions}
    assert set(listed) == {"A", "B", "F", "G", "H"}
    assert page.total == 5
    assert listed["B"].last_active_at_ms == (place / "b.jsonl").stat().st_mtime_ns // 1_000_000
    assert listed["F"].message_count == 103
    assert sum(session.message_count for session in page.sessions) == 110
    told = {Path(file.path).name: file for file in report.files}
    assert report.sessions_without_messages == 3, "C, D and E"
    assert told["c.jsonl"].reason == "the file is empty"
    assert (told["D.jsonl"].sessions, told["D.jsonl"].messages) == (0, 0)
    assert db.execute("SELECT count(*) FROM sessions WHERE native_id IN ('C', 'D')").get == 0
