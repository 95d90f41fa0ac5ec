"""Snapshots: their names, what is told of them, and the one that comes before a migration."""

import os
import shutil
import stat
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import apsw
import msgspec
import pytest

from core import paths
from core.errors import StoreReadOnlyError
from core.history import sessions
from core.history.tombstones import make_key
from core.search.run import search
from core.store import copying, migrations, recipe, snapshots
from core.store.connection import open_store, open_writer, snapshot, transaction
from core.store.digest import rolling_hash
from core.types import SearchRequest, SessionFilter
from tests.unit.store.making import (
    add_source,
    message,
    path_at,
    store_at,
    store_in_older_schema,
    store_messages,
)

WORDS = "we land in Osaka at nine"


@pytest.fixture
def folder(tmp_path) -> Path:
    store_at(tmp_path, cjk=False).close()
    found = snapshots.folder_of(path_at(tmp_path).parent)
    paths.ensure_private_dir(found)
    return found


def taken(folder: Path, reason: str = "manual"):
    with copying.opened_at_one_moment(folder.parent / "state.db") as source:
        return list(snapshots.take(folder.parent, source, reason, folder))[-1]


def digest(path: Path) -> str:
    with closing(open_writer(path, tokenizer=None)) as db:
        return list(rolling_hash(db))[-1]


def test_a_snapshot_is_told_by_its_name_and_its_description(tmp_path, folder):
    key = make_key(folder.parent)
    db = open_writer(path_at(tmp_path), tokenizer=None)
    store_messages(db, message("a"), message("b"), message("c", session="t"))
    db.close()
    made = taken(folder)
    assert (made.reason, made.schema, made.sessions, made.messages) == ("manual", 5, 2, 3)
    assert made.bytes == Path(made.path).stat().st_size
    assert made.proved_at_ms is None
    assert made.problem == ""
    assert Path(made.path).with_suffix(".key").read_bytes() == key
    assert snapshots.listed(folder) == (made,)
    assert made.rolling_hash == digest(Path(made.path))
    assert {entry.suffix for entry in folder.iterdir()} == {".db", ".json", ".key"}
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in folder.iterdir()} == {0o600}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE messages SET content = content || ' ' WHERE uid = 'a'",
        "UPDATE messages SET reasoning = '' WHERE uid = 'a'",
        "UPDATE sessions SET title = 'x'",
        "DELETE FROM message_placements",
        "INSERT INTO tombstones(session_mac) VALUES (x'00')",
        "INSERT INTO settings(key, value) VALUES ('a', '1')",
    ],
)
def test_the_hash_tells_of_every_change(tmp_path, change):
    db = store_at(tmp_path, cjk=False)
    store_messages(db, message("a", WORDS), message("b", "订阅\0 whole"))
    before = list(rolling_hash(db))[-1]
    assert list(rolling_hash(db))[-1] == before
    with transaction(db):
        db.execute(change)
    assert list(rolling_hash(db))[-1] != before
    db.close()


@pytest.mark.parametrize(
    "planted",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"{}" + b" " * 20_000,
        b'{"schema":-1,"sessions":1,"messages":1,"rolling_hash":"a"}',
        b'{"schema":4,"sessions":"1","messages":1,"rolling_hash":"a"}',
        b"[" * 5_000,
    ],
)
def test_a_description_that_is_not_ours_is_a_problem(folder, planted):
    made = taken(folder)
    Path(made.path).with_suffix(".json").write_bytes(planted)
    (found,) = snapshots.listed(folder)
    assert found.problem == "its description cannot be read"
    assert (found.path, found.reason, found.messages) == (made.path, "manual", 0)


def test_links_folders_and_pipes_among_snapshots_are_passed_over(folder, tmp_path):
    outside = tmp_path / "outside.json"
    outside.write_bytes(
        msgspec.json.encode(
            snapshots.Description(schema=4, sessions=9, messages=9, rolling_hash="")
        )
    )
    made = Path(taken(folder).path)
    made.with_suffix(".json").unlink()
    made.with_suffix(".json").symlink_to(outside)
    (folder / "state-20260101T000000000Z-linked.db").symlink_to(made)
    (folder / "state-20260102T000000000Z-folder.db").mkdir()
    os.mkfifo(folder / "state-20260103T000000000Z-pipe.db")
    os.mkfifo(folder / "state-20260104T000000000Z-pipe.json")
    (folder / "state-20260104T000000000Z-pipe.db").write_bytes(b"")
    (folder / "notes.db").write_bytes(b"")
    found = snapshots.listed(folder)
    assert [(Path(each.path).name, each.messages) for each in found] == [
        (made.name, 0),
        ("state-20260104T000000000Z-pipe.db", 0),
    ]


def test_what_a_killed_process_left_is_swept_when_it_is_old(folder):
    made = taken(folder)
    half = folder / "state-20260101T000000000Z-manual.db.partial"
    lone = folder / "state-20260101T000000000Z-manual.json"
    fresh = folder / "state-20260102T000000000Z-manual.db.partial"
    notes = folder / "state-of-things.txt"
    for path in (half, lone, fresh, notes):
        path.write_text("")
    for path in (half, lone, notes, Path(made.path)):
        os.utime(path, (1, 1))
    snapshots.sweep(folder)
    left = {path.name for path in folder.iterdir() if path.stem != Path(made.path).stem}
    assert left == {fresh.name, notes.name}
    assert snapshots.listed(folder) == (made,)


def older_store(tmp_path, monkeypatch, schema: int) -> Path:
    with monkeypatch.context() as older:
        older.setattr(migrations, "STEPS", migrations.STEPS[:schema])
        older.setattr(migrations, "NEWEST", schema)
        db = store_at(tmp_path, cjk=False)
        store_in_older_schema(db, "a", WORDS)
        db.close()
    return path_at(tmp_path)


@pytest.mark.parametrize("schema", [1, 2, 3])
def test_a_snapshot_of_the_older_schema_comes_before_a_migration(tmp_path, monkeypatch, schema):
    path = older_store(tmp_path, monkeypatch, schema)
    before = digest(path)
    db = open_store(path, None)
    assert migrations.schema_version(db) == migrations.NEWEST
    db.close()
    (made,) = snapshots.listed(snapshots.folder_of(path.parent))
    assert (made.reason, made.schema, made.messages) == ("before-migration", schema, 1)
    assert made.rolling_hash == before == digest(Path(made.path))
    open_store(path, None).close()
    assert len(snapshots.listed(snapshots.folder_of(path.parent))) == 1


def test_a_migration_that_fails_again_and_again_makes_one_snapshot(tmp_path, monkeypatch):
    path = older_store(tmp_path, monkeypatch, 3)

    def fails(_db):
        raise apsw.FullError("disk full")

    with monkeypatch.context() as broken:
        broken.setattr(migrations, "STEPS", (*migrations.STEPS[:3], fails))
        for _ in range(3):
            with pytest.raises(apsw.FullError):
                open_store(path, None)
    assert len(snapshots.listed(snapshots.folder_of(path.parent))) == 1


@pytest.mark.parametrize("schema", [1, 2, 3])
def test_a_store_that_cannot_be_kept_is_not_migrated_but_read(tmp_path, monkeypatch, schema):
    path = older_store(tmp_path, monkeypatch, schema)
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
        db = open_store(path, None)
    assert migrations.schema_version(db) == schema
    with snapshot(db):
        assert search(db, SearchRequest("osaka")).total_hits == 1
        assert len(sessions.list_sessions(db, SessionFilter()).sessions) == 1
    refused = pytest.raises(StoreReadOnlyError, match=f"schema {schema} .* brought to 5")
    with refused, transaction(db):
        add_source(db, "codex")
    db.close()
    db = open_store(path, None)
    assert migrations.schema_version(db) == migrations.NEWEST
    db.close()


def test_a_planted_folder_of_snapshots_stops_the_migration(tmp_path, monkeypatch):
    path = older_store(tmp_path, monkeypatch, 3)
    snapshots.folder_of(path.parent).symlink_to(tmp_path)
    db = open_store(path, None)
    assert migrations.schema_version(db) == 3
    assert db.readonly("main")
    db.close()
    assert recipe.is_writable(path)


def test_of_two_begun_in_the_same_millisecond_each_gets_a_name(folder, monkeypatch):
    """Two programs that open an older store at once each make one before they migrate it."""
    names = [f"state-20260101T00000000{n}Z-manual.db" for n in (1, 1, 2)]
    given = iter(names)
    monkeypatch.setattr(snapshots, "_name", lambda _reason: next(given))
    with copying.opened_at_one_moment(folder.parent / "state.db") as source:
        first = snapshots.take(folder.parent, source, "manual", folder)
        next(first)
        second = taken(folder)
        *_, made = first
    assert [Path(each.path).name for each in (made, second)] == [names[0], names[2]]
    assert [each.problem for each in snapshots.listed(folder)] == ["", ""]
