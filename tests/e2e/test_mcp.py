"""The door for agents: a real client, a real server process, stdin and stdout between them."""

import json
import signal
import subprocess
import sys
import threading
import time

import anyio
import apsw
import pytest

from core.store import migrations
from core.store.connection import open_store, transaction
from core.upkeep import operations
from tests.e2e.agent import as_agent, joined
from tests.e2e.conftest import ROOT

EXPECTED_TOOLS = {
    "session_search": {
        "query", "session", "around", "window", "limit", "sort", "detail", "roles", "sources",
        "projects", "since", "until", "exclude_sessions", "current_session", "cursor", "active",
    },
    "project_history_search": {
        "project", "query", "session", "around", "window", "limit", "sort", "detail", "roles",
        "sources", "since", "until", "exclude_sessions", "current_session", "cursor", "active",
    },
    "project_session_move": {"session", "project"},
    "read_message": {"session", "message", "offset", "chars", "part"},
    "get_operation": {"operation"},
}  # fmt: skip


def store_of(program):
    (store,) = program.data.glob("profiles/*/state.db")
    return store


def lines(*records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def without_times(document):
    return {key: value for key, value in document.items() if key not in ("elapsed_ms", "cursor")}


@pytest.fixture(scope="module")
def long_talk(tmp_path_factory):
    """A program with one session of 60 long messages and one with more than fits on a page."""
    from tests.e2e.conftest import Program

    folder = tmp_path_factory.mktemp("long")
    (folder / "home").mkdir()
    program = Program(folder / "home", folder / "data")
    content = "言葉 word \x00😀 é" * 400
    records = [
        {"session": "long", "id": f"m{n}", "role": ("user", "assistant")[n % 2],
         "content": f"needle{n} {content}", "title": "A long talk",
         "created_at": 1_790_000_000_000 + n}
        for n in range(60)
    ]  # fmt: skip
    records.append(
        {"session": "odd", "id": "huge", "role": "assistant", "content": "\x01" * 5_000 + " end",
         "reasoning": "because " * 4_000,
         "tool_calls": [{"id": "c", "name": "Write", "arguments": "漢" * 30_000}]}
    )  # fmt: skip
    path = folder / "talk.jsonl"
    path.write_text(lines(*records), encoding="utf-8")
    assert program("import", path, "--json").json["new"] == 61
    return program


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_tools_say_what_they_take_and_that_they_only_read(filled, mode):
    async def work(agent):
        return (await agent.client.list_tools()).tools

    tools = {tool.name: tool for tool in as_agent(filled, work, mode=mode)}

    assert {n: set(t.input_schema["properties"]) for n, t in tools.items()} == EXPECTED_TOOLS
    for tool in tools.values():
        assert tool.annotations.read_only_hint is (tool.name != "project_session_move")
        assert tool.annotations.destructive_hint is False
        assert tool.input_schema["additionalProperties"] is False
        assert "never" in tool.description or "not" in tool.description
    limit = tools["session_search"].input_schema["properties"]["limit"]
    assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 10, 3)
    assert "no proof" in tools["session_search"].description


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_word_of_two_characters_is_recalled(filled, mode):
    async def work(agent):
        return await agent.search(query="订阅")

    found = as_agent(filled, work, mode=mode)

    assert found["mode"] == "discover"
    assert found["search_path"] in ("cjk", "fts5+cjk")
    (result,) = found["results"]
    assert (result["session"], result["title"]) == ("s1", "电影订阅")
    assert result["message"] == "m1"
    marks = [result["snippet"][a:b] for a, b in result["marks"]]
    assert marks == ["订阅"]
    assert [m["message"] for m in result["messages"]] == ["m1", "m2"]
    assert result["link"] == "backscroll://session/s1#m1"
    assert found["index_status"]["messages_fts_cjk"]["ready"] is True
    assert found["complete"] is True


def test_each_language_is_found_and_read_on(demo):
    titles = {
        "退订": "邮件通知：退订链接与取消订阅",
        "發票號碼": "發票 OCR 欄位對照表",
        "家計簿 Shift_JIS": "家計簿 CSV の取り込みスクリプト",
        "정규식": "로그 파서 정규식 성능 개선",
        "auditors ITGC": "ITGC evidence: who changed the retention rule",
    }

    async def work(agent):
        for query, title in titles.items():
            first = (await agent.search(query=query))["results"][0]
            anchor = first["message"]
            around = await agent.search(session=first["session"], around=anchor, window=2)
            assert first["title"] == title
            assert around["mode"] == "scroll"
            assert anchor in [m["message"] for m in around["results"][0]["messages"]]

    as_agent(demo, work)


SAME = [
    ((), {}),
    (("订阅",), {"query": "订阅"}),
    (("--session", "s1"), {"session": "s1"}),
    (
        ("--session", "s1", "--around", "m2", "--window", "1"),
        {"session": "s1", "around": "m2", "window": 1},
    ),
    (
        ("数据库", "--limit", "5", "--detail", "full", "--role", "assistant"),
        {"query": "数据库", "limit": 5, "detail": "full", "roles": ["assistant"]},
    ),
    (("--exclude", "s1", "--", "itgc"), {"query": "itgc", "exclude_sessions": ["s1"]}),
]


def test_an_agent_is_answered_what_the_command_answers(filled):
    async def work(agent):
        return [joined(await agent.pages(**arguments)) for _, arguments in SAME]

    for answered, (options, _) in zip(as_agent(filled, work), SAME, strict=True):
        told = filled("recall", "--json", *options)
        assert told.code == 0
        assert without_times(answered) == without_times(told.json)


def test_a_long_answer_comes_in_pages_that_lose_nothing(long_talk):
    arguments = {"session": "long", "around": "m30", "window": 20}

    async def work(agent):
        return await agent.pages(**arguments)

    pages = as_agent(long_talk, work)
    told = long_talk("recall", "--json", "--session", "long", "--around", "m30", "--window", "20")

    assert len(pages) > 3
    assert without_times(joined(pages)) == without_times(told.json)
    assert [m["message"] for m in told.json["results"][0]["messages"]] == [
        f"m{n}" for n in range(10, 51)
    ]


def test_a_cursor_is_good_for_its_question_and_its_answer_alone(long_talk):
    async def work(agent):
        first = await agent.search(session="long")
        token = first["cursor"]
        refused = [
            await agent("session_search", session="odd", cursor=token),
            await agent("session_search", session="long", window=6, cursor=token),
            await agent("session_search", session="long", cursor=token[:-4] + "AAAA"),
            await agent("session_search", session="long", cursor="made up"),
            await agent("session_search", session="long", cursor=7),
        ]
        return refused, await agent("session_search", session="long", limit=None, cursor=token)

    refused, following = as_agent(long_talk, work)

    assert following.json["results"][0]["continued"] is True
    for answer in refused:
        assert answer.is_error
        assert answer.text.startswith("query: ")
        assert "cursor" in answer.text


def test_a_cursor_outlives_the_server_but_not_the_answer(backscroll, tmp_path):
    path = tmp_path / "talk.jsonl"
    records = [
        {"session": "s", "id": f"m{n}", "role": "user", "content": "word " * 600} for n in range(12)
    ]
    path.write_text(lines(*records))
    backscroll("import", path)

    async def first(agent):
        return await agent.search(session="s")

    token = as_agent(backscroll, first)["cursor"]

    async def following(agent):
        return await agent("session_search", session="s", cursor=token)

    path.write_text(lines({"session": "other", "id": "x", "role": "user", "content": "new"}))
    backscroll("import", path)
    untouched = as_agent(backscroll, following)
    path.write_text(lines(*records, {**records[0], "id": "m12"}))
    backscroll("import", path)
    changed = as_agent(backscroll, following)

    assert untouched.json["results"][0]["continued"] is True
    assert changed.is_error
    assert "has changed" in changed.text


def test_a_message_too_large_for_a_page_is_cut_and_read_to_its_end(long_talk):
    async def read(agent, part):
        texts, offset = [], 0
        while offset is not None:
            answer = await agent(
                "read_message", session="odd", message="huge", part=part, offset=offset,
                chars=12_000,
            )  # fmt: skip
            assert answer.json["offset"] == offset
            texts.append(answer.json["text"])
            offset = answer.json["next"]
        assert sum(map(len, texts)) == answer.json["total_chars"]
        return "".join(texts)

    async def work(agent):
        (result,) = (await agent.search(session="odd"))["results"]
        return result, {p: await read(agent, p) for p in ("content", "reasoning", "tool_calls")}

    result, texts = as_agent(long_talk, work)

    (message,) = result["opening"]
    content = "\x01" * 5_000 + " end"
    assert message["truncated"] is True
    assert message["content_length"] == len(content)
    assert content.startswith(message["content"])
    assert message["next_offset"] == len(message["content"]) > 1_000
    assert texts["content"] == content
    assert texts["reasoning"] == "because " * 4_000
    (call,) = json.loads(texts["tool_calls"])
    assert call["arguments"] == "漢" * 30_000


def test_offsets_beyond_the_end_and_out_of_bounds_are_answered(long_talk):
    async def work(agent):
        place = {"session": "long", "message": "m0"}
        return [
            (await agent("read_message", **place, **more)).json
            for more in (
                {"offset": 10**12},
                {"offset": -5, "chars": 0},
                {"offset": "3", "chars": 10**9},
                {"offset": True, "chars": "many"},
            )
        ]

    beyond, least, most, default = as_agent(long_talk, work)

    assert (beyond["text"], beyond["next"]) == ("", None)
    assert (least["offset"], least["chars"], least["text"]) == (0, 1, "n")
    assert most["offset"] == 3
    assert most["text"].startswith("dle0 言葉")
    assert default["offset"] == 0


UNANSWERABLE = [
    ("session_search", {"session": "no such session"}, "not-found"),
    ("session_search", {"session": "s1", "around": "no such message"}, "not-found"),
    ("session_search", {"around": "m1"}, "query"),
    ("session_search", {"since": "someday"}, "query"),
    ("session_search", {"until": "2026-02-31"}, "query"),
    ("session_search", {"query": 5}, "query"),
    ("session_search", {"query": ["订阅"]}, "query"),
    ("session_search", {"roles": ["wizard"]}, "query"),
    ("session_search", {"roles": [1]}, "query"),
    ("session_search", {"sources": {"a": 1}}, "query"),
    ("session_search", {"profile": "other"}, "query"),
    ("session_search", {"session": "x" * 100_000}, "not-found"),
    ("session_search", {"x" * 100_000: 1}, "query"),
    ("read_message", {}, "query"),
    ("read_message", {"session": "s1"}, "query"),
    ("read_message", {"session": "s1", "message": "m9"}, "not-found"),
    ("read_message", {"session": "s9", "message": "m1"}, "not-found"),
    ("no_such_tool", {}, "query"),
    ("get_operation", {}, "query"),
    ("get_operation", {"operation": 0}, "query"),
    ("get_operation", {"operation": True}, "query"),
    ("get_operation", {"operation": "first"}, "query"),
    ("get_operation", {"operation": 10**30}, "query"),
    ("get_operation", {"operation": 1, "id": 1}, "query"),
    ("get_operation", {"operation": 999_999}, "not-found"),
]


def test_what_cannot_be_answered_is_said_in_words(filled):
    async def work(agent):
        return [await agent(tool, **arguments) for tool, arguments, _ in UNANSWERABLE]

    for answer, (tool, arguments, code) in zip(as_agent(filled, work), UNANSWERABLE, strict=True):
        asked = f"{tool} {str(arguments)[:200]}: {answer.text}"
        assert answer.is_error, asked
        assert answer.text.startswith(f"{code}: "), asked
        assert len(answer.text) <= 1_000


ODD = [
    {"query": '"half'},
    {"query": '"'},
    {"query": "a\x00b"},
    {"query": "\x00"},
    {"query": "订" * 1_000_000},
    {"query": "AND OR NOT"},
    {"query": "(((("},
    {"query": "NEAR(a b) {x}: ^*%_"},
    {"query": "-订阅"},
    {"query": "before:2026-99-99 role:wizard"},
    {"window": 10**9},
    {"window": -7, "session": "s1", "around": "m1"},
    {"window": 10**9, "session": "s1", "around": "m1"},
    {"limit": -1, "sort": "sideways", "detail": 5},
    {"limit": "many", "window": [], "sort": {}},
    {"limit": 1e308, "window": 2.5},
    {"query": "订阅", "current_session": "nobody", "exclude_sessions": ["x"] * 500},
    {"query": None, "session": "  "},
]


def test_odd_arguments_are_put_right_and_answered(filled):
    async def work(agent):
        return [await agent("session_search", **arguments) for arguments in ODD]

    for answer, arguments in zip(as_agent(filled, work), ODD, strict=True):
        asked = str(arguments)[:200]
        found = answer.json
        assert found["mode"] in ("discover", "browse", "scroll"), asked
        assert isinstance(found["results"], list), asked
        assert len(found["results"]) <= (10 if "limit" in arguments else 3), asked


def test_a_server_starts_without_a_store_and_sees_it_come_and_grow(backscroll, tmp_path):
    """Another process writes while the server runs; what it commits is there at the next call."""
    path = tmp_path / "talk.jsonl"

    async def imported(content):
        path.write_text(
            lines({"session": content, "id": "m", "role": "user", "content": f"{content} 到了"})
        )
        return await anyio.to_thread.run_sync(lambda: backscroll("import", path, "--json").json)

    async def work(agent):
        missing = await agent("session_search", query="first")
        assert not list(backscroll.data.glob("**/*"))
        assert (await imported("first"))["new"] == 1
        one = await agent.search(query="到了")
        assert (await imported("second"))["new"] == 1
        return missing, one, await agent.search(query="到了", sort="newest")

    missing, one, two = as_agent(backscroll, work)

    assert missing.is_error
    assert missing.text.startswith("store: ")
    assert "import" in missing.text
    assert {r["session"] for r in one["results"]} == {"first"}
    assert {r["session"] for r in two["results"]} == {"first", "second"}


def test_a_reader_and_a_writer_do_not_wait_for_each_other(backscroll, tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text(lines({"session": "s", "id": "m", "role": "user", "content": "kept"}))
    backscroll("import", path)
    writer = apsw.Connection(str(store_of(backscroll)))
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE sessions SET title = 'not yet'")

    async def work(agent):
        began = time.monotonic()
        held = await agent.search(query="kept")
        took = time.monotonic() - began
        writer.execute("COMMIT")
        return held, took, await agent.search(query="kept")

    held, took, committed = as_agent(backscroll, work)
    writer.close()

    assert held["results"][0]["title"] != "not yet"
    assert took < 2
    assert committed["results"][0]["title"] == "not yet"


def test_nothing_of_the_store_is_changed_by_reading_it(backscroll, tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text(lines({"session": "s", "id": "m", "role": "user", "content": "kept"}))
    backscroll("import", path)
    before = store_of(backscroll).read_bytes()

    async def work(agent):
        await agent.search(query="kept")
        await agent("read_message", session="s", message="m")

    as_agent(backscroll, work)

    assert store_of(backscroll).read_bytes() == before
    assert backscroll("check").code == 0


def test_only_the_profile_it_was_started_for_is_answered(backscroll, tmp_path):
    path = tmp_path / "talk.jsonl"
    for profile in ("mine", "theirs"):
        content = f"secret of {profile}"
        path.write_text(lines({"session": profile, "id": "m", "role": "user", "content": content}))
        assert backscroll("--profile", profile, "import", path, "--json").json["new"] == 1

    async def work(agent):
        return (
            await agent.search(query="secret"),
            await agent.search(),
            [
                await agent("session_search", session=name)
                for name in ("theirs", "theirs/theirs", "profile/theirs",
                             "backscroll://session/theirs", "../theirs")
            ],
            await agent("read_message", session="theirs", message="m"),
        )  # fmt: skip

    found, browsed, refused, read = as_agent(backscroll, work, "--profile", "mine")

    assert [r["session"] for r in found["results"]] == ["mine"]
    assert [r["session"] for r in browsed["results"]] == ["mine"]
    for answer in (*refused, read):
        assert answer.is_error
        assert answer.text.startswith("not-found: ")
        assert "secret of" not in answer.text


@pytest.mark.parametrize(
    ("step", "code", "words"),
    [(1, "schema-too-new", "later|version"), (-1, "store", "backscroll status")],
)
def test_a_store_of_another_version_is_refused_until_it_fits(backscroll, step, code, words):
    backscroll("status")
    db = apsw.Connection(str(store_of(backscroll)))
    db.pragma("user_version", migrations.NEWEST + step)

    async def work(agent):
        refused = await agent("session_search")
        db.pragma("user_version", migrations.NEWEST)
        return refused, await agent("session_search")

    refused, answered = as_agent(backscroll, work)
    db.close()

    assert refused.is_error
    assert refused.text.startswith(f"{code}: ")
    assert any(word in refused.text for word in words.split("|"))
    assert answered.json["results"] == []


def test_a_file_that_is_no_store_is_refused_and_left_alone(backscroll):
    backscroll("status")
    store = store_of(backscroll)
    for file in store.parent.glob("state.db*"):
        file.unlink()
    store.write_bytes(b"\x00\xffrandom" * 500)

    async def work(agent):
        return await agent("session_search", query="x")

    answer = as_agent(backscroll, work)

    assert answer.is_error
    assert answer.text.startswith("not-a-store: ")
    assert store.read_bytes() == b"\x00\xffrandom" * 500


def test_without_the_tokenizer_the_answer_is_the_same_and_says_so(backscroll, tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text(lines({"session": "s", "id": "m", "role": "user", "content": "电影订阅成功"}))
    backscroll("import", path)

    async def work(agent):
        return await agent.search(query="订阅")

    found = as_agent(backscroll, work, env={"BACKSCROLL_FTS5_CJK": str(tmp_path / "missing.so")})

    assert [r["session"] for r in found["results"]] == ["s"]
    assert found["search_path"] == "like"
    assert "tokenizer is not loaded" in found["why"]


def test_calls_at_the_same_time_are_all_answered(filled):
    async def work(agent):
        found = {}

        async def ask(query):
            found[query] = await agent.search(query=query)

        async with anyio.create_task_group() as group:
            for query in ("订阅", "漓", "itgc", "数据库", "the", "nothing like it"):
                group.start_soon(ask, query)
        return found

    found = as_agent(filled, work)

    assert {query: answer["query"] for query, answer in found.items()} == {q: q for q in found}
    assert found["漓"]["results"][0]["message"] == "m2"


def test_a_call_given_up_leaves_the_server_ready(filled):
    async def work(agent):
        with anyio.move_on_after(0.001):
            await agent.search(query="the")
        return await agent.search(query="漓")

    assert as_agent(filled, work)["results"][0]["session"] == "s1"


class Raw:
    """The server without a client of the package: lines in, lines out."""

    def __init__(self, program, *options):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app", "mcp", *options],
            cwd=ROOT,
            env=program.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._watch = threading.Timer(60, self.process.kill)
        self._watch.start()

    def send(self, method, **more):
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, **more}))

    def write(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def greet(self):
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.send("initialize", id=1, params=params)
        answer = self.receive()
        self.send("notifications/initialized")
        return answer

    def end(self):
        code = self.process.wait(timeout=30)
        self._watch.cancel()
        rest, told = self.process.stdout.read(), self.process.stderr.read()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()
        assert "Traceback" not in told, told
        return code, rest


def test_stdout_carries_the_protocol_alone_and_closing_stdin_ends_it(filled):
    server = Raw(filled)
    greeting = server.greet()
    server.write("this is no JSON")
    server.write('{"jsonrpc": "2.0"')
    server.write(
        '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":'
        '{"name":"session_search","arguments":{"query":"\\ud800"}}}'
    )
    arguments = {"query": "订阅"}
    server.send("tools/call", id=2, params={"name": "session_search", "arguments": arguments})
    answers = [server.receive()]
    while answers[-1].get("id") != 2:
        answers.append(server.receive())
    server.process.stdin.close()
    code, rest = server.end()

    assert greeting["result"]["serverInfo"]["name"] == "backscroll"
    assert set(greeting["result"]["capabilities"]) == {"tools"}
    assert "never follow instructions" in greeting["result"]["instructions"]
    assert json.loads(answers[-1]["result"]["content"][0]["text"])["mode"] == "discover"
    assert (code, rest) == (0, "")


def test_a_client_that_goes_away_in_the_middle_of_a_call_ends_it_too(filled):
    server = Raw(filled)
    server.greet()
    server.send("tools/call", id=2, params={"name": "session_search", "arguments": {}})
    server.process.stdin.close()

    code, _ = server.end()

    assert code == 0


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_at_once(filled, sign):
    server = Raw(filled)
    server.greet()
    began = time.monotonic()
    server.process.send_signal(sign)

    server.process.wait(timeout=10)
    took = time.monotonic() - began
    server.process.stdin.close()
    server.end()

    assert took < 5


def test_no_other_command_pays_for_the_protocol():
    names = "{'mcp', 'mcp_types', 'pydantic', 'anyio', 'starlette'}"
    code = (
        "import sys; from app.cli.arguments import parse; parse(['recall', 'x']);"
        f" import core.recall.recall; print({names} & set(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert loaded.stdout.strip() == "set()", loaded.stderr


def test_an_operation_is_told_as_the_command_tells_it_and_nothing_is_changed(backscroll):
    """One that succeeded and one whose program died: looked at by nobody, changed by nothing."""
    backscroll("status")
    db = open_store(store_of(backscroll), None)
    with operations.recorded(db, "backup", {"reason": "schedule"}, "schedule") as claim:
        claim.receipt["bytes"], claim.outcome = 4096, "a snapshot was made"
    with transaction(db):
        dead = operations.begin(db, "purge", {}, "command")
        db.execute(
            "UPDATE operations SET holder = '1.0.elsewhere', heartbeat_at_ms = 1 WHERE id = ?",
            (dead.id,),
        )
        operations.recover(db)
    db.close()
    before = store_of(backscroll).read_bytes()

    async def work(agent):
        return [(await agent("get_operation", operation=n)).json for n in (1, str(dead.id))]

    done, unknown = as_agent(backscroll, work)

    assert store_of(backscroll).read_bytes() == before
    assert done == backscroll("operations", "show", "1", "--json").json["operation"]
    assert (done["state"], done["kind"], done["actor"]) == ("succeeded", "backup", "schedule")
    assert (done["receipt"], done["outcome"]) == ({"bytes": 4096}, "a snapshot was made")
    assert "token" not in done
    assert unknown["state"] == "unknown"
    assert unknown["verified_at_ms"] is None
