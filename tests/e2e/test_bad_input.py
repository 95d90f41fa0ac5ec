"""Input that is wrong, damaged or hostile: refused in words, and nothing stored is touched.

The rows are those of the reliability notes on import, search and opening.
"""

import json
import os
import zipfile

import apsw
import pytest

GOOD = '{"session":"s","id":"good","role":"user","content":"kept by everything"}\n'


@pytest.fixture
def stored(backscroll, tmp_path):
    """A program whose store holds one message, which must survive."""
    path = tmp_path / "good.jsonl"
    path.write_text(GOOD)
    assert backscroll("import", path).code == 0
    yield backscroll
    found = backscroll("search", "kept", "--json").json
    assert [hit["message"] for hit in found["hits"]][:1] == ["good"]
    assert backscroll("check").code == 0


def record(**fields):
    return json.dumps({"session": "t", "role": "user"} | fields) + "\n"


def test_a_pipe_and_a_device_are_not_read(stored, tmp_path):
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)

    for path in (pipe, "/dev/zero"):
        finished = stored("import", path, "--json")
        assert finished.code == 1, finished.out
        assert "regular file" in finished.out


def test_a_folder_without_history_is_said_to_be_one(stored, tmp_path):
    folder = tmp_path / "holiday"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear all")
    (folder / "auth.json").write_text('{"token":"secret-token"}')

    finished = stored("import", folder, "--json")

    assert finished.json["new"] == 0
    assert "secret-token" not in finished.out
    assert stored("search", "secret-token", "--json").json["hits"] == []


def test_utf_16_with_its_mark_is_read(stored, tmp_path):
    path = tmp_path / "wide.jsonl"
    path.write_bytes(record(id="a", content="宽 wide").encode("utf-16"))

    assert stored("import", path, "--kind", "jsonl", "--json").json["new"] == 1
    assert stored("show", "t", "--json").json["messages"][0]["content"] == "宽 wide"


def test_an_unknown_encoding_is_refused_in_words(stored, tmp_path):
    path = tmp_path / "wider.jsonl"
    path.write_bytes(record(id="a", content="wide").encode("utf-32"))

    finished = stored("import", path, "--kind", "jsonl", "--json")

    assert finished.code in (1, 3)
    assert finished.json["new"] == 0
    assert finished.json["files"][0]["bad_records"] or finished.json["files"][0]["reason"]


def test_a_time_that_is_none_is_left_out_and_said(stored, tmp_path):
    path = tmp_path / "untimely.jsonl"
    path.write_text(record(id="a", content="c", created_at="the other day"))

    (file,) = stored("import", path, "--kind", "jsonl", "--json").json["files"]

    assert "line 1" in file["reason"]
    assert stored("show", "t", "--json").json["messages"][0]["created_at_ms"] is None


def test_a_byte_order_mark_and_windows_line_ends_are_read(stored, tmp_path):
    path = tmp_path / "windows.jsonl"
    text = record(id="a", content="first") + record(id="b", content="second")
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())

    finished = stored("import", path, "--json")

    assert (finished.code, finished.json["new"]) == (0, 2)


@pytest.mark.parametrize(
    "line",
    [
        '{"session":"t","id":"x","role":"user","content":' + "[" * 5000 + "]" * 5000 + "}",
        '{"session":"t","id":"x","role":"user","content":"c","n":' + "9" * 5000 + "x}",
        '{"session":"t","id":"x","role":"user"',
        "[1, 2]",
        "42",
        '{"session":"t","role":"wizard","content":"c"}',
        '{"role":"user","content":"no session"}',
    ],
    ids=["deep", "number", "cut", "list", "scalar", "role", "session"],
)
def test_one_bad_line_is_named_and_the_rest_is_kept(stored, tmp_path, line):
    path = tmp_path / "mixed.jsonl"
    path.write_text(
        record(id="a", content="before") + line + "\n" + record(id="b", content="after")
    )

    finished = stored("import", path, "--kind", "jsonl", "--json")

    assert finished.code == 3
    assert finished.json["new"] == 2
    (file,) = finished.json["files"]
    assert [bad["line"] for bad in file["bad_records"]] == [2]
    shown = stored("import", path, "--kind", "jsonl")
    assert "Traceback" not in shown.err


def test_a_line_beyond_the_limit_costs_only_itself(stored, tmp_path):
    path = tmp_path / "long.jsonl"
    with path.open("w") as file:
        file.write(record(id="a", content="before"))
        file.write('{"session":"t","id":"x","role":"user","content":"')
        for _ in range(70):
            file.write("y" * (1024 * 1024))
        file.write('"}\n')
        file.write(record(id="b", content="after"))

    finished = stored("import", path, "--kind", "jsonl", "--json")

    assert finished.code == 3
    assert finished.json["new"] == 2
    assert [bad["line"] for bad in finished.json["files"][0]["bad_records"]] == [2]


def test_odd_characters_are_kept(stored, tmp_path):
    path = tmp_path / "odd.jsonl"
    raw = b'{"session":"t","id":"%s","role":"user","content":"%s"}\n'
    path.write_bytes(
        raw % (b"nul", rb"a\u0000b") + raw % (b"half", rb"a\ud83db") + raw % (b"bytes", b"a\xffb")
    )

    finished = stored("import", path, "--kind", "jsonl", "--json")

    assert finished.json["new"] == 3
    page = stored("show", "t", "--json").json
    contents = {m["message"]: m["content"] for m in page["messages"]}
    assert contents == {"nul": "a\x00b", "half": "a\ufffdb", "bytes": "a\ufffdb"}


def test_a_torn_last_line_is_imported_when_it_is_whole(stored, tmp_path):
    path = tmp_path / "growing.jsonl"
    whole = record(id="a", content="first") + record(id="b", content="second")
    path.write_text(whole[:-20])
    assert stored("import", path, "--kind", "jsonl", "--json").json["new"] == 1

    path.write_text(whole)

    assert stored("import", path, "--kind", "jsonl", "--json").json["new"] == 1
    assert stored("search", "second", "--json").json["total_hits"] == 1


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/evil.txt", "a/../../evil.txt"])
def test_a_zip_that_points_outside_is_refused(stored, tmp_path, name):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", "[]")
        archive.writestr(name, "evil")

    finished = stored("import", path, "--json")

    assert finished.code == 1
    assert not list(tmp_path.parent.glob("evil.txt"))


def test_a_zip_bomb_is_refused(stored, tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b" " * (50 * 1024 * 1024) + b"]")

    finished = stored("import", path, "--json")

    assert finished.code == 1
    assert finished.json["files"][0]["reason"] or finished.json.get("error")


@pytest.mark.parametrize(
    "content", [b"", os.urandom(8192), b"SQLite format 3\x00" + b"\xff" * 8000]
)
def test_a_file_that_is_no_database_is_refused_as_one(stored, tmp_path, content):
    path = tmp_path / "state.db"
    path.write_bytes(content)

    finished = stored("import", path, "--kind", "hermes", "--json")

    assert finished.code == 1
    assert path.read_bytes() == content


def test_a_store_of_a_later_version_is_read_and_never_written(stored):
    (store,) = stored.data.glob("profiles/*/state.db")
    db = apsw.Connection(str(store))
    schema = db.pragma("user_version")
    db.pragma("user_version", schema + 1)
    db.close()

    found = stored("search", "kept", "--json")
    status = stored("status", "--json").json
    refused = stored("import", store.parents[3] / "good.jsonl")

    assert found.json["total_hits"] == 1
    assert str(schema + 1) in status["store"]["read_only_reason"]
    assert refused.code == 1
    assert refused.err.startswith("schema-too-new: ")
    db = apsw.Connection(str(store))
    db.pragma("user_version", schema)
    db.close()
