"""The life of a session: each step is in the ledger, is idempotent, and can be taken back."""

import json
from pathlib import Path

import pytest

from core.errors import NotFoundError, RefusedError, SettingError
from core.history.messages import messages_page
from core.history.sessions import kept_session, list_sessions
from core.history.tombstones import make_key
from core.sources import ingest
from core.sources.records import SessionRecord
from core.store import clock
from core.store.connection import transaction
from core.types import MessageState, Role, SessionFilter, TitleSource
from core.upkeep import deleting_again, lifecycle, operations, trash
from tests.unit.store.making import message, store_at, store_messages, verify_indexes

TITLE = "Quarterly Fenwick report"


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    yield made
    verify_indexes(made)
    made.close()


def talk(db, name="s", prompts=2, start=1, **fields):
    records = []
    for n in range(start, start + prompts):
        at = {"created_at_ms": 1_000 * n, "session": name}
        records.append(message(f"{name}-u{n}", f"ask {n}", position=2 * n - 1, **at))
        records.append(
            message(f"{name}-a{n}", f"told {n}", role=Role.ASSISTANT, position=2 * n, **at)
        )
    store_messages(db, *records, sessions=(SessionRecord(name, **fields),))
    return row(db, name)


def row(db, name="s"):
    return int(db.execute("SELECT id FROM sessions WHERE native_id = ?", (name,)).get)


def do(db, work, *args, actor="you"):
    with transaction(db):
        return work(db, *args, actor)


def texts(db, session_id):
    return [each.content for each in messages_page(db, session_id, first=1, count=100)]


def counts(db, session_id):
    found = kept_session(db, session_id)
    return found.message_count, found.user_turn_count


def listed(db, **wanted):
    return [each.native_id for each in list_sessions(db, SessionFilter(**wanted)).sessions]


# Titles


def test_a_renamed_session_is_found_by_its_title_and_no_import_calls_it_as_before(db):
    s = talk(db, title="From the model", title_source=TitleSource.MODEL)
    done = do(db, lifecycle.rename, s, f"  {TITLE}\n 計画 ")
    found = kept_session(db, s)
    assert (found.title, found.title_source) == (f"{TITLE} 計画", TitleSource.USER)
    assert listed(db, text="fenwick") == ["s"]
    talk(db, title="Another of the model", title_source=TitleSource.MODEL)
    talk(db, title="By its owner there", title_source=TitleSource.USER)
    assert kept_session(db, s).title == f"{TITLE} 計画"
    assert (done.kind, done.state, done.actor) == ("sessions.rename", "succeeded", "you")
    assert "Fenwick" not in str((done.arguments, done.receipt, done.outcome))


def test_without_a_title_of_its_own_a_session_is_called_as_its_source_calls_it_by_now(db):
    s = talk(db, title="First", title_source=TitleSource.MODEL)
    do(db, lifecycle.rename, s, TITLE)
    talk(db, title="Second", title_source=TitleSource.MODEL)
    do(db, lifecycle.rename, s, "")
    found = kept_session(db, s)
    assert (found.title, found.title_source) == ("Second", TitleSource.MODEL)
    assert listed(db, text="second") == ["s"]
    talk(db, title="Third", title_source=TitleSource.MODEL)
    assert kept_session(db, s).title == "Third"
    assert do(db, lifecycle.rename, s, "").receipt["sessions"] == 0


def test_renaming_is_undone_to_the_title_before_it(db):
    s = talk(db, title="First", title_source=TitleSource.MODEL)
    first = do(db, lifecycle.rename, s, "Mine")
    second = do(db, lifecycle.rename, s, "Mine, too")
    with pytest.raises(NotFoundError):
        do(db, lifecycle.undo, first.id)
    do(db, lifecycle.undo, second.id)
    assert (kept_session(db, s).title, kept_session(db, s).title_source) == ("Mine", "user")
    third = do(db, lifecycle.rename, s, "")
    assert kept_session(db, s).title == "First"
    do(db, lifecycle.undo, third.id)
    assert kept_session(db, s).title == "Mine"
    do(db, lifecycle.rename, s, "")
    assert (kept_session(db, s).title, kept_session(db, s).title_source) == ("First", "model")


def test_a_title_made_of_a_prompt_that_is_thrown_away_is_not_kept_behind_the_users(db):
    s = talk(db, title="ask 1", title_source=TitleSource.DERIVED)
    do(db, lifecycle.rename, s, TITLE)
    first = db.execute("SELECT id FROM messages WHERE uid = 's-u1'").get
    do(db, trash.trash_message, first)
    do(db, lifecycle.rename, s, "")
    assert kept_session(db, s).title == "ask 2"


def test_a_title_that_is_too_long_is_refused_and_nothing_changes(db):
    s = talk(db, title="First", title_source=TitleSource.MODEL)
    with pytest.raises(SettingError):
        do(db, lifecycle.rename, s, "x" * 501)
    assert kept_session(db, s).title == "First"
    assert operations.listing(db) == ()


# Archive


def test_archived_sessions_are_not_listed_until_a_younger_message_joins(db):
    s = talk(db)
    done = do(db, lifecycle.archive, [s], True)
    assert listed(db) == []
    assert listed(db, include_archived=True) == ["s"]
    at_ms = kept_session(db, s).archived_at_ms
    assert do(db, lifecycle.archive, [s], True).receipt["sessions"] == 0
    assert kept_session(db, s).archived_at_ms == at_ms
    talk(db)
    assert listed(db) == []
    store_messages(db, message("new", created_at_ms=at_ms + 1))
    assert listed(db) == ["s"]
    with pytest.raises(NotFoundError):
        do(db, lifecycle.undo, done.id)


def test_an_archived_session_whose_file_grows_is_listed_again_by_the_import(db, tmp_path):
    path = tmp_path / "talk.jsonl"

    def grow(uid, at_ms):
        line = {"session": "grown", "id": uid, "role": "user", "content": uid, "created_at": at_ms}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        for _ in ingest.run_sync(db, ingest.Import([path], kind="jsonl")):
            pass

    grow("first", 1_790_000_000_000)
    do(db, lifecycle.archive, [row(db, "grown")], True)
    grow("late, but older", 1_790_000_000_001)
    assert listed(db) == []
    grow("younger", clock.now_ms() + 1_000)
    assert listed(db) == ["grown"]


def test_archiving_and_bringing_back_are_undone(db):
    s, t = talk(db), talk(db, "t")
    first = do(db, lifecycle.archive, [s], True)
    both = do(db, lifecycle.archive, [s, t], True)
    assert both.receipt["sessions"] == 1
    at_ms = kept_session(db, s).archived_at_ms
    back = do(db, lifecycle.archive, [s, t], False)
    do(db, lifecycle.undo, back.id)
    assert kept_session(db, s).archived_at_ms == at_ms
    do(db, lifecycle.undo, both.id)
    assert listed(db) == ["t"]
    do(db, lifecycle.undo, first.id)
    assert sorted(listed(db)) == ["s", "t"]
    with pytest.raises(NotFoundError):
        do(db, lifecycle.undo, first.id)


# Projects


def test_a_moved_session_is_in_its_project_whatever_its_source_says(db):
    s = talk(db, cwd="/home/x/mailer")
    done = do(db, lifecycle.move, [s], " Fenwick  works ")
    assert kept_session(db, s).project == "Fenwick works"
    talk(db, cwd="/home/x/other")
    assert listed(db, projects=("Fenwick works",)) == ["s"]
    assert listed(db, projects=("other",)) == []
    do(db, lifecycle.undo, done.id)
    assert kept_session(db, s).project == "other"
    do(db, lifecycle.move, [s], "Fenwick works")
    do(db, lifecycle.move, [s], "")
    assert listed(db, projects=("other",)) == ["s"]
    with pytest.raises(SettingError):
        do(db, lifecycle.move, [s], "x" * 201)


# Reset


def test_a_reset_begins_anew_and_deletes_nothing(db):
    s = talk(db, prompts=3)
    done = do(db, lifecycle.reset, [s])
    assert counts(db, s) == (6, 0)
    assert kept_session(db, s).reset_cutoff_seq == 6
    assert do(db, lifecycle.reset, [s]).receipt["sessions"] == 0
    talk(db, prompts=4)
    assert counts(db, s) == (8, 1)
    do(db, lifecycle.undo, done.id)
    assert counts(db, s) == (8, 4)
    assert kept_session(db, s).reset_cutoff_seq == 0


def test_a_reset_of_the_source_never_lowers_the_users(db):
    s = talk(db, prompts=3, reset_cutoff_seq=2)
    assert counts(db, s) == (6, 2)
    do(db, lifecycle.reset, [s])
    talk(db, prompts=4, reset_cutoff_seq=4)
    assert (kept_session(db, s).reset_cutoff_seq, counts(db, s)) == (6, (8, 1))
    talk(db, prompts=4, reset_cutoff_seq=8)
    assert (kept_session(db, s).reset_cutoff_seq, counts(db, s)) == (8, (8, 0))
    talk(db, prompts=4, reset_cutoff_seq=0)
    assert (kept_session(db, s).reset_cutoff_seq, counts(db, s)) == (6, (8, 1))


def test_a_session_whose_one_message_stands_at_0_can_be_reset(db):
    store_messages(db, message("a", position=0))
    s = row(db)
    assert counts(db, s) == (1, 1)
    do(db, lifecycle.reset, [s])
    assert counts(db, s) == (1, 0)
    store_messages(db, message("b", position=1))
    assert counts(db, s) == (2, 1)


# Clear


def test_a_cleared_session_stays_and_new_messages_join_it(db):
    s = talk(db, title="ask 1", title_source=TitleSource.DERIVED, reset_cutoff_seq=2)
    done = do(db, lifecycle.clear, [s])
    found = kept_session(db, s)
    assert (counts(db, s), found.reset_cutoff_seq, found.title) == ((0, 0), 0, "")
    assert (texts(db, s), listed(db)) == ([], ["s"])
    assert list_sessions(db, SessionFilter()).total == 1
    talk(db, title="ask 1", title_source=TitleSource.DERIVED)
    assert (counts(db, s), kept_session(db, s).title) == ((0, 0), "")
    talk(db, prompts=3)
    assert texts(db, s) == ["ask 3", "told 3"]
    assert counts(db, s) == (2, 1)
    do(db, lifecycle.undo, done.id)
    assert counts(db, s) == (6, 2)
    assert kept_session(db, s).title == "ask 1"
    assert texts(db, s) == ["ask 1", "told 1", "ask 2", "told 2", "ask 3", "told 3"]
    with pytest.raises(NotFoundError):
        do(db, lifecycle.undo, done.id)


def test_the_trash_brings_back_what_was_cleared_by_its_operation_too(db):
    s = talk(db)
    do(db, lifecycle.reset, [s])
    done = do(db, lifecycle.clear, [s])
    do(db, trash.undo, done.id)
    assert (counts(db, s), kept_session(db, s).reset_cutoff_seq) == ((4, 0), 4)


def test_what_was_thrown_away_before_is_not_brought_back_with_what_was_cleared(db):
    s = talk(db)
    first = db.execute("SELECT id FROM messages WHERE uid = 's-u1'").get
    alone = do(db, trash.trash_message, first)
    done = do(db, lifecycle.clear, [s])
    do(db, lifecycle.undo, done.id)
    assert texts(db, s) == ["told 1", "ask 2", "told 2"]
    do(db, lifecycle.undo, alone.id)
    assert counts(db, s) == (4, 2)


def shared(db):
    """Two sessions that show the same two messages, and one of its own each."""
    talk(db, "parent", prompts=1)
    for uid, role, at in (("parent-u1", Role.USER, 1), ("parent-a1", Role.ASSISTANT, 2)):
        text = "ask 1" if role == Role.USER else "told 1"
        store_messages(db, message(uid, text, role=role, session="fork", position=at))
    store_messages(db, message("own", "only here", session="fork", position=3))
    return row(db, "parent"), row(db, "fork")


@pytest.mark.parametrize("cleared", [0, 1])
def test_what_another_session_shows_stays_there(db, cleared):
    both = shared(db)
    which, other = both[cleared], both[1 - cleared]
    before = texts(db, other), counts(db, other)
    done = do(db, lifecycle.clear, [which])
    shared(db)
    assert (texts(db, which), counts(db, which)) == ([], (0, 0))
    assert (texts(db, other), counts(db, other)) == before
    do(db, lifecycle.undo, done.id)
    assert counts(db, which) == ((2, 1), (3, 2))[cleared]
    assert (texts(db, other), counts(db, other)) == before
    shared(db)
    assert counts(db, which) == ((2, 1), (3, 2))[cleared]


def test_what_was_cleared_does_not_come_back_when_the_trash_is_empty(db):
    parent, fork = shared(db)
    do(db, lifecycle.clear, [fork])
    list(trash.empty(db, "you"))
    shared(db)
    assert (texts(db, fork), texts(db, parent)) == ([], ["ask 1", "told 1"])
    store_messages(db, message("new", "joined", session="fork", position=9))
    assert (texts(db, fork), counts(db, fork)) == (["joined"], (1, 1))
    assert db.execute("SELECT count(*) FROM cleared_places").get == 0


def test_a_store_as_it_was_before_loses_what_was_cleared_where_it_was_cleared_alone(db, tmp_path):
    shared(db)
    do(db, lifecycle.clear, [row(db, "fork")])
    list(trash.empty(db, "you"))
    older = store_at(tmp_path / "older")
    parent, fork = shared(older)
    with transaction(older):
        deleting_again.bury(older, deleting_again.tombstones(db))
    list(deleting_again.delete_again(older, make_key(Path(db.filename).parent)))
    assert (texts(older, fork), counts(older, fork)) == ([], (0, 0))
    assert (texts(older, parent), counts(older, parent)) == (["ask 1", "told 1"], (2, 1))
    verify_indexes(older)
    older.close()


def test_what_was_cleared_can_be_had_back_though_the_other_session_is_deleted(db):
    parent, fork = shared(db)
    done = do(db, lifecycle.clear, [fork])
    do(db, trash.trash_sessions, [parent])
    list(trash.empty(db, "you", None, [parent], []))
    assert texts(db, fork) == []
    do(db, lifecycle.undo, done.id)
    assert (texts(db, fork), counts(db, fork)) == (["ask 1", "told 1", "only here"], (3, 2))


def test_a_message_deleted_everywhere_does_not_come_back_where_it_was_cleared(db):
    parent, fork = shared(db)
    done = do(db, lifecycle.clear, [fork])
    do(db, trash.trash_message, db.execute("SELECT id FROM messages WHERE uid = 'parent-u1'").get)
    list(trash.empty(db, "you", None, [], db_ids(db, "parent-u1")))
    do(db, lifecycle.undo, done.id)
    assert texts(db, fork) == ["told 1", "only here"]
    assert texts(db, parent) == ["told 1"]


def db_ids(db, uid):
    return [found for (found,) in db.execute("SELECT id FROM messages WHERE uid = ?", (uid,))]


# All of them


ALL = {
    "rename": lambda db, s: do(db, lifecycle.rename, s, "x"),
    "archive": lambda db, s: do(db, lifecycle.archive, [s], True),
    "unarchive": lambda db, s: do(db, lifecycle.archive, [s], False),
    "pin": lambda db, s: do(db, lifecycle.pin, [s], True),
    "clear": lambda db, s: do(db, lifecycle.clear, [s]),
    "reset": lambda db, s: do(db, lifecycle.reset, [s]),
    "move": lambda db, s: do(db, lifecycle.move, [s], "x"),
}


@pytest.mark.parametrize("name", ALL)
def test_a_session_in_the_trash_is_left_alone(db, name):
    s = talk(db)
    do(db, trash.trash_sessions, [s])
    before = len(operations.listing(db))
    with pytest.raises(NotFoundError):
        ALL[name](db, s)
    assert len(operations.listing(db)) == before


@pytest.mark.parametrize("name", ALL)
def test_every_step_is_one_operation_that_succeeded(db, name):
    s = talk(db)
    done = ALL[name](db, s)
    assert (done.state, done.kind) == ("succeeded", f"sessions.{name}")
    assert operations.listing(db) == (done,)
    assert done.receipt["names"] == ["s"]


def test_what_is_no_step_of_a_session_cannot_be_undone_here(db):
    s = talk(db)
    done = do(db, lifecycle.pin, [s], True)
    back = do(db, lifecycle.undo, done.id)
    assert kept_session(db, s).pinned_at_ms is None
    with pytest.raises(RefusedError):
        do(db, lifecycle.undo, back.id)
    with pytest.raises(NotFoundError):
        do(db, lifecycle.undo, 999)


def test_rewound_messages_are_cleared_and_come_back_as_they_were(db):
    store_messages(db, message("a"), message("b", state=MessageState.REWOUND))
    s = row(db)
    done = do(db, lifecycle.clear, [s])
    assert db.execute("SELECT count(*) FROM messages WHERE state = 'trashed'").get == 2
    do(db, lifecycle.undo, done.id)
    assert counts(db, s) == (1, 1)
    assert db.execute("SELECT state FROM messages WHERE uid = 'b'").get == "rewound"
