"""The reader of Codex's rollouts: the samples, the messages, and what stands beside them."""

import json
import shutil
from pathlib import Path

import pytest

from core.errors import SourceError
from core.sources import codex
from core.types import MessageState, Origin, TimeQuality, TitleSource, ToolStatus
from tests.unit.sources import codex_lines as rollout
from tests.unit.sources import expected

SAMPLES = expected.SAMPLES / "codex"


@pytest.mark.parametrize("entry", expected.entries("codex"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry, tmp_path):
    if "alone (parent missing)" in entry["note"]:
        lone = shutil.copy(expected.paths(entry)[0], tmp_path)
        found = [(codex.identity(lone), rollout.read(Path(lone)))]
    else:
        found = expected.readings(entry, codex)
    expected.assert_entry(entry, expected.observe(found))


@pytest.mark.parametrize("entry", expected.entries("codex", ["low"]), ids=expected.name)
def test_an_envelope_without_times_is_read_by_its_shape(entry):
    # Ruling 11: these are no `codex exec --json` streams, whatever they were called.
    records = rollout.read(expected.paths(entry)[0])
    wanted = entry["if_imported"]
    roles = [m.role.value for m in rollout.messages(records) if m.content]
    counts = {role: roles.count(role) for role in ("user", "assistant", "tool")}
    assert counts == {role: wanted[role] for role in counts}
    assert sum(len(m.tool_calls) for m in rollout.messages(records)) == wanted["tool_calls"]


def test_times_come_from_the_payload_where_the_line_has_none():
    records = rollout.messages(rollout.read(SAMPLES / "polylogue/tool_call_stream.jsonl"))
    ask, command, _, answer = records
    assert (ask.created_at_ms, ask.time_quality) == (1736938802000, TimeQuality.EXACT)
    assert (command.created_at_ms, command.time_quality) == (1736938802000, TimeQuality.SESSION)
    assert answer.created_at_ms == 1736938809000


def test_what_codex_exec_prints_is_refused_in_words():
    printed = SAMPLES / "own/exec_stream.jsonl"
    assert codex.recognises(printed)
    with pytest.raises(SourceError, match=r"codex exec --json.*not a saved session") as refused:
        rollout.read(printed)
    assert refused.value.path == str(printed)


def test_the_direct_shapes_of_summer_2025_are_read():
    path = SAMPLES / "own/rollout-2025-07-12T09-30-00-5d0c1f2e-0000-4000-8000-000000000025.jsonl"
    records = rollout.read(path)
    assert codex.recognises(path)
    assert rollout.session(records).native_id == "5d0c1f2e-0000-4000-8000-000000000025"
    assert rollout.session(records).git_branch == "feature/列表"
    assert rollout.unknown(records) == []
    assert rollout.texts(records) == [
        ("user", "列出目录"),
        ("assistant", ""),
        ("tool", "README.md\n"),
        ("assistant", "只有一个文件。"),
    ]
    # No line has a time: the session's start stands in.
    assert {m.time_quality for m in rollout.messages(records)} == {TimeQuality.SESSION}
    assert {m.created_at_ms for m in rollout.messages(records)} == {1752312600000}


def test_only_codex_files_are_recognised(tmp_path):
    for name, start in {
        "claude.jsonl": {"type": "user", "uuid": "u", "sessionId": "s", "message": {}},
        "neutral.jsonl": {"session": "s", "role": "user", "content": "hello"},
        "chat.jsonl": {"role": "user", "content": "hello"},
        "history.jsonl": {"display": "hello", "timestamp": 1, "project": "/w"},
        "rollout-x.json": {"messages": []},
    }.items():
        (tmp_path / name).write_text(json.dumps(start) + "\n")
        assert not codex.recognises(tmp_path / name), name
    assert not codex.recognises(tmp_path)
    assert not codex.recognises(tmp_path / "missing.jsonl")
    assert codex.recognises(SAMPLES / "synthetic")


def test_a_home_gives_each_rollout_once_in_time_order_then_the_prompt_history(tmp_path):
    shutil.copytree(SAMPLES / "synthetic", tmp_path, dirs_exist_ok=True)
    packed = next(tmp_path.rglob("*.zst"))
    plain = packed.with_suffix("")
    plain.write_bytes(b"{}\n")
    (tmp_path / "history.jsonl").write_bytes((SAMPLES / "deja-vu/history.jsonl").read_bytes())
    (tmp_path / "auth.json").write_text('{"token": "none of ours"}')
    names = [path.name for path in codex.files(tmp_path)]
    assert names == [
        "rollout-2025-04-20-legacy.json",
        plain.name,  # of a file and its packed twin the plain one
        "rollout-2026-09-11T08-00-00-01990000-0000-7000-8000-00000000000a.jsonl",
        "rollout-2026-09-11T08-10-00-01990000-0000-7000-8000-00000000000b.jsonl",
        "history.jsonl",
    ]


def test_a_file_that_was_packed_since_it_was_listed_is_read_all_the_same(tmp_path):
    packed = shutil.copy(next((SAMPLES / "synthetic").rglob("*.zst")), tmp_path)
    records = rollout.read(Path(packed).with_suffix(""))
    assert len(rollout.messages(records)) == 8


def test_an_archived_session_is_the_same_session_elsewhere(tmp_path):
    lines = [rollout.meta(), rollout.item("user", "keep me"), rollout.item("assistant", "kept")]
    before = rollout.read(rollout.written(tmp_path, *lines))
    moved = rollout.written(tmp_path, *lines, folder="archived_sessions")
    after = rollout.read(moved)
    assert rollout.messages(after) == rollout.messages(before)
    assert not rollout.session(before).archived
    assert rollout.session(after).archived


def test_prompts_of_the_history_count_only_without_a_rollout(tmp_path):
    rollout.written(tmp_path, rollout.meta(), rollout.item("user", "in a rollout"))
    told = [
        {"session_id": rollout.ONE, "ts": 1788257000, "text": "in a rollout"},
        {"session_id": rollout.TWO, "ts": 1788257001, "text": "只在历史里"},
        {"session_id": rollout.TWO, "ts": 1788257001, "text": "只在历史里"},
    ]
    history = tmp_path / "history.jsonl"
    history.write_bytes(rollout.encoded(*told))
    records = rollout.read(history)
    prompts = rollout.messages(records)
    assert [(m.session, m.content) for m in prompts] == [(rollout.TWO, "只在历史里")] * 2
    assert prompts[0].created_at_ms == 1788257001000
    assert prompts[0].position < prompts[1].position
    assert prompts[0].uid != prompts[1].uid
    assert rollout.session(records).title == "只在历史里"


def test_a_prompt_of_the_history_is_the_prompt_of_the_rollout(tmp_path):
    # Imported before the rollout appeared, it must not be there twice afterwards.
    history = tmp_path / "history.jsonl"
    told = {"session_id": rollout.ONE, "ts": 1788257000, "text": "say it once"}
    history.write_bytes(rollout.encoded(told))
    (early,) = rollout.messages(rollout.read(history))
    path = rollout.written(tmp_path, rollout.meta(), rollout.item("user", "say it once"))
    (late,) = rollout.messages(rollout.read(path))
    assert (early.uid, early.content) == (late.uid, late.content)


def test_titles_are_the_persons_own_then_the_first_prompts(tmp_path):
    asked = (
        "# Context from my IDE setup:\n\n## Active file: a.py\n\n"
        "## My request for Codex:\n把\n列表排序"
    )
    lines = [rollout.meta(), rollout.item("user", "<environment_context>x</environment_context>")]
    lines += [rollout.item("user", asked)]
    path = rollout.written(tmp_path, *lines)
    derived = rollout.session(rollout.read(path))
    assert (derived.title, derived.title_source) == ("把 列表排序", TitleSource.DERIVED)

    index = [
        {"id": rollout.ONE, "thread_name": "older", "updated_at": "x"},
        {"id": rollout.ONE, "thread_name": "Sorted list", "updated_at": "x"},
    ]
    (tmp_path / "session_index.jsonl").write_bytes(rollout.encoded(*index))
    named = rollout.session(rollout.read(path))
    assert (named.title, named.title_source) == ("Sorted list", TitleSource.USER)

    renamed = [rollout.event("thread_name_updated", thread_name=n) for n in ("First", "Second")]
    renamed_path = rollout.written(tmp_path, *lines, *renamed)
    assert rollout.session(rollout.read(renamed_path)).title == "Second"


def test_a_long_title_is_cut_between_words(tmp_path):
    words = "word " * 40
    path = rollout.written(tmp_path, rollout.meta(), rollout.item("user", words))
    title = rollout.session(rollout.read(path)).title
    assert title == "word " * 15 + "word…"


def test_context_alone_is_no_session(tmp_path):
    lines = [
        rollout.meta(),
        rollout.item("developer", "You are an agent."),
        rollout.item("user", "# AGENTS.md instructions for /w\n\nBe brief."),
        rollout.event("error", "Rate limit exceeded"),
    ]
    records = rollout.read(rollout.written(tmp_path, *lines))
    assert rollout.messages(records) == []
    with pytest.raises(AssertionError):
        rollout.session(records)
    more = rollout.read(rollout.written(tmp_path, *lines, rollout.item("user", "go")))
    assert [m.origin for m in rollout.messages(more)] == [
        Origin.INJECTED,
        Origin.INJECTED,
        Origin.SYNTHETIC,
        Origin.HUMAN,
    ]


def test_facts_of_the_session_are_kept_without_credentials(tmp_path):
    git = {"branch": "main", "repository_url": "https://me:secret@host.example/a.git"}
    head = rollout.meta(git=git, cli_version="0.144.4", base_instructions={"text": "x" * 10_000})
    records = rollout.read(rollout.written(tmp_path, head, rollout.item("user", "go")))
    found = rollout.session(records)
    assert (found.cwd, found.git_branch) == ("/w", "main")
    facts = json.loads(found.metadata)
    assert facts == {"cli_version": "0.144.4", "git_repository": "https://host.example/a.git"}


def test_rolled_back_turns_are_rewound_and_the_rest_is_not(tmp_path):
    lines = [rollout.meta()]
    for number in (1, 2, 3):
        lines += [rollout.item("user", f"ask {number}"), rollout.item("assistant", f"say {number}")]
    lines += [rollout.event("thread_rolled_back", num_turns=2)]
    lines += [rollout.item("user", "ask 4"), rollout.event("thread_rolled_back", num_turns=1)]
    lines += [rollout.item("user", "ask 5")]
    records = rollout.read(rollout.written(tmp_path, *lines))
    rewound = [m.content for m in rollout.messages(records) if m.state == MessageState.REWOUND]
    assert rewound == ["ask 2", "say 2", "ask 3", "say 3", "ask 4"]


def test_taking_back_more_turns_than_there_are_takes_all(tmp_path):
    lines = [rollout.meta(), rollout.item("user", "only"), rollout.item("assistant", "answer")]
    lines += [rollout.event("thread_rolled_back", num_turns=7), rollout.item("user", "anew")]
    records = rollout.read(rollout.written(tmp_path, *lines))
    assert [m.state.value for m in rollout.messages(records)] == ["rewound", "rewound", "active"]
    assert rollout.session(records).title == "anew"


def test_compaction_marks_what_was_before_and_brings_no_copies(tmp_path):
    history = [{"type": "message", "role": "user", "content": "a copy of the whole talk"}]
    lines = [
        rollout.meta(),
        rollout.item("user", "before"),
        rollout.line(
            "compacted", {"message": "What happened so far", "replacement_history": history}
        ),
        rollout.item("user", "after"),
    ]
    records = rollout.read(rollout.written(tmp_path, *lines))
    told = [(m.content, m.state.value, m.origin.value) for m in rollout.messages(records)]
    assert told == [
        ("before", "compacted", "human"),
        ("What happened so far", "active", "synthetic"),
        ("after", "active", "human"),
    ]


def test_images_are_named_and_their_bytes_left_out(tmp_path):
    image = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 5000}
    tags = [{"type": "input_text", "text": t} for t in ("<image name=[Image #1]>", "</image>")]
    lines = [rollout.meta(), rollout.item("user", "look", tags[0], image, tags[1])]
    picture = {"type": "image_generation_call", "id": "ig", "status": "completed"}
    lines += [rollout.line("response_item", {**picture, "result": "B" * 5000})]
    ask, made = rollout.messages(rollout.read(rollout.written(tmp_path, *lines)))
    assert (ask.content, ask.media_refs) == ("look", ("image/png",))
    assert made.media_refs == ("image/png",)
    assert made.tool_calls[0].status == ToolStatus.SUCCEEDED
    assert "BBBB" not in repr(made)


def test_token_counts_stand_on_the_answer_they_are_of_and_repeats_do_not_count(tmp_path):
    def count(total, last):
        names = ("input_tokens", "cached_input_tokens", "output_tokens")
        told = {"total_token_usage": dict(zip(names, total, strict=True))}
        if last:
            told["last_token_usage"] = dict(zip(names, last, strict=True))
        return rollout.event("token_count", info=told)

    lines = [
        rollout.meta(),
        rollout.item("user", "go"),
        rollout.call("shell", "c1"),
        rollout.output("c1", "done"),
        count((100, 80, 10), (100, 80, 10)),
        count((100, 80, 10), (100, 80, 10)),
        rollout.item("assistant", "ready"),
        count((150, 80, 15), None),
        rollout.event("token_count", info=None),
    ]
    records = rollout.read(rollout.written(tmp_path, *lines))
    usage = [json.loads(m.usage) for m in rollout.messages(records) if m.usage]
    assert usage == [
        {"input": 20, "cached_read": 80, "output": 10},
        {"input": 50, "cached_read": 0, "output": 5},
    ]
    tokens = json.loads(rollout.session(records).metadata)["tokens"]
    assert tokens == {"input": 70, "cached_read": 80, "output": 15}
