"""The commands about sources, called as a user types them, in this process."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.__main__ import main


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def backscroll(tmp_path, monkeypatch, capsys):
    """Run a command with a home and a data folder that belong to one test."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("BACKSCROLL_DATA_DIR", str(tmp_path / "data"))

    def run(*arguments: str | Path | int) -> Finished:
        code = main([str(each) for each in arguments])
        told = capsys.readouterr()
        return Finished(code, told.out, told.err)

    return run


def said(session: str, uid: str, content: str) -> str:
    line = {"session": session, "id": uid, "role": "user", "content": content}
    return json.dumps(line) + "\n"


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    folder = tmp_path / "talks"
    folder.mkdir()
    (folder / "a.jsonl").write_text(said("s1", "m1", "the first apple"))
    return folder


def stored(backscroll, text: str) -> int:
    return backscroll("search", text, "--json").json["total_hits"]


def test_places_are_paused_resumed_and_let_be(backscroll, talks):
    assert backscroll("sources", "watch", talks).code == 0
    assert backscroll("sources", "pause").code == 0
    assert backscroll("sources", "--json").json["watched"][0]["paused"] is True
    assert backscroll("sources", "resume", talks).code == 0
    assert backscroll("sources", "--json").json["watched"][0]["paused"] is False
    assert backscroll("sources", "unwatch", talks).code == 0
    assert backscroll("sources", "--json").json["watched"] == []
    again = backscroll("sources", "unwatch", talks)
    assert (again.code, "is not watched" in again.err) == (1, True)
    missing = backscroll("sources", "watch", talks / "none")
    assert (missing.code, "does not exist" in missing.err) == (1, True)


def test_a_removed_source_keeps_its_sessions_or_takes_them_to_the_trash(backscroll, talks):
    backscroll("import", talks)
    backscroll("sources", "watch", talks)
    refused = backscroll("sources", "remove", "jsonl")
    assert refused.code == 1
    assert "1 session with 1 message is kept" in refused.err
    kept = backscroll("sources", "remove", "jsonl", "--yes", "--json").json
    assert (kept["sessions_kept"], kept["sessions_trashed"], kept["files"]) == (1, 0, 1)
    listed = backscroll("sources", "--json").json
    assert listed["stored"][0]["is_removed"] is True
    assert listed["watched"] == []
    assert stored(backscroll, "apple") == 1
    assert "removed" in [
        each["kind"] for each in backscroll("sources", "why", "s1", "--json").json["findings"]
    ]
    backscroll("import", talks)
    assert backscroll("sources", "--json").json["stored"][0]["is_removed"] is False
    gone = backscroll("sources", "remove", "jsonl", "--with-history", "--yes", "--json").json
    assert (gone["sessions_kept"], gone["sessions_trashed"]) == (0, 1)
    assert stored(backscroll, "apple") == 0
    back = backscroll("trash", "restore", "--operation", gone["operation"])
    assert back.code == 0
    assert stored(backscroll, "apple") == 1


def test_a_report_names_files_and_reasons(backscroll, talks):
    with (talks / "a.jsonl").open("a") as file:
        file.write("{broken\n")
    backscroll("import", talks)
    report = backscroll("sources", "report", "jsonl", "--json").json
    (file,) = report["files"]
    assert (file["state"], file["sessions"], file["messages"]) == ("done", 1, 1)
    assert file["bad"][0]["line"] == 2
    assert "line 2" in backscroll("sources", "report", "jsonl").out
    nobody = backscroll("sources", "report", "films")
    assert (nobody.code, "jsonl#1" in nobody.err) == (1, True)


def test_why_says_found_not_imported_and_nowhere(backscroll, talks):
    backscroll("import", talks)
    (talks / "new.jsonl").write_text(said("s2", "m1", "an unread fig"))
    backscroll("sources", "watch", talks)
    visible = backscroll("sources", "why", "first", "apple")
    assert "can be seen: s1" in visible.out
    fig = backscroll("sources", "why", "unread fig", "--json").json
    assert [each["kind"] for each in fig["findings"]] == ["not_imported"]
    none = backscroll("sources", "why", "nothing of the kind", "--json")
    assert (none.code, none.json["findings"][0]["kind"]) == (0, "nowhere")
    assert none.json["looked_through"]["files"] == 2
    cut = backscroll("sources", "why", "nothing of the kind", "--seconds", "0.000001", "--json")
    assert (cut.code, cut.json["complete"]) == (3, False)


def test_nothing_is_paused_where_nothing_is_watched(backscroll):
    told = backscroll("sources", "pause")
    assert (told.code, told.out) == (0, "No place is watched: backscroll sources watch PATH\n")


def test_a_removal_says_what_is_kept(backscroll, talks):
    backscroll("import", talks)
    told = backscroll("sources", "remove", "jsonl", "--yes").out
    assert told == "source jsonl forgotten, 1 file; 1 session kept\n"


def test_only_a_file_is_read_again(backscroll, talks):
    backscroll("import", talks)
    with pytest.raises(SystemExit, match="2"):
        backscroll("import", talks, "--again")
    assert backscroll("import", talks / "a.jsonl", "--again").code == 0


def test_a_page_behind_the_end_says_so(backscroll, talks):
    backscroll("import", talks)
    told = backscroll("show", "s1", "--from", 99)
    assert (told.code, "no message 99: there are 1\n" in told.err) == (0, True)


def test_a_list_of_what_is_not_there_says_what_is_named_wrongly(backscroll, talks):
    backscroll("import", talks)
    options = ("--source", "films", "--project", "acme", "--channel", "radio")
    told = backscroll("sessions", "list", *options)
    sentences = ["source is of the kind films", "project is named acme", "channel is named radio"]
    assert told.err.splitlines()[:3] == [f"no {each}" for each in sentences]
    assert backscroll("sessions", "list", *options, "--json").json["warnings"] == [
        f"no {each}" for each in sentences
    ]
    assert backscroll("sessions", "list", "--source", "jsonl", "--json").json["warnings"] == []
