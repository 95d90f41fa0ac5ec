"""An import by command stands in the ledger, with how it ended."""

import json

import pytest

from app.__main__ import main
from core.sources import ingest


@pytest.fixture
def command(tmp_path, capsys):
    def run(*arguments):
        code = main(["--data-dir", str(tmp_path / "store"), "--json", *map(str, arguments)])
        return code, json.loads(capsys.readouterr().out or "null")

    return run


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "talk.jsonl"
    lines = [{"session": "a", "id": f"a{n}", "role": "user", "content": "ochre"} for n in (1, 2)]
    made.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return made


def ledger(command):
    found = command("operations", "list")[1]["operations"]
    return [(each["kind"], each["actor"], each["state"]) for each in found]


def shown(command, number):
    return command("operations", "show", number)[1]["operation"]


def test_each_import_has_its_line_with_what_it_did(command, path):
    assert command("import", path, "--kind", "jsonl")[0] == 0
    assert command("import", path, "--kind", "jsonl")[0] == 0
    assert ledger(command) == [("import", "command", "succeeded")] * 2
    first, second = shown(command, 1), shown(command, 2)
    assert first["arguments"] == {"paths": [str(path)], "kind": "jsonl"}
    assert first["receipt"] == {"new": 2, "changed": 0, "skipped": 0, "failed": 0, "conflicts": 0}
    assert first["outcome"] == "2 new messages, 0 changed; 0 files skipped, 0 failed"
    assert (second["receipt"]["new"], second["receipt"]["skipped"]) == (0, 1)
    assert "ochre" not in json.dumps([first, second])


def test_an_import_that_could_read_nothing_failed(command, tmp_path):
    path = tmp_path / "cut.db"
    path.write_bytes(b"\x00\x01 no history at all")
    code, told = command("import", path, "--kind", "hermes")
    assert (code, told["failed"]) == (1, 1)
    assert ledger(command) == [("import", "command", "failed")]
    assert shown(command, 1)["receipt"]["failed"] == 1


def test_a_stopped_import_failed_and_says_what_it_stored(command, path, monkeypatch):
    real = ingest.run_sync

    def stopped(db, job):
        yield next(real(db, job))
        raise KeyboardInterrupt

    monkeypatch.setattr(ingest, "run_sync", stopped)
    command("import", path, "--kind", "jsonl")
    monkeypatch.undo()
    assert ledger(command) == [("import", "command", "failed")]
    found = shown(command, 1)
    assert (found["outcome"], found["receipt"]["new"]) == ("stopped before its end", 2)


def test_names_that_are_no_text_and_very_many_places_are_told_shortly(command, tmp_path):
    paths = [tmp_path / f"{n}\udcff.jsonl" for n in range(30)]
    for path in paths:
        path.write_text('{"session": "a", "id": "a1", "role": "user", "content": "x"}\n')
    assert command("import", *paths, "--kind", "jsonl")[0] == 0
    told = shown(command, 1)["arguments"]
    assert (len(told["paths"]), told["more"]) == (20, 10)
    assert told["paths"][0] == str(tmp_path / "0\ufffd.jsonl")
