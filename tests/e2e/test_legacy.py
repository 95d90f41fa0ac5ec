"""Old history that is moved in once: what every answer says of it, and reading it again."""

import contextlib

import apsw
import pytest

from tests.e2e.agent import as_agent
from tests.unit.sources.moviepilot_home import Main, human


@pytest.fixture
def imported(backscroll, tmp_path):
    """A program that moved the chats of a main database in, and the database."""
    main = Main(tmp_path / "config")
    main.chat("s", [human("the old words", "h1")], title="Old talk")
    assert backscroll("import", main.path, "--json").json["new"] == 1
    return backscroll, main


def leave_pending(program):
    """Let the store be as it is in the middle of moving a snapshot in."""
    (store,) = program.data.glob("profiles/*/state.db")
    with contextlib.closing(apsw.Connection(str(store))) as db:
        db.execute("UPDATE legacy_imports SET complete = 0")


def answers(program):
    yield program("search", "old words", "--json").json
    yield program("search", "nowhere at all", "--json").json
    yield program("recall", "old words", "--json").json
    yield program("recall", "--json").json
    yield program("recall", "--session", "s", "--json").json
    yield program("status", "--json").json


def test_every_answer_says_whether_old_history_is_still_moved_in(imported):
    program, _ = imported
    assert [a["legacy_import"] for a in answers(program)] == [{"complete": True}] * 6
    leave_pending(program)
    assert [a["legacy_import"] for a in answers(program)] == [{"complete": False}] * 6
    assert "not moved in completely" in program("status").out


def test_an_agent_is_told_too(imported):
    program, _ = imported
    leave_pending(program)

    async def work(agent):
        return await agent.search(query="old words")

    assert as_agent(program, work)["legacy_import"] == {"complete": False}


def test_a_complete_one_is_left_alone_in_words_and_read_again_by_name(imported):
    program, main = imported
    main.chat("t", [human("later words", "h2")])
    left = program("import", main.path, "--json").json
    assert left["new"] == 0
    assert "moved in completely" in left["files"][0]["reason"]
    assert "--again" in left["files"][0]["reason"]
    assert program("import", main.path, "--again", "--json").json["new"] == 1
    assert program("import", "--again").code == 2
