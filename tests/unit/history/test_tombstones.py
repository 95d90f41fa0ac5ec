"""What was deleted stays deleted, whatever is imported."""

import stat

import pytest

from core.errors import StoreError
from core.history import tombstones
from core.history.append import AppendCounts
from core.history.tombstones import mac, make_key, read_key
from core.sources.records import SessionRecord
from core.store.connection import transaction
from tests.unit.history.test_append import contents
from tests.unit.store.making import message, path_at, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


def bury(db, key, session, uid=None):
    names = ("claude-code", "", session)
    with transaction(db):
        db.execute(
            "INSERT INTO tombstones(session_mac, message_mac) VALUES (?, ?)",
            (mac(key, *names), None if uid is None else mac(key, *names, uid)),
        )


def test_a_deleted_session_does_not_come_back(db, tmp_path):
    key = make_key(path_at(tmp_path).parent)
    bury(db, key, "gone")
    records = (SessionRecord("gone", title="Secret"), SessionRecord("here"))
    found = store_messages(
        db, message("a", session="gone"), message("b", session="here"), sessions=records
    )
    assert found == AppendCounts(new=1)
    assert db.execute("SELECT native_id FROM sessions").fetchall() == [("here",)]


def test_a_deleted_message_does_not_come_back(db, tmp_path):
    bury(db, make_key(path_at(tmp_path).parent), "s", "gone")
    store_messages(
        db, message("gone", "no"), message("stays", "yes"), message("gone", "", session="t")
    )
    assert (contents(db), contents(db, "t")) == (["yes"], [""])


def test_equal_names_of_another_place_are_not_meant(db, tmp_path):
    key = make_key(path_at(tmp_path).parent)
    with transaction(db):
        db.execute("INSERT INTO tombstones(session_mac) VALUES (?)", (mac(key, "hermes", "", "s"),))
    assert store_messages(db, message("u")).new == 1


def test_a_tombstone_does_not_tell_what_it_stands_for(db, tmp_path):
    key = make_key(path_at(tmp_path).parent)
    assert mac(key, "k", "i", "s") != mac(bytes(32), "k", "i", "s")
    assert mac(key, "k", "i", "s", "u") != mac(key, "k", "i", "su", "")


def test_the_key_is_private_and_made_once(tmp_path):
    key = make_key(tmp_path)
    assert make_key(tmp_path) == read_key(tmp_path) == key
    assert len(key) == 32
    assert stat.S_IMODE((tmp_path / "tombstone.key").stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_without_its_key_nothing_is_imported(db, tmp_path, damage):
    profile = path_at(tmp_path).parent
    bury(db, make_key(profile), "gone")
    if damage == "missing":
        (profile / "tombstone.key").unlink()
    else:
        (profile / "tombstone.key").write_bytes(b"short")
    with pytest.raises(StoreError, match=r"tombstone\.key"):
        store_messages(db, message("u"))
    assert db.execute("SELECT count(*) FROM messages").get == 0


def test_dying_while_the_key_is_made_leaves_none_and_the_next_makes_one(tmp_path, monkeypatch):
    def dies(_descriptor):
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(tombstones.os, "fsync", dies)
        with pytest.raises(KeyboardInterrupt):
            make_key(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(make_key(tmp_path)) == 32
    assert [each.name for each in tmp_path.iterdir()] == ["tombstone.key"]
