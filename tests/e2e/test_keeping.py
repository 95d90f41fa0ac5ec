"""Backup, restore and purge from the command line: what is kept, what comes back, what is gone."""

from pathlib import Path

import pytest

from tests.e2e.conftest import TALK

CANARY = "zqcanarytoken"


@pytest.fixture
def program(backscroll, tmp_path):
    talk = tmp_path / "talk.jsonl"
    line = f'{{"session":"s3","id":"c1","role":"user","content":"the word {CANARY} here"}}\n'
    talk.write_text(TALK + line, encoding="utf-8")
    assert backscroll("import", "--kind", "jsonl", talk).code == 0
    return backscroll


def files_with(program, text: str) -> list[str]:
    needle = text.encode()
    return [
        str(path.relative_to(program.data))
        for path in sorted(program.data.rglob("*"))
        if path.is_file() and needle in path.read_bytes().lower()
    ]


def delete_session(program) -> None:
    assert program("sessions", "delete", "s3").code == 0
    assert program("trash", "empty", "--yes").code == 0
    assert program("search", "--json", CANARY).json["total_hits"] == 0


def test_after_a_purge_no_file_below_the_data_folder_holds_the_deleted_word(program):
    assert program("backup").code == 0
    delete_session(program)
    assert files_with(program, CANARY)
    refused = program("purge")
    assert refused.code == 1
    assert "1 deleted message" in refused.err
    assert "1 snapshot" in refused.err
    assert "--yes" in refused.err
    assert files_with(program, CANARY)
    done = program("purge", "--yes", "--json")
    assert done.code == 0, done.err
    assert done.json["messages"] == 1
    assert done.json["snapshots"] == 1
    assert done.json["state"] == "succeeded"
    assert files_with(program, CANARY) == []
    again = program("purge", "--yes")
    assert (again.code, "nothing waits" in again.err) == (1, True)
    assert program("purge", "--now", "--yes").code == 0


def test_a_backup_is_made_listed_proved_and_gone_back_to(program):
    made = program("backup", "--json").json["snapshots"]
    assert [(each["reason"], each["messages"], each["problem"]) for each in made] == [
        ("manual", 5, "")
    ]
    assert made[0]["proved_at_ms"] is not None
    assert program("backup", "--list", "--json").json["snapshots"] == made
    name = Path(made[0]["path"]).name
    assert "proved" in program("backup", "--list").out
    assert program("backup", "--prove", name).code == 0
    delete_session(program)
    refused = program("restore", name)
    assert refused.code == 1
    assert "5 messages in 3 sessions" in refused.err
    done = program("restore", name, "--yes", "--json")
    assert done.code == 0, done.err
    assert (done.json["messages"], done.json["deleted_again"]) == (4, 1)
    assert program("search", "--json", CANARY).json["total_hits"] == 0
    assert program("search", "--json", "订阅").json["total_hits"] == 2
    assert program("check").code == 0


def test_a_backup_in_a_folder_of_ones_own_brings_back_a_store_that_is_lost(program, tmp_path):
    stick = tmp_path / "stick"
    made = program("backup", stick, "--json").json["snapshots"][0]
    assert Path(made["path"]).parent == stick
    (store,) = program.data.glob("profiles/*/state.db")
    for path in store.parent.iterdir():
        if path.is_file():
            path.unlink()
    assert program("restore", made["path"], "--yes").code == 0
    assert program("search", "--json", CANARY).json["total_hits"] == 1


def test_a_spoiled_snapshot_is_told_by_its_proof_and_not_restored(program):
    path = Path(program("backup", "--json").json["snapshots"][0]["path"])
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    proof = program("backup", "--prove")
    assert proof.code == 1
    assert "NOT GOOD" in proof.out
    assert program("restore", path.name, "--yes").code == 1
    assert program("search", "--json", CANARY).json["total_hits"] == 1


def test_what_is_not_there_or_no_place_is_refused_in_words(program, tmp_path):
    assert "no snapshot" in program("restore", "nothing", "--yes").err
    assert "no snapshot" in program("backup", "--prove", "nothing").err
    (tmp_path / "link").symlink_to(tmp_path)
    refused = program("backup", tmp_path / "link")
    assert (refused.code, "link is not followed" in refused.err) == (1, True)
