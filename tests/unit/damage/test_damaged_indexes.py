"""A damaged index costs time and nothing else: no false answer, no refused record."""

import pytest

from core.history.append import Batch, append
from core.history.sessions import list_sessions
from core.index import backfill
from core.index.health import check, last_checks, remember, verify_index
from core.index.state import new_holder
from core.recall.recall import recall
from core.search.run import search
from core.store import aside, damage, recipe
from core.store.connection import snapshot, tokenizer_fingerprint, transaction, written
from core.store.index_state import status_of
from core.store.indexes import INDEXES
from core.types import RecallRequest, SearchRequest, SessionFilter
from core.upkeep import backup
from core.upkeep.operations import listing
from tests.unit.damage.damaging import filled, noise, opened, overwrite, pages_of
from tests.unit.store.making import message, state, verify_indexes


@pytest.fixture
def path(tmp_path):
    return filled(tmp_path)


@pytest.fixture(autouse=True)
def no_notes():
    yield
    damage._notes.clear()
    damage._broken.clear()


def ruin(path, name, seed=1):
    """Overwrite every page of the index's postings; what is left of them is the table's root."""
    for page in pages_of(path, f"{name}_data")[1:]:
        overwrite(path, page, noise(seed + page))


def found(db, query, **more):
    with snapshot(db):
        return search(db, SearchRequest(query, limit=100, **more))


def refill(db):
    for _ in backfill.run_sync(db, new_holder(), now=True):
        pass


@pytest.mark.parametrize("name", INDEXES)
def test_verify_says_in_plain_words_that_pages_are_damaged(path, name):
    ruin(path, name)
    with opened(path) as db:
        finding = verify_index(db, name)
    assert not finding.ok
    assert finding.message == "its pages are damaged and cannot be read"


QUERIES = {"messages_fts": "goshawk", "messages_fts_cjk": "订阅", "messages_fts_trigram": "oshawk"}


# C12 of the public faults.
@pytest.mark.parametrize("name", INDEXES)
def test_a_search_that_meets_damage_is_answered_otherwise_and_says_so(path, name):
    query = QUERIES[name]
    with opened(path) as db:
        before = found(db, query)
    ruin(path, name)
    with opened(path) as db:
        after = found(db, query)
        assert (after.total_hits, after.complete) == (before.total_hits, before.complete)
        assert {hit.message for hit in after.hits} == {hit.message for hit in before.hits}
        if name != "messages_fts_cjk" or name in damage.noted(db):
            assert "damaged" in after.why
        with transaction(db):
            pass
        assert state(db, name) == "building"
        assert aside.set_aside_names(db) == (f"{name}_damaged_1",)
        assert found(db, query).total_hits == before.total_hits
        refill(db)
        verify_indexes(db)
        assert status_of(db, name).reason == ""
        assert found(db, query).search_path == before.search_path


@pytest.mark.parametrize("name", INDEXES)
def test_a_record_is_stored_though_an_index_is_damaged(path, name):
    ruin(path, name)
    with opened(path) as db:
        for n in range(40):  # a merge of segments meets what a single insert does not
            written(db, _add, f"new{n}")
        assert db.execute("SELECT count(*) FROM messages WHERE uid LIKE 'new%'").get == 40
        assert found(db, "peregrine").total_hits == 40


def _add(db, uid):
    return append(db, Batch(1, [], [message(uid, f"peregrine {uid} 新 " * 40)], False))


@pytest.mark.parametrize("name", INDEXES)
def test_a_message_is_deleted_though_an_index_is_damaged(path, name):
    ruin(path, name)
    with opened(path) as db:
        written(db, lambda db: _delete(db, 5))
        assert db.execute("SELECT count(*) FROM messages WHERE id = 5").get == 0
        refill(db)
        assert [f for f in check(db) if not f.ok] == []


def _delete(db, row):
    db.execute("DELETE FROM message_placements WHERE message_id = ?", (row,))
    db.execute("DELETE FROM messages WHERE id = ?", (row,))


def test_an_index_that_cannot_even_be_opened_is_set_aside(path):
    with opened(path) as db:
        total = found(db, "kestrel").total_hits
    for page in pages_of(path, "messages_fts_config"):
        overwrite(path, page, noise(3))
    with opened(path) as db:
        assert found(db, "kestrel").total_hits == total
        with transaction(db):
            pass
        assert aside.set_aside_names(db) == ("messages_fts_damaged_1",)
        refill(db)
        verify_indexes(db)


def test_titles_are_found_though_their_index_is_damaged(path):
    with opened(path) as db, transaction(db):
        db.execute("UPDATE sessions SET title = 'the falconer ' || id")
    for page in pages_of(path, "sessions_fts_data")[:]:
        overwrite(path, page, noise(page))
    with opened(path) as db:
        with snapshot(db):
            listed = list_sessions(db, SessionFilter(text="falconer"))
        assert len(listed.sessions) == 6
        assert len(found(db, "falconer").title_matches) == 6
        with transaction(db):
            pass
        assert damage.TITLES not in damage.noted(db)
        verify_indexes(db)
        assert len(found(db, "falconer").title_matches) == 6


def test_recall_answers_though_an_index_is_damaged(path):
    with opened(path) as db:
        before = recall(db, RecallRequest("kestrel"))
    ruin(path, "messages_fts_cjk")
    with opened(path) as db:
        after = recall(db, RecallRequest("kestrel"))
    assert len(after.results) == len(before.results) == 3


def test_only_the_damaged_index_is_set_aside(path):
    ruin(path, "messages_fts_trigram")
    with opened(path) as db:
        found(db, "oshawk", inside_words=True)
        with transaction(db):
            pass
        assert aside.set_aside_names(db) == ("messages_fts_trigram_damaged_1",)
        assert state(db, "messages_fts") in ("ready", "settling")


def test_a_second_damage_gets_a_name_of_its_own(path):
    with opened(path) as db:
        for n in (1, 2):
            with transaction(db):
                assert aside.set_aside(db, ["messages_fts"], None) == [f"messages_fts_damaged_{n}"]


def test_a_store_with_a_damaged_index_set_aside_is_backed_up_and_the_copy_proved(path):
    """The next compact may be a week away: no snapshot until then would be the greater loss."""
    ruin(path, "messages_fts")
    with opened(path) as db:
        with transaction(db):
            aside.set_aside(db, ["messages_fts"], tokenizer_fingerprint(db))
        refill(db)
        *_, made = backup.make(db, "manual", "command")
        assert made.problem == ""
        assert made.messages == 300
        assert aside.set_aside_names(db) == ("messages_fts_damaged_1",)


def test_the_verdict_of_a_check_is_kept(path):
    with opened(path) as db:
        finding = verify_index(db, "messages_fts")
        assert finding.ok
        assert finding.match_ms is not None
        with transaction(db):
            remember(db, [finding])
            remember(db, [verify_index(db, "messages_fts_cjk")])
        kept = last_checks(db)
    assert kept["messages_fts"] == finding
    assert set(kept) == {"messages_fts", "messages_fts_cjk"}


def test_a_note_is_forgotten_when_another_program_has_set_the_index_aside(path):
    ruin(path, "messages_fts_cjk")
    with opened(path) as db, opened(path) as other:
        found(db, "订阅")
        assert damage.noted(db) == ("messages_fts_cjk",)
        with recipe.immediate(other):  # what another process does knows nothing of our notes
            aside.set_aside(other, ["messages_fts_cjk"], tokenizer_fingerprint(other))
        assert damage.noted(db) == ()
        with transaction(db):
            pass
        assert not damage.is_noted(db.filename)
        assert aside.set_aside_names(db) == ("messages_fts_cjk_damaged_1",)


def test_setting_aside_is_in_the_ledger_and_ends_the_verdict_of_the_last_check(path):
    name = "messages_fts_cjk"
    with opened(path) as db, transaction(db):
        remember(db, check(db))
    ruin(path, name)
    with opened(path) as db:
        found(db, QUERIES[name])
        with transaction(db):
            pass
        told = listing(db)[0]
        assert (told.kind, told.actor, told.state) == ("repair", "self-check", "succeeded")
        assert told.arguments == {"indexes": [name]}
        assert name not in last_checks(db)
        assert "messages_fts" in last_checks(db)
        with transaction(db):
            pass
        assert listing(db)[0] == told
