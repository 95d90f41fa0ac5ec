"""The Claude Code reader: the samples, and what each ruling says about its files."""

import json
import time

import pytest

from core.errors import SourceError
from core.sources import claude_code
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    ReadTo,
    SessionRecord,
    UnknownRecord,
)
from core.types import MessageState, Origin, Relation, Role, SessionKind, TitleSource, ToolStatus
from tests.unit.sources import expected


@pytest.mark.parametrize("entry", expected.entries("claude_code"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, claude_code)))


def user(uuid, content, parent=None, **more):
    line = {"type": "user", "uuid": uuid, "parentUuid": parent}
    return line | {"message": {"role": "user", "content": content}} | more


def answer(uuid, *blocks, parent=None, of=None, **more):
    message = {"role": "assistant", "model": "claude-x", "content": list(blocks)}
    message |= {"id": of} if of else {}
    message |= {"usage": more.pop("usage")} if "usage" in more else {}
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": message} | more


def text(words):
    return {"type": "text", "text": words}


def call(call_id, name="Bash", **given):
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def result(call_id, content, **more):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content} | more


class Read:
    """What a file of these lines is read as."""

    def __init__(self, path):
        self.records = list(claude_code.read(path))
        self.messages = [r for r in self.records if isinstance(r, MessageRecord)]
        self.sessions = [r for r in self.records if isinstance(r, SessionRecord)]
        self.unknown = [r.type for r in self.records if isinstance(r, UnknownRecord)]

    def said(self, *states):
        return [m.content for m in self.messages if not states or m.state in states]

    @property
    def session(self):
        (session,) = self.sessions
        return session


@pytest.fixture
def read(tmp_path):
    def reading(*lines, name="0a.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return Read(path)

    return reading


# API messages that are split over lines


def test_lines_of_one_api_message_are_one_message(read):
    found = read(
        answer(
            "a", {"type": "thinking", "thinking": "hmm"}, of="msg_1", usage={"output_tokens": 1}
        ),
        answer("b", text("Use the heron"), of="msg_1", usage={"output_tokens": 8}),
        answer("c", call("t1", "Read", path="x.py"), of="msg_1", usage={"output_tokens": 322}),
        answer("d", text("Use the heron library"), of="msg_1", usage={"output_tokens": 7}),
        user("e", "continue"),
        user("f", "continue"),
    )
    message, *prompts = found.messages
    assert message.uid == "a"
    assert (message.content, message.reasoning) == ("Use the heron library", "hmm")
    assert [(c.id, c.name, c.arguments) for c in message.tool_calls] == [
        ("t1", "Read", '{"path":"x.py"}')
    ]
    assert json.loads(message.usage) == {"output_tokens": 322}
    assert [p.content for p in prompts] == ["continue", "continue"]


def test_results_between_the_lines_of_a_message_do_not_split_it(read):
    found = read(
        answer("a", text("Both."), call("t1"), of="msg_1"),
        user("b", [result("t1", "one")]),
        answer("c", call("t2"), of="msg_1"),
        user("d", [result("t2", "two")]),
        answer("e", text("Done."), of="msg_2"),
    )
    by_place = sorted(found.messages, key=lambda m: m.position)
    assert [(m.role, m.content, len(m.tool_calls)) for m in by_place] == [
        (Role.ASSISTANT, "Both.", 2),
        (Role.TOOL, "one", 0),
        (Role.TOOL, "two", 0),
        (Role.ASSISTANT, "Done.", 0),
    ]


def test_without_an_id_the_request_holds_a_message_until_somebody_speaks(read):
    found = read(
        answer("a", text("one"), requestId="r"),
        answer("b", text("two"), requestId="r"),
        user("c", "next"),
        answer("d", text("three"), requestId="r"),
        answer("e", text("four")),
    )
    assert sorted(found.said()) == ["four", "next", "one\n\ntwo", "three"]


def test_an_id_that_is_none_holds_nothing_together(read):
    found = read(*(answer("[trimmed]", text(w), of="[trimmed]") for w in ("one", "two")))
    assert found.said() == ["one", "two"]
    assert len({m.uid for m in found.messages}) == 2


# What a person typed, and what not


@pytest.mark.parametrize(
    ("line", "origin"),
    [
        (user("u", "fix it"), Origin.HUMAN),
        (user("u", [text("fix it")]), Origin.HUMAN),
        (user("u", "<system-reminder>be brief</system-reminder>\nfix it"), Origin.HUMAN),
        (user("u", "<ide_opened_file>a.py</ide_opened_file> fix it"), Origin.HUMAN),
        (user("u", "fix it", origin={"kind": "human"}), Origin.HUMAN),
        (user("u", "List files", origin={"kind": "task-notification"}), Origin.INJECTED),
        (user("u", "fix it", isMeta=True), Origin.INJECTED),
        (user("u", "<system-reminder>be brief</system-reminder>"), Origin.INJECTED),
        (user("u", "<ide_selection>x</ide_selection>"), Origin.INJECTED),
        (user("u", "<local-command-stdout>ok</local-command-stdout>"), Origin.INJECTED),
        (user("u", "<bash-input>ls</bash-input>"), Origin.INJECTED),
        (user("u", "<task-notification>\n<task-id>x</task-id>"), Origin.INJECTED),
        (user("u", '<teammate-message id="a">hi</teammate-message>'), Origin.INJECTED),
        (user("u", [text("[Request interrupted by user for tool use]")]), Origin.INJECTED),
        (user("u", "Summary of it all.", isCompactSummary=True), Origin.SYNTHETIC),
        (
            user("u", "This session is being continued from a previous conversation that…"),
            Origin.SYNTHETIC,
        ),
    ],
    ids=lambda v: str(v)[:60],
)
def test_whose_words_a_user_line_holds(read, line, origin):
    (message,) = read(line).messages
    assert (message.role, message.origin) == (Role.USER, origin)


def test_a_slash_command_is_shown_as_it_was_typed(read):
    found = read(
        user("u", "<command-name>/review</command-name>\n<command-message>review</command-message>"
                  "<command-args>12 --fast</command-args>")
    )  # fmt: skip
    assert found.said() == ["/review 12 --fast"]
    assert found.messages[0].origin == Origin.HUMAN


def test_a_result_is_the_tools_even_on_a_line_that_says_it_is_meta(read):
    found = read(
        answer("a", call("t1", "Read")),
        user("b", [result("t1", "text of the file")], isMeta=True),
    )
    tool = found.messages[-1]
    assert (tool.role, tool.origin) == (Role.TOOL, Origin.TOOL)
    assert (tool.tool_call_id, tool.tool_name, tool.tool_status) == (
        "t1",
        "Read",
        ToolStatus.SUCCEEDED,
    )


def test_results_tell_how_calls_ended(read):
    found = read(
        answer("a", call("t1"), call("t2"), call("t3"), of="m"),
        user("b", [result("t1", "ok"), result("t2", "no such file", is_error=True)]),
    )
    calls = {c.id: c.status for m in found.messages for c in m.tool_calls}
    assert calls == {"t1": "succeeded", "t2": "failed", "t3": "unknown"}
    tools = [m for m in found.messages if m.role == Role.TOOL]
    assert [(m.uid, m.tool_call_id, m.tool_status) for m in tools] == [
        ("b", "t1", "succeeded"),
        ("b:1", "t2", "failed"),
    ]


def test_words_beside_a_result_are_kept(read):
    found = read(user("b", [result("t1", "ok"), text("now the tests")]))
    assert [(m.role, m.content, m.origin) for m in found.messages] == [
        (Role.TOOL, "ok", Origin.TOOL),
        (Role.USER, "now the tests", Origin.HUMAN),
    ]


def test_a_prompt_typed_while_the_model_worked(read):
    def queued(prompt, **more):
        attachment = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt"}
        return {"type": "attachment", "attachment": attachment | more}

    found = read(
        user("u", "begin"),
        queued("and the docs"),
        queued([text("see this"), {"type": "image", "source": {"media_type": "image/png"}}]),
        queued("<task-notification>done</task-notification>"),
        queued("look", origin={"kind": "channel"}),
    )
    assert [(m.content, m.origin) for m in found.messages] == [
        ("begin", Origin.HUMAN),
        ("and the docs", Origin.HUMAN),
        ("see this", Origin.HUMAN),
        ("<task-notification>done</task-notification>", Origin.INJECTED),
        ("look", Origin.INJECTED),
    ]
    assert found.messages[2].media_refs


def test_a_queued_prompt_is_kept_only_if_it_was_never_sent(read):
    def enqueued(words):
        return {"type": "queue-operation", "operation": "enqueue", "content": words}

    found = read(enqueued("sent later"), enqueued("never sent"), user("u", "sent later"))
    assert [(m.content, m.role, m.state) for m in found.messages] == [
        ("never sent", Role.SYSTEM, MessageState.HIDDEN),
        ("sent later", Role.USER, MessageState.ACTIVE),
    ]


def test_pictures_are_references_and_their_bytes_are_nowhere(read):
    data = "iVBORw0KGgo" * 50_000
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    found = read(
        user("u", [image, text("what is this")]),
        user("v", [result("t", [image, text("see toucan")])],
             toolUseResult={"file": {"base64": data}}),
    )  # fmt: skip
    assert found.said() == ["what is this", "see toucan"]
    for message in found.messages:
        (reference,) = message.media_refs
        assert reference == f"image/png; size={len(data) * 3 // 4}; at={message.raw_ref}"
    assert "iVBORw0KGgo" not in repr(found.records)


# Events, attachments, the unknown


def test_events_are_told_and_measures_are_hidden(read):
    found = read(
        user("u", "go"),
        {
            "type": "system",
            "uuid": "s1",
            "subtype": "api_error",
            "error": {"message": "overloaded"},
        },
        {"type": "system", "uuid": "s2", "subtype": "turn_duration", "durationMs": 9},
        {"type": "system", "uuid": "s3", "content": "Opus limit reached, now using Sonnet"},
    )
    assert [(m.content, m.state) for m in found.messages if m.role == Role.SYSTEM] == [
        ("overloaded", MessageState.ACTIVE),
        ("turn duration", MessageState.HIDDEN),
        ("Opus limit reached, now using Sonnet", MessageState.ACTIVE),
    ]
    assert {m.origin for m in found.messages[1:]} == {Origin.SYNTHETIC}


def test_the_text_of_an_attached_file_is_kept(read):
    attached = {
        "type": "file",
        "displayPath": "src/a.py",
        "content": {"type": "text", "file": {"filePath": "/w/src/a.py", "content": "print(1)"}},
    }
    reminder = {"type": "todo_reminder", "content": [], "itemCount": 0}
    context = {"type": "hook_additional_context", "content": "be careful"}
    found = read(
        user("u", "go"),
        *({"type": "attachment", "attachment": a} for a in (attached, reminder, context)),
    )
    assert [(m.content, m.state, m.origin) for m in found.messages[1:]] == [
        ("src/a.py\nprint(1)", MessageState.ACTIVE, Origin.INJECTED),
        ("be careful", MessageState.HIDDEN, Origin.INJECTED),
    ]


def test_what_is_not_known_is_counted_and_what_is_known_to_say_nothing_is_not(read):
    found = read(
        user("u", "go"),
        {"type": "holo-recap", "uuid": "h"},
        {"type": "tool_use", "uuid": "t"},
        {"silly": "this"},
        {"type": 5},
        {"type": "mode", "mode": "normal"},
        {"type": "progress", "uuid": "p"},
        {"type": "file-history-snapshot"},
        answer("a", {"type": "hologram"}, text("hi")),
        user("v", []),
    )
    assert sorted(found.unknown) == [
        "block hologram",
        "holo-recap",
        "tool_use",
        "user without content",
        "without a type",
        "without a type",
    ]
    assert found.said() == ["go", "hi"]


def test_errors_of_the_program_are_its_own_words(read):
    line = answer("a", text("API Error: Connection closed"), isApiErrorMessage=True)
    line["message"]["model"] = "<synthetic>"
    found = read(answer("b", text("hi")), line)
    assert found.messages[1].origin == Origin.SYNTHETIC
    assert found.session.model == "claude-x"


# Rewinds, compaction, order


def test_a_prompt_in_the_place_of_another_rewinds_what_followed(read):
    found = read(
        user("a", "start"),
        answer("b", text("ready"), parent="a"),
        user("c", "first try", "b"),
        answer("d", text("tried"), parent="c"),
        {"type": "attachment", "attachment": {"type": "nested_memory", "content": "no id"}},
        user("e", "second try", "b"),
        answer("f", text("better"), parent="e"),
    )
    assert found.said(MessageState.REWOUND) == ["first try", "tried", "no id"]
    assert found.said(MessageState.ACTIVE) == ["start", "ready", "second try", "better"]


def test_parallel_results_and_commands_are_no_rewinds(read):
    found = read(
        user("a", "start"),
        answer("b", call("t1"), parent="a"),
        answer("c", call("t2"), parent="b"),
        user("d", [result("t1", "one")], "b"),
        user("e", [result("t2", "two")], "c"),
        answer("f", text("done"), parent="b"),
        user("g", "<command-name>/model</command-name>", "a"),
        user("h", "<local-command-stdout>ok</local-command-stdout>", "a"),
        user("i", "next", "f"),
    )
    assert not found.said(MessageState.REWOUND)


def test_roots_without_parents_are_one_line_of_talk(read):
    found = read(user("a", "one"), answer("b", text("two")), user("c", "three"))
    assert found.said(MessageState.ACTIVE) == ["one", "two", "three"]


def test_what_was_summed_up_is_compacted_and_nothing_is_cut(read):
    found = read(
        user("a", "long ago"),
        answer("b", text("indeed"), parent="a"),
        {"type": "system", "subtype": "compact_boundary", "uuid": "s", "parentUuid": None,
         "logicalParentUuid": "b"},
        user("c", "Summary.", "s", isCompactSummary=True),
        user("d", "go on", "c"),
    )  # fmt: skip
    assert found.said(MessageState.COMPACTED) == ["long ago", "indeed"]
    assert found.said(MessageState.ACTIVE) == ["Conversation compacted", "Summary.", "go on"]


def test_loops_and_missing_parents_end_in_file_order(read):
    lines = [
        user("u1", "1", "u3"),
        user("u2", "2", "u1"),
        user("u3", "3", "u2"),
        user("u4", "4", "u4"),
        user("u5", "5", "missing"),
        user("u6", "6", "u5"),
        user("u6", "6 again", "u5"),
    ]
    found = read(*lines)
    assert found.said() == ["1", "2", "3", "4", "5", "6", "6 again"]
    assert len({m.uid for m in found.messages}) == 7
    assert [m.uid for m in read(*lines).messages] == [m.uid for m in found.messages]


def test_a_long_straight_chain_is_read_in_no_time(read):
    started = time.perf_counter()
    lines = (user(f"u{n}", f"word {n}", f"u{n - 1}") for n in range(20_000))
    assert len(read(*lines).messages) == 20_000
    assert time.perf_counter() - started < 20


def test_an_id_that_repeats_with_other_words_keeps_both_and_the_same_words_once(read):
    found = read(user("u", "alpha"), user("u", "beta"), user("u", "alpha"))
    uids = [m.uid for m in found.messages]
    assert found.said() == ["alpha", "beta", "alpha"]
    assert uids[0] == uids[2] == "u"
    assert uids[1] != "u"


def test_an_id_of_lines_of_different_types_is_none(read):
    found = read(user("x", "hi"), answer("x", text("ho")))
    assert len({m.uid for m in found.messages} - {"x"}) == 2


# Sessions


def test_a_subagents_file_is_a_session_under_its_parent(read, tmp_path):
    meta = tmp_path / "main/subagents/agent-a1.meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text('{"agentType":"Explore","toolUseId":"t9","spawnDepth":1}')
    lines = [
        user("u", "go find coot", isSidechain=True, sessionId="main", agentId="a1"),
        answer("v", text("found"), isSidechain=True, sessionId="main", agentId="a1"),
    ]
    found = read(*lines, name="main/subagents/agent-a1.jsonl")
    session = found.session
    assert (session.native_id, session.kind) == ("agent-a1", SessionKind.SUBAGENT)
    assert (session.parent_native_id, session.relation) == ("main", Relation.SUBAGENT)
    assert (session.evidence, session.title) == ("explicit", "go find coot")
    assert json.loads(session.metadata)["toolUseId"] == "t9"
    assert [m.origin for m in found.messages] == [Origin.MODEL, Origin.MODEL]
    assert read(*lines, name="agent-b2.jsonl").session.parent_native_id == "main"


def test_a_subagent_that_names_itself_hangs_on_the_folder_it_lies_in(read):
    line = user("u", "go", isSidechain=True, sessionId="agent-a1")
    found = read(line, name="main/subagents/workflows/wf_1/agent-a1.jsonl")
    assert found.session.parent_native_id == "main"


def test_sidechains_inside_a_file_are_sessions_of_their_own(read):
    found = read(
        user("a", "main rail", sessionId="0a"),
        answer("b", call("t7", "Task", prompt="inline snipe"), parent="a"),
        user("c", "inline snipe", isSidechain=True),
        answer("d", text("found it"), parent="c", isSidechain=True),
        user("e", [result("t7", "it is there")], "b"),
        user("f", "another", isSidechain=True),
    )
    main, first, second = found.sessions
    assert (main.native_id, main.title, main.kind) == ("0a", "main rail", SessionKind.INTERACTIVE)
    assert (first.native_id, first.parent_native_id) == ("0a#c", "0a")
    assert (first.evidence, json.loads(first.metadata)) == ("explicit", {"toolUseId": "t7"})
    assert (second.native_id, second.evidence) == ("0a#f", "heuristic")
    by_session = {s.native_id: [] for s in found.sessions}
    for message in found.messages:
        by_session[message.session].append(message.content)
    assert by_session == {
        "0a": ["main rail", "", "it is there"],
        "0a#c": ["inline snipe", "found it"],
        "0a#f": ["another"],
    }


def test_a_copied_beginning_tells_where_a_session_goes_on_from(read):
    found = read(user("a", "old", sessionId="before"), user("b", "new", sessionId="0a"))
    assert (found.session.parent_native_id, found.session.relation) == (
        "before",
        Relation.CONTINUATION,
    )
    fork = {"forkedFrom": {"sessionId": "origin", "messageUuid": "a"}}
    found = read(user("a", "old", sessionId="0a", **fork))
    assert (found.session.parent_native_id, found.session.relation) == ("origin", Relation.FORK)


@pytest.mark.parametrize(
    ("lines", "title", "source"),
    [
        ([{"type": "ai-title", "aiTitle": "By the model"},
          {"type": "custom-title", "customTitle": "By me"},
          {"type": "ai-title", "aiTitle": "Again"}, user("u", "hi")], "By me", TitleSource.USER),
        ([{"type": "ai-title", "aiTitle": "One"}, {"type": "ai-title", "aiTitle": "Two"},
          user("u", "hi")], "Two", TitleSource.MODEL),
        ([{"type": "summary", "summary": "Mine", "leafUuid": "u"},
          {"type": "summary", "summary": "Not mine", "leafUuid": "z"}, user("u", "hi")],
         "Mine", TitleSource.MODEL),
        ([{"type": "summary", "summary": "Not mine", "leafUuid": "z"}, user("u", "hi")],
         "hi", TitleSource.DERIVED),
        ([user("u", "<ide_selection>x</ide_selection>\n\n hello\n there ")], "hello there",
         TitleSource.DERIVED),
        ([user("u", "<command-name>/clear</command-name>"),
          user("v", "<command-name>/init</command-name>"), answer("w", text("Done"))],
         "/init", TitleSource.DERIVED),
        ([user("u", "<local-command-stdout>x</local-command-stdout>"),
          answer("v", text("All is well"))], "All is well", TitleSource.DERIVED),
        ([user("u", [{"type": "image", "source": {}}])], None, TitleSource.NONE),
    ],
    ids=lambda v: str(v)[:40],
)  # fmt: skip
def test_titles_from_the_best_that_there_is(read, lines, title, source):
    session = read(*lines).session
    assert (session.title, session.title_source) == (title, source)


def test_a_summary_in_another_file_of_the_folder_titles_its_owner(read, tmp_path):
    other = tmp_path / "1b.jsonl"
    other.write_text('{"type":"summary","summary":"Owner found","leafUuid":"u2"}\n')
    found = read(user("u1", "hi"), user("u2", "ho"))
    assert (found.session.title, found.session.title_source) == ("Owner found", TitleSource.MODEL)


def test_a_title_far_behind_a_large_picture_is_found(read):
    image = {"type": "image", "source": {"media_type": "image/png", "data": "A" * 900_000}}
    found = read(
        {"type": "mode", "mode": "normal"},
        user("u", [image, text("plan the pelican")]),
        {"type": "custom-title", "customTitle": "Pelican plan"},
    )
    assert found.session.title == "Pelican plan"


def test_the_folder_of_the_lines_is_the_project_and_else_the_raw_name(read):
    line = user("u", "hi", cwd="/home/u/my cool-app", gitBranch="main")
    named = read(line, name="projects/-home-u-my-cool-app/0a.jsonl")
    assert (named.session.cwd, named.session.git_branch) == ("/home/u/my cool-app", "main")
    bare = read(user("u", "hi"), name="projects/-home-u-x/0a.jsonl")
    assert bare.session.cwd == "-home-u-x"


def test_times_are_those_of_the_lines_and_order_is_the_files(read, tmp_path):
    found = read(
        user("u", "q1", timestamp="2026-05-01T10:00:00.500Z"),
        answer("a", text("a1")),
        user("v", "q2", timestamp="2026-05-01T09:59:00Z"),
        user("w", "q3", timestamp="yesterday"),
        user("x", "q4", timestamp="2026-05-01T10:00:00.750Z"),
    )
    assert [m.created_at_ms for m in found.messages] == [
        1777629600500,
        None,
        1777629540000,
        None,
        1777629600750,
    ]
    assert [m.position for m in found.messages] == sorted(m.position for m in found.messages)
    session = found.session
    assert (session.started_at_ms, session.updated_at_ms) == (1777629540000, 1777629600750)
    untimed = read(user("u", "q"), name="1b.jsonl")
    assert untimed.session.started_at_ms is None
    assert untimed.session.updated_at_ms == (tmp_path / "1b.jsonl").stat().st_mtime_ns // 1_000_000


def test_nothing_said_is_no_session(read):
    assert read({"type": "summary", "summary": "x", "leafUuid": "y"}).sessions == []
    assert read().records[:-1] == [ReadTo(0, 0)]


def test_a_damaged_line_costs_itself_and_the_tail_waits(tmp_path):
    path = tmp_path / "0a.jsonl"
    whole = [user("u1", "first apple"), answer("u3", text("third cherry"))]
    torn = json.dumps(user("u4", "torn grape"))
    before = f'{json.dumps(whole[0])}\n{{"type":"user","uuid":"u2","mess\n{json.dumps(whole[1])}\n'
    path.write_text(before + torn[:-8])
    found = Read(path)
    assert found.said() == ["first apple", "third cherry"]
    assert [r.line for r in found.records if isinstance(r, BadSourceRecord)] == [2]
    assert found.records[-2] == ReadTo(len(before), path.stat().st_size)
    path.write_text(before + torn + "\n")
    assert Read(path).said() == ["first apple", "third cherry", "torn grape"]


def test_a_file_that_changes_between_the_readings_is_refused(read, tmp_path):
    read(*(user(f"u{number}", "x" * 1_000_000) for number in range(4)))
    path = tmp_path / "0a.jsonl"
    reading = claude_code.read(path)
    next(reading)
    path.write_text(json.dumps(user("u", "x")) + "\n")
    with pytest.raises(SourceError, match="changed while it was being read"):
        list(reading)


def test_memory_follows_the_lines_and_not_what_they_hold(tmp_path):
    import tracemalloc

    path = tmp_path / "0a.jsonl"
    with path.open("w") as file:
        for number in range(300):
            file.write(json.dumps(user(f"u{number}", "x" * 100_000)) + "\n")
    tracemalloc.start()
    for _ in claude_code.read(path):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 30_000_000
    assert peak < 12_000_000
