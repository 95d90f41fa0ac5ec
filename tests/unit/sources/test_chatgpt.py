"""ChatGPT exports, against what was read from them by eye and against the format page."""

import json
import random
import shutil
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import SourceError
from core.sources import chatgpt
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    ReadTo,
    SessionRecord,
    UnknownRecord,
)
from core.types import MessageState, Origin, Role, TimeQuality, TitleSource, ToolCall, ToolStatus
from tests.unit.sources import expected
from tests.unit.sources.expected import SAMPLES

CHATGPT = SAMPLES / "chatgpt"


@pytest.mark.parametrize("entry", expected.entries("chatgpt"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, chatgpt)))


@pytest.mark.parametrize("entry", expected.entries("chatgpt", ["low"]), ids=expected.name)
def test_a_sample_of_invented_types_is_one_conversation_and_counted(entry):
    seen = expected.observe(expected.readings(entry, chatgpt))
    assert len(seen.sessions) == 1
    assert sum(seen.unknown.values()) > 0
    assert not seen.bad


class Reading:
    """The records of one reading, by type."""

    def __init__(self, path):
        self.records = list(chatgpt.read(path))
        self.messages = [r for r in self.records if isinstance(r, MessageRecord)]
        self.sessions = {r.native_id: r for r in self.records if isinstance(r, SessionRecord)}
        self.bad = [r for r in self.records if isinstance(r, BadSourceRecord)]
        self.unknown = [r.type for r in self.records if isinstance(r, UnknownRecord)]

    def by_uid(self):
        return {m.uid.partition(":")[2] or m.uid: m for m in self.messages}

    def only(self):
        (message,) = self.messages
        return message


def message(content, role="user", **more):
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    return {"author": {"role": role, "name": more.pop("name", None)}, "content": content, **more}


def conversation(*messages, **more):
    """A conversation of one line of nodes, n0 below nothing."""
    mapping = {
        f"n{i}": {"id": f"n{i}", "parent": f"n{i - 1}" if i else None, "message": m}
        for i, m in enumerate(messages)
    }
    return {"id": "c", "title": "Named", "mapping": mapping, **more}


@pytest.fixture
def read(tmp_path):
    def write_and_read(*conversations):
        path = tmp_path / "conversations.json"
        path.write_text(json.dumps(conversations))
        return Reading(path)

    return write_and_read


# Content


@pytest.mark.parametrize(
    ("content", "text", "media"),
    [
        ({"content_type": "text", "parts": ["a", "b"]}, "a\nb", ()),
        ({"content_type": "text", "parts": ["  kept \r\n "]}, "  kept \r\n ", ()),
        ({"content_type": "text", "parts": ["\ue200cite\ue202turn0\ue201"]},
         "\ue200cite\ue202turn0\ue201", ()),
        ({"content_type": "text", "text": "no parts"}, "no parts", ()),
        ({"content_type": "code", "language": "python", "text": "print(1)"}, "print(1)", ()),
        ({"content_type": "multimodal_text", "parts": [
            {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1",
             "size_bytes": 10},
            "what is this?",
            {"content_type": "audio_transcription", "text": "said aloud"},
            {"content_type": "real_time_user_audio_video_asset_pointer",
             "audio_asset_pointer": {"content_type": "audio_asset_pointer",
                                     "asset_pointer": "sediment://a"}},
            None]},
         "what is this?\nsaid aloud",
         ("image; size=10; at=sediment://file_1", "audio; at=sediment://a")),
        ({"content_type": "tether_quote", "title": "T", "url": "https://x.org", "text": "quoted"},
         "T\nhttps://x.org\nquoted", ()),
        ({"content_type": "tether_browsing_display", "result": "r", "summary": ""}, "r", ()),
        ({"content_type": "sonic_webpage", "title": "T", "snippet": "s"}, "T\ns", ()),
        ("bare", "bare", ()),
    ],
)  # fmt: skip
def test_content_by_type(read, content, text, media):
    found = read(conversation(message(content if isinstance(content, dict) else "bare")))
    assert (found.only().content, found.only().media_refs) == (text, media)
    assert found.unknown == []


@pytest.mark.parametrize(
    ("content", "text", "unknown"),
    [
        ({"content_type": "hologram", "text": "beam"}, "beam", ["content hologram"]),
        ({"content_type": "hologram", "parts": ["a"]}, "a", ["content hologram"]),
        ({"content_type": ["odd"]}, "", ["content"]),
        ({"content_type": "text", "parts": [7, {"content_type": "widget"}, "a", ["b"]]}, "a",
         ["part int", "part widget", "part list"]),
        ({}, "", ["content"]),
    ],
)  # fmt: skip
def test_what_is_not_known_keeps_its_text_and_is_counted(read, content, text, unknown):
    found = read(conversation(message(content)))
    assert (found.only().content, found.unknown) == (text, unknown)


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["parts", "text", "content_type", "thoughts", "content", "asset_pointer", "status",
             "attachments", "aggregate_result", "messages", "role", "metadata", "author"]
        ),
        inner,
        max_size=3,
    ),
    max_leaves=10,
)  # fmt: skip
types = st.sampled_from(
    ["text", "multimodal_text", "code", "thoughts", "reasoning_recap", "tether_quote",
     "user_editable_context", "computer_output", "system_error", "x"]
)  # fmt: skip


@given(
    st.fixed_dictionaries(
        {"content": odd | st.builds(lambda t, p, o: {"content_type": t, "parts": p, **o}, types,
                                    odd, st.dictionaries(st.sampled_from(["text", "thoughts",
                                                                          "content"]), odd))},
        optional={"author": odd, "metadata": odd, "create_time": odd, "recipient": odd,
                  "status": odd, "weight": odd},
    ),
    st.dictionaries(st.sampled_from(["id", "title", "current_node", "create_time", "is_archived",
                                     "default_model_slug", "gizmo_id"]), odd),
    odd,
)  # fmt: skip
def test_no_value_anywhere_crashes_the_reader(tmp_path_factory, body, header, node):
    path = tmp_path_factory.mktemp("export") / "conversations.json"
    mapping = {"a": {"parent": None, "message": body}, "b": {"parent": "a", "message": node}}
    path.write_text(json.dumps([{**header, "mapping": {**mapping, "c": node}}]))
    found = Reading(path)
    assert len(found.sessions) == 1
    assert not found.bad
    assert len({m.uid for m in found.messages}) == len(found.messages)


def test_thoughts_are_reasoning_and_their_recap_an_event(read):
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "why"}, None]}
    recap = {"content_type": "reasoning_recap", "content": "Thought for 3s"}
    found = read(conversation(message(thoughts, "assistant"), message(recap, "assistant")))
    first, second = found.messages
    assert (first.content, first.reasoning, first.origin) == ("", "s\n\nwhy", Origin.MODEL)
    assert (second.content, second.origin) == ("Thought for 3s", Origin.SYNTHETIC)


def test_attachments_are_named_once(read):
    files = [
        {"id": "file_1", "name": "a.png", "mime_type": "image/png", "size": 10},
        {"id": "file_2", "name": "报告.pdf", "mime_type": "application/pdf", "size": 20},
        "odd",
    ]
    pointer = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1"}
    content = {"content_type": "multimodal_text", "parts": [pointer, "see"]}
    found = read(conversation(message(content, metadata={"attachments": files})))
    assert found.only().media_refs == (
        "image; at=sediment://file_1",
        "application/pdf; size=20; at=file_2 报告.pdf",
    )


# Roles, calls and states


def test_a_message_to_a_tool_is_a_call_and_results_below_it_answer_it(read):
    found = read(
        conversation(
            message("look it up"),
            message({"content_type": "code", "text": 'search("x")'}, "assistant",
                    recipient="browser"),
            message("one", "tool", name="browser", status="finished_successfully"),
            message("two", "tool", name="browser", status="in_progress"),
            message("the answer", "assistant", recipient="all"),
            message("unasked", "tool", name="python"),
        )
    )  # fmt: skip
    _, call, one, two, answer, unasked = found.messages
    assert call.tool_calls == (ToolCall("c:n1", "browser", 'search("x")'),)
    assert call.content == ""
    assert [m.tool_call_id for m in (one, two, unasked)] == ["c:n1", "c:n1", None]
    assert [m.tool_name for m in (one, unasked)] == ["browser", "python"]
    assert [m.tool_status for m in (one, two)] == [ToolStatus.SUCCEEDED, ToolStatus.PENDING]
    assert (answer.tool_calls, answer.tool_status) == ((), None)


@pytest.mark.parametrize(
    ("content", "more", "status"),
    [
        ("x", {"metadata": {"aggregate_result": {"status": "success"}}}, ToolStatus.SUCCEEDED),
        ("x", {"metadata": {"aggregate_result": {"status": "failed_with_in_kernel_exception"}},
               "status": "finished_successfully"}, ToolStatus.FAILED),
        ({"content_type": "system_error", "name": "Timeout", "text": "t"},
         {"status": "finished_successfully"}, ToolStatus.FAILED),
        ("x", {"status": "finished_successfully"}, ToolStatus.SUCCEEDED),
        ("x", {}, ToolStatus.UNKNOWN),
    ],
)  # fmt: skip
def test_the_outcome_of_a_tool(read, content, more, status):
    assert read(conversation(message(content, "tool", **more))).only().tool_status == status


def test_pictures_of_a_run_hang_on_its_result(read):
    result = {"aggregate_result": {"messages": [{"image_url": "file-service://file-X"}]}}
    found = read(conversation(message("1", "tool", metadata=result)))
    assert found.only().media_refs == ("image; at=file-service://file-X",)


def test_what_chatgpt_does_not_show_is_hidden_and_never_a_title(read):
    context = {
        "content_type": "user_editable_context",
        "user_profile": "an engineer",
        "user_instructions": "be brief",
    }
    memory = {"content_type": "model_editable_context", "model_set_context": "likes tea"}
    found = read(
        conversation(
            message("", "system", metadata={"is_visually_hidden_from_conversation": True}),
            message(context),
            message("about me", metadata={"is_user_system_message": True}),
            message("scaffold", "system", weight=0),
            message("shown rule", "system", weight=1.0),
            message(memory, "assistant"),
            message(""),
            message("the first prompt"),
            title="New chat",
        )
    )
    assert [(m.state, m.origin) for m in found.messages] == [
        (MessageState.HIDDEN, Origin.SYNTHETIC),
        (MessageState.HIDDEN, Origin.INJECTED),
        (MessageState.ACTIVE, Origin.INJECTED),
        (MessageState.HIDDEN, Origin.SYNTHETIC),
        (MessageState.ACTIVE, Origin.SYNTHETIC),
        (MessageState.ACTIVE, Origin.INJECTED),
        (MessageState.HIDDEN, Origin.HUMAN),
        (MessageState.ACTIVE, Origin.HUMAN),
    ]
    assert found.messages[1].content == "an engineer\nbe brief"
    session = found.sessions["c"]
    assert (session.title, session.title_source) == ("the first prompt", TitleSource.DERIVED)


def test_alternatives_are_off_the_branch_and_stand_beside_what_is_shown():
    found = Reading(CHATGPT / "librechat-fork" / "chatgpt-tree.json")
    jokes = [m for m in found.messages if "trust atoms" in m.content]
    assert [m.state for m in jokes] == [MessageState.OFF_BRANCH, MessageState.ACTIVE]
    shown = [m for m in found.messages if m.state == MessageState.ACTIVE]
    assert [m.position for m in shown] == sorted(m.position for m in shown)
    assert jokes[0].position == jokes[1].position - 1


def test_the_model_is_the_messages_own_else_the_conversations(read):
    found = read(
        conversation(
            message("a", "assistant", metadata={"model_slug": "o3"}),
            message("b", "assistant"),
            message("c"),
            default_model_slug="gpt-5",
        )
    )
    assert [m.model for m in found.messages] == ["o3", "gpt-5", None]
    assert found.sessions["c"].model == "gpt-5"


def test_other_roles_are_kept_and_counted(read):
    found = read(conversation(message("x", "oracle"), {"content": {"content_type": "text"}}))
    assert [m.role for m in found.messages] == [Role.SYSTEM, Role.SYSTEM]
    assert found.unknown == ["role oracle", "role none"]


@pytest.mark.parametrize(
    ("at", "ms"),
    [
        (1750000000.5, 1750000000500),
        ("1750000000.5", 1750000000500),
        (None, None),
        (0, None),
        (1e300, None),
        (True, None),
        ({}, None),
    ],
)
def test_a_missing_time_is_none_and_never_1970(read, at, ms):
    found = read(conversation(message("x", create_time=at), create_time=at, update_time=at))
    quality = TimeQuality.EXACT if ms else TimeQuality.NONE
    assert (found.only().created_at_ms, found.only().time_quality) == (ms, quality)
    assert (found.sessions["c"].started_at_ms, found.sessions["c"].updated_at_ms) == (ms, ms)


# Conversations


def test_what_a_conversation_tells(read):
    session = read(
        conversation(
            message("x"), is_archived=True, is_starred=True, gizmo_id="g-p-1", memory_scope="off"
        )
    ).sessions["c"]
    assert (session.title, session.title_source) == ("Named", TitleSource.MODEL)
    assert (session.archived, session.pinned) == (True, True)
    assert json.loads(session.metadata) == {
        "gizmo_id": "g-p-1",
        "is_starred": True,
        "memory_scope": "off",
    }


def test_ids_are_told_or_derived_and_stay(read):
    node = "6b0f0d9c-0000-4000-8000-000000000001"
    told = {"mapping": {node: {"message": message("x")}}}
    by_id = read({**told, "id": "a", "conversation_id": "b"}).only()
    by_conversation = read({**told, "id": None, "conversation_id": "b"}).only()
    derived = read(told).only()
    assert (by_id.session, by_id.uid) == ("a", node)
    assert by_conversation.session == "b"
    assert derived.session.startswith("derived-")
    grown = {node: told["mapping"][node], "n2": {"parent": node, "message": message("y")}}
    assert {m.session for m in read({"mapping": grown}).messages} == {derived.session}


def test_ids_that_are_not_unique_in_the_world_are_told_apart_by_conversation(read):
    found = read(conversation(message("Hello")), conversation(message("Hello"), id="d"))
    assert [m.uid for m in found.messages] == ["c:n0", "d:n0"]


@pytest.mark.parametrize("mapping", [None, {}, [], "x", {"a": None}, {"a": 7}])
def test_a_conversation_without_nodes_is_stored_empty(read, mapping):
    found = read({"id": "c", "title": "T", "mapping": mapping}, conversation(message("x"), id="d"))
    assert set(found.sessions) == {"c", "d"}
    assert len(found.messages) == 1
    assert not found.bad


def test_objects_that_are_no_conversations_are_counted(read):
    found = read({"user": "me"}, conversation(message("x")), 7)
    assert (found.unknown, len(found.messages), [b.line for b in found.bad]) == (["object"], 1, [3])


# Files and faults


def shards(folder):
    with zipfile.ZipFile(CHATGPT / "synthetic" / "export-sharded.zip") as whole:
        return {
            name: whole.read(name) for name in ("conversations-000.json", "conversations-001.json")
        }


def test_zip_folder_and_single_file_give_the_same(tmp_path):
    folder = tmp_path / "export"
    (folder / "deep").mkdir(parents=True)
    for name, content in shards(tmp_path).items():
        (folder / "deep" / name).write_bytes(content)
    for name in ("user.json", "shared_conversations.json", "chat.html"):
        (folder / name).write_text("[]")
    paths = list(chatgpt.files(folder))
    assert [p.name for p in paths] == ["conversations-000.json", "conversations-001.json"]
    parts = [m for path in paths for m in Reading(path).messages]
    zipped = Reading(CHATGPT / "synthetic" / "export-sharded.zip").messages
    single = Reading(CHATGPT / "librechat" / "chatgpt-modern-export.json").messages
    as_told = [(m.session, m.uid, m.content, m.position) for m in single]
    assert [(m.session, m.uid, m.content, m.position) for m in parts] == as_told
    assert [(m.session, m.uid, m.content, m.position) for m in zipped] == as_told
    assert zipped[0].raw_ref.startswith("conversations-000.json@1:")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_an_export_that_was_saved_anew_is_known_and_read(tmp_path, encoding):
    path = tmp_path / "conversations.json"
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    told = json.dumps([conversation(message("灰雁"))], ensure_ascii=False)
    path.write_text(mark + told, encoding=encoding)
    assert chatgpt.recognises(path)
    assert Reading(path).only().content == "灰雁"


def test_a_reference_to_the_bytes_finds_the_conversation():
    path = CHATGPT / "librechat-fork" / "chatgpt-export.json"  # with a byte order mark
    raw = path.read_bytes()
    for found in Reading(path).messages:
        offset, length = map(int, found.raw_ref.split(":"))
        assert json.loads(raw[offset : offset + length])["id"] == found.session


def test_progress_reaches_the_end_of_the_last_shard():
    told = [r for r in Reading(CHATGPT / "synthetic/export-sharded.zip").records
            if isinstance(r, ReadTo)]  # fmt: skip
    assert [r.offset for r in told] == sorted(r.offset for r in told)
    assert told[-1] == ReadTo(3290 + 1046 - 1, 3290 + 1046)


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("chatgpt/synthetic/export-sharded.zip", True),
        ("chatgpt/librechat-fork/chatgpt-export.json", True),
        ("chatgpt/bot-knows", True),
        ("chatgpt/polylogue/sample-00.json", True),
        ("hermes/agent-sessions/session_small.json", False),
        ("hermes/generated-v23/state.db", False),
        ("hermes", False),
        ("claude_code/agent-sessions/small.jsonl", False),
        ("no such file", False),
    ],
)
def test_what_is_recognised(path, known):
    assert chatgpt.recognises(SAMPLES / path) == known


def test_the_export_of_another_assistant_is_not_taken_for_one(tmp_path):
    path = tmp_path / "conversations.json"
    path.write_text('[{"uuid": "x", "chat_messages": [], "mapping": {}}]')
    assert not chatgpt.recognises(path)
    zipped = tmp_path / "x.zip"
    with zipfile.ZipFile(zipped, "w") as made:
        made.write(path, "conversations.json")
    assert not chatgpt.recognises(zipped)


def test_there_is_one_instance_for_all_exports():
    assert {chatgpt.identity(p).instance for p in (CHATGPT, CHATGPT / "bot-knows")} == {""}


def test_an_archive_that_is_refused_gives_nothing_and_says_why(tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("conversations.json", "[]")
        made.writestr("../evil.json", "x")
    with pytest.raises(SourceError, match="points outside"):
        list(chatgpt.read(path))
    assert not chatgpt.recognises(path)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("chat.html", "x")
    with pytest.raises(SourceError, match=r"no conversations\*\.json"):
        list(chatgpt.read(path))


def test_a_truncated_file_gives_every_whole_conversation(tmp_path):
    whole = (CHATGPT / "librechat-fork" / "chatgpt-export.json").read_bytes()
    path = tmp_path / "conversations.json"
    path.write_bytes(whole[: len(whole) - 2000])
    found = Reading(path)
    assert [s.title for s in found.sessions.values()] == ["Conversation 1. Web Search"]
    assert [b.line for b in found.bad] == [2]


def test_a_damaged_conversation_costs_only_itself(tmp_path):
    entries = [conversation(message(f"text {n}"), id=f"c{n}") for n in range(5)]
    raw = json.dumps(entries).encode()
    path = tmp_path / "conversations.json"
    path.write_bytes(raw.replace(b'"text 2"', b'"text 2'))
    found = Reading(path)
    assert [m.content for m in found.messages][:2] == ["text 0", "text 1"]
    assert [m.content for m in found.messages][-1] == "text 4"
    assert found.bad[0].line == 3


@pytest.mark.parametrize("name", ["export-sharded.zip", "conversations_all_shapes.json"])
@pytest.mark.parametrize("seed", range(40))
def test_no_damage_does_more_than_cost_records_or_be_told(tmp_path, name, seed):
    chance = random.Random(seed)
    raw = bytearray((CHATGPT / "synthetic" / name).read_bytes())
    for _ in range(chance.choice([1, 5, 50])):
        at, length = chance.randrange(len(raw)), chance.choice([0, 1, 2, 16])
        raw[at : at + chance.choice([0, 1, length])] = chance.randbytes(length)
    path = tmp_path / name
    path.write_bytes(raw)
    chatgpt.recognises(path)
    texts, named = [], str(path)
    try:
        texts = [m.content for m in Reading(path).messages]
    except SourceError as error:
        named = error.path
    assert named == str(path)
    "".join(texts).encode()  # no half of a surrogate pair is left


def test_reading_twice_gives_the_same_records():
    path = CHATGPT / "synthetic" / "conversations_all_shapes.json"
    assert list(chatgpt.read(path)) == list(chatgpt.read(path))


def test_an_export_in_a_folder_of_downloads_is_found(tmp_path):
    shutil.copy(CHATGPT / "synthetic" / "export-sharded.zip", tmp_path / "abc-2026.zip")
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as made:
        made.writestr("a.png", "x")
    assert list(chatgpt.files(tmp_path)) == [tmp_path / "abc-2026.zip"]
