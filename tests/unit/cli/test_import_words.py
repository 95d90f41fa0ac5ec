"""What `backscroll import` prints: what failed before what is as it was, each name once."""

import json

import pytest

from app.__main__ import main

UNSEEN = "a" * 300


@pytest.fixture
def told(tmp_path, capsys):
    def run(*arguments):
        code = main(["--data-dir", str(tmp_path / "store"), *map(str, arguments)])
        found = capsys.readouterr()
        return code, found.out, found.err

    return run


@pytest.fixture
def talks(tmp_path):
    folder = tmp_path / "talks"
    folder.mkdir()
    for n in range(30):
        line = {"session": f"s{n}", "id": "m", "role": "user", "content": "ochre"}
        (folder / f"a{n:02}.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    return folder


def test_unchanged_files_are_counted_and_never_hide_what_failed(told, talks):
    assert told("import", talks)[0] == 0
    broken = talks / "z.jsonl"
    line = {"session": "z", "id": "m", "role": "user", "content": "umber"}
    broken.write_text(json.dumps(line) + "\n{\n", encoding="utf-8")
    code, out, _ = told("import", talks)
    assert code == 3
    assert out.splitlines()[:2] == [
        "1 new message, 0 changed; 30 files skipped, 0 failed",
        "  30 files unchanged since the last import",
    ]
    assert out.splitlines()[2].startswith(f"  {broken}:2: ")
    assert len(out.splitlines()) == 3


def test_a_failed_file_is_named_once(told, tmp_path):
    junk = tmp_path / "junk.jsonl"
    junk.write_bytes(b"\xf5\xb1" * 100)
    code, out, _ = told("import", junk)
    assert code == 1
    assert out.splitlines()[1:] == [
        f"  {junk} is not a file of conversations that this version knows"
    ]


@pytest.mark.parametrize("command", [("import",), ("sources", "watch"), ("import", "--watch")])
def test_a_path_that_cannot_be_looked_at_is_refused_in_words(told, tmp_path, command):
    code, out, err = told(*command, tmp_path / UNSEEN)
    assert (code, out) == (1, "")
    assert err.startswith("source: ")
    assert "cannot be read" in err


@pytest.mark.parametrize("command", [("restore",), ("backup", "--prove")])
def test_a_snapshot_of_such_a_name_is_refused_in_words(told, tmp_path, command):
    code, _, err = told(*command, tmp_path / UNSEEN)
    assert code in (1, 2)
    assert "Traceback" not in err


def test_a_data_folder_that_cannot_be_made_is_refused_in_words(tmp_path, capsys):
    for command in (("status",), ("sources",), ("install", "cjk", "--check")):
        main(["--data-dir", str(tmp_path / UNSEEN), *command])
        assert "Traceback" not in capsys.readouterr().err


def test_what_is_neither_file_nor_folder_is_not_watched(told):
    code, _, err = told("sources", "watch", "/dev/null")
    assert code == 1
    assert err == "source: /dev/null is neither a file nor a folder\n"


def test_sessions_without_messages_are_counted(told, tmp_path):
    """An empty file, a file in which nobody speaks, a prompt of spaces: no list shows them."""
    place = tmp_path / "projects"
    place.mkdir()
    (place / "c.jsonl").touch()
    silent = {"type": "summary", "summary": "x", "leafUuid": "y"}
    (place / "d.jsonl").write_text(json.dumps(silent) + "\n", encoding="utf-8")
    for name, text in (("e", "   "), ("f", "ochre")):
        line = {"type": "user", "uuid": name, "message": {"role": "user", "content": text}}
        (place / f"{name}.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")

    code, out, _ = told("import", place)
    assert code == 0
    assert "  3 without messages" in out.splitlines()
    _, listed, _ = told("sessions", "list", "--json")
    assert [each["session"] for each in json.loads(listed)["sessions"]] == ["f"]

    _, out, _ = told("import", place, "--json")
    assert json.loads(out)["sessions_without_messages"] == 1, "the empty file is met each time"


def test_an_archive_that_is_none_is_refused_without_its_bytes(told, tmp_path):
    junk = tmp_path / "junk.jsonl.gz"
    junk.write_bytes(b"\xf5\xb1" * 100)
    code, out, _ = told("import", junk)
    assert code == 1
    assert out.splitlines()[1] == (
        f"  {junk} is a damaged archive: what it holds is not what gzip wrote"
    )
