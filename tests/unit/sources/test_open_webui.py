"""Open WebUI's database and exports, against what was read from them by eye."""

import hashlib
import html
import json
import shutil

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import SourceError
from core.sources import detect, ingest, open_webui
from core.sources.ingest_plan import make_plan
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    SessionRecord,
    UnknownRecord,
)
from core.store.connection import open_store
from core.types import (
    FoundSource,
    MessageState,
    Origin,
    Role,
    TimeQuality,
    TitleSource,
    ToolCall,
    ToolStatus,
)
from tests.unit.sources import expected
from tests.unit.sources.expected import SAMPLES

EXPORT = SAMPLES / "others/openwebui/librechat/openwebui-export.json"
DATABASE = SAMPLES / "others/openwebui/synthetic/webui.db"
SECOND = 1_750_000_000


@pytest.mark.parametrize("entry", expected.entries("openwebui"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, open_webui)))


class Reading:
    """The records of one reading, by type."""

    def __init__(self, path):
        self.records = list(open_webui.read(path))
        self.messages = [r for r in self.records if isinstance(r, MessageRecord)]
        self.sessions = {r.native_id: r for r in self.records if isinstance(r, SessionRecord)}
        self.bad = [r for r in self.records if isinstance(r, BadSourceRecord)]
        self.unknown = [r.type for r in self.records if isinstance(r, UnknownRecord)]

    def only(self):
        (message,) = self.messages
        return message

    def shown(self):
        return [m.content for m in self.messages if m.state == MessageState.ACTIVE]


def node(content="", parent=None, role="assistant", **more):
    return {"parentId": parent, "childrenIds": [], "role": role, "content": content, **more}


def row(nodes, current=None, **more):
    history = {"currentId": current, "messages": {k: {"id": k, **n} for k, n in nodes.items()}}
    return {
        "id": "c",
        "user_id": "u1",
        "title": "Named",
        "chat": {"title": "Named", "models": ["m"], "history": history},
        "created_at": SECOND,
        "updated_at": SECOND + 5,
        **more,
    }


@pytest.fixture
def read(tmp_path):
    def write_and_read(*rows):
        path = tmp_path / "chat-export.json"
        path.write_text(json.dumps(rows))
        return Reading(path)

    return write_and_read


# Content


def of(read, content="", **more):
    return read(row({"m": node(content, **more)})).only()


def details(kind, body, **attributes):
    told = "".join(f' {k}="{html.escape(v)}"' for k, v in attributes.items())
    return f'<details type="{kind}"{told}>\n<summary>Some words</summary>\n{body}\n</details>\n'


def test_items_count_and_their_copy_in_the_text_does_not(read):
    found = of(
        read,
        details("reasoning", "&gt; twin") + "the twin",
        output=[
            {"type": "reasoning", "content": [{"type": "output_text", "text": "because"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "so"}]},
            {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"q": "x"}'},
            {"type": "function_call_output", "call_id": "1", "output": "found"},
            {"type": "message", "content": [{"type": "output_text", "text": "one"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "two"}]},
        ],
    )
    assert (found.content, found.reasoning) == ("one\n\ntwo", "because\n\nso")
    assert found.tool_calls == (
        ToolCall("1", "look", '{"q": "x"}', ToolStatus.SUCCEEDED, result="found"),
    )


def test_the_text_stands_in_where_items_have_none(read):
    call = {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"}
    block = details("tool_calls", "", id="1", name="look", arguments='"{}"', done="true")
    found = of(read, block + "the answer", output=[call])
    assert (found.content, len(found.tool_calls)) == ("the answer", 1)


@pytest.mark.parametrize(
    ("more", "status"),
    [({"done": True}, ToolStatus.UNKNOWN), ({"done": False}, ToolStatus.PENDING),
     ({}, ToolStatus.PENDING)],
)  # fmt: skip
def test_a_call_without_a_result_is_pending_only_while_the_message_runs(read, more, status):
    call = {"type": "function_call", "call_id": "1", "name": "n", "status": "in_progress"}
    found = of(read, output=[call], **{"done": False, **more})
    assert found.tool_calls[0].status == status


def test_a_failed_result_says_so_and_unknown_items_are_counted(read):
    items = [
        {"type": "function_call", "call_id": "1", "name": "n", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "no", "status": "failed"},
        {"type": "hologram"},
        {"type": "open_webui:code_interpreter", "code": "1+1", "output": {"stdout": "2"}},
        7,
    ]
    found = read(row({"m": node("x", output=items)}))
    assert found.only().tool_calls == (
        ToolCall("1", "n", "{}", ToolStatus.FAILED, result="no"),
        ToolCall(None, "code_interpreter", "1+1", ToolStatus.SUCCEEDED, result='{"stdout":"2"}'),
    )
    assert found.unknown == ["output hologram", "output"]


def test_blocks_in_the_text_become_reasoning_and_calls(read):
    arguments, result = json.dumps('{"city": "Köln"}'), json.dumps('15 °C & "rain"')
    text = (
        "Before.\n"
        + details("reasoning", "&gt; first &lt;b&gt;\n&gt; \n&gt; second", done="true")
        + details("tool_calls", "", done="true", id="c1", name="weather", arguments=arguments,
                  result=result)
        + details("code_interpreter", "```python\nprint(1)\n```", output='{"stdout": "1"}')
        + "After."
    )  # fmt: skip
    found = of(read, text)
    assert found.content == "Before.\n\n\n\nAfter."
    assert found.reasoning == "first <b>\n\nsecond"
    assert found.tool_calls == (
        ToolCall("c1", "weather", '{"city": "Köln"}', ToolStatus.SUCCEEDED,
                 result='15 °C & "rain"'),
        ToolCall(None, "code_interpreter", "print(1)", ToolStatus.SUCCEEDED,
                 result='{"stdout": "1"}'),
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "<details><summary>More</summary>kept</details>",
        '<details type="mine">kept</details>',
        '<details type="reasoning">never closed',
        "  plain \r\n",
        '<details type="reasoning" kept',
    ],
)
def test_other_html_stays_as_it_is(read, text):
    assert (of(read, text).content, of(read, text).reasoning) == (text, None)


def test_hostile_html_costs_little(read):
    text = "<details" + ' a="b"' * 50_000 + "<details " * 50_000
    assert of(read, text).content == text


def test_content_may_be_parts_and_files_are_named(read):
    found = of(
        read,
        [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUJD" * 400}},
        ],
        role="user",
        files=[
            {"type": "image", "url": "/api/v1/files/x"},
            {"type": "file", "name": "报告.pdf", "url": "f-2", "size": 20},
            {"type": "file", "file": {"id": "f-3", "filename": "a.txt"}},
            "odd",
        ],
    )
    assert found.content == "look"
    assert found.media_refs == (
        "image/png; size=1216; at=inline",
        "image; at=/api/v1/files/x",
        "file; size=20; at=f-2 报告.pdf",
        "file; at=a.txt",
    )


def test_parts_of_items_are_texts_pictures_or_counted(read):
    result = [
        {"type": "input_text", "text": "seen"},
        {"type": "input_image", "image_url": "https://x.org/a.png"},
        {"type": "hologram"},
        {"type": "output_text", "text": ""},
    ]
    items = [
        {"type": "function_call", "call_id": "1", "name": "n", "arguments": {"a": 1}},
        {"type": "function_call_output", "call_id": "1", "output": result},
        {"type": "message", "content": [{"type": "refusal", "refusal": "no"}]},
    ]
    found = read(row({"m": node(output=items)}))
    (call,) = found.only().tool_calls
    assert (call.arguments, call.result) == ('{"a":1}', "seen")
    assert (found.only().content, found.unknown) == ("no", ["part hologram"])
    assert found.only().media_refs == ("image; at=https://x.org/a.png",)


@pytest.mark.parametrize("error", [{"content": "model not found"}, "model not found"])
def test_an_error_in_the_place_of_an_answer_is_no_word_of_the_model(read, error):
    found = of(read, "", error=error)
    assert (found.content, found.origin) == ("model not found", Origin.SYNTHETIC)
    spoken = of(read, "half an answer", error=error)
    assert (spoken.content, spoken.origin) == ("half an answer", Origin.MODEL)


@pytest.mark.parametrize(
    ("more", "usage"),
    [
        ({"usage": {"prompt_tokens": 10, "completion_tokens": 5,
                    "prompt_tokens_details": {"cached_tokens": 4}}},
         {"input": 6, "cached_read": 4, "output": 5}),
        ({"info": {"prompt_eval_count": 7, "eval_count": 3, "total_duration": 9}},
         {"input": 7, "output": 3}),
        ({"info": {"usage": {"input_tokens": 1, "output_tokens": 0,
                             "output_tokens_details": {"reasoning_tokens": 2}}}},
         {"input": 1, "output": 0, "reasoning": 2}),
        ({"usage": {"prompt_tokens": -1, "completion_tokens": True}}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_tokens_in_our_names(read, more, usage):
    told = of(read, "x", **more).usage
    assert (told and json.loads(told)) == usage


# Order and sessions


def test_models_side_by_side_are_siblings_and_one_is_shown(read):
    nodes = {
        "q": node("ask", role="user", models=["a", "b"], timestamp=SECOND),
        "a": node("from a", "q", model="a", timestamp=SECOND + 9),
        "b": node("from b", "q", model="b", timestamp=SECOND + 1),
    }
    found = read(row(nodes, "b"))
    assert [(m.content, m.state, m.model) for m in found.messages] == [
        ("ask", MessageState.ACTIVE, None),
        ("from a", MessageState.OFF_BRANCH, "a"),
        ("from b", MessageState.ACTIVE, "b"),
    ]
    assert found.messages[0].created_at_ms == SECOND * 1000
    for nowhere in (None, "gone", 7):
        assert read(row(nodes, nowhere)).shown() == ["ask", "from a"]  # the newest leaf


def test_a_flat_list_is_a_line_and_an_inner_object_a_chat(read):
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, None]
    flat = row({}) | {"chat": {"messages": messages, "timestamp": SECOND * 1000}, "created_at": 0}
    found = read(flat)
    assert (found.shown(), found.unknown) == (["a", "b"], ["message"])
    assert found.sessions["c"].started_at_ms == SECOND * 1000
    inner = row({"m": node("x")})["chat"] | {"id": "inner"}
    assert read(inner).only().session == "inner"
    unnamed = row({"m": node("x")})["chat"]
    first = read(unnamed).only().session
    assert first == read({**unnamed, "title": "renamed"}).only().session


def test_what_a_chat_tells(read):
    session = read(
        row({}, archived=1, pinned=True, share_id="s", folder_id="f", meta={"tags": ["t"]})
    ).sessions["c"]
    assert (session.title, session.title_source) == ("Named", TitleSource.MODEL)
    assert (session.archived, session.pinned, session.model) == (True, True, "m")
    assert (session.started_at_ms, session.updated_at_ms) == (SECOND * 1000, (SECOND + 5) * 1000)
    assert json.loads(session.metadata) == {
        "user_id": "u1", "folder_id": "f", "share_id": "s", "tags": ["t"], "models": ["m"],
    }  # fmt: skip


def test_a_chat_that_was_never_named_is_called_by_its_first_prompt(read):
    found = read(row({"m": node("first words", role="user")}, title="New Chat"))
    assert found.sessions["c"].title == "first words"
    assert found.sessions["c"].title_source == TitleSource.DERIVED


def test_other_roles_are_kept_and_counted(read):
    found = read(row({"a": node("x", role="oracle"), "b": node("y", role=None)}))
    assert [m.role for m in found.messages] == [Role.SYSTEM, Role.SYSTEM]
    assert found.unknown == ["role oracle", "role"]


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
    | st.sampled_from([details("reasoning", "x"), details("tool_calls", "", arguments="[[")]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["type", "text", "content", "output", "summary", "call_id", "name", "arguments",
             "status", "code", "url", "file", "files", "usage", "prompt_tokens", "image_url"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip
kinds = st.sampled_from(
    ["message", "reasoning", "function_call", "function_call_output", "open_webui:code_interpreter"]
)
items = st.lists(
    odd | st.builds(lambda kind, rest: {**rest, "type": kind}, kinds,
                    st.dictionaries(st.sampled_from(["content", "summary", "call_id", "name",
                                                     "arguments", "output", "status"]), odd)),
    max_size=4,
)  # fmt: skip
bodies = st.fixed_dictionaries(
    {"content": odd, "output": odd | items},
    optional=dict.fromkeys(
        ("role", "timestamp", "parentId", "childrenIds", "model", "files", "usage", "info",
         "error", "done"), odd),
)  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), bodies | odd, max_size=3),
    st.dictionaries(st.sampled_from(["id", "user_id", "title", "created_at", "archived", "meta",
                                     "folder_id", "share_id", "current_message_id"]), odd),
    st.dictionaries(st.sampled_from(["models", "messages", "params", "tags", "timestamp"]), odd),
    odd,
)  # fmt: skip
def test_no_value_anywhere_crashes_the_reader(tmp_path_factory, nodes, header, chat, current):
    path = tmp_path_factory.mktemp("export") / "x.json"
    history = {"currentId": current, "messages": nodes}
    path.write_text(json.dumps([{**header, "chat": {**chat, "history": history}}]))
    found = Reading(path)
    assert len(found.sessions) == 1
    assert not found.bad
    assert len({m.uid for m in found.messages}) == len(found.messages)
    for each in found.messages:
        texts = [each.uid, each.content, each.reasoning or "", *each.media_refs]
        texts += [t for c in each.tool_calls for t in (c.id or "", c.name, c.arguments, c.result)]
        assert all(type(text) is str for text in texts)


# The database


CHAT = (
    "CREATE TABLE chat (id VARCHAR PRIMARY KEY, user_id VARCHAR, title TEXT, chat JSON,"
    " created_at BIGINT, updated_at BIGINT, share_id TEXT, archived BOOLEAN, pinned BOOLEAN,"
    " meta JSON, folder_id TEXT, current_message_id TEXT)"
)
MESSAGE = (
    "CREATE TABLE chat_message (id TEXT PRIMARY KEY, chat_id TEXT, user_id TEXT, role TEXT,"
    " parent_id TEXT, content JSON, output JSON, model_id TEXT, files JSON, done BOOLEAN,"
    " error JSON, usage JSON, created_at BIGINT, updated_at BIGINT)"
)


class Home:
    """A database of Open WebUI, made anew with every version's tables."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "webui.db"
        self.db = apsw.Connection(str(self.path))
        self.run(CHAT)
        self.run(MESSAGE)
        self.run("CREATE TABLE user (id TEXT PRIMARY KEY, name TEXT, email TEXT)")
        self.run("CREATE TABLE folder (id TEXT PRIMARY KEY, user_id TEXT, name TEXT)")

    def run(self, sql, *bindings):
        self.db.execute(sql, bindings)

    def chat(self, key, nodes, current=None, **more):
        told = row(nodes, current, **more) | {"id": key}
        told["chat"] = told["chat"] if isinstance(told["chat"], str) else json.dumps(told["chat"])
        columns = ", ".join(told)
        marks = ", ".join("?" * len(told))
        self.run(f"INSERT OR REPLACE INTO chat({columns}) VALUES ({marks})", *told.values())

    def message(self, chat, key, role, content, parent=None, at=SECOND, **more):
        told = {"id": f"{chat}-{key}", "chat_id": chat, "role": role, "parent_id": parent,
                "content": json.dumps(content), "created_at": at, **more}  # fmt: skip
        marks = ", ".join("?" * len(told))
        self.run(f"INSERT INTO chat_message({', '.join(told)}) VALUES ({marks})", *told.values())


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path / "data")
    yield made
    made.db.close()


def test_people_and_folders_of_one_database_are_told_apart(home):
    home.run("INSERT INTO user VALUES ('u1', 'First', 'first@example.org'), ('u2', 'Second', '')")
    home.run("INSERT INTO folder VALUES ('f', 'u1', 'Garden')")
    home.chat("a", {"m": node("x")}, folder_id="f", title="Same title")
    home.chat("b", {"m": node("x")}, user_id="u2", title="Same title")
    found = Reading(home.path)
    told = {key: json.loads(session.metadata) for key, session in found.sessions.items()}
    assert (told["a"]["user"], told["b"]["user"]) == ("First", "Second")
    assert (found.sessions["a"].project, found.sessions["b"].project) == ("Garden", None)
    assert [m.uid for m in found.messages] == ["a:m", "b:m"]
    assert "example.org" not in repr(found.records)


def test_a_shared_copy_is_left_out_while_its_chat_is_there(home):
    home.chat("a", {"m": node("x")}, share_id="s")
    home.chat("s", {"m": node("x")}, user_id="shared-a")
    home.chat("t", {"m": node("last copy")}, user_id="shared-gone")
    assert set(Reading(home.path).sessions) == {"a", "t"}


def test_rows_of_messages_count_and_add_to_the_chat(home):
    home.chat("a", {"q": node("ask", role="user"), "r": node("half", "q", model="old")}, "n")
    home.message("a", "r", "assistant", "half an answer", "q", model_id="m", done=True,
                 usage='{"input_tokens": 3}')  # fmt: skip
    home.message("a", "n", "user", "go on", "r", SECOND + 2)
    home.message("a", "o", "assistant", None, "n", SECOND + 1, output=json.dumps(
        [{"type": "message", "content": [{"type": "output_text", "text": "on"}]}]))  # fmt: skip
    home.message("b", "z", "user", "of another chat")
    found = Reading(home.path)
    assert [(m.content, m.model) for m in found.messages] == [
        ("ask", None), ("half an answer", "m"), ("go on", None), ("on", None),
    ]  # fmt: skip
    assert found.messages[1].usage == '{"input":3}'
    assert found.shown() == ["ask", "half an answer", "go on"]
    assert found.messages[2].created_at_ms == (SECOND + 2) * 1000


def test_a_chat_of_rows_alone_is_whole(home):
    home.chat("a", {}, chat=json.dumps({"title": "x"}), current_message_id="r")
    home.message("a", "q", "user", [{"type": "text", "text": "ask"}])
    home.message("a", "r", "assistant", "this", "q", SECOND + 1)
    home.message("a", "s", "assistant", "that", "q", SECOND + 2)
    assert Reading(home.path).shown() == ["ask", "this"]


@pytest.mark.parametrize(
    ("chat", "bad"),
    [("", 0), ("null", 0), ("{}", 0), ('{"history": 5}', 0), ("{broken", 1), ("[]", 1), ("7", 1),
     ('"text"', 1)],
)  # fmt: skip
def test_a_chat_that_is_no_chat_costs_itself_alone(home, chat, bad):
    home.chat("a", {}, chat=chat)
    home.chat("b", {"m": node("x")})
    found = Reading(home.path)
    assert (set(found.sessions), found.only().content) == ({"a", "b"}, "x")
    assert len(found.bad) == bad


@pytest.mark.parametrize("value", [None, 7, 2.5, b"\xff\x00", "x"])
def test_columns_of_any_type_are_read(home, value):
    home.run("INSERT INTO chat VALUES (?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1)", value)
    home.run("INSERT INTO chat_message SELECT ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1,"
             " ?1, ?1", value)  # fmt: skip
    home.chat("b", {"m": node("x")})
    assert "x" in [m.content for m in Reading(home.path).messages]


def test_older_versions_have_fewer_tables_and_columns(tmp_path):
    path = tmp_path / "webui.db"
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE chat (id TEXT, user_id TEXT, title TEXT, chat TEXT, created_at INT)")
    told = json.dumps(row({"m": node("x")})["chat"])
    db.execute("INSERT INTO chat VALUES ('a', 'u', 't', ?, 1750000000)", (told,))
    db.close()
    assert open_webui.recognises(path)
    assert Reading(path).only().content == "x"


def test_the_database_is_only_read(tmp_path):
    path = tmp_path / "webui.db"
    shutil.copy(DATABASE, path)
    before = hashlib.sha256(path.read_bytes()).digest()
    Reading(path)
    assert hashlib.sha256(path.read_bytes()).digest() == before
    assert [p.name for p in tmp_path.iterdir()] == ["webui.db"]


def test_a_database_without_chats_is_refused_in_words(tmp_path):
    path = tmp_path / "webui.db"
    apsw.Connection(str(path)).execute("CREATE TABLE t(a)")
    with pytest.raises(SourceError, match="no database of Open WebUI"):
        list(open_webui.read(path))


# Places


def test_a_file_is_known_by_what_it_holds(tmp_path):
    for sample, name in ((EXPORT, "x.json"), (DATABASE, "y.db")):
        shutil.copy(sample, tmp_path / name)
        assert detect.detect(tmp_path / name) is detect.READERS["open-webui"]
    (tmp_path / "z.json").write_text(EXPORT.read_text(), encoding="utf-16")
    assert detect.detect(tmp_path / "z.json") is detect.READERS["open-webui"]
    for sample in (SAMPLES / "others").rglob("*.json"):
        assert open_webui.recognises(sample) == ("openwebui" in str(sample)), sample


def test_databases_are_found_where_the_program_keeps_them(tmp_path):
    package = tmp_path / ".local/lib/python3.11/site-packages/open_webui/data"
    elsewhere = tmp_path / "elsewhere"
    for folder in (package, elsewhere):
        folder.mkdir(parents=True)
        shutil.copy(DATABASE, folder / "webui.db")
    (tmp_path / ".open-webui").mkdir()
    (tmp_path / ".open-webui/webui.db").write_text("none")
    size = DATABASE.stat().st_size
    paths = [elsewhere / "webui.db", package / "webui.db"]
    assert list(open_webui.found({"DATA_DIR": str(elsewhere)}, tmp_path)) == [
        FoundSource("open-webui", str(path), "Open WebUI", None, size, True) for path in paths
    ]
    downloads = tmp_path / "Downloads"
    downloads.mkdir()
    for name in ("chat-export-1750000000.json", "all-chats-export-1750000000.json", "x.json"):
        shutil.copy(EXPORT, downloads / name)
    (downloads / "chat-export-2.json").write_text("[]")
    exports = [p for p in open_webui.found({}, tmp_path) if "Downloads" in p.path]
    assert [p.name for p in exports] == [
        "Open WebUI export all-chats-export-1750000000",
        "Open WebUI export chat-export-1750000000",
    ]
    (unit,) = make_plan([package], None, {}).units
    assert unit.path == package / "webui.db"


# In the store


def imported(store, *paths):
    job = ingest.Import(list(paths))
    for _ in ingest.run_sync(store, job):
        pass
    report = job.report()
    assert report.failed == 0
    return report.new, report.changed


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "store" / "state.db", None)
    yield opened
    opened.close()


def test_a_chat_is_one_in_the_database_and_in_exports(store, tmp_path):
    assert imported(store, DATABASE) == (9, 0)
    assert imported(store, EXPORT) == (0, 0)
    assert imported(store, DATABASE) == (0, 0)
    assert store.execute("SELECT count(*) FROM sources").get == 1


def test_what_is_written_and_deleted_there_is_followed_and_kept(store, home):
    home.chat("a", {"q": node("ask", role="user"), "r": node("half", "q", timestamp=SECOND)}, "r")
    assert imported(store, home.path) == (2, 0)
    nodes = {"q": node("ask", role="user"), "r": node("half done", "q", timestamp=SECOND),
             "s": node("again", "q", timestamp=SECOND + 1)}  # fmt: skip
    home.chat("a", nodes, "s", updated_at=SECOND + 60)
    assert imported(store, home.path) == (1, 1)
    rows = "SELECT content, state FROM messages ORDER BY uid"
    assert store.execute(rows).fetchall() == [
        ("ask", "active"), ("half done", "off_branch"), ("again", "active"),
    ]  # fmt: skip
    home.run("DELETE FROM chat")
    home.chat("b", {"m": node("new")})
    assert imported(store, home.path) == (1, 0)
    assert store.execute("SELECT count(*) FROM messages").get == 4


def test_times_that_are_none_are_none(read):
    for at in (None, 0, "soon", True, {}):
        found = of(read, "x", timestamp=at)
        assert (found.created_at_ms, found.time_quality) == (None, TimeQuality.NONE)
