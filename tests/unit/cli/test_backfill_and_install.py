"""The commands backfill and install: what they print, leave in the ledger, and end with."""

import json
import shutil

import pytest

from app.__main__ import main
from app.cli import install, store_access
from core.index import tokenizer
from core.index.backfill import is_paused
from core.index.state import claim, new_holder
from core.store import attachment
from core.store.connection import transaction
from core.store.indexes import INDEXES
from core.types import Progress
from core.upkeep import indexing, tokenizing
from core.upkeep_types import Report
from tests.unit.store.making import library, message, path_at, state, store_at, store_messages

WORDS = "messages_fts"


@pytest.fixture
def db(tmp_path, monkeypatch):
    """A store whose word index has to be filled."""
    monkeypatch.setenv(tokenizer.VARIABLE, str(library()))
    db = store_at(tmp_path)
    store_messages(db, *(message(f"u{n}", f"word{n}") for n in range(40)))
    with transaction(db):
        attachment.rebuild(db, INDEXES[WORDS], None)
    yield db
    db.close()


def ledger(db):
    return db.execute("SELECT kind, state, actor, arguments, outcome FROM operations").fetchall()


def test_a_backfill_that_did_something_stands_in_the_ledger(db):
    *steps, report = indexing.complete(db, actor="command")
    assert all(isinstance(step, Progress) for step in steps)
    assert isinstance(report, Report)
    assert report.outcome == "every index is complete"
    assert report.facts["rows"] == {WORDS: 40, "messages_fts_trigram": 0, "messages_fts_cjk": 0}
    ((kind, ended, actor, arguments, outcome),) = ledger(db)
    assert (kind, ended, actor, outcome) == ("backfill", "succeeded", "command", report.outcome)
    assert json.loads(arguments)["now"] is False


def test_a_backfill_with_nothing_to_do_does_not(db):
    list(indexing.complete(db, actor="command"))
    assert [type(step) for step in indexing.complete(db, actor="command")] == [Report]
    assert len(ledger(db)) == 1


def test_a_backfill_leaves_the_work_to_whoever_is_at_it(db):
    with transaction(db):
        claim(db, new_holder())
    (report,) = indexing.complete(db, actor="command")
    assert isinstance(report, Report)
    assert "is working on the indexes already" in report.outcome
    assert report.state == "pending"
    assert ledger(db) == []


def test_a_backfill_that_is_stopped_says_so_and_goes_on_the_next_time(db, monkeypatch):
    monkeypatch.setattr("core.index.filling._MOST_ROWS", 5)
    steps = indexing.complete(db, actor="you")
    next(steps)
    steps.close()
    assert [row[1:3] for row in ledger(db)] == [("failed", "you")]
    assert list(indexing.complete(db, actor="you"))
    assert [row[1] for row in ledger(db)] == ["failed", "succeeded"]
    assert state(db, WORDS) == "ready"


@pytest.fixture
def run_command(tmp_path, monkeypatch, capsys):
    """Run a command on the store in this process; returns its exit code and its document."""
    monkeypatch.setattr(store_access, "store_path", lambda _: path_at(tmp_path))
    monkeypatch.setattr(install, "store_path", lambda _: path_at(tmp_path))

    def run(*arguments):
        code = main([*arguments, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def test_one_index_is_paused_and_resumed_by_name(db, run_command):
    code, told = run_command("backfill", "--index", WORDS, "--pause")
    assert (code, told["paused"], told["indexes"][WORDS]["todo"]) == (0, True, 40)
    assert is_paused(db, WORDS)
    assert not is_paused(db)
    code, told = run_command("backfill")
    assert (code, told["indexes"][WORDS]["paused"]) == (3, True)
    assert told["indexes"][WORDS]["done"] == 0
    code, told = run_command("backfill", "--index", WORDS, "--resume")
    assert (code, told["paused"], told["indexes"][WORDS]["state"]) == (0, False, "ready")


def test_now_fills_what_is_paused(db, run_command):
    run_command("backfill", "--pause")
    code, told = run_command("backfill", "--now")
    assert (code, told["paused"], told["indexes"][WORDS]["state"]) == (0, True, "ready")


def test_check_fails_where_the_library_is_missing_or_wrong(tmp_path, run_command):
    code, told = run_command("install", "cjk", "--check", "--venv", str(tmp_path / "venv"))
    assert (code, told["state"], told["loads"]) == (1, "missing", False)
    assert "backscroll install cjk" in told["next_step"]
    place = tokenizer.installed_in(tmp_path / "venv")
    place.parent.mkdir(parents=True)
    place.write_bytes(b"not a library")
    assert run_command("install", "cjk", "--check", "--venv", str(tmp_path / "venv"))[0] == 1
    shutil.copy(library(), place)
    code, told = run_command("install", "cjk", "--check", "--venv", str(tmp_path / "venv"))
    assert (code, told["state"], told["path"]) == (0, "verified", str(place))


def test_installing_stands_in_the_ledger_once_it_was_built(db, tmp_path):
    prefix = tmp_path / "venv"
    *steps, report = tokenizing.install(db, prefix, "you")
    assert isinstance(report, Report)
    made = tokenizer.installed_in(prefix)
    assert steps[-1].what == report.outcome == f"{made} works"
    assert report.facts["path"] == str(made)
    assert [row[:3] for row in ledger(db)] == [("tokenizer.install", "succeeded", "you")]
    assert [type(step) for step in tokenizing.install(db, prefix, "you")] == [Report]
    assert len(ledger(db)) == 1


def test_installing_before_there_is_a_store_makes_none(tmp_path, run_command):
    code, told = run_command("install", "cjk", "--venv", str(tmp_path / "venv"))
    assert (code, told["state"]) == (0, "verified")
    assert not list(tmp_path.rglob("state.db"))
