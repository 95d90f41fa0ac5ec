"""The life of a session from the command line, each step taken back by its operation."""

import json

import pytest

from tests.unit.sources.hermes_home import Home

TALK = [
    {"session": "s1", "id": f"m{n}", "role": ("assistant", "user")[n % 2], "content": f"word{n}",
     "title": "Told title", "cwd": "/home/x/mailer", "created_at": 1_790_000_000_000 + n}
    for n in range(1, 5)
]  # fmt: skip


@pytest.fixture
def program(backscroll, tmp_path):
    def told(records):
        path = tmp_path / "talk.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
        assert backscroll("import", "--kind", "jsonl", path).code == 0

    told(TALK)
    return backscroll, told


def session(run):
    (found,) = run("sessions", "list", "--archived", "--json").json["sessions"]
    return found


def test_a_session_is_renamed_moved_and_archived_and_all_of_it_is_undone(program):
    run, told = program
    before = session(run)
    steps = [
        run("sessions", "rename", "s1", "My own title", "--json"),
        run("sessions", "move", "s1", "Fenwick works", "--json"),
        run("sessions", "archive", "s1", "--json"),
    ]
    assert [each.code for each in steps] == [0, 0, 0]
    told([*TALK, TALK[0] | {"id": "m9", "content": "word9", "created_at": 1_790_000_000_100}])
    after = session(run)
    assert (after["title"], after["project"]) == ("My own title", "Fenwick works")
    assert (after["title_source"], after["message_count"]) == ("user", 5)
    assert after["archived_at_ms"] is not None
    assert run("sessions", "list", "--json").json["sessions"] == []
    listed = run("sessions", "list", "--archived", "--project", "Fenwick works", "--json").json
    assert listed["total"] == 1
    for each in steps:
        assert run("operations", "undo", each.json["operation"]).code == 0
    undone = session(run)
    assert {k: v for k, v in undone.items() if before[k] != v} == {
        "message_count": 5, "user_turn_count": 3, "last_active_at_ms": 1_790_000_000_100
    }  # fmt: skip
    again = run("operations", "undo", steps[0].json["operation"])
    assert (again.code, "left to take back" in again.err) == (1, True)


def test_the_ledger_never_holds_the_words_of_a_title(program):
    run, _ = program
    assert run("sessions", "rename", "s1", "Quarterly fenwick").code == 0
    ledger = run("operations", "list", "--json")
    assert [each["kind"] for each in ledger.json["operations"][:1]] == ["sessions.rename"]
    assert "fenwick" not in ledger.out
    assert "Told" not in ledger.out
    assert run("sessions", "rename", "s1", "").out.startswith("1 session is called as its source")
    assert session(run)["title"] == "Told title"


def test_a_reset_session_is_read_in_its_active_segment_and_in_full(program):
    run, told = program
    done = run("sessions", "reset", "s1")
    assert (done.code, "undo: backscroll operations undo" in done.out) == (0, True)
    more = [TALK[0] | {"id": f"n{n}", "content": f"later{n}"} for n in range(2)]
    told([*TALK, *more])
    active = run("show", "s1", "--active", "--json").json
    assert [each["content"] for each in active["messages"]] == ["later0", "later1"]
    assert (active["active_from"], active["session"]["user_turn_count"]) == (5, 2)
    assert active["session"]["reset_cutoff_seq"] > 0
    whole = run("show", "s1", "--json").json
    assert [each["number"] for each in whole["messages"]] == [1, 2, 3, 4, 5, 6]
    printed = run("show", "s1").out
    assert printed.index("word4") < printed.index("active segment begins") < printed.index("later0")
    recalled = run("recall", "--session", "s1", "--active", "--json").json["results"][0]
    assert [each["content"] for each in recalled["opening"]] == ["later0", "later1"]
    assert recalled["before"] == 4
    assert run("recall", "word", "--active").code == 1
    assert run("show", "s1", "--message", "m1", "--active").code == 2


def test_a_cleared_session_stays_until_its_messages_are_had_back(program):
    run, told = program
    done = run("sessions", "clear", "s1", "--json")
    assert (done.code, done.json["messages"]) == (0, 4)
    told(TALK)
    found = run("sessions", "list", "--json").json
    assert [(each["session"], each["message_count"]) for each in found["sessions"]] == [("s1", 0)]
    assert run("search", "word1", "--json").json["total_hits"] == 0
    assert run("trash", "list", "--json").json["messages"] == 4
    assert run("trash", "restore", "--operation", done.json["operation"]).code == 0
    assert run("search", "word1", "--json").json["total_hits"] == 1
    assert session(run)["user_turn_count"] == 2


def test_what_cannot_be_done_is_said_in_words(program):
    run, _ = program
    missing = run("sessions", "archive", "nobody", "s1")
    assert (missing.code, "no session is named nobody" in missing.err) == (1, True)
    assert session(run)["archived_at_ms"] is None
    long = run("sessions", "rename", "s1", "x" * 501)
    assert (long.code, "at most 500 characters" in long.err) == (1, True)
    assert run("sessions", "move", "s1").code == 2
    imported = run("operations", "list", "--kind", "import", "--json").json["operations"]
    assert imported
    refused = run("operations", "undo", imported[0]["id"])
    assert (refused.code, "cannot be undone" in refused.err) == (1, True)


def test_sessions_are_narrowed_to_the_channel_they_were_held_in(backscroll, tmp_path):
    home = Home(tmp_path / ".hermes")
    for name, source in (("a", "telegram"), ("b", "cli"), ("c", "cli"), ("d", "cron")):
        home.session(name, source=source)
        home.message(f"hello {name}", session=name)
    assert backscroll("import", home.path).code == 0
    found = backscroll("sessions", "list", "--channel", "telegram", "--json").json
    assert [(each["session"], each["channel"]) for each in found["sessions"]] == [("a", "telegram")]
    assert found["channels"] == [
        {"channel": "cli", "sessions": 2}, {"channel": "telegram", "sessions": 1}
    ]  # fmt: skip
    both = backscroll("sessions", "list", "--channel", "telegram,cli", "--json").json
    assert both["total"] == 3
    assert "telegram" in backscroll("show", "a").out
