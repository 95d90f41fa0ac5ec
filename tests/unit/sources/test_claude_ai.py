"""Claude.ai exports, against what was read from them by eye and against the format page."""

import json
import shutil
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import SourceError
from core.sources import chatgpt, claude_ai, detect, ingest
from core.sources.ingest_plan import make_plan
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    Remark,
    SessionRecord,
    UnknownRecord,
)
from core.store.connection import open_store
from core.types import MessageState, Origin, Role, TimeQuality, TitleSource, ToolCall, ToolStatus
from tests.unit.sources import expected
from tests.unit.sources.expected import SAMPLES

CLAUDE = SAMPLES / "claude_ai"
ROOT = "00000000-0000-4000-8000-000000000000"
PLACEHOLDER = "```\nThis block is not supported on your current device yet.\n```"


@pytest.mark.parametrize("entry", expected.entries("claude_ai"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, claude_ai)))


@pytest.mark.parametrize("entry", expected.entries("claude_ai", ["low"]), ids=expected.name)
def test_a_sample_of_an_odd_shape_is_one_conversation(entry):
    seen = expected.observe(expected.readings(entry, claude_ai))
    assert len(seen.sessions) == 1
    shown = [m for m in seen.messages if m.state == MessageState.ACTIVE]
    assert len(shown) == entry["visible_messages"]
    assert not seen.bad


class Reading:
    """The records of one reading, by type."""

    def __init__(self, path):
        self.records = list(claude_ai.read(path))
        self.messages = [r for r in self.records if isinstance(r, MessageRecord)]
        self.sessions = {r.native_id: r for r in self.records if isinstance(r, SessionRecord)}
        self.bad = [r for r in self.records if isinstance(r, BadSourceRecord)]
        self.remarks = [r.text for r in self.records if isinstance(r, Remark)]
        self.unknown = [r.type for r in self.records if isinstance(r, UnknownRecord)]

    def only(self):
        (message,) = self.messages
        return message

    def shown(self):
        return [m.content for m in self.messages if m.state == MessageState.ACTIVE]


def message(text="", key="m", sender="human", **more):
    return {"uuid": key, "sender": sender, "text": text, **more}


def conversation(*messages, **more):
    return {"uuid": "c", "name": "Named", "chat_messages": list(messages), **more}


@pytest.fixture
def read(tmp_path):
    def write_and_read(*conversations):
        path = tmp_path / "conversations.json"
        path.write_text(json.dumps(conversations))
        return Reading(path)

    return write_and_read


# Content


def of_blocks(read, *blocks, text="flat", **more):
    return read(conversation(message(text, content=list(blocks), **more)))


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\n\nb"),
        ([{"type": "text", "text": "  kept \r\n "}], "  kept \r\n "),
        ([{"type": "voice_note", "title": "Memo", "text": "said aloud"}], "Memo\n\nsaid aloud"),
        ([{"type": "token_budget", "remaining": 5}, {"type": "text", "text": "a"}], "a"),
        ([{"type": "text", "text": ""}], "flat"),
        ([], "flat"),
    ],
)
def test_text_is_that_of_the_blocks_and_else_the_flat_one(read, blocks, text):
    found = of_blocks(read, *blocks)
    assert (found.only().content, found.unknown) == (text, [])


def test_blocks_of_types_that_are_all_unknown_give_way_to_the_text_without_placeholders(read):
    odd = {"type": "hologram", "text": "beam"}
    assert of_blocks(read, odd, text=f"said\n{PLACEHOLDER}\n").only().content == "said\n\n"
    alone = of_blocks(read, odd, text=PLACEHOLDER)
    assert (alone.only().content, alone.unknown) == ("beam", ["block hologram"])
    beside = of_blocks(read, odd, {"type": "text", "text": "known"}, 7)
    assert (beside.only().content, beside.unknown) == ("known", ["block hologram", "block int"])


def test_thinking_is_reasoning_and_its_summary_stands_in_for_it(read):
    told = {"type": "thinking", "thinking": "why", "summaries": [{"summary": "Thinking"}]}
    empty = {"type": "thinking", "thinking": "", "summaries": [{"summary": "Pondered"}, None]}
    found = of_blocks(read, told, empty, {"type": "text", "text": "a"}).only()
    assert (found.content, found.reasoning) == ("a", "why\n\nPondered")


def test_a_call_carries_its_arguments_as_they_are_and_its_result(read):
    use = {"type": "tool_use", "id": "t1", "name": "repl", "input": {"code": "1 + 1", "语": "值"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "name": "repl", "is_error": False,
              "content": [{"type": "text", "text": "2"}]}  # fmt: skip
    found = of_blocks(read, use, result).only()
    (call,) = found.tool_calls
    assert call == ToolCall("t1", "repl", call.arguments, ToolStatus.SUCCEEDED, result="2")
    assert json.loads(call.arguments) == {"code": "1 + 1", "语": "值"}
    assert "语" in call.arguments
    assert found.content == ""


def test_results_without_ids_answer_the_calls_of_their_name_in_order(read):
    def use(name):
        return {"type": "tool_use", "id": None, "name": name, "input": {}}

    def result(name, text, **more):
        return {"type": "tool_result", "tool_use_id": None, "name": name,
                "content": [{"type": "text", "text": text}], **more}  # fmt: skip

    found = of_blocks(
        read, use("a"), use("b"), use("a"), result("a", "first"), result("b", "bad", is_error=True),
        result("c", "of nobody"),
    )  # fmt: skip
    assert [(c.name, c.status, c.result) for c in found.only().tool_calls] == [
        ("a", ToolStatus.SUCCEEDED, "first"),
        ("b", ToolStatus.FAILED, "bad"),
        ("a", ToolStatus.UNKNOWN, ""),
        ("c", ToolStatus.SUCCEEDED, "of nobody"),
    ]


def test_results_with_ids_answer_their_call_in_any_order(read):
    def use(key):
        return {"type": "tool_use", "id": key, "name": "n", "input": {}}

    def result(key):
        return {"type": "tool_result", "tool_use_id": key, "name": "n", "content": f"of {key}"}

    found = of_blocks(read, use("1"), use("2"), use("3"), result("2"), result("1")).only()
    assert [(c.id, c.result) for c in found.tool_calls] == [("1", "of 1"), ("2", "of 2"), ("3", "")]


def test_content_may_be_a_bare_text(read):
    assert read(conversation(message("flat", content="bare"))).only().content == "bare"
    assert of_blocks(read, "one", {"type": "text", "text": "two"}).only().content == "one\n\ntwo"


def test_pictures_are_named_by_what_is_told_of_them(read):
    parts = [{"type": "image", "file_uuid": "f-3"}, {"type": "hologram"}, {"type": ["odd"]}]
    shown = {"type": "tool_result", "name": "n", "content": parts}
    found = of_blocks(
        read,
        {"type": "image", "file_uuid": "f-1", "file_name": "a.png", "media_type": "image/png"},
        {"type": "image", "source": {"type": "url", "url": "https://x.org/b.png"}},
        {"type": "document", "url": "https://x.org/c.pdf"},
        {"type": "tool_use", "id": None, "name": "n", "input": {}},
        shown,
        text="",
    )
    assert found.only().media_refs == (
        "image/png; at=f-1 a.png",
        "image; at=https://x.org/b.png",
        "document; at=https://x.org/c.pdf",
        "image; at=f-3",
    )
    assert found.unknown == ["result hologram", "result"]


@pytest.mark.parametrize(
    ("content", "more", "text"),
    [
        ("plain", {}, "plain"),
        ([{"type": "knowledge", "title": "T", "url": "https://x.org", "text": "t"}], {},
         "T\nhttps://x.org\nt"),
        ([], {"structured_content": {"n": 1}}, '{"n":1}'),
        (None, {}, ""),
    ],
)  # fmt: skip
def test_what_a_result_says(read, content, more, text):
    use = {"type": "tool_use", "id": "t", "name": "n", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": content, **more}
    (call,) = of_blocks(read, use, result).only().tool_calls
    assert (call.result, call.status) == (text, ToolStatus.SUCCEEDED)


def test_pasted_documents_are_what_was_said_and_files_are_named(read):
    found = read(
        conversation(
            message(
                "look",
                attachments=[
                    {"file_name": "", "file_size": 5, "file_type": "txt",
                     "extracted_content": "pasted 文字"},
                    {"file_name": "报告.pdf", "file_size": 20, "file_type": "pdf",
                     "extracted_content": "chapter one"},
                    "odd",
                ],
                files=[{"file_uuid": "f-1", "file_name": "a.png"}, {"file_uuid": "f-2"}],
                files_v2=[{"file_uuid": "f-1", "file_name": "a.png"}],
            )
        )
    )  # fmt: skip
    assert found.only().content == "look\n\npasted 文字\n\nchapter one"
    assert found.only().media_refs == ("pdf; size=20; at=报告.pdf", "file; at=f-1 a.png",
                                       "file; at=f-2")  # fmt: skip


def test_a_picture_is_a_reference_and_never_text(read):
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                           "data": "QUJD" * 1000}}  # fmt: skip
    found = of_blocks(read, picture, {"type": "text", "text": "see"}).only()
    assert (found.content, found.media_refs) == ("see", ("image/png; size=3000; at=inline",))


# Order, branches, titles


def linked(text, key, parent, at, **more):
    return message(text, key, parent_message_uuid=parent, created_at=at, **more)


def test_the_path_leads_to_the_newest_leaf_and_the_others_stand_beside_it(read):
    found = read(
        conversation(
            linked("ask", "1", ROOT, "2026-03-07T12:00:00Z"),
            linked("second try", "3", "1", "2026-03-07T12:02:00Z", sender="assistant"),
            linked("first try", "2", "1", "2026-03-07T12:01:00Z", sender="assistant"),
            linked("edited ask", "4", ROOT, "2026-03-07T11:00:00Z"),
        )
    )
    assert {m.content: m.state for m in found.messages} == {
        "ask": MessageState.ACTIVE,
        "second try": MessageState.ACTIVE,
        "first try": MessageState.OFF_BRANCH,
        "edited ask": MessageState.OFF_BRANCH,
    }
    positions = {m.content: m.position for m in found.messages}
    assert positions["first try"] == positions["second try"] + 1


def test_a_leaf_that_is_marked_counts(read):
    turns = (
        linked("ask", "1", ROOT, None),
        linked("old", "2", "1", None, sender="assistant"),
        linked("new", "3", "1", None, sender="assistant"),
    )
    assert read(conversation(*turns)).shown() == ["ask", "new"]
    marked = conversation(*turns, current_leaf_message_uuid="2")
    assert read(marked).shown() == ["ask", "old"]


def test_without_links_or_times_the_messages_are_one_line(read):
    turns = [message(f"t{n}", f"k{n}", created_at=None) for n in range(4)]
    found = read(conversation(*turns))
    assert found.shown() == ["t0", "t1", "t2", "t3"]
    assert {(m.created_at_ms, m.time_quality) for m in found.messages} == {(None, TimeQuality.NONE)}


def test_a_link_that_is_missing_or_dangles_hides_nothing(read):
    found = read(
        conversation(
            linked("one", "1", ROOT, None),
            message("two", "2"),
            linked("three", "3", "nowhere", None),
            linked("four", "4", "3", None),
        )
    )
    assert found.shown() == ["one", "two", "three", "four"]


def test_a_ring_of_links_ends_and_keeps_every_message(read):
    found = read(
        conversation(*(linked(f"t{n}", f"k{n}", f"k{(n + 1) % 3}", None) for n in range(3)))
    )
    assert sorted(m.content for m in found.messages) == ["t0", "t1", "t2"]


def test_positions_stay_when_a_later_export_has_more(read):
    first = [
        linked("ask", "1", ROOT, "2026-03-07T12:00:00Z"),
        linked("a", "2", "1", "2026-03-07T12:01:00Z", sender="assistant"),
    ]
    more = [
        linked("b", "3", "1", "2026-03-07T12:02:00Z", sender="assistant"),
        linked("go on", "4", "3", "2026-03-07T12:03:00Z"),
    ]
    before = {m.uid: m.position for m in read(conversation(*first)).messages}
    after = {m.uid: m.position for m in read(conversation(*first, *more)).messages}
    assert before.items() <= after.items()


def test_one_id_for_two_texts_is_two_messages_and_for_one_text_one(read):
    found = read(conversation(message("a", "k"), message("b", "k"), message("a", "k")))
    assert [m.content for m in found.messages] == ["a", "b"]
    assert len({m.uid for m in found.messages}) == 2
    assert found.messages[0].uid == "c:k"


def test_messages_without_ids_are_known_again_by_their_words(read):
    turns = [{"sender": "human", "text": "continue"} for _ in range(2)]
    first = [m.uid for m in read(conversation(*turns)).messages]
    again = [m.uid for m in read(conversation(*turns, message("more"))).messages]
    assert len(set(first)) == 2
    assert again[:2] == first


def test_ids_that_are_unique_in_the_world_are_taken_as_they_are(read):
    key = "019cc82f-7e61-7db9-a722-000000000001"
    assert read(conversation(message("a", key))).only().uid == key


def test_a_title_is_told_or_made_of_the_first_prompt(read):
    told = read(conversation(message("x"))).sessions["c"]
    assert (told.title, told.title_source) == ("Named", TitleSource.MODEL)
    made = read(conversation(message("  the first  prompt"), name="")).sessions["c"]
    assert (made.title, made.title_source) == ("the first prompt", TitleSource.DERIVED)
    none = read(conversation(name="")).sessions["c"]
    assert (none.title, none.title_source) == (None, TitleSource.NONE)


def test_a_deleted_conversation_is_a_shell_that_shows_nothing(read):
    found = read(conversation(name="", created_at="2026-01-01T00:00:00Z"))
    assert (set(found.sessions), found.messages, found.bad) == ({"c"}, [], [])


def test_what_a_conversation_tells(read):
    found = read(
        conversation(
            message("x", sender="assistant"),
            created_at="2026-03-07T12:04:40.918149Z",
            updated_at="2024-08-08T19:12:06.120414",  # no zone: the service writes UTC
            is_starred=True,
            model="claude-opus",
            summary="**Overview**",
            account={"uuid": "acc", "email_address": "someone@example.org"},
            project={"uuid": "p", "name": "Garden"},
        )
    )
    session = found.sessions["c"]
    assert session.started_at_ms == 1772885080918
    assert session.updated_at_ms == 1723144326120
    assert (session.pinned, session.model, session.project) == (True, "claude-opus", "Garden")
    assert json.loads(session.metadata) == {
        "summary": "**Overview**",
        "project": {"uuid": "p", "name": "Garden"},
    }
    assert (found.only().model, found.only().as_of_ms) == ("claude-opus", 1723144326120)


def test_other_senders_are_kept_and_counted(read):
    found = read(conversation(message("x", sender="oracle"), message("y", "n", sender=7), 5))
    assert [(m.role, m.origin) for m in found.messages] == [(Role.SYSTEM, Origin.SYNTHETIC)] * 2
    assert found.unknown == ["sender oracle", "sender", "message"]


# Any value anywhere

odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["type", "text", "content", "thinking", "summaries", "summary", "id", "name", "input",
             "tool_use_id", "is_error", "structured_content", "source", "data", "file_uuid",
             "file_name", "extracted_content", "uuid", "url"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip
types = st.sampled_from(
    ["text", "thinking", "tool_use", "tool_result", "voice_note", "image", "token_budget", "x"]
)
blocks = st.lists(
    odd | st.builds(lambda kind, rest: {**rest, "type": kind}, types,
                    st.dictionaries(st.sampled_from(["text", "thinking", "content", "id", "input",
                                                     "name", "source", "tool_use_id"]), odd)),
    max_size=4,
)  # fmt: skip
bodies = st.fixed_dictionaries(
    {"content": odd | blocks},
    optional={"uuid": odd, "sender": odd, "text": odd, "created_at": odd, "attachments": odd,
              "files": odd, "parent_message_uuid": odd | st.sampled_from(["1", "2", ROOT])},
)  # fmt: skip


@given(
    st.lists(bodies | odd, max_size=4),
    st.dictionaries(
        st.sampled_from(["uuid", "name", "created_at", "updated_at", "project", "is_starred",
                         "model", "settings", "current_leaf_message_uuid"]), odd),
)  # fmt: skip
def test_no_value_anywhere_crashes_the_reader(tmp_path_factory, messages, header):
    path = tmp_path_factory.mktemp("export") / "conversations.json"
    path.write_text(json.dumps([{**header, "chat_messages": messages}]))
    found = Reading(path)
    assert len(found.sessions) == 1
    assert not found.bad
    assert len({m.uid for m in found.messages}) == len(found.messages)
    for each in found.messages:
        texts = [each.uid, each.content, each.reasoning or "", *each.media_refs]
        texts += [t for c in each.tool_calls for t in (c.id or "", c.name, c.arguments, c.result)]
        assert all(type(text) is str for text in texts)


@pytest.mark.parametrize("messages", [None, {}, "x", 7, [None, 7]])
def test_a_conversation_whose_messages_are_none_is_stored_empty(read, messages):
    found = read(conversation() | {"chat_messages": messages}, conversation(message("x"), uuid="d"))
    assert set(found.sessions) == {"c", "d"}
    assert len(found.messages) == 1
    assert not found.bad
    counted = {"{}": ["chat_messages"], "'x'": ["chat_messages"], "7": ["chat_messages"],
               "[None, 7]": ["message", "message"]}  # fmt: skip
    assert found.unknown == counted.get(repr(messages), [])


def test_a_conversation_without_an_id_is_known_by_its_first_message(read):
    def session(*messages, **more):
        return next(iter(read({"chat_messages": list(messages), **more}).sessions))

    first = session(message("a", "k1"), name="One")
    assert first == session(message("a b", "k1"), message("c", "k2"), name="Two")
    assert first != session(message("a", "k9"), name="One")
    assert session(name="One", created_at="2026") == session(name="One", created_at="2026")
    assert session(name="One", created_at="2026") != session(name="One", created_at="2027")


# Files


def content(path):
    return [(m.session, m.uid, m.content, m.position, m.state) for m in Reading(path).messages]


def test_zip_lines_array_and_single_object_give_the_same(tmp_path):
    lines = (CLAUDE / "synthetic/conversations.jsonl").read_text().splitlines()
    array = tmp_path / "conversations.json"
    array.write_text("[" + ",\n".join(lines) + "]")
    wide = tmp_path / "wide.json"
    wide.write_text(array.read_text(), encoding="utf-16")
    told = content(CLAUDE / "synthetic/conversations.jsonl")
    assert content(array) == content(CLAUDE / "synthetic/export.zip") == content(wide) == told
    one = tmp_path / "one.json"
    one.write_text("\ufeff" + lines[0])
    assert content(one) == told[:3]
    assert claude_ai.recognises(wide)
    assert claude_ai.recognises(one)


def zipped(path, **entries):
    with zipfile.ZipFile(path, "w") as made:
        for name, value in entries.items():
            made.writestr(name.replace("__", "/"), json.dumps(value))
    return path


def test_a_reference_to_the_bytes_finds_the_conversation(tmp_path):
    two = [conversation(message("é")), conversation(message("x"), uuid="d")]
    path = zipped(tmp_path / "e.zip", **{"data__conversations.json": two})
    for found in Reading(path).messages:
        name, _, place = found.raw_ref.partition("@")
        offset, length = map(int, place.split(":"))
        with zipfile.ZipFile(path) as archive:
            raw = archive.read(name)
        assert json.loads(raw[offset : offset + length])["uuid"] == found.session


@pytest.mark.parametrize("layout", ["projects.json", "projects__p.json"])
def test_projects_beside_the_conversations_name_theirs(tmp_path, layout):
    project = {"uuid": "p", "name": "Garden", "description": "beds", "prompt_template": "be brief",
               "docs": [{"uuid": "d", "filename": "plan.md", "content": "secret plan"}],
               "creator": {"full_name": "Somebody"}}  # fmt: skip
    value = [project] if layout == "projects.json" else project
    talks = [conversation(message("x"), project={"uuid": "p"}), conversation(uuid="d")]
    path = zipped(tmp_path / "e.zip", **{"conversations.json": talks, layout: value})
    sessions = Reading(path).sessions
    assert (sessions["c"].project, sessions["d"].project) == ("Garden", None)
    assert json.loads(sessions["c"].metadata)["project"] == {
        "uuid": "p", "name": "Garden", "description": "beds", "prompt_template": "be brief",
        "docs": ["plan.md"],
    }  # fmt: skip
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "folder")
    (file,) = claude_ai.files(tmp_path / "folder")
    assert Reading(file).sessions["c"].project == "Garden"


def test_a_project_is_where_the_conversation_is_filed(tmp_path):
    talks = [conversation(message("x"), project={"uuid": "p", "name": "Garden"})]
    path = zipped(tmp_path / "e.zip", **{"conversations.json": talks})
    store = open_store(tmp_path / "store" / "state.db", None)
    for _ in ingest.run_sync(store, ingest.Import([path])):
        pass
    assert store.execute("SELECT project FROM sessions").get == "Garden"
    store.close()


def test_accounts_are_never_opened_and_memories_are_told_of(tmp_path):
    path = zipped(
        tmp_path / "e.zip",
        **{
            "conversations.json": [conversation(message("x"))],
            "users.json": [{"full_name": "Somebody", "email_address": "somebody@example.org"}],
            "memories.json": [{"conversations_memory": "likes tea"}],
            "design_chats__one.json": {"project": {}, "messages": []},
        },
    )
    found = Reading(path)
    assert len(found.remarks) == 1
    assert "memories.json" in found.remarks[0]
    assert found.unknown == ["design chats"]
    assert "tea" not in repr(found.records)
    assert "Somebody" not in repr(found.records)


def test_several_batches_of_one_export_are_read_each(tmp_path):
    for number, name in enumerate("cd"):
        talks = [conversation(message("x"), uuid=name)]
        path = tmp_path / f"data-2026-11-01-batch-000{number}.zip"
        zipped(path, **{"conversations.json": talks, "users.json": []})
    plan = make_plan([tmp_path], None, {})
    assert [u.reader.KIND for u in plan.units] == ["claude-ai"] * 2
    assert [set(Reading(u.path).sessions) for u in plan.units] == [{"c"}, {"d"}]


MANIFEST = {
    "exports": [
        {"name": "conversations", "url": "https://example.org/conversations-000.zip?signature=x"},
        {"name": "users", "url": "https://example.org/users-000.zip?signature=x"},
    ]
}


def test_a_manifest_says_what_to_download(tmp_path):
    path = tmp_path / "manifest-9d86139e-2026-09-10-21-25-17.json"
    path.write_text(json.dumps(MANIFEST))
    (unit,) = make_plan([path], None, {}).units
    with pytest.raises(SourceError, match="download the zips that it links to"):
        list(unit.reader.read(path))
    other = tmp_path / "manifest.json"
    other.write_text('{"name": "a web app", "icons": []}')
    assert detect.detect(other) is None


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"projects__p.json": {"uuid": "p", "name": "P"}}, "holds projects and no conversations"),
        ({"users.json": []}, "belongs to the account and no conversations"),
        ({"memories.json": []}, "belongs to the account and no conversations"),
    ],
)
def test_a_part_without_conversations_says_which_one_to_import(tmp_path, entries, words):
    path = zipped(tmp_path / "part-000.zip", **entries)
    (unit,) = make_plan([path], None, {}).units
    assert unit.reader is detect.READERS["claude-ai"]
    with pytest.raises(SourceError, match=words):
        list(unit.reader.read(path))


def test_an_invented_shape_is_refused_in_words():
    path = CLAUDE / "nexus/conversations.json"
    assert detect.detect(path) is None
    found = Reading(path)
    assert (found.sessions, found.bad) == ({}, [])
    assert "no conversation of Claude's" in found.remarks[0]


def test_half_an_emoji_costs_itself_alone(tmp_path):
    path = tmp_path / "conversations.json"
    use = {"type": "tool_use", "id": "t", "name": "n", "input": {"a": "HALF"}}
    talk = conversation(message(content=[{"type": "text", "text": "HALF 😀"}, use]), name="HALF")
    path.write_text(json.dumps([talk]).replace("HALF", "cut \\ud83d"))
    found = Reading(path)
    assert (found.only().content, found.sessions["c"].title) == ("cut \ufffd 😀", "cut \ufffd")
    assert json.loads(found.only().tool_calls[0].arguments) == {"a": "cut \ufffd"}


def test_damage_costs_itself_alone(tmp_path):
    talks = [json.dumps(conversation(message(t), uuid=t)) for t in ("one", "two", "three")]
    talks[1] = talks[1].replace('"two"', '"two\x01', 1).replace("human", "human\\q")
    path = tmp_path / "conversations.json"
    path.write_text("[" + ",".join(talks) + "]")
    found = Reading(path)
    assert set(found.sessions) == {"one", "three"}
    assert len(found.bad) == 1
    path.write_text("[" + ",".join(talks[:1]) + "," + talks[2][:-20])
    assert (set(Reading(path).sessions), len(Reading(path).bad)) == ({"one"}, 1)


# Whose it is


def test_exports_of_the_two_services_are_never_taken_for_each_other(tmp_path):
    talk = conversation(
        message(content=[{"type": "tool_use", "name": "n", "input": {"mapping": {"a": {}}}}])
    )
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([talk]))
    assert detect.detect(path).KIND == "claude-ai"
    says = {"content_type": "text", "parts": ['the key "chat_messages" of {"chat_messages": []}']}
    node = {"parent": None, "message": {"author": {"role": "user"}, "content": says}}
    path.write_text(json.dumps([{"id": "c", "mapping": {"n": node}}]))
    assert detect.detect(path).KIND == "chatgpt"
    path.write_text(json.dumps({"type": "x", "call": {"input": {"a": {"chat_messages": []}}}}))
    assert not claude_ai.recognises(path)
    for sample in (SAMPLES / "chatgpt").rglob("*.*"):
        assert not claude_ai.recognises(sample)
    for sample in CLAUDE.rglob("*.*"):
        assert not chatgpt.recognises(sample)


def test_exports_among_the_downloads_are_found_whoever_they_are_of(tmp_path):
    downloads = tmp_path / "Downloads"
    downloads.mkdir()
    shutil.copy(CLAUDE / "chatlectify/conversations.json", downloads / "conversations (1).json")
    shutil.copy(SAMPLES / "chatgpt/chatlectify/conversations.json", downloads)
    shutil.copytree(CLAUDE / "bot-knows", downloads / "claude")
    shutil.copytree(SAMPLES / "chatgpt/librechat", downloads / "gpt")
    shutil.copy(CLAUDE / "synthetic/export.zip", downloads / "data-2026-batch-0000.zip")
    (downloads / "conversations.part.json").write_text("half of it")
    (downloads / "letter.json").write_text('{"chat_messages": 1}')
    found = {(p.kind, p.path.rsplit("/", 1)[1]) for p in detect.found_on_this_machine({}, tmp_path)}
    assert found == {
        ("chatgpt", "conversations.json"),
        ("claude-ai", "conversations (1).json"),
        ("claude-ai", "claude"),
        ("claude-ai", "data-2026-batch-0000.zip"),
    }
