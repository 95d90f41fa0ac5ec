"""Texts told twice, results and their calls, and what counts as a person's words."""

import json

import pytest

from core.types import Origin, ToolStatus
from tests.unit.sources import codex_lines as rollout

META, ITEM, EVENT = rollout.meta(), rollout.item, rollout.event


def told(tmp_path, *lines):
    return rollout.texts(rollout.read(rollout.written(tmp_path, META, *lines)))


@pytest.mark.parametrize("event_first", [True, False])
def test_a_text_told_twice_is_one_message(tmp_path, event_first):
    pairs = [
        (EVENT("user_message", "查一下"), ITEM("user", "查一下")),
        (EVENT("agent_message", "查到了\n"), ITEM("assistant", "查到了")),
    ]
    lines = [each for pair in pairs for each in (pair if event_first else pair[::-1])]
    assert told(tmp_path, *lines) == [("user", "查一下"), ("assistant", "查到了")]


def test_texts_that_were_told_once_stand_beside_those_told_twice(tmp_path):
    # Ruling 5: the fall-back is by message, not by session.
    lines = [
        EVENT("user_message", "only on the screen"),
        EVENT("agent_message", "a comment, only on the screen"),
        rollout.call("shell", "c1"),
        EVENT("agent_message", "twice"),
        ITEM("assistant", "twice"),
        ITEM("user", "only for the model"),
        ITEM("assistant", "only for the model too"),
    ]
    assert [text for _, text in told(tmp_path, *lines) if text] == [
        "only on the screen",
        "a comment, only on the screen",
        "twice",
        "only for the model",
        "only for the model too",
    ]


def test_the_same_words_said_twice_are_two_messages(tmp_path):
    for kind in (ITEM, lambda role, text: EVENT(f"{role}_message", text)):
        lines = [kind("user", "continue")] * 2
        assert told(tmp_path, *lines) == [("user", "continue")] * 2
    turns = [EVENT("user_message", "go on"), ITEM("user", "go on"), ITEM("assistant", "Ok")] * 3
    assert told(tmp_path, *turns) == [("user", "go on"), ("assistant", "Ok")] * 3


def test_a_twin_is_found_across_what_stands_between(tmp_path):
    lines = [
        EVENT("user_message", "Start"),
        rollout.turn("t1"),
        ITEM("developer", "be brief"),
        ITEM("user", "<environment_context>…</environment_context>"),
        ITEM("user", "Start"),
        EVENT("agent_message", "On it"),
        rollout.call("shell", "c1"),
        rollout.output("c1", "done"),
        ITEM("assistant", "On it"),
    ]
    texts = told(tmp_path, *lines)
    assert texts.count(("user", "Start")) == 1
    assert texts.count(("assistant", "On it")) == 1


def test_no_text_has_its_twin_in_another_turn(tmp_path):
    lines = [
        ITEM("user", "again"),
        EVENT("turn_aborted", reason="interrupted"),
        EVENT("user_message", "again"),
    ]
    assert told(tmp_path, *lines) == [("user", "again")] * 2


def test_of_a_prompt_told_in_two_ways_the_persons_words_are_kept(tmp_path):
    lines = [EVENT("user_message", "the real words"), ITEM("user", "…placeholder…")]
    assert told(tmp_path, *lines) == [("user", "the real words")]
    assert told(tmp_path, *lines[::-1]) == [("user", "the real words")]
    wrapped = [EVENT("user_message", "fix it"), ITEM("user", "With a file:\nfix it")]
    assert told(tmp_path, *wrapped) == [("user", "With a file:\nfix it")]


def test_an_answer_is_told_as_the_model_gave_it(tmp_path):
    cited = "Sorted.\n<oai-mem-citation>m1</oai-mem-citation>"
    lines = [ITEM("user", "sort"), EVENT("agent_message", "Sorted."), ITEM("assistant", cited)]
    assert told(tmp_path, *lines) == [("user", "sort"), ("assistant", cited)]
    different = [ITEM("user", "x"), EVENT("agent_message", "First."), ITEM("assistant", "Second.")]
    assert told(tmp_path, *different)[1:] == [("assistant", "First."), ("assistant", "Second.")]


def test_items_of_0_154_are_twins_as_well(tmp_path):
    def completed(kind, *parts, **more):
        return EVENT("item_completed", item={"type": kind, "content": list(parts), **more})

    lines = [
        ITEM("user", "修好测试"),
        completed("UserMessage", {"type": "text", "text": "修好测试"}),
        completed("AgentMessage", {"type": "Text", "text": "好了"}),
        ITEM("assistant", "好了"),
        completed("Plan", text="1. Only on the screen"),
        completed("CommandExecution", aggregated_output="a twin of a call"),
    ]
    wanted = [("user", "修好测试"), ("assistant", "好了"), ("assistant", "1. Only on the screen")]
    # A plan has its text beside its type.
    lines[4]["payload"]["item"].pop("content")
    assert told(tmp_path, *lines) == wanted


def test_last_words_are_told_where_nothing_else_tells_them(tmp_path):
    ask = EVENT("user_message", "how many?")
    end = EVENT("task_complete", last_agent_message="Three.")
    assert told(tmp_path, ask, end) == [("user", "how many?"), ("assistant", "Three.")]
    said = EVENT("agent_message", "Three.")
    assert told(tmp_path, ask, said, end) == [("user", "how many?"), ("assistant", "Three.")]


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n  <cwd>/w</cwd>",
        "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>",
        "<user_instructions>\nBe brief",
        "<permissions instructions>\nask first",
        "<turn_aborted>\nThe user interrupted",
        '\n<subagent_notification>\n{"agent_id":"a"}',
    ],
)
def test_what_the_program_says_in_the_persons_name_is_injected(tmp_path, text):
    path = rollout.written(tmp_path, META, ITEM("user", text), ITEM("user", "real"))
    injected, real = rollout.messages(rollout.read(path))
    assert (injected.origin, real.origin) == (Origin.INJECTED, Origin.HUMAN)
    assert rollout.session(rollout.read(path)).title == "real"


def test_a_screen_event_of_another_kind_than_plain_is_injected(tmp_path):
    lines = [ITEM("user", "cwd: /w"), EVENT("user_message", "cwd: /w", kind="environment_context")]
    lines += [ITEM("user", "real")]
    injected, real = rollout.messages(rollout.read(rollout.written(tmp_path, META, *lines)))
    assert (injected.origin, real.origin) == (Origin.INJECTED, Origin.HUMAN)


def test_context_and_request_in_one_message_are_the_persons(tmp_path):
    more = {"type": "input_text", "text": "sort the list"}
    lines = [ITEM("user", "<environment_context>\n/w\n</environment_context>", more)]
    records = rollout.read(rollout.written(tmp_path, META, *lines))
    assert rollout.messages(records)[0].origin == Origin.HUMAN
    assert rollout.session(records).title == "sort the list"


def test_thoughts_stand_with_what_they_led_to(tmp_path):
    lines = [
        ITEM("user", "go"),
        EVENT("agent_reasoning", text="**Look first**"),
        rollout.thought("**Look first**"),
        rollout.call("shell", "c1"),
        rollout.output("c1", "x"),
        rollout.thought("led to nothing"),
        ITEM("user", "stop"),
    ]
    lines[2]["payload"]["encrypted_content"] = "gAAAAABsecret"
    records = rollout.messages(rollout.read(rollout.written(tmp_path, META, *lines)))
    assert [(m.role.value, m.reasoning) for m in records] == [
        ("user", None),
        ("assistant", "**Look first**"),
        ("tool", None),
        ("assistant", "led to nothing"),
        ("user", None),
    ]
    assert "gAAAA" not in repr(records)


def test_two_calls_of_one_id_keep_their_own_results(tmp_path):
    lines = [
        rollout.call("shell", "same", '{"n": 1}'),
        rollout.call("apply_patch", "same", '{"n": 2}'),
        rollout.output("same", "first"),
        rollout.output("same", "second"),
        rollout.output("nobody", "orphan"),
    ]
    records = rollout.messages(rollout.read(rollout.written(tmp_path, META, *lines)))
    calls = [call for m in records for call in m.tool_calls]
    assert [(call.id, call.name) for call in calls] == [
        ("same", "shell"),
        ("same#2", "apply_patch"),
    ]
    results = [(m.tool_call_id, m.tool_name, m.content) for m in records if m.role == "tool"]
    assert results == [
        ("same", "shell", "first"),
        ("same#2", "apply_patch", "second"),
        ("nobody", None, "orphan"),
    ]


def test_results_without_an_id_answer_the_calls_of_their_name_in_order(tmp_path):
    def old(kind, name, **more):
        return rollout.line("response_item", {"type": kind, "name": name, **more})

    lines = [
        old("tool_call", "ls", arguments={"path": "路径"}),
        old("tool_call", "git", arguments="status"),
        old("tool_result", "git", result="clean"),
        old("tool_result", "ls", result={"stdout": "a\n", "stderr": "b", "exitCode": 2}),
    ]
    ls, git, clean, listed = rollout.messages(rollout.read(rollout.written(tmp_path, META, *lines)))
    assert ls.tool_calls[0].arguments == '{"path": "路径"}'
    assert (clean.tool_call_id, clean.tool_name) == (git.tool_calls[0].id, "git")
    assert (listed.tool_call_id, listed.content) == (ls.tool_calls[0].id, "a\nb")
    assert listed.tool_status == ToolStatus.FAILED


@pytest.mark.parametrize(
    ("value", "text", "status"),
    [
        ("plain", "plain", "unknown"),
        ("Exit code: 0\nWall time: 1 s\nOutput:\nok", None, "succeeded"),
        ("Chunk ID: a\nProcess exited with code 101\nOutput:\nno", None, "failed"),
        ("Wall time: 1\nOutput:\nProcess exited with code 1", None, "unknown"),
        (json.dumps({"output": "in\n", "metadata": {"exit_code": 3}}), "in\n", "failed"),
        ([{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}],
         "one\ntwo", "unknown"),
        ([{"type": "input_text", "text": "Script completed\nOutput:\n"},
          {"type": "input_text", "text": '{"exit_code":0}'}], None, "succeeded"),
        ([{"type": "input_text", "text": "Script completed\nOutput:\n"},
          {"type": "input_text", "text": '{"exit_code":2}'}], None, "failed"),
        ({"content": "inside", "success": False}, "inside", "failed"),
        ({"content": [{"type": "input_text", "text": "inside"}], "success": True},
         "inside", "succeeded"),
        ("execution error: Io", None, "failed"),
        (None, "", "unknown"),
        (7, "7", "unknown"),
    ],
)  # fmt: skip
def test_results_of_every_shape_are_read(tmp_path, value, text, status):
    lines = [rollout.call("shell", "c1"), rollout.output("c1", value)]
    result = rollout.messages(rollout.read(rollout.written(tmp_path, META, *lines)))[-1]
    assert result.tool_status == status
    if text is not None:
        assert result.content == text


def test_a_task_sent_encrypted_is_left_out_and_the_rest_of_the_call_kept(tmp_path):
    arguments = '{"task_name":"map","message":"gAAAAABmQ_x-9=="}'
    lines = [rollout.call("spawn_agent", "c1", arguments)]
    lines += [rollout.call("shell", "c2", '{"cmd":"echo gAAAAABmine"}')]
    spawn, shell = rollout.messages(rollout.read(rollout.written(tmp_path, META, *lines)))
    assert spawn.tool_calls[0].arguments == '{"task_name":"map","message":""}'
    assert shell.tool_calls[0].arguments == '{"cmd":"echo gAAAAABmine"}'


def test_the_model_of_the_turn_stands_on_its_answers(tmp_path):
    lines = [rollout.turn("t1", "gpt-5.5"), ITEM("user", "a"), ITEM("assistant", "b")]
    lines += [rollout.turn("t2", "gpt-6"), ITEM("user", "c"), ITEM("assistant", "d")]
    records = rollout.read(rollout.written(tmp_path, META, *lines))
    models = {m.content: m.model for m in rollout.messages(records)}
    assert models == {"a": None, "b": "gpt-5.5", "c": None, "d": "gpt-6"}
    assert rollout.session(records).model == "gpt-6"


def test_what_is_not_known_is_counted_by_its_type(tmp_path):
    lines = [
        ITEM("user", "go", {"type": "hologram"}),
        rollout.line("holo-sync", {"x": 1}),
        EVENT("quantum_status"),
        rollout.line("response_item", {"type": "telepathy"}),
        rollout.line("response_item", {"type": "message", "role": "oracle", "content": "x"}),
        rollout.line("response_item", "no object"),
        EVENT("token_count", info=None),
    ]
    records = rollout.read(rollout.written(tmp_path, META, *lines))
    assert rollout.unknown(records) == [
        "content/hologram",
        "holo-sync",
        "event_msg/quantum_status",
        "response_item/telepathy",
        "role/oracle",
        "response_item/None",
    ]
    assert rollout.bad(records) == []
