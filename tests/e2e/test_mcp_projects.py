"""An agent within one project: it finds what is there and nothing else, and can move a session."""

import json

import pytest

from tests.e2e.agent import as_agent, joined

TALKS = [
    ("a", "/home/x/mailer", "needle one of the mailer"),
    ("b", "/home/x/mailer", "needle two of the mailer"),
    ("c", "/srv/ledger", "needle of the ledger"),
    ("d", "", "needle of nowhere"),
]


@pytest.fixture
def program(backscroll, tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text(
        "".join(
            json.dumps(
                {"session": name, "id": f"{name}1", "role": "user", "content": text, "cwd": cwd}
            )
            + "\n"
            for name, cwd, text in TALKS
        ),
        encoding="utf-8",
    )
    assert backscroll("import", "--kind", "jsonl", path).code == 0
    return backscroll


def found(answer):
    return sorted(result["session"] for result in answer.json["results"])


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_search_stays_within_its_project(program, mode):
    async def work(agent):
        return [
            await agent("project_history_search", project="mailer", query="needle", limit=10),
            await agent("project_history_search", project="ledger", query="needle", limit=10),
            await agent("project_history_search", project="mailer", limit=10),
            await agent("project_history_search", project="mailer", query="needle project:ledger"),
        ]

    answers = as_agent(program, work, mode=mode)

    assert [found(each) for each in answers] == [["a", "b"], ["c"], ["a", "b"], []]
    as_a_command = program("recall", "needle", "--project", "mailer", "--limit", "10", "--json")
    one, other = (dict(each) for each in (answers[0].json, as_a_command.json))
    for each in (one, other):
        each.pop("elapsed_ms")
        each.pop("cursor", None)
    assert one == other


def test_what_is_in_no_such_project_is_refused_in_words(program):
    async def work(agent):
        return [
            await agent("project_history_search", project="Mail", query="needle"),
            await agent("project_history_search", project="zzz", query="needle"),
            await agent("project_history_search", query="needle"),
            await agent("project_history_search", project="mailer", session="c"),
            await agent("project_history_search", project="mailer", projects=["ledger"]),
            await agent("project_history_search", project="mailer", session="a"),
        ]

    *refused, read = as_agent(program, work)

    assert [each.is_error for each in refused] == [True] * 5
    assert "no project is named Mail; there is mailer" in refused[0].text
    assert refused[1].text == "not-found: no project is named zzz"
    assert "project is needed" in refused[2].text
    assert "the session c is not in the project mailer" in refused[3].text
    assert "there is no parameter 'projects'" in refused[4].text
    assert found(read) == ["a"]


def test_pages_of_a_project_are_asked_for_with_the_same_arguments(program, tmp_path):
    path = tmp_path / "long.jsonl"
    lines = [
        {"session": "long", "id": f"m{n}", "role": "user", "content": "漢字 " * 1_000,
         "cwd": "/home/x/mailer"}
        for n in range(20)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    assert program("import", "--kind", "jsonl", path).code == 0

    async def work(agent):
        asked = {"project": "mailer", "session": "long"}
        pages = [(await agent("project_history_search", **asked)).json]
        while pages[-1]["cursor"] is not None:
            cursor = pages[-1]["cursor"]
            pages.append((await agent("project_history_search", **asked, cursor=cursor)).json)
        return pages

    pages = as_agent(program, work)
    assert len(pages) > 1
    (result,) = joined(pages)["results"]
    assert [each["message"] for each in result["opening"]] == [f"m{n}" for n in range(20)]


def test_a_session_is_moved_found_there_and_taken_back(program):
    async def work(agent):
        moved = await agent("project_session_move", session="d", project=" Fenwick  works ")
        there = await agent("project_history_search", project="Fenwick works", query="needle")
        again = await agent("project_session_move", session="d", project="Fenwick works")
        told = await agent("get_operation", operation=moved.json["operation"])
        return moved.json, there, again.json, told.json

    moved, there, again, told = as_agent(program, work)

    assert (moved["session"], moved["project"]) == ("d", "Fenwick works")
    assert moved["project_before"] == ""
    assert found(there) == ["d"]
    assert again["outcome"] == "0 sessions moved to the project Fenwick works; 1 session already so"
    assert (told["kind"], told["actor"], told["state"]) == ("sessions.move", "agent", "succeeded")
    assert moved["undo"] == f"backscroll operations undo {moved['operation']}"
    assert program("operations", "undo", moved["operation"]).code == 0
    listed = program("sessions", "list", "--project", "Fenwick works", "--json").json
    assert listed["total"] == 0


def test_nothing_but_a_project_can_be_changed_and_what_is_wrong_is_refused(program):
    async def work(agent):
        return [
            await agent("project_session_move", session="nobody", project="x"),
            await agent("project_session_move", session="a"),
            await agent("project_session_move", project="x"),
            await agent("project_session_move", session="a", project="x" * 201),
            await agent("project_session_move", session="a", project="x", title="y"),
        ]

    before = program("sessions", "list", "--json").json
    answers = as_agent(program, work)
    assert [each.is_error for each in answers] == [True] * 5
    assert "no session is named nobody" in answers[0].text
    assert "at most 200 characters" in answers[3].text
    assert program("sessions", "list", "--json").json == before
    ledger = program("operations", "list", "--kind", "sessions.move", "--json").json
    assert ledger["operations"] == []


def test_without_a_store_none_is_made_to_move_something(backscroll):
    async def work(agent):
        return await agent("project_session_move", session="a", project="x")

    answer = as_agent(backscroll, work)
    assert (answer.is_error, "nothing is stored yet" in answer.text) == (True, True)
    assert not list(backscroll.data.glob("profiles/*/state.db"))
