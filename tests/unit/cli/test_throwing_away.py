"""Retention, the trash and deletion by command; what is said when the store takes no deletion."""

import json

import apsw
import pytest

from app.__main__ import main
from core.store import recipe

LINES = [
    {"session": name, "id": f"{name}{n}", "role": "user", "content": f"heliotrope9 {name} {n}",
     "created_at": at, "title": f"Talk {name}"}
    for name, at in (("a", "2026-03-01T04:59:59Z"), ("b", "2026-03-01T05:00:00Z"))
    for n in range(2)
]  # fmt: skip


@pytest.fixture
def run(tmp_path, capsys):
    """Run a command on a store of two sessions; returns its code, its document, its errors."""

    def command(*arguments, as_json=True):
        more = ["--json"] if as_json else []
        code = main(["--data-dir", str(tmp_path / "store"), *more, *map(str, arguments)])
        said = capsys.readouterr()
        return code, json.loads(said.out) if as_json and said.out else said.out, said.err

    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    assert command("import", path, "--kind", "jsonl")[0] == 0
    return command


@pytest.fixture
def store(tmp_path):
    (found,) = (tmp_path / "store").rglob("state.db")
    return found


def hits(run):
    return [hit["message"] for hit in run("search", "heliotrope9")[1]["hits"]]


def test_a_session_goes_to_the_trash_and_comes_back_by_its_operation(run):
    code, done, _ = run("sessions", "delete", "a")
    assert (code, done["sessions"], done["messages"]) == (0, 1, 2)
    assert sorted(hits(run)) == ["b0", "b1"]
    _, held, _ = run("trash", "list")
    assert [(item["session"], item["title"]) for item in held["items"]] == [("a", "Talk a")]
    assert held["undoable"] == done["operation"]
    assert run("show", "a")[1]["error"]["code"] == "not-found"
    assert run("trash", "restore", "--operation", done["operation"])[0] == 0
    assert sorted(hits(run)) == ["a0", "a1", "b0", "b1"]


def test_the_undo_is_told_with_the_deletion(run):
    _, out, _ = run("sessions", "delete", "a", "b", as_json=False)
    assert out.splitlines() == [
        "2 sessions with 4 messages moved to the trash.",
        "undo: backscroll trash restore --operation 2",
    ]
    assert run("sessions", "restore", "b")[1]["sessions"] == 1
    assert [s["session"] for s in run("sessions", "list")[1]["sessions"]] == ["b"]


def test_one_message_goes_and_comes_back(run):
    assert run("sessions", "delete", "a", "--message", "a0")[1]["shown_in"] == 1
    assert sorted(hits(run)) == ["a1", "b0", "b1"]
    assert run("show", "a", "--message", "a0")[1]["error"]["code"] == "not-found"
    assert run("trash", "restore", "a", "--message", "a0")[0] == 0
    assert len(hits(run)) == 4


def test_emptying_asks_and_without_anybody_to_ask_refuses(run):
    run("sessions", "delete", "a")
    code, said, _ = run("trash", "empty")
    assert (code, said["error"]["code"]) == (1, "refused")
    assert "1 item with 2 messages" in said["error"]["message"]
    assert run("trash", "empty", "--older-than-days", "1", "--yes")[1]["sessions"] == 0
    assert run("trash", "empty", "--yes")[1]["sessions"] == 1
    assert run("trash", "list")[1]["total"] == 0
    assert run("trash", "restore", "a")[1]["error"]["code"] == "not-found"


def test_a_deleted_session_comes_back_where_that_is_asked_for(run, tmp_path):
    run("sessions", "delete", "a")
    run("trash", "empty", "--yes")
    path = tmp_path / "talk.jsonl"
    assert run("import", path, "--kind", "jsonl")[1]["new"] == 0
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(LINES[0] | {"id": "a9", "content": "more"}) + "\n")
    assert run("import", path, "--kind", "jsonl")[1]["new"] == 0
    assert run("trash", "forget", "b")[1]["error"]["code"] == "not-found"
    assert run("trash", "forget", "a")[0] == 0
    assert run("import", path, "--kind", "jsonl")[1]["new"] == 3
    assert sorted(hits(run)) == ["a0", "a1", "b0", "b1"]


def test_a_preview_tells_local_times_and_what_goes(run, monkeypatch):
    code, found, _ = run("retention", "preview", "--before", "2026-03-01T05:00:00Z", "--list")
    assert (code, found["sessions"], found["messages"]) == (0, 1, 2)
    assert [each["session"] for each in found["going"]] == ["a"]
    assert found["bytes"] == len("heliotrope9 a 0" * 2)
    refused = run("retention", "apply", "--before", "2026-03-01T05:00:00Z")
    assert refused[1]["error"]["code"] == "refused"
    assert len(hits(run)) == 4
    done = run("retention", "apply", "--token", found["token"], "--yes")
    assert done[1]["sessions"] == 1
    assert sorted(hits(run)) == ["b0", "b1"]


def test_the_rule_is_set_shown_and_switched_off(run):
    assert run("retention", "show")[1] == {"on": False, "days": 0, "sources": []}
    assert run("retention", "set", "90", "--source", "jsonl")[1]["days"] == 90
    assert run("retention", "show")[1] == {"on": True, "days": 90, "sources": ["jsonl"]}
    run("sessions", "pin", "a")
    found = run("retention", "preview")[1]
    assert (found["sessions"], found["kept"]["pinned"]) == (1, 1)
    run("sessions", "unpin", "a")
    assert run("retention", "preview", "--days", "1")[1]["sessions"] == 2
    assert run("retention", "off")[1]["on"] is False
    assert "off" in run("retention", "preview")[1]["refused"]


@pytest.mark.parametrize("days", ["-1", "1.5", "soon", "36501"])
def test_days_that_are_none_are_refused_in_words(run, days):
    code, said, _ = run("retention", "set", days)
    assert (code, said["error"]["code"]) == (1, "setting")
    assert "whole number" in said["error"]["message"]


def assert_kept(said):
    assert said["error"]["message"].startswith("a was not deleted and is still visible: ")


def test_recorded_case_r07_while_another_program_writes(run, store, monkeypatch):
    """Not deleted, still visible, why, what to do; and all of it once the lock is gone."""
    monkeypatch.setattr(recipe, "BUSY_TIMEOUT_MS", 1)
    other = apsw.Connection(str(store))
    other.execute("BEGIN IMMEDIATE")
    code, said, _ = run("sessions", "delete", "a")
    assert (code, said["error"]["code"]) == (1, "store-busy")
    assert_kept(said)
    assert "another program" in said["error"]["message"]
    assert said["error"]["message"].endswith("try again when the other program is done")
    other.execute("ROLLBACK")
    other.close()
    assert len(hits(run)) == 4
    assert run("sessions", "delete", "a")[0] == 0
    assert sorted(hits(run)) == ["b0", "b1"]


def test_recorded_case_r07_in_a_folder_that_cannot_be_written_to(run, store, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(recipe, "is_writable", lambda path: False)
        code, said, _ = run("sessions", "delete", "a")
        assert (code, said["error"]["code"]) == (1, "store-read-only")
        assert_kept(said)
        assert "writable and try again" in said["error"]["message"]
        assert len(hits(run)) == 4
    assert run("sessions", "delete", "a")[0] == 0
