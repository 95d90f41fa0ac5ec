"""Public cases I26 and I27: subagents beside their session, and the names of projects."""

import json

import pytest

from core.history.facets import projects
from core.history.lineage import lineage
from core.history.messages import messages_page
from core.history.sessions import list_sessions, session_by_ref
from core.search.run import search
from core.sources import ingest
from core.store.connection import open_store
from core.types import Role, SearchRequest, SessionFilter


@pytest.fixture
def db(tmp_path):
    opened = open_store(tmp_path / "store/state.db", None)
    yield opened
    opened.close()


def run(db, place):
    job = ingest.Import([place])
    for _ in ingest.run_sync(db, job):
        pass
    return job.report()


def line(kind, content, uuid, session="S", **more):
    return {"type": kind, "uuid": uuid, "parentUuid": None, "sessionId": session,
            "timestamp": "2026-03-01T10:00:00Z", "message": {"role": kind, "content": content},
            **more}  # fmt: skip


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))


@pytest.fixture
def home(tmp_path):
    """The files of I26: an inline sidechain, a subagent's file in its folder, one beside."""
    task = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "inline snipe"}}
    done = {"type": "tool_result", "tool_use_id": "t1", "content": "found", "agentId": "a1"}
    project = tmp_path / ".claude/projects/-w"
    write(
        project / "S.jsonl",
        line("user", "main rail", "1"),
        line("assistant", [task], "2", parentUuid="1"),
        line("user", "inline snipe", "3", isSidechain=True),
        line("assistant", [{"type": "text", "text": "snipe seen"}], "4", parentUuid="3",
             isSidechain=True),
        line("user", [done], "5", parentUuid="2"),
        {"type": "custom-title", "customTitle": "Rails", "sessionId": "S"},
    )  # fmt: skip
    agent = {"isSidechain": True, "agentId": "a1"}
    write(project / "S/subagents/agent-a1.jsonl", line("user", "go find coot", "6", **agent))
    write(project / "agent-b2.jsonl", line("user", "go find grebe", "7", **agent))
    return tmp_path / ".claude"


def test_subagents_stand_beside_their_session_and_never_in_it(db, home):
    """I26."""
    run(db, home)
    listed = list_sessions(db, SessionFilter()).sessions
    assert [(s.ref, s.title) for s in listed] == [("S", "Rails")]
    shown = messages_page(db, listed[0].id, first=1, count=20)
    assert [(m.role, m.content) for m in shown] == [
        (Role.USER, "main rail"), (Role.ASSISTANT, ""), (Role.TOOL, "found")
    ]  # fmt: skip
    assert shown[1].tool_calls[0].name == "Task"
    every = list_sessions(db, SessionFilter(include_hidden_kinds=True)).sessions
    assert {s.ref: s.parent_ref for s in every} == {
        "S": None, "S#3": "S", "agent-a1": "S", "agent-b2": "S"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "session"), [("coot", "agent-a1"), ("grebe", "agent-b2"), ("seen", "S#3")]
)
def test_what_a_subagent_said_is_found_in_its_own_transcript(db, home, word, session):
    """I26: it opens there, and there is a way to the session that asked for it."""
    run(db, home)
    (hit,) = search(db, SearchRequest(word)).hits
    assert hit.session == session
    assert session_by_ref(db, session).parent_ref == "S"
    found = lineage(db, session_by_ref(db, session).id)
    assert "S" in repr(found)


@pytest.mark.parametrize("first", ["S/subagents/agent-a1.jsonl", "S.jsonl"])
def test_whichever_file_comes_first_the_session_keeps_its_own_title(db, home, first):
    """I26: a subagent's rows carry its parent's id and never replace the parent."""
    run(db, home / "projects/-w" / first)
    run(db, home)
    (listed,) = list_sessions(db, SessionFilter()).sessions
    assert (listed.ref, listed.title) == ("S", "Rails")


def test_a_project_is_where_the_rows_say_it_was(db, tmp_path):
    """I27: the folder's name stands for more than one path."""
    root = tmp_path / ".claude/projects"
    for folder, name, cwd in (
        ("-home-u-my-cool-app", "p1", "/home/u/my-cool-app"),
        ("-home-u-my-cool-app", "p2", "/home/u/my/cool app"),
        ("C--git-cc-plus", "p3", "C:\\git\\cc-plus"),
        ("c--git-cc-plus", "p4", "c:/git/cc-plus/"),
        ("-srv-no-rows", "p5", None),
    ):
        more = {"cwd": cwd} if cwd else {}
        write(root / folder / f"{name}.jsonl", line("user", name, f"u-{name}", name, **more))
    run(db, tmp_path / ".claude")
    told = {ref: session_by_ref(db, ref).project for ref in ("p1", "p2", "p3", "p4", "p5")}
    assert told == {
        "p1": "my-cool-app", "p2": "cool app", "p3": "cc-plus", "p4": "cc-plus",
        "p5": "-srv-no-rows",
    }  # fmt: skip
    assert dict(projects(db)) == {
        "my-cool-app": 1, "cool app": 1, "cc-plus": 2, "-srv-no-rows": 1
    }  # fmt: skip
