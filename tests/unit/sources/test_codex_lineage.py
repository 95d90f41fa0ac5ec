"""Subagents, forks and taken-back threads: whose messages are whose, and where they are shown."""

import json
import os

from core.sources import codex
from core.types import MessageState, Origin, Relation, SessionKind
from tests.unit.sources import codex_lines as rollout
from tests.unit.sources.codex_lines import ONE, THREE, TWO

ITEM, EVENT = rollout.item, rollout.event


def started(turn_id):
    return EVENT("task_started", turn_id=turn_id)


def told(turn_id, ask, answer):
    return [started(turn_id), rollout.turn(turn_id), ITEM("user", ask), ITEM("assistant", answer)]


def places(path):
    """(uid, text) in the order in which the session shows them."""
    records = sorted(rollout.messages(rollout.read(path)), key=lambda m: m.position)
    return [(m.uid, m.content) for m in records]


def shown(path):
    return [text for _, text in places(path)]


def spawned(parent, **more):
    spawn = {"parent_thread_id": parent, "depth": 1, "agent_nickname": "Darwin"}
    return {"source": {"subagent": {"thread_spawn": spawn}}, "session_id": ONE, **more}


def parent_of_two_turns(home):
    lines = [rollout.meta(), *told("t1", "one", "first"), *told("t2", "two", "second")]
    return rollout.written(home, *lines)


def restamped(*lines):
    return [{**each, "timestamp": "2026-09-01T12:00:00.001Z"} for each in lines]


def test_a_subagent_leaves_out_its_copy_of_the_parent(tmp_path):
    parent_of_two_turns(tmp_path)
    head = rollout.meta(TWO, **spawned(ONE, forked_from_id=ONE))
    copy = restamped(rollout.meta(ONE), started("t1"), EVENT("user_message", "one"))
    own = told("own", "map the module", "mapped")
    path = rollout.written(tmp_path, head, *copy, *own, session=TWO, hour=12)
    records = rollout.read(path)
    found = rollout.session(records)
    assert (found.native_id, found.parent_native_id) == (TWO, ONE)
    assert (found.relation, found.kind) == (Relation.SUBAGENT, SessionKind.SUBAGENT)
    assert rollout.texts(records) == [("user", "map the module"), ("assistant", "mapped")]
    # The parent, not a person, asked.
    assert [m.origin for m in rollout.messages(records)] == [Origin.MODEL, Origin.MODEL]


def test_a_subagent_whose_parent_is_missing_keeps_everything_and_says_so(tmp_path):
    head = rollout.meta(TWO, **spawned(ONE))
    copy = restamped(rollout.meta(ONE), started("t1"), EVENT("user_message", "one"))
    own = told("own", "map the module", "mapped")
    path = rollout.written(tmp_path, head, *copy, *own, session=TWO)
    records = rollout.read(path)
    assert [text for _, text in rollout.texts(records)] == ["one", "map the module", "mapped"]
    assert json.loads(rollout.session(records).metadata)["history_is_missing"] is True


def test_a_thread_that_names_no_spawn_is_a_subagent_by_its_source(tmp_path):
    for more in ({"source": {"subagent": "review"}}, {"thread_source": "subagent"}):
        path = rollout.written(tmp_path, rollout.meta(**more), ITEM("user", "review it"))
        found = rollout.session(rollout.read(path))
        assert (found.kind, found.parent_native_id, found.relation) == (
            SessionKind.SUBAGENT,
            None,
            None,
        )


def test_a_forks_copied_turns_are_the_parents_messages_in_a_second_place(tmp_path):
    parent = parent_of_two_turns(tmp_path)
    head = rollout.meta(TWO, forked_from_id=ONE)
    copy = restamped(rollout.meta(ONE), *told("t1", "one", "first"))
    path = rollout.written(
        tmp_path, head, *copy, *told("own", "fork", "forked"), session=TWO, hour=12
    )
    originals = {m.uid: m for m in rollout.messages(rollout.read(parent))}
    records = rollout.read(path)
    assert rollout.session(records).relation == Relation.FORK
    assert rollout.session(records).title == "fork"
    copied = [m for m in rollout.messages(records) if m.uid in originals]
    assert shown(path) == ["one", "first", "fork", "forked"]
    assert [m.content for m in copied] == ["one", "first"]
    # One body, whenever it was copied: the parent's time stands, not the copy's.
    assert [m.created_at_ms for m in copied] == [originals[m.uid].created_at_ms for m in copied]
    assert {m.session for m in rollout.messages(records)} == {TWO}


def test_a_fork_of_a_fork_shows_the_first_threads_messages(tmp_path):
    parent = parent_of_two_turns(tmp_path)
    first = [*told("t1", "one", "first"), *told("f1", "fork", "forked")]
    rollout.written(
        tmp_path, rollout.meta(TWO, forked_from_id=ONE), *restamped(*first), session=TWO, hour=12
    )
    head = rollout.meta(THREE, forked_from_id=TWO)
    lines = [head, *restamped(*first), *told("f2", "again", "and again")]
    path = rollout.written(tmp_path, *lines, session=THREE, hour=13)
    uids = [uid.split(":")[0] for uid, _ in places(path)]
    assert uids == [ONE, ONE, TWO, TWO, THREE, THREE]
    assert {uid for uid, _ in places(path)[:2]} <= {uid for uid, _ in places(parent)}


def test_a_copy_without_turn_ids_ends_where_the_texts_part(tmp_path):
    lines = [ITEM("user", "one"), ITEM("assistant", "first"), ITEM("user", "two")]
    rollout.written(tmp_path, rollout.meta(), *lines)
    own = [ITEM("user", "another two"), ITEM("user", "one")]
    path = rollout.written(
        tmp_path, rollout.meta(TWO, forked_from_id=ONE), *lines[:2], *own, session=TWO, hour=12
    )
    owners = [(uid.split(":")[0], text) for uid, text in places(path)]
    assert owners == [(ONE, "one"), (ONE, "first"), (TWO, "another two"), (TWO, "one")]


def test_a_fork_without_its_parent_keeps_its_copy(tmp_path):
    head = rollout.meta(TWO, forked_from_id=ONE)
    path = rollout.written(
        tmp_path, head, *restamped(rollout.meta(ONE), *told("t1", "one", "first")), session=TWO
    )
    records = rollout.read(path)
    assert [text for _, text in rollout.texts(records)] == ["one", "first"]
    assert rollout.session(records).parent_native_id == ONE
    assert json.loads(rollout.session(records).metadata)["history_is_missing"] is True


def numbered(lines, start=0):
    return [{**each, "ordinal": number} for number, each in enumerate(lines, start)]


def paginated(home, base=None, own=(), session=TWO, thread=None, hour=12, **more):
    """A rollout of 0.154 that goes on from `base` = (file, count of its lines that are shown)."""
    first = 0
    if base:
        file, count, rollout_id = base
        lines = file.read_bytes().splitlines(keepends=True)[:count]
        first = json.loads(lines[-1])["ordinal"] + 1
        more["history_base"] = {
            "thread_id": rollout_id,
            "end_ordinal_exclusive": first,
            "end_byte_offset": sum(map(len, lines)),
        }
    head = rollout.meta(thread or session, history_mode="paginated", **more)
    return rollout.written(home, *numbered([head, *own], first), session=session, hour=hour)


def test_a_paginated_fork_shows_its_parent_up_to_the_cut(tmp_path):
    parent = paginated(
        tmp_path, own=[*told("t1", "one", "first"), *told("t2", "two", "second")], session=ONE
    )
    fork = paginated(
        tmp_path, (parent, 5, ONE), told("f", "fork", "forked"), hour=13, forked_from_id=ONE
    )
    assert shown(fork) == ["one", "first", "fork", "forked"]
    assert places(fork)[:2] == places(parent)[:2]
    again = paginated(
        tmp_path, (fork, 5, TWO), told("g", "again", "and again"), THREE, hour=14,
        forked_from_id=TWO,
    )  # fmt: skip
    assert shown(again) == ["one", "first", "fork", "forked", "again", "and again"]
    assert rollout.session(rollout.read(again)).parent_native_id == TWO


def test_a_fork_of_a_parent_without_ordinals_is_cut_by_bytes(tmp_path):
    parent = parent_of_two_turns(tmp_path)
    lines = parent.read_bytes().splitlines(keepends=True)
    base = {"thread_id": ONE, "end_byte_offset": sum(map(len, lines[:5]))}
    path = rollout.written(
        tmp_path, rollout.meta(TWO, history_base=base), *told("f", "fork", "forked"), session=TWO
    )
    assert shown(path) == ["one", "first", "fork", "forked"]


def test_a_taken_back_thread_goes_on_in_a_new_file_of_the_same_session(tmp_path):
    lines = [*told("t1", "one", "first"), *told("t2", "two", "second")]
    first = paginated(tmp_path, own=lines, session=ONE)
    # The id in the name is the rollout's, the one in the header the thread's.
    later = paginated(
        tmp_path, (first, 5, ONE), told("t3", "instead", "done"), TWO, thread=ONE, hour=13
    )
    before = {m.uid: m for m in rollout.messages(rollout.read(first))}
    after = {m.uid: m for m in rollout.messages(rollout.read(later))}
    assert {m.session for m in after.values()} == {ONE}
    assert set(before) <= set(after)
    active = [m.content for m in after.values() if m.state == MessageState.ACTIVE]
    assert active == ["one", "first", "instead", "done"]
    rewound = [m for m in after.values() if m.state == MessageState.REWOUND]
    assert [m.content for m in rewound] == ["two", "second"]
    assert {m.position for m in rewound} == {before[m.uid].position for m in rewound}
    found = rollout.session(rollout.read(later))
    assert (found.parent_native_id, found.relation, found.title) == (None, None, "one")


def test_rollouts_that_name_each_other_end(tmp_path):
    base = {"end_ordinal_exclusive": 99, "end_byte_offset": 9999}
    for one, other, hour in ((ONE, TWO, 10), (TWO, ONE, 11)):
        head = rollout.meta(one, history_base={"thread_id": other, **base})
        rollout.written(tmp_path, *numbered([head, ITEM("user", one)]), session=one, hour=hour)
    for path in codex.files(tmp_path):
        assert len(rollout.messages(rollout.read(path))) == 2
    for one, other, hour in ((ONE, TWO, 10), (TWO, ONE, 11)):
        head = rollout.meta(one, forked_from_id=other)
        rollout.written(tmp_path, head, ITEM("user", one), session=one, hour=hour)
    for path in codex.files(tmp_path):
        assert len(rollout.messages(rollout.read(path))) == 1


def test_a_parent_is_found_in_the_archive_and_packed(tmp_path):
    parent = parent_of_two_turns(tmp_path)
    archive = tmp_path / "archived_sessions"
    archive.mkdir()
    packed = archive / (parent.name + ".zst")
    packed.write_bytes(codex.rollout_files.zstd.compress(parent.read_bytes()))
    parent.unlink()
    base = {"thread_id": ONE, "end_byte_offset": 10_000}
    path = rollout.written(
        tmp_path, rollout.meta(TWO, history_base=base), ITEM("user", "fork"), session=TWO
    )
    assert shown(path) == ["one", "first", "two", "second", "fork"]


def test_a_parent_that_grows_is_read_again(tmp_path):
    parent = parent_of_two_turns(tmp_path)
    head = rollout.meta(TWO, forked_from_id=ONE)
    later = told("t3", "three", "third")
    path = rollout.written(
        tmp_path, head, *told("t1", "one", "first"), *later, session=TWO, hour=12
    )
    assert [uid.split(":")[0] for uid, _ in places(path)] == [ONE, ONE, TWO, TWO]
    with parent.open("ab") as file:
        file.write(rollout.encoded(*later))
    os.utime(parent, ns=(1, 1))
    assert [uid.split(":")[0] for uid, _ in places(path)] == [ONE, ONE, ONE, ONE]
