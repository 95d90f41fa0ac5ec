"""Hermes databases, against what was read from them by eye and against the format page."""

import contextlib
import json
import os
import random
import shutil
import time

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import SourceError
from core.sources import hermes
from core.sources.records import BadSourceRecord, ReadTo
from core.types import (
    MessageState,
    Origin,
    Provenance,
    Relation,
    Role,
    SessionKind,
    TimeQuality,
    TitleSource,
    ToolCall,
    ToolStatus,
)
from tests.unit.sources import expected
from tests.unit.sources.expected import SAMPLES
from tests.unit.sources.hermes_home import TIME, Home, Reading

GENERATED = SAMPLES / "hermes" / "generated-v23"
SHOWN = (MessageState.ACTIVE, MessageState.COMPACTED)


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path / "home")
    made.session("s")
    return made


@pytest.mark.parametrize("entry", expected.entries("hermes"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry, tmp_path):
    (path,) = expected.paths(entry)
    if path.suffix == ".sql":  # a database as text
        database = tmp_path / "state.db"
        with contextlib.closing(apsw.Connection(str(database))) as db:
            db.execute(path.read_text())
        found = [(hermes.identity(database), list(hermes.read(database)))]
    else:
        found = expected.readings(entry, hermes)
    expected.assert_entry(entry, expected.observe(found))


def test_a_database_that_is_all_log_gives_the_same_as_the_whole_file():
    whole, live = hermes.read(GENERATED / "state.db"), hermes.read(GENERATED / "live-wal/state.db")
    assert [r for r in live if not isinstance(r, BadSourceRecord)] == list(whole)


def test_reading_twice_gives_the_same_records_and_changes_no_sample():
    folder = GENERATED / "live-wal"
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}
    assert list(hermes.read(folder / "state.db")) == list(hermes.read(folder / "state.db"))
    assert {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()} == before


# Content


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


@pytest.mark.parametrize(
    ("content", "text", "media"),
    [
        ("plain", "plain", ()),
        ("a\0b", "a\0b", ()),
        (None, "", ()),
        (7, "7", ()),
        ("\0json:[]", "", ()),
        (
            "\0json:" + json.dumps([{"type": "text", "text": "see"}, PICTURE]),
            "see",
            ("image/png; size=9; at=rowid:1",),
        ),
        ("\0json:" + json.dumps({"type": "text", "text": "one part"}), "one part", ()),
        ("\0json:" + json.dumps(["a", {"text": "b"}, None]), "a\nb", ()),
        ("\0json:" + json.dumps({"content": [{"text": "in"}]}), "in", ()),
        (
            '\0json:[{"type":"image_url","image_url":"https://example.org/a.png"}]',
            "",
            ("image_url; at=https://example.org/a.png",),
        ),
        ('\0json:["half \\ud83d"]', "half \ufffd", ()),
    ],
)
def test_content_is_text_or_json_behind_a_mark(home, content, text, media):
    home.message(content)
    found = home.read().only()
    assert (found.content, found.media_refs) == (text, media)


def test_content_that_claims_to_be_json_keeps_its_text_and_is_counted(home):
    home.message("\0json:[{broken 订阅")
    found = home.read()
    assert found.only().content == "[{broken 订阅"
    assert found.unknown == ["content that is not JSON"]


def test_parts_of_unknown_types_keep_their_json_and_are_counted(home):
    home.message('\0json:[{"type":"hologram","beam":"蓝"}]')
    found = home.read()
    assert found.only().content == '{"type": "hologram", "beam": "蓝"}'
    assert found.unknown == ["content part hologram"]


def test_content_nested_too_deep_is_kept_as_it_is(home):
    deep = "[" * 900 + "]" * 900
    home.message("\0json:" + deep)
    home.message("\0json:" + deep * 200)
    home.message("after")
    assert home.read().texts()[2] == "after"


@pytest.mark.parametrize(
    ("columns", "text", "reasoning"),
    [
        ({"reasoning": "why", "reasoning_content": "why"}, "", "why"),
        ({"reasoning": "why", "reasoning_content": "why not"}, "", "why not"),
        ({"reasoning": "one", "reasoning_content": "two"}, "", "one\n\ntwo"),
        ({"reasoning_details": '[{"text":"a"},{"summary":"b"}]'}, "", "a\n\nb"),
        (
            {"codex_reasoning_items": '[{"encrypted_content":"x","summary":[{"text":"s"}]}]'},
            "",
            "s",
        ),
        (
            {
                "codex_message_items": '[{"type":"message","phase":"final_answer","content":'
                '[{"type":"output_text","text":"the answer"}]}]',
                "api_content": "with context",
            },
            "the answer",
            None,
        ),
        ({"api_content": "as it was sent"}, "as it was sent", None),
        ({"reasoning_details": "{broken", "codex_message_items": "{broken"}, "", None),
    ],
)
def test_an_empty_answer_is_told_by_the_columns_that_stand_in_for_it(
    home, columns, text, reasoning
):
    home.message("", role="assistant", **columns)
    found = home.read().only()
    assert (found.content, found.reasoning) == (text, reasoning)


def test_text_sent_to_the_provider_never_replaces_content(home):
    home.message("said", api_content="[context] said")
    assert home.read().texts() == ["said"]


def test_calls_keep_their_arguments_as_text(home):
    calls = [
        {"id": "c1", "function": {"name": "terminal", "arguments": '{"command": "ls'}},
        {"call_id": "c2", "function": {"name": "patch", "arguments": {"路": 1}}},
        {"id": "c3", "name": "bare"},
        "no call",
    ]
    home.message("", role="assistant", tool_calls=json.dumps(calls))
    home.message("", role="assistant", tool_calls="{broken")
    first, second = home.read().messages
    assert first.tool_calls == (
        ToolCall("c1", "terminal", '{"command": "ls'),
        ToolCall("c2", "patch", '{"路": 1}'),
        ToolCall("c3", "bare", ""),
    )
    assert second.tool_calls == (ToolCall(None, "", "{broken"),)


@pytest.mark.parametrize(
    ("content", "columns", "status"),
    [
        ('{"output":"x","exit_code":0,"error":null}', {}, ToolStatus.SUCCEEDED),
        ('{"output":"x","exit_code":1,"error":null}', {}, ToolStatus.FAILED),
        ('{"output":"","exit_code":-1,"error":"BLOCKED: denied"}', {}, ToolStatus.FAILED),
        ('{"exit_code":0,"error":null}\n\n[Tool loop warning]', {}, ToolStatus.SUCCEEDED),
        ('{"success":true,"path":"x"}', {}, ToolStatus.SUCCEEDED),
        ('{"success":false}', {}, ToolStatus.FAILED),
        ('{"status":"dispatched"}', {}, ToolStatus.PENDING),
        ('{"status":"timeout"}', {}, ToolStatus.FAILED),
        ('{"content":"1|# Launch"}', {}, ToolStatus.UNKNOWN),
        ('{"content":"x"}', {"effect_disposition": "applied"}, ToolStatus.SUCCEEDED),
        ('{"content":"x"}', {"effect_disposition": "none"}, ToolStatus.UNKNOWN),
        ("Error executing tool 'x': boom", {}, ToolStatus.FAILED),
        ("plain", {}, ToolStatus.UNKNOWN),
        ("plain", {"finish_reason": "error"}, ToolStatus.FAILED),
        ("{broken", {}, ToolStatus.UNKNOWN),
        ('{"a":' * 5000, {}, ToolStatus.UNKNOWN),
        (None, {}, ToolStatus.UNKNOWN),
    ],
)
def test_the_outcome_of_a_tool_is_what_its_result_says(home, content, columns, status):
    home.message(content, role="tool", tool_call_id="c1", tool_name="terminal", **columns)
    found = home.read().only()
    assert (found.tool_status, found.tool_call_id, found.tool_name) == (status, "c1", "terminal")
    assert (found.role, found.origin, found.content) == (Role.TOOL, Origin.TOOL, content or "")


def test_an_estimate_of_tokens_is_told_as_one(home):
    home.message("x", role="assistant", token_count=31)
    assert json.loads(home.read().only().usage) == {"estimated_tokens": 31}


# States and copies


def test_summarized_rows_are_history_and_undone_rows_are_not(home):
    home.message("summarized", active=0, compacted=1)
    home.message("undone", active=0)
    home.message("live")
    home.message("never healed", active=None)
    assert [(m.content, m.state) for m in home.read().messages] == [
        ("summarized", MessageState.COMPACTED),
        ("undone", MessageState.REWOUND),
        ("live", MessageState.ACTIVE),
        ("never healed", MessageState.ACTIVE),
    ]


def test_without_the_columns_every_row_is_live(tmp_path):
    path = tmp_path / "state.db"
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute(
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id, role, content, timestamp,"
            " tool_name)"
        )
        db.execute("INSERT INTO messages VALUES(1, 's', 'user', 'x', 1784800000, NULL)")
    found = Reading(hermes.read(path))
    assert found.only().state == MessageState.ACTIVE
    assert found.only().created_at_ms == 1784800000000
    assert found.sessions["s"].title == "x"


def compact(home, keep):
    """What Hermes does: archive the live rows, write a summary and the carried tail anew."""
    live = home.run(
        "SELECT role, content, timestamp, tool_call_id, tool_calls, tool_name FROM messages"
        " WHERE active = 1 ORDER BY id"
    )
    home.run("UPDATE messages SET active = 0, compacted = 1 WHERE active = 1")
    home.message("[CONTEXT COMPACTION — REFERENCE ONLY] summary", at=TIME + 5000 + len(live))
    for role, content, at, call, calls, name in live[len(live) - keep :]:
        home.message(content, role=role, at=at, tool_call_id=call, tool_calls=calls, tool_name=name)


def undo(home, count):
    """What /undo does in some front ends: delete all rows, insert what is left under new ids."""
    kept = home.run("SELECT role, content, timestamp FROM messages WHERE active = 1 ORDER BY id")
    home.run("DELETE FROM messages WHERE active = 1")
    for role, content, at in kept[: max(0, len(kept) - count)]:
        home.message(content, role=role, at=at)


def test_a_carried_tail_is_one_message_where_its_first_row_stands(home):
    for text in ("one", "two", "three"):
        home.message(text)
    before = {m.content: (m.uid, m.position) for m in home.read().messages}
    compact(home, 2)
    home.message("four")
    found = home.read()
    assert found.texts() == [
        "one",
        "two",
        "three",
        "[CONTEXT COMPACTION — REFERENCE ONLY] summary",
        "four",
    ]
    after = {m.content: (m.uid, m.position) for m in found.messages}
    assert before.items() <= after.items()
    assert [m.state for m in found.messages] == [
        MessageState.COMPACTED,
        MessageState.ACTIVE,
        MessageState.ACTIVE,
        MessageState.ACTIVE,
        MessageState.ACTIVE,
    ]
    assert found.messages[1].raw_ref == "rowid:5"
    assert found.messages[3].origin == Origin.SYNTHETIC


def test_the_newest_copy_tells_a_message_but_never_drops_its_reasoning(home):
    home.message("", role="assistant", reasoning="why", at=TIME, api_content="old")
    home.message("", role="assistant", at=TIME, api_content="new", active=0, compacted=1)
    assert home.read().only().reasoning == "why"
    home.message("", role="assistant", at=TIME, api_content="newest", reasoning="because")
    found = home.read().only()
    assert (found.content, found.reasoning) == ("newest", "because")


def test_rows_that_come_back_under_new_ids_are_the_messages_they_were(home):
    for text in ("one", "two", "three"):
        home.message(text)
    before = {m.content: m.uid for m in home.read().messages}
    undo(home, 1)
    home.message("instead of three")
    after = {m.content: m.uid for m in home.read().messages}
    assert after == {
        "one": before["one"],
        "two": before["two"],
        "instead of three": after["instead of three"],
    }


def test_a_branch_shares_the_bodies_it_begins_with(home):
    home.session("b", parent_session_id="s", model_config='{"_branched_from": "s"}', model="m2")
    home.message("asked", at=TIME)
    home.message("undone later", at=TIME + 1, active=0)
    home.message("asked", session="b", at=TIME)
    home.message("undone later", session="b", at=TIME + 1)
    home.message("answer", role="assistant", at=TIME + 2)
    home.message("answer", role="assistant", session="b", at=TIME + 2)
    home.message("new", role="assistant", session="b")
    found = home.read()
    first, copy = found.of("s"), found.of("b")
    assert [m.uid for m in first] == [m.uid for m in copy[:3]]
    # A body has one state and one model, the same from whichever session it is read.
    assert [m.state for m in first] == [m.state for m in copy[:3]] == [MessageState.ACTIVE] * 3
    assert [m.model for m in copy] == [None, None, None, "m2"]


def test_equal_words_at_other_times_are_other_messages(home):
    for _ in range(3):
        home.message("ok")
    found = home.read().messages
    assert len({m.uid for m in found}) == 3
    assert {m.state for m in found} == {MessageState.ACTIVE}


def test_without_times_equal_words_of_two_sessions_share_nothing(home):
    home.session("t")
    home.message("hi", at=0)
    home.message("hi", session="t", at=0)
    found = home.read()
    assert found.of("s")[0].uid != found.of("t")[0].uid


def test_words_written_twice_at_once_are_shown_once_and_kept(home):
    home.message("hello", at=TIME)
    home.message("hello", at=TIME + 0.043)
    home.message("hello", at=TIME + 0.3)
    assert [m.state for m in home.read().messages] == [
        MessageState.ACTIVE,
        MessageState.SUPERSEDED,
        MessageState.ACTIVE,
    ]


def test_a_place_that_hermes_remembers_beats_the_row_id(home):
    home.message("second")
    home.message("third")
    home.message("first", display_order=1, at=TIME - 5)
    assert home.read().texts() == ["second", "first", "third"]  # 1 is the row id of "second"


changes = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.sampled_from(["ok", "go on", "订阅"])),
        st.tuples(st.just("compact"), st.integers(0, 3)),
        st.tuples(st.just("undo"), st.integers(1, 3)),
        st.tuples(st.just("rewind"), st.integers(1, 3)),
    ),
    max_size=14,
)


@settings(max_examples=40, deadline=None)
@given(changes)
def test_whatever_hermes_rewrites_the_transcript_is_shown_once_and_ids_stay(tmp_path_factory, done):
    home = Home(tmp_path_factory.mktemp("home"))
    home.session("s")
    ids, said = {}, 0
    for how, what in done:
        if how == "say":
            said += 1
            home.message(f"{what} {said}", at=TIME + said)
        elif how == "compact":
            compact(home, what)
        elif how == "undo":
            undo(home, what)
        else:
            home.run(
                "UPDATE messages SET active = 0 WHERE id IN"
                " (SELECT id FROM messages WHERE active = 1 ORDER BY id DESC LIMIT ?)",
                (what,),
            )
        found = home.read().messages
        shown = [m.content for m in found if m.state in SHOWN and m.origin == Origin.HUMAN]
        rows = home.run(
            "SELECT content FROM messages WHERE (active = 1 OR compacted = 1)"
            " AND content NOT LIKE '[%' ORDER BY id"
        )
        assert shown == list(dict.fromkeys(text for (text,) in rows))
        for message in found:
            if message.origin == Origin.HUMAN:
                assert ids.setdefault(message.content, message.uid) == message.uid


# Who speaks


def test_what_no_person_typed_is_no_prompt_and_no_title(home):
    for text, kind in (
        ("secret scaffolding", "hidden"),
        ("Switched model to x", "model_switch"),
        ("from the future", "holo_recap"),
        ("[ASYNC DELEGATION BATCH COMPLETE — deleg_1]\nfinished", None),
        ("[CONTEXT COMPACTION] earlier", None),
        ("[auto-continue]", "auto_continue"),
        ("typed while it worked", "steer"),
        ("typed", None),
    ):
        home.message(text, display_kind=kind)
    home.message("a summary told by the model", role="assistant", _compressed_summary=1)
    home.message("be brief", role="system")
    found = home.read()
    assert [(m.origin, m.state) for m in found.messages] == [
        (Origin.SYNTHETIC, MessageState.HIDDEN),
        (Origin.SYNTHETIC, MessageState.ACTIVE),
        (Origin.SYNTHETIC, MessageState.ACTIVE),
        (Origin.INJECTED, MessageState.ACTIVE),
        (Origin.SYNTHETIC, MessageState.ACTIVE),
        (Origin.SYNTHETIC, MessageState.ACTIVE),
        (Origin.HUMAN, MessageState.ACTIVE),
        (Origin.HUMAN, MessageState.ACTIVE),
        (Origin.SYNTHETIC, MessageState.ACTIVE),
        (Origin.SYNTHETIC, MessageState.ACTIVE),
    ]
    assert found.sessions["s"].title == "typed while it worked"
    assert found.sessions["s"].title_source == TitleSource.DERIVED


def test_hermes_talk_with_itself_ends_at_the_next_prompt(home):
    home.message("a prompt")
    home.message("an answer", role="assistant")
    home.message("Review the conversation above and consider saving to memory if appropriate.")
    home.message("saving", role="assistant")
    home.message("{}", role="tool")
    home.message("Nothing to save.", role="assistant")
    home.message("another prompt")
    home.message("another answer", role="assistant")
    assert [m.origin for m in home.read().messages] == [
        Origin.HUMAN,
        Origin.MODEL,
        *[Origin.SYNTHETIC] * 4,
        Origin.HUMAN,
        Origin.MODEL,
    ]


def test_a_copy_that_lost_its_kind_stays_hidden(home):
    home.message("scaffold", display_kind="hidden", active=0, compacted=1, at=TIME)
    home.message("scaffold", at=TIME)
    found = home.read().only()
    assert (found.state, found.origin) == (MessageState.HIDDEN, Origin.SYNTHETIC)


def test_other_roles_are_kept_and_counted_and_session_meta_is_skipped(home):
    home.message("meta", role="session_meta")
    home.message("from a later version", role="oracle")
    found = home.read()
    assert found.only().role == Role.SYSTEM
    assert found.unknown == ["role oracle"]


def test_rows_without_session_or_role_are_bad_records(home):
    home.message("x", session=None)
    home.message("y", role=None)
    home.message("kept")
    found = home.read()
    assert found.texts() == ["kept"]
    assert [bad.line for bad in found.bad] == [1, 2]


@pytest.mark.parametrize(
    ("at", "ms", "quality"),
    [
        (1784800001.25, 1784800001250, TimeQuality.EXACT),
        (1784800001, 1784800001000, TimeQuality.EXACT),
        ("2026-07-23T09:46:41Z", 1784800001000, TimeQuality.EXACT),
        ("2026-07-23T09:46:41+00:00", 1784800001000, TimeQuality.EXACT),
        (5e246, None, TimeQuality.NONE),
        (float("inf"), None, TimeQuality.NONE),
        (-1.0, None, TimeQuality.NONE),
        (0, None, TimeQuality.NONE),
        (1784800001250, 1784800001250, TimeQuality.EXACT),
        ("yesterday", None, TimeQuality.NONE),
        (b"\xff\xfe", None, TimeQuality.NONE),
        (2**62, None, TimeQuality.NONE),
    ],
)
def test_a_time_that_cannot_be_true_is_no_time(home, at, ms, quality):
    home.message("x", at=at)
    found = home.read().only()
    assert (found.created_at_ms, found.time_quality) == (ms, quality)


def test_a_text_without_zone_is_local_time(home, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        home.message("x", at="2026-07-23 17:46:41")
        found = home.read().only()
    finally:
        monkeypatch.undo()
        time.tzset()
    assert (found.created_at_ms, found.time_quality) == (1784800001000, TimeQuality.LOCAL_NAIVE)


def test_order_is_by_row_and_never_by_time(home):
    home.message("first", at=TIME + 100)
    home.message("second", at=TIME)
    home.message("third", at=5e246)
    assert home.read().texts() == ["first", "second", "third"]


# Sessions


@pytest.mark.parametrize(
    ("child", "parent", "relation", "evidence", "kind"),
    [
        ({"model_config": '{"_branched_from":"p"}'}, {}, "branch", "explicit", "interactive"),
        ({"started_at": TIME + 9}, {"end_reason": "branched", "ended_at": TIME}, "branch",
         "heuristic", "interactive"),
        ({"model_config": '{"_delegate_from":"p"}'}, {"end_reason": "compression"}, "subagent",
         "explicit", "subagent"),
        ({"source": "subagent"}, {}, "subagent", "explicit", "subagent"),
        ({"source": "tool"}, {}, "subagent", "explicit", "tool"),
        ({"started_at": TIME + 9}, {"end_reason": "compression", "ended_at": TIME},
         "continuation", "explicit", "interactive"),
        ({"started_at": TIME - 9}, {"end_reason": "compression", "ended_at": TIME},
         "continuation", "heuristic", "interactive"),
        ({"model_config": '{"_reset_from":"p"}'}, {}, "reset", "explicit", "interactive"),
        ({"session_key": "k"}, {"session_key": "k", "end_reason": "idle"}, "reset", "heuristic",
         "interactive"),
        ({"session_key": "k"}, {"session_key": "other", "end_reason": "idle"}, "subagent",
         "heuristic", "subagent"),
        ({"model_config": '{"_branched_from":"q","_delegate_from":"q"}'},
         {"end_reason": "compression"}, "continuation", "explicit", "interactive"),
        ({"model_config": "{broken _from"}, {"end_reason": "cli_close"}, "subagent", "heuristic",
         "subagent"),
        ({"source": "cron"}, {"end_reason": "cli_close"}, "subagent", "heuristic", "cron"),
    ],
)  # fmt: skip
def test_how_a_session_relates_to_its_parent(tmp_path, child, parent, relation, evidence, kind):
    home = Home(tmp_path / "home")
    home.session("p", **parent)
    home.session("c", parent_session_id="p", **child)
    found = home.read().sessions["c"]
    assert (found.parent_native_id, found.relation, found.evidence, found.kind) == (
        "p",
        Relation(relation),
        evidence,
        SessionKind(kind),
    )


def test_rings_selves_and_missing_parents_end(tmp_path):
    home = Home(tmp_path / "home")
    home.session("a", parent_session_id="b")
    home.session("b", parent_session_id="a")
    home.session("self", parent_session_id="self")
    home.session("under", parent_session_id="a")
    home.session("orphan", parent_session_id="gone")
    home.session("delegated", model_config='{"_delegate_from":"__orphaned__"}')
    found = home.read().sessions
    assert {name: record.parent_native_id for name, record in found.items()} == {
        "a": None,
        "b": None,
        "self": None,
        "under": "a",
        "orphan": "gone",
        "delegated": None,
    }
    assert (found["orphan"].relation, found["orphan"].kind) == (None, SessionKind.INTERACTIVE)
    assert found["delegated"].kind == SessionKind.SUBAGENT


def test_a_child_ran_where_its_nearest_ancestor_did(tmp_path):
    home = Home(tmp_path / "home")
    home.session("a", cwd="/a", git_branch="main", git_repo_root="/a")
    home.session("b", parent_session_id="a")
    home.session("c", parent_session_id="b")
    home.session("d", parent_session_id="c", cwd="/d")
    found = home.read().sessions
    places = {n: (r.cwd, r.git_branch, r.git_repo_root) for n, r in found.items()}
    assert places == dict.fromkeys("abc", ("/a", "main", "/a")) | {"d": ("/d", None, None)}


def test_what_a_session_row_tells(tmp_path):
    home = Home(tmp_path / "home")
    home.session(
        "s",
        source="telegram",
        model="m",
        title="Named",
        title_source="user",
        started_at=TIME,
        ended_at=TIME + 60,
        end_reason="idle",
        pinned=1,
        input_tokens=4200,
    )
    home.session("t", title="Made", title_source="llm", last_activity_at=TIME + 5, archived=1)
    home.session("u", title="Made", hidden=1)
    home.message("x", role="assistant")
    found = home.read()
    s, t, u = (found.sessions[name] for name in "stu")
    assert (s.title, s.title_source, s.model, s.end_reason) == (
        "Named",
        TitleSource.USER,
        "m",
        "idle",
    )
    assert (s.started_at_ms, s.updated_at_ms) == (1784800000000, 1784800060000)
    assert (s.pinned, s.archived, t.archived, u.archived) == (True, False, True, True)
    assert (t.title_source, t.updated_at_ms) == (TitleSource.MODEL, 1784800005000)
    assert json.loads(s.metadata) == {"source": "telegram", "input_tokens": 4200}
    assert found.only().model == "m"


def test_titles_are_made_of_the_first_prompt_else_the_first_answer(tmp_path):
    home = Home(tmp_path / "home")
    for name in ("asked", "only answered", "ghost", "undone"):
        home.session(name)
    home.message("answer first", session="asked", role="assistant")
    home.message("  the\nprompt ", session="asked")
    home.message("just this", session="only answered", role="assistant")
    home.message("taken back", session="undone", active=0)
    found = home.read().sessions
    assert {name: record.title for name, record in found.items()} == {
        "asked": "the prompt",
        "only answered": "just this",
        "ghost": None,
        "undone": None,
    }
    assert found["ghost"].title_source == TitleSource.NONE


def test_a_prompt_of_a_subagent_was_written_by_a_model(tmp_path):
    home = Home(tmp_path / "home")
    home.session("c", source="subagent")
    home.message("the task", session="c")
    assert home.read().only().origin == Origin.MODEL


# Files and faults


def test_a_home_is_its_database_and_those_of_its_profiles(tmp_path):
    root = tmp_path / "hermes"
    homes = [Home(root), Home(root / "profiles" / "coder"), Home(root / "profiles" / "writer")]
    for name in ("state.db.bak", "state.db.malformed-backup-1", "lcm.db", "kanban.db"):
        shutil.copy(homes[0].path, root / name)
    (root / "profiles" / "empty").mkdir()
    assert list(hermes.files(root)) == [home.path for home in homes]
    assert hermes.recognises(root)
    identities = [hermes.identity(path) for path in hermes.files(root)]
    assert [(i.kind, i.instance) for i in identities] == [("hermes", str(h.path)) for h in homes]
    assert [i.display_name for i in identities] == [
        "Hermes",
        "Hermes (coder)",
        "Hermes (writer)",
    ]
    assert hermes.identity(root) == identities[0]


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("hermes/generated-v23/state.db", True),
        ("hermes/generated-v23/live-wal/state.db", True),
        ("hermes/rungraph", True),
        ("hermes/rungraph/profiles/legacy/state.db", True),
        ("hermes/agent-sessions", True),
        ("hermes/agent-sessions/session_small.json", True),
        ("chatgpt/bot-knows/conversations.json", False),
        ("chatgpt", False),
        ("chatgpt/synthetic/export-sharded.zip", False),
        ("claude_code/agent-sessions/small.jsonl", False),
        ("no such file", False),
    ],
)
def test_what_is_recognised(path, known):
    assert hermes.recognises(SAMPLES / path) == known


def test_other_databases_with_messages_are_not_taken_for_hermes(tmp_path):
    path = tmp_path / "state.db"
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute("CREATE TABLE messages(id, session_id, seq, role, content, created_at)")
    assert not hermes.recognises(path)
    assert list(hermes.files(tmp_path)) == []


def test_the_log_and_the_old_files_decide_whether_anything_is_new(home, tmp_path):
    old = home.path.parent / "sessions" / "session_x.json"
    old.parent.mkdir()
    old.write_text('{"session_id": "x", "messages": []}')
    log = home.path.with_name("state.db-wal")
    assert hermes.stat_paths(home.path) == (home.path, log, old)
    assert hermes.stat_paths(old) == (old,)


def test_a_database_of_something_else_is_refused_in_words(tmp_path):
    path = tmp_path / "state.db"
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.execute("CREATE TABLE other(x)")
        db.execute("CREATE VIEW messages AS SELECT 1 AS id")
    with pytest.raises(SourceError, match="is no Hermes database: there is no table messages"):
        list(hermes.read(path))


def test_a_damaged_page_costs_its_rows_and_is_told(home):
    home.messages(f"{number} " + "x" * 400 for number in range(600))
    raw = bytearray(home.path.read_bytes())
    leaves = [at for at in range(4096, len(raw), 4096) if b"300 xxx" in raw[at : at + 4096]]
    raw[leaves[0] : leaves[0] + 4096] = os.urandom(4096)
    home.path.write_bytes(raw)
    found = home.read()
    read = [int(m.content.split()[0]) for m in found.messages]
    lost = sorted(set(range(600)) - set(read))
    assert 300 in lost
    assert len(lost) < 12
    assert read == sorted(read)
    assert [bad.line for bad in found.bad] == [lost[0] + 1]


@pytest.mark.parametrize("seed", range(40))
def test_no_damage_does_more_than_cost_records_or_be_told(tmp_path, seed):
    chance = random.Random(seed)
    path = tmp_path / "state.db"
    raw = bytearray((GENERATED / "state.db").read_bytes())
    for _ in range(chance.choice([1, 20, 400])):
        at, length = chance.randrange(len(raw)), chance.choice([1, 2, 16])
        raw[at : at + length] = chance.randbytes(length)
    if chance.random() < 0.3:
        del raw[chance.randrange(len(raw)) :]
    path.write_bytes(raw)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    found, named = Reading(()), str(path)
    try:
        found = Reading(hermes.read(path))
    except SourceError as error:
        named = error.path
    assert named == str(path)
    assert len({(m.session, m.uid) for m in found.messages}) == len(found.messages)
    assert path.read_bytes() == raw


def test_sessions_whose_rows_are_gone_are_made_of_their_messages(home):
    home.run("DELETE FROM sessions")
    home.message("still here")
    found = home.read()
    assert (found.sessions["s"].title, found.texts()) == ("still here", ["still here"])


def test_text_that_is_not_utf8_costs_its_bytes(home):
    home.run(
        "INSERT INTO messages(session_id, role, content, timestamp)"
        " VALUES('s', 'user', CAST(x'6361f1e9' AS TEXT), 1784800000)"
    )
    assert home.read().texts() == ["ca\ufffd\ufffd"]


def test_progress_counts_messages_up_to_their_number(home):
    home.messages(str(number) for number in range(1200))
    told = [r for r in home.read().records if isinstance(r, ReadTo)]
    assert told == [ReadTo(500, 1200), ReadTo(1000, 1200), ReadTo(1200, 1200)]


# The session files from before the database


def lines_of(path):
    path.parent.mkdir(exist_ok=True, parents=True)
    return path


def old_json(home, native_id, texts, **header):
    path = lines_of(home / "sessions" / f"session_{native_id}.json")
    rows = [{"role": "user" if i % 2 == 0 else "assistant", "content": t} for i, t in texts]
    path.write_text(
        json.dumps(
            {"session_id": native_id, "session_start": "2026-03-01T10:00:00Z", **header}
            | {"message_count": len(rows), "messages": rows}
        )
    )
    return path


def old_lines(home, native_id, texts):
    path = lines_of(home / "sessions" / f"{native_id}.jsonl")
    rows = [{"role": "session_meta", "model": "m", "timestamp": "2026-03-01T10:00:00"}]
    rows += [
        {
            "role": "user" if i % 2 == 0 else "assistant",
            "content": t,
            "timestamp": f"2026-03-01T10:00:{i:02}",
        }
        for i, t in texts
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_sessions_that_only_an_old_file_knows_are_read_with_the_database(home):
    root = home.path.parent
    home.message("in the database")
    old_json(root, "old", enumerate(["first", "second"]), model="m", platform="cli", cwd="/w")
    (root / "sessions" / "sessions.json").write_text('{"session_id": "routing"}')
    assert list(hermes.files(root)) == [home.path]
    found = home.read()
    old = found.sessions["old"]
    assert (old.title, old.model, old.cwd, old.title_source) == (
        "first",
        "m",
        "/w",
        TitleSource.DERIVED,
    )
    assert found.texts("old") == ["first", "second"]
    assert {(m.provenance, m.created_at_ms, m.time_quality) for m in found.of("old")} == {
        (Provenance.LEGACY_SNAPSHOT, old.started_at_ms, TimeQuality.SESSION)
    }
    assert set(found.sessions) == {"s", "old"}


def test_an_old_file_that_knows_less_adds_nothing(home):
    for text in ("a", "b", "c"):
        home.message(text)
    path = old_json(home.path.parent, "s", enumerate(["a", "x"]))
    assert home.read().texts() == ["a", "b", "c"]
    assert not Reading(hermes.read(path)).records


def test_an_old_file_that_knows_more_adds_what_is_missing_where_it_was(home):
    for number, text in enumerate(["b", "d"]):
        home.message(text, role="assistant" if number % 2 == 0 else "user")
    path = old_json(home.path.parent, "s", [(0, "a"), (1, "b"), (0, "c"), (0, "d"), (1, "e")])
    found = home.read()
    ordered = sorted(found.of("s"), key=lambda m: m.position)
    assert [m.content for m in ordered] == ["a", "b", "c", "d", "e"]
    assert len({m.position for m in ordered}) == 5
    assert [m.provenance == Provenance.OBSERVED for m in ordered] == [
        False,
        True,
        False,
        True,
        False,
    ]
    assert found.sessions["s"].started_at_ms == 1784800000000  # the database's own
    alone = Reading(hermes.read(path))
    assert {m.uid for m in alone.messages} == {m.uid for m in ordered} - {
        m.uid for m in ordered if m.provenance == Provenance.OBSERVED
    }


def test_lines_have_times_of_the_machine_they_were_written_on(tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    try:
        path = old_lines(tmp_path, "x", enumerate(["one", "two"]))
        with path.open("a") as file:
            file.write('{"role": "user", "content": "half')
        found = Reading(hermes.read(path))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found.texts("x") == ["one", "two"]
    assert not found.bad
    assert [(m.created_at_ms, m.time_quality) for m in found.messages] == [
        (1772359200000, TimeQuality.LOCAL_NAIVE),
        (1772359201000, TimeQuality.LOCAL_NAIVE),
    ]
    assert found.messages[1].model == "m"


def test_of_two_old_files_of_a_session_the_longer_one_is_read(tmp_path):
    short = old_lines(tmp_path, "a", enumerate(["1"]))
    long = old_json(tmp_path, "a", enumerate(["1", "2", "3", "4"]))
    lines = old_lines(tmp_path, "b", enumerate(["1", "2"]))
    old_json(tmp_path, "b", enumerate(["1", "2"]))
    assert list(hermes.files(tmp_path)) == [long, lines]
    assert short.exists()
    assert {hermes.identity(path).instance for path in hermes.files(tmp_path)} == {
        str(tmp_path / "state.db")
    }


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'{"session_id": "x", "mess', b"\xff\xfe", b"[" * 5000]
)
def test_a_broken_snapshot_is_one_bad_record(tmp_path, content):
    path = tmp_path / "session_x.json"
    path.write_bytes(content)
    found = Reading(hermes.read(path))
    assert (len(found.bad), found.messages) == (1, [])


def test_equal_words_of_an_old_file_are_told_apart_by_their_turn(tmp_path):
    path = old_json(tmp_path, "x", [(0, "ok"), (1, "ok"), (0, "ok"), (0, "ok")])
    first = Reading(hermes.read(path)).messages
    assert len({m.uid for m in first}) == 4
    old_json(tmp_path, "x", [(0, "ok"), (1, "ok"), (0, "ok"), (0, "ok"), (1, "more")])
    assert [m.uid for m in Reading(hermes.read(path)).messages][:4] == [m.uid for m in first]


def test_an_export_gives_every_session_of_its_lines(tmp_path):
    path = tmp_path / "out.jsonl"
    rows = [
        {"id": name, "started_at": TIME, "title": name.upper(), "messages": [
            {"role": "user", "content": f"in {name}", "timestamp": TIME}]}
        for name in ("a", "b")
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert hermes.recognises(path)
    found = Reading(hermes.read(path))
    assert {n: (s.title, s.title_source) for n, s in found.sessions.items()} == {
        "a": ("A", TitleSource.MODEL),
        "b": ("B", TitleSource.MODEL),
    }
    assert (found.texts("a"), found.texts("b")) == (["in a"], ["in b"])
