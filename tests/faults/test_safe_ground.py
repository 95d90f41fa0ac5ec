"""What must be so before anything else can be promised: one SQLite, a good one, private files."""

import ast
import os
import stat
from pathlib import Path

import pytest

import app
import core
from core.errors import StoreError
from core.index import backfill
from core.index.state import new_holder
from core.sources import ingest
from core.store import attachment, recipe
from core.store.connection import open_store, transaction
from core.store.indexes import INDEXES
from core.upkeep import backup, compact
from tests.faults import figures
from tests.unit.store.making import library, path_at, store_at

pytestmark = pytest.mark.faults
PROGRAM = [Path(module.__path__[0]) for module in (core, app)]
TALKS = Path(__file__).parents[1] / "data" / "samples" / "claude_code"

SAFE = ("3.44.6", "3.44.7", "3.50.7", "3.51.3", "3.52.1", "3.54.1", "4.0.0")
UNSAFE = ("3.7.0", "3.40.1", "3.44.5", "3.45.0", "3.50.6", "3.51.0", "3.51.2")


@pytest.mark.parametrize("version", UNSAFE)
def test_no_store_is_opened_with_an_sqlite_that_can_lose_commits(tmp_path, monkeypatch, version):
    store_at(tmp_path).close()
    monkeypatch.setattr("apsw.sqlite_lib_version", lambda: version)
    with pytest.raises(StoreError, match="can lose commits"):
        open_store(path_at(tmp_path), library())
    with pytest.raises(StoreError, match="can lose commits"):
        open_store(path_at(tmp_path / "new"), library())


@pytest.mark.parametrize("version", SAFE)
def test_later_and_corrected_ones_are_used(version):
    recipe.require_safe_sqlite(version)


def modules(*words):
    """The syntax trees of the modules that hold one of these words."""
    found = [path for folder in PROGRAM for path in folder.rglob("*.py")]
    assert len(found) > 100
    texts = {path: path.read_text(encoding="utf-8") for path in found}
    return {
        path: ast.parse(text) for path, text in texts.items() if any(word in text for word in words)
    }


def test_nothing_of_the_program_imports_the_other_sqlite():
    """Two libraries on one file lost a committed row in a test."""
    for path, tree in modules("sqlite3").items():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not [name for name in names if name.partition(".")[0] == "sqlite3"], path


OF_THE_STORE = {"store_path", "STORE_NAME", "filename"}
OPENING = {"open", "read_bytes", "read_text", "write_bytes", "write_text", "copyfile", "copy",
           "copy2", "copytree", "sha256"}  # fmt: skip


def test_nothing_of_the_program_opens_the_store_as_a_file():
    """Closing any descriptor of it drops the locks that SQLite holds in this process."""
    for path, tree in modules(*OF_THE_STORE).items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name_of(node.func) in OPENING:
                named = {name_of(each) for each in ast.walk(node)}
                assert not named & OF_THE_STORE, (path, node.lineno)


def name_of(node):
    return getattr(node, "attr", None) or getattr(node, "id", None)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_every_file_is_private_at_every_moment(tmp_path, umask):
    before, seen = os.umask(umask), set()
    try:
        db = store_at(tmp_path)
        for _ in ingest.run_sync(db, ingest.Import([TALKS])):
            seen |= walk(tmp_path / "profile")
        for work in (
            refilled(db),
            backup.make(db, "faults", "command"),
            compact.run(db, "command"),
        ):
            for _ in work:
                seen |= walk(tmp_path / "profile")
        db.close()
    finally:
        os.umask(before)
    assert {"state.db", "state.db-wal", "state.db-shm"} <= seen
    figures.note(
        "21",
        f"import, backfill, backup and compact under umask {umask:03o}",
        f"{len(seen)} files, all 0600 in 0700",
    )


def refilled(db):
    with transaction(db):
        attachment.rebuild(db, INDEXES["messages_fts"], None)
    yield from backfill.run_sync(db, new_holder(), now=True)


def walk(folder):
    """The names of all files below, each of which its owner alone may read."""
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    names = set()
    for path in folder.rglob("*"):
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.lstat().st_mode) == wanted, path
        names.add(path.name)
    return names


@pytest.mark.parametrize("planted", ["state.db", "profile"])
def test_what_somebody_planted_as_a_link_is_refused(tmp_path, planted):
    elsewhere = tmp_path / "elsewhere"
    store_at(elsewhere).close()
    here = path_at(tmp_path)
    if planted == "profile":
        here.parent.symlink_to(elsewhere / "profile")
    else:
        here.parent.mkdir(mode=0o700)
        here.symlink_to(path_at(elsewhere))
    with pytest.raises(StoreError, match="not a"):
        open_store(here, library())
