"""Exports of LibreChat and Chatbot UI, against what was read from them by eye."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sources import detect, ingest, librechat
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    SessionRecord,
    UnknownRecord,
)
from core.store.connection import open_store
from core.types import MessageState, Origin, Role, TitleSource, ToolCall, ToolStatus
from tests.unit.sources import expected
from tests.unit.sources.expected import SAMPLES

LIBRECHAT = SAMPLES / "others/librechat"
ROOT = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize("entry", expected.entries("librechat"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, librechat)))


class Reading:
    """The records of one reading, by type."""

    def __init__(self, path):
        self.records = list(librechat.read(path))
        self.messages = [r for r in self.records if isinstance(r, MessageRecord)]
        self.sessions = {r.native_id: r for r in self.records if isinstance(r, SessionRecord)}
        self.bad = [r for r in self.records if isinstance(r, BadSourceRecord)]
        self.unknown = [r.type for r in self.records if isinstance(r, UnknownRecord)]

    def only(self):
        (message,) = self.messages
        return message

    def shown(self):
        return [m.content for m in self.messages if m.state == MessageState.ACTIVE]


def message(text, key="m", parent=ROOT, mine=True, **more):
    return {"messageId": key, "parentMessageId": parent, "isCreatedByUser": mine, "text": text,
            **more}  # fmt: skip


def conversation(*messages, **more):
    return {"conversationId": "c", "title": "Named", "messages": list(messages), **more}


@pytest.fixture
def read(tmp_path):
    def write_and_read(value):
        path = tmp_path / "export.json"
        path.write_text(json.dumps(value))
        return Reading(path)

    return write_and_read


# Content


def of_parts(read, *parts, **more):
    return read(conversation(message("flat", mine=False, content=list(parts), **more)))


def test_parts_count_and_else_the_text(read):
    found = of_parts(
        read,
        {"type": "think", "think": "because"},
        {"type": "text", "text": "one"},
        {"type": "text", "text": {"value": "two", "annotations": []}},
    ).only()
    assert (found.content, found.reasoning) == ("one\n\ntwo", "because")
    assert of_parts(read).only().content == "flat"
    assert of_parts(read, {"type": "think", "think": "only"}).only().content == "flat"


def test_a_call_carries_its_result(read):
    call = {"id": "1", "name": "search", "args": '{"q":"x"}', "output": "found", "progress": 1}
    older = {"id": "2", "function": {"name": "f", "arguments": "{}"}}
    found = of_parts(read, {"type": "tool_call", "tool_call": call},
                     {"type": "tool_call", "tool_call": older}).only()  # fmt: skip
    assert found.tool_calls == (
        ToolCall("1", "search", '{"q":"x"}', ToolStatus.SUCCEEDED, result="found"),
        ToolCall("2", "f", "{}", ToolStatus.UNKNOWN),
    )


def test_an_error_is_no_word_of_the_model(read):
    found = of_parts(read, {"type": "error", "error": "quota"}, error=True).only()
    assert (found.content, found.origin) == ("quota", Origin.SYNTHETIC)


def test_pictures_and_files_are_named_and_what_is_unknown_counted(read):
    found = of_parts(
        read,
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUJD" * 100}},
        {"type": "image_file", "image_file": {"filepath": "/images/a.png"}},
        {"type": "hologram"},
        files=[{"file_id": "f", "filename": "报告.pdf", "type": "application/pdf", "bytes": 20}],
    )
    assert found.only().media_refs == (
        "image/png; size=316; at=inline",
        "image; at=/images/a.png",
        "application/pdf; size=20; at=f 报告.pdf",
    )
    assert found.unknown == ["content hologram"]


def test_what_a_message_and_a_conversation_tell(read):
    found = read(
        conversation(
            message("ask", "1", createdAt="2024-05-28T18:08:55.014Z", tokenCount=9),
            message("answer", "2", "1", False, tokenCount=78, promptTokens=12,
                    createdAt="2024-05-28T18:08:55.390Z", updatedAt="2024-05-28T18:09:58.669Z"),
            endpoint="openAI", options={"model": "gpt-4", "temperature": 1}, exportAt="20:33:31",
        )
    )  # fmt: skip
    ask, answer = found.messages
    assert ask.created_at_ms == 1716919735014
    assert (ask.usage, answer.usage) == (None, '{"input":12,"output":78}')
    assert (ask.model, answer.model) == (None, "gpt-4")
    session = found.sessions["c"]
    assert session.updated_at_ms == ask.as_of_ms == 1716919798669
    assert (session.title, session.title_source) == ("Named", TitleSource.MODEL)
    assert json.loads(session.metadata) == {
        "endpoint": "openAI", "options": {"model": "gpt-4", "temperature": 1},
    }  # fmt: skip


# Order


BRANCHES = (
    ("ask", "1", ROOT, True),
    ("first", "2", "1", False),
    ("second", "3", "1", False),
    ("why", "4", "2", True),
    ("ask else", "5", ROOT, True),
    ("else", "6", "5", False),
    ("thus", "7", "5", False),
)


def nested(parent):
    return [
        {**message(text, key, above, mine), "children": nested(key)}
        for text, key, above, mine in BRANCHES
        if above == parent
    ]


def test_flat_and_nested_exports_show_the_last_sibling_at_each_place(read):
    flat = read(conversation(*(message(*each) for each in BRANCHES)))
    tree = read(conversation(*nested(ROOT)))
    assert flat.shown() == tree.shown() == ["ask else", "thus"]
    told = {(m.uid, m.content, m.state, m.position) for m in flat.messages}
    assert told == {(m.uid, m.content, m.state, m.position) for m in tree.messages}
    assert len(told) == len(BRANCHES)


def test_children_hang_on_what_they_are_nested_in(read):
    below = [{"messageId": "2", "text": "old"}, {"messageId": "3", "text": "new"}]
    ask = {"messageId": "1", "text": "ask", "isCreatedByUser": True, "children": below}
    found = read(conversation(ask))
    assert [(m.content, m.state) for m in found.messages] == [
        ("ask", MessageState.ACTIVE), ("old", MessageState.OFF_BRANCH),
        ("new", MessageState.ACTIVE),
    ]  # fmt: skip


def test_without_links_the_messages_are_one_line(read):
    found = read(conversation(*(message(t, t, None) for t in "abc")))
    assert found.shown() == ["a", "b", "c"]


def test_a_ring_of_links_ends_and_keeps_every_message(read):
    found = read(conversation(*(message(f"t{n}", f"k{n}", f"k{(n + 1) % 3}") for n in range(3))))
    assert sorted(m.content for m in found.messages) == ["t0", "t1", "t2"]
    assert len(found.shown()) > 0


def test_a_long_conversation_that_is_nested_is_whole(read):
    value = []
    for number in reversed(range(400)):
        value = [{**message(f"t{number}", f"k{number}"), "children": value}]
    found = read(conversation(*value))
    assert found.shown() == [f"t{n}" for n in range(400)]


def test_one_that_nests_too_deep_is_told_and_costs_itself(tmp_path):
    deep: list[object] = []
    for number in reversed(range(460)):
        deep = [{**message(f"t{number}", f"k{number}"), "children": deep}]
    path = tmp_path / "e.json"
    whole = conversation(message("ochre", "k"))
    path.write_text(json.dumps([conversation(*deep), whole]), encoding="utf-8")
    found = list(librechat.read(path))
    assert [each.reason for each in found if isinstance(each, BadSourceRecord)] == [
        "nested deeper than 900 levels"
    ]
    assert [each.content for each in found if isinstance(each, MessageRecord)] == ["ochre"]


# Chatbot UI


def test_messages_without_ids_are_known_again_and_folders_are_projects(read):
    talk = {"id": "t", "name": "New Chat", "folderId": "f", "model": {"id": "gpt-4"},
            "prompt": "be brief", "messages": [
                {"role": "user", "content": "go on"}, {"role": "assistant", "content": "ok"},
                {"role": "user", "content": "go on"}]}  # fmt: skip
    value = {"version": 4, "history": [talk, 7], "folders": [{"id": "f", "name": "Garden"}]}
    found = read(value)
    session = found.sessions["t"]
    assert (session.project, session.model) == ("Garden", "gpt-4")
    assert (session.title, session.title_source) == ("go on", TitleSource.DERIVED)
    assert json.loads(session.metadata) == {"from": "Chatbot UI", "prompt": "be brief"}
    assert found.unknown == ["conversation"]
    uids = [m.uid for m in found.messages]
    assert len(set(uids)) == 3
    talk["messages"].append({"role": "assistant", "content": "done"})
    assert [m.uid for m in read(value).messages][:3] == uids
    assert [m.created_at_ms for m in found.messages] == [None, None, None]


# Any value anywhere

odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "text", "think", "tool_call", "error", "value", "id", "name",
                         "args", "output", "function", "url", "image_url", "children",
                         "messageId", "role", "content"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip
bodies = st.fixed_dictionaries(
    {"messageId": odd | st.sampled_from(["1", "2"])},
    optional=dict.fromkeys(
        ("parentMessageId", "isCreatedByUser", "sender", "text", "content", "createdAt", "model",
         "error", "files", "children", "tokenCount", "updatedAt"), odd),
)  # fmt: skip


@given(
    st.lists(bodies | odd, max_size=4),
    st.dictionaries(st.sampled_from(["title", "options", "endpoint", "tags"]), odd),
    odd,
)
def test_no_value_anywhere_crashes_the_reader(tmp_path_factory, messages, header, key):
    folder = tmp_path_factory.mktemp("export")
    (folder / "a.json").write_text(
        json.dumps({**header, "conversationId": key, "messages": messages})
    )
    talks = [{"id": key, "name": header.get("title"), "messages": messages}, key]
    (folder / "b.json").write_text(json.dumps({"version": 4, "history": talks, "folders": key}))
    for path in (folder / "a.json", folder / "b.json"):
        found = Reading(path)
        assert len(found.sessions) >= 1
        assert not found.bad
        assert len({m.uid for m in found.messages}) == len(found.messages)
        for each in found.messages:
            texts = [each.uid, each.content, each.reasoning or "", *each.media_refs]
            texts += [t for c in each.tool_calls for t in (c.name, c.arguments, c.result)]
            assert all(type(text) is str for text in texts)


# Places and store


def test_a_file_is_known_by_what_it_holds():
    for sample in LIBRECHAT.glob("*.json"):
        assert detect.detect(sample) is detect.READERS["librechat"]
    for sample in SAMPLES.rglob("*.json"):
        if not sample.is_relative_to(LIBRECHAT):
            assert not librechat.recognises(sample), sample


def test_a_later_export_of_a_conversation_updates_it_and_takes_nothing(tmp_path):
    store = open_store(tmp_path / "store" / "state.db", None)

    def imported(name, *messages):
        (tmp_path / name).write_text(json.dumps(conversation(*messages)))
        job = ingest.Import([tmp_path / name])
        for _ in ingest.run_sync(store, job):
            pass
        return job.report().new, job.report().changed

    ask = message("ask", "1", createdAt="2024-05-28T18:00:00Z")
    first = message("first", "2", "1", False, createdAt="2024-05-28T18:01:00Z")
    second = message("second", "3", "1", False, createdAt="2024-05-28T18:02:00Z")
    assert imported("a.json", ask, first) == (2, 0)
    assert imported("b.json", ask, first, second) == (1, 1)
    assert imported("c.json", ask, second) == (0, 0)
    assert imported("d.json", ask, first) == (0, 0)  # an older one, under another name
    rows = store.execute("SELECT content, state FROM messages ORDER BY uid").fetchall()
    assert rows == [("ask", "active"), ("first", "off_branch"), ("second", "active")]
    store.close()


def test_other_senders_speak_for_the_model(read):
    told = conversation({"messageId": "1", "sender": "User", "text": "a"},
                        {"messageId": "2", "sender": "GPT-4", "text": "b"})  # fmt: skip
    assert [m.role for m in read(told).messages] == [Role.USER, Role.ASSISTANT]
