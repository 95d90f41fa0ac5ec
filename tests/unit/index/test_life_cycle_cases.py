"""What others' indexes went through, on ours: cases H097 H100 H111 H112, C05 C06 C09 C15."""

import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

from core.index.backfill import Pace, run_sync, step, unfinished
from core.index.state import new_holder, release, statuses
from core.search.run import search
from core.sources import ingest
from core.sources.records import SessionRecord
from core.store import attachment, indexes, recipe
from core.store.connection import (
    open_reader,
    open_store,
    open_writer,
    snapshot,
    tokenizer_fingerprint,
    transaction,
)
from core.store.indexes import CJK, INDEXES
from core.types import INDEX_NAMES, Role, SearchRequest, SessionKind
from tests.unit.index.test_backfill import KILLED
from tests.unit.search import cases
from tests.unit.store.making import (
    held,
    ids,
    library,
    message,
    path_at,
    state,
    store_at,
    store_messages,
    verify_indexes,
)

PUBLIC = cases.read("public_cases.jsonl")
HERMES = cases.read("hermes_cases.jsonl")
KINDS = {"cli": SessionKind.INTERACTIVE, "cron": SessionKind.CRON}


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


def store_case(db, case):
    """Store the messages of a case; the row of its message n is n + 1."""
    for number, told in enumerate(HERMES[case]["messages"]):
        session = SessionRecord(told["session"], KINDS[told["source"]])
        record = message(
            f"m{number}",
            told["content"],
            session=told["session"],
            role=Role(told["role"]),
            tool_name=told.get("tool_name"),
        )
        store_messages(db, record, sessions=(session,))


def delete(db, row):
    with transaction(db):
        db.execute("DELETE FROM message_placements WHERE message_id = ?", (row,))
        db.execute("DELETE FROM messages WHERE id = ?", (row,))


def found(db, query):
    with snapshot(db):
        return search(db, SearchRequest(query))


def hits(db, query):
    return sorted(hit.message for hit in found(db, query).hits)


def fill(db):
    return list(run_sync(db, new_holder()))


def rebuild(db, *names):
    with transaction(db):
        for name in names:
            own = tokenizer_fingerprint(db) if name == CJK else None
            attachment.rebuild(db, INDEXES[name], own)


def test_h097_cron_sessions_are_in_every_index(db):
    """Otherwise than there, on purpose (decision 4): `detail=none` makes them cheap to keep."""
    store_case(db, "H097")
    assert HERMES["H097"]["expect"]["indexed"]["messages_fts_trigram"] == [0]
    for name in INDEX_NAMES:
        assert held(db, name) == {1, 2}
    assert hits(db, "状态良好") == ["m0", "m1"]


def test_h100_deleting_a_row_that_no_index_holds_yet_leaves_them_whole(db):
    """There a cron row is in no trigram index; here a row is in none while they are filled."""
    store_case(db, "H100")
    rebuild(db, *INDEX_NAMES)
    assert [held(db, name) for name in INDEX_NAMES] == [set()] * 3
    delete(db, 1)
    verify_indexes(db)
    store_messages(db, message("after", "之后的行"))
    fill(db)
    assert ids(db, "messages_fts", "之后的行") == [2]
    verify_indexes(db)


def test_h111_tool_rows_with_cjk_are_in_the_cjk_index(db):
    """Otherwise than there, on purpose (decision 11): no other index is exact for them."""
    store_case(db, "H111")
    assert HERMES["H111"]["expect"]["indexed"][CJK] == [0, 1, 2]
    assert held(db, CJK) == {1, 2, 3, 4}
    store_messages(db, message("latin", "plain dump", role=Role.TOOL))
    assert held(db, CJK) == {1, 2, 3, 4}
    assert held(db, "messages_fts_trigram") == {1, 2, 3}


def test_h112_a_tokenizer_that_comes_back_finds_its_index_without_a_rebuild(tmp_path, db):
    """There only a rebuild brings it back; here the rows of the gap are taken in."""
    store_case(db, "H112")
    assert found(db, "남긴").search_path == "cjk"
    plain = open_store(path_at(tmp_path), None)
    store_messages(plain, message("gap", "틈에 남긴 글"))
    assert state(plain, CJK) == "detached"
    assert hits(plain, "남긴") == ["gap", "m0"]
    between = found(plain, "남긴")
    assert between.complete
    assert "cjk" not in between.search_path
    again = open_store(path_at(tmp_path), library())
    assert state(again, CJK) == "ready"
    after = found(again, "남긴")
    assert (after.search_path, sorted(hit.message for hit in after.hits)) == ("cjk", ["gap", "m0"])
    verify_indexes(again)
    for each in (plain, again):
        each.close()


def kill_filling(path, after_s):
    """Let a process fill the indexes and kill it."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), str(library())], stdout=subprocess.PIPE
    )
    process.stdout.readline()
    time.sleep(after_s)
    process.kill()
    process.communicate()


def test_c05_a_build_that_was_killed_goes_on_and_a_whole_index_is_left_as_it_is(tmp_path, db):
    assert PUBLIC["C05"]["input"]["steps"].startswith("store of 450k messages; kill the app")
    store_messages(db, *(message(f"u{n}", f"电影{n} word{n} text " * 20) for n in range(3_000)))
    rebuild(db, *INDEX_NAMES)
    holder, pace = new_holder(), Pace()
    with transaction(db):
        step(db, "messages_fts", pace, holder)
        release(db, holder)
    cursor = statuses(db)[0].cursor
    assert 0 < cursor < 3_000
    kill_filling(path_at(tmp_path), 0.05)
    assert statuses(db)[0].cursor >= cursor  # it never begins again
    assert hits(db, "word0") == ["u0"]
    assert hits(db, "word2999") == ["u2999"]  # what is not indexed yet is found all the same
    fill(db)
    verify_indexes(db)
    before = db.execute("SELECT max(id), count(*) FROM messages_fts_data").fetchall()
    for _ in range(3):
        started = time.perf_counter()
        again = open_store(path_at(tmp_path), library())
        assert unfinished(again) == ()
        assert fill(again) == []
        again.close()
        assert time.perf_counter() - started < 2.0
    assert db.execute("SELECT max(id), count(*) FROM messages_fts_data").fetchall() == before


TALK = '{{"session":"s{n}","id":"m{n}","role":"user","content":"订阅 talk {n} {more}"}}\n'


def test_c06_a_rebuild_that_is_killed_loses_nothing_and_is_never_seen_empty(tmp_path, db):
    folder = tmp_path / "talks"
    folder.mkdir()
    for n in range(10):
        text = TALK.format(n=n, more="电影 words " * 3_000)
        (folder / f"s{n}.jsonl").write_text(text, encoding="utf-8")
    list(ingest.run_sync(db, ingest.Import([folder], kind="jsonl")))
    for n in range(4):
        (folder / f"s{n}.jsonl").unlink()
    list(ingest.run_sync(db, ingest.Import([folder], kind="jsonl")))
    second = open_reader(path_at(tmp_path), tokenizer=library())
    everything = sorted(f"m{n}" for n in range(10))
    for query in ("订阅", "talk"):
        assert hits(second, query) == everything
    rebuild(db, *INDEX_NAMES)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path_at(tmp_path)), str(library())],
        stdout=subprocess.PIPE,
    )
    process.stdout.readline()
    for _ in range(5):
        for query in ("订阅", "talk"):
            assert hits(second, query) == everything
    process.kill()
    process.communicate()
    for query in ("订阅", "talk"):
        assert hits(second, query) == everything
    fill(db)
    for query in ("订阅", "talk"):
        assert hits(second, query) == everything
    assert second.execute("SELECT count(*) FROM sessions").get == 10
    verify_indexes(db)
    second.close()


def test_c09_a_row_is_taken_out_with_the_words_it_was_put_in_with(db, monkeypatch):
    """The cut is in the schema's triggers and view: a program with another one goes by those.

    It is no setting here: another cut is another schema, whose migration fills the indexes anew.
    """
    words = " ".join(f"dump{n} 电影" for n in range(32_000))
    assert len(words.encode()) > 500_000
    store_messages(db, message("long", words, role=Role.TOOL))
    verify_indexes(db)
    assert ids(db, "messages_fts", "dump5") == ids(db, CJK, "dump5") == [1]
    monkeypatch.setattr(indexes, "TOOL_INDEXED_CHARS", 100)
    with transaction(db):
        db.execute("UPDATE messages SET content = 'edited ' || content WHERE id = 1")
    verify_indexes(db)
    assert ids(db, "messages_fts", "dump5 AND edited") == [1]
    delete(db, 1)
    verify_indexes(db)
    for index in ("messages_fts", CJK):
        assert ids(db, index, "dump5") == ids(db, index, "edited") == []


def test_c15_without_the_tokenizer_one_clear_line_and_a_slower_search(tmp_path, db):
    store_messages(db, message("a", "电影订阅"), message("b", "plain"))
    plain = open_writer(path_at(tmp_path), tokenizer=None)
    told = next(each for each in statuses(plain) if each.name == CJK)
    assert (told.state, told.reason) == ("detached", "this program runs without the CJK tokenizer")
    answer = found(plain, "订阅")
    assert [hit.message for hit in answer.hits] == ["a"]
    assert answer.complete
    store_messages(plain, message("c", "又一条订阅"))
    assert hits(plain, "订阅") == ["a", "c"]
    plain.close()


def test_c15_a_foreign_tool_without_the_tokenizer_can_read_and_damages_nothing(tmp_path, db):
    """It knows no queue: its own insert is refused whole, which is better than half of one."""
    store_messages(db, message("a", "电影订阅"))
    foreign = apsw.Connection(str(path_at(tmp_path)))
    assert foreign.execute("SELECT content FROM messages").get == "电影订阅"
    with pytest.raises(apsw.SQLError, match="no such tokenizer: cjk_unicode61"):
        foreign.execute("UPDATE messages SET content = '电影' WHERE id = 1")
    foreign.close()
    assert recipe.is_writable(Path(db.filename))
    assert ids(db, CJK, '"订阅"') == [1]
    verify_indexes(db)
