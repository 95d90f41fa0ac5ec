"""Zip archives: what is harmless is read as a stream, anything else refused in words."""

import contextlib
import os
import stat
import struct
import zipfile

import pytest

from core.errors import SourceError
from core.sources import archive


def zipped(path, entries, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as made:
        for name, content in entries:
            made.writestr(name, content)
    return path


def everything(path):
    with archive.opened(path) as opened:
        found = {}
        for entry in opened.entries(lambda name: True):
            with opened.open(entry) as stream:
                found[entry.filename] = stream.read()
        return found


def test_wanted_entries_come_by_name_and_nothing_is_unpacked(tmp_path):
    path = zipped(
        tmp_path / "x.zip",
        [("b/two.json", "2"), ("a/one.json", "1"), ("a/", ""), ("a/picture.png", "p")],
    )
    with archive.opened(path) as opened:
        entries = opened.entries(lambda name: name.suffix == ".json")
        assert [entry.filename for entry in entries] == ["a/one.json", "b/two.json"]
        with opened.open(entries[1]) as stream:
            assert stream.read() == b"2"
    assert [p.name for p in tmp_path.iterdir()] == ["x.zip"]


@pytest.mark.parametrize(
    "name",
    [
        "../evil.json",
        "a/../../evil.json",
        "/etc/evil.json",
        "C:\\evil.json",
        "..\\evil.json",
        "a/..",
    ],
)
def test_names_that_point_outside_refuse_the_archive(tmp_path, name):
    path = zipped(tmp_path / "x.zip", [("fine.json", "1"), (name, "2")])
    with pytest.raises(SourceError, match="points outside") as raised:
        everything(path)
    assert raised.value.path == str(path)
    assert not (tmp_path.parent / "evil.json").exists()


def test_dots_in_a_name_are_harmless(tmp_path):
    path = zipped(tmp_path / "x.zip", [("a..b/c...json", "1")])
    assert everything(path) == {"a..b/c...json": b"1"}


def test_a_link_refuses_the_archive(tmp_path):
    path = tmp_path / "x.zip"
    link = zipfile.ZipInfo("conversations.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    zipped(path, [(link, "/etc/passwd")])
    with pytest.raises(SourceError, match="is a link"):
        everything(path)


def test_a_bomb_refuses_the_archive_before_it_is_read(tmp_path):
    path = zipped(tmp_path / "x.zip", [("conversations.json", b"\0" * 50_000_000)])
    assert path.stat().st_size < 60_000
    with pytest.raises(SourceError, match="grow more than 100 times"), archive.opened(path):
        pass


def test_a_small_entry_may_compress_well(tmp_path):
    path = zipped(tmp_path / "x.zip", [("chat.html", b" " * 900_000)])
    assert len(everything(path)["chat.html"]) == 900_000


def test_an_entry_that_lies_about_its_size_gives_no_more_than_it_told(tmp_path):
    path = zipped(tmp_path / "x.zip", [("conversations.json", b"x" * 500_000)])
    raw = path.read_bytes()
    assert raw.count(struct.pack("<L", 500_000)) == 2
    path.write_bytes(raw.replace(struct.pack("<L", 500_000), struct.pack("<L", 400)))
    with pytest.raises(SourceError, match="no whole zip archive"):
        everything(path)


def test_too_many_entries_are_refused_before_they_are_held(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as made:
        for number in range(10_001):
            made.writestr(zipfile.ZipInfo(f"{number}"), b"")
    with pytest.raises(SourceError, match="10001 entries"), archive.opened(path):
        pass


@pytest.mark.parametrize(
    ("count", "size", "words"),
    [(70_000, 100, "70000 entries"), (1, 2**40, "directory is too large")],
)
def test_the_wide_end_record_is_believed_before_the_directory_is_read(tmp_path, count, size, words):
    path = tmp_path / "x.zip"
    wide = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    path.write_bytes(wide + locator + end)
    with pytest.raises(SourceError, match=words), archive.opened(path):
        pass


def test_a_directory_that_hides_its_count_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MOST_ENTRIES", 3)
    path = zipped(tmp_path / "x.zip", [(str(n), "") for n in range(5)])
    raw = bytearray(path.read_bytes())
    at = raw.rindex(b"PK\5\6")
    raw[at + 8 : at + 12] = struct.pack("<2H", 1, 1)
    path.write_bytes(raw)
    with pytest.raises(SourceError, match="5 entries"):
        everything(path)


def test_an_encrypted_entry_is_refused_in_words(tmp_path):
    path = zipped(tmp_path / "x.zip", [("conversations.json", "[]"), ("other.txt", "x")])
    raw = bytearray(path.read_bytes())
    local, central = raw.index(b"PK\3\4"), raw.index(b"PK\1\2")
    raw[local + 6] |= 1
    raw[central + 8] |= 1
    path.write_bytes(raw)
    with pytest.raises(SourceError, match=r"conversations\.json is encrypted"):
        everything(path)
    with archive.opened(path) as opened:
        assert [e.filename for e in opened.entries(lambda n: n.suffix == ".txt")] == ["other.txt"]


def test_an_entry_larger_than_is_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MOST_ENTRY_BYTES", 10)
    path = zipped(tmp_path / "x.zip", [("conversations.json", "x" * 11)])
    with pytest.raises(SourceError, match="larger than 2 GiB"):
        everything(path)


def test_what_is_no_whole_archive_is_refused_in_words(tmp_path):
    whole = zipped(tmp_path / "x.zip", [("conversations.json", os.urandom(5000))]).read_bytes()
    damaged = bytearray(whole)
    damaged[200] ^= 0xFF
    path = tmp_path / "y.zip"
    for content in (b"", b"PK\3\4", whole[:-30], whole[: len(whole) // 2], damaged, b"PK\5\6" * 9):
        path.write_bytes(content)
        with pytest.raises(SourceError, match=r"y\.zip"):
            everything(path)
    with pytest.raises(SourceError, match="a folder"), archive.opened(tmp_path):
        pass


@pytest.mark.parametrize(
    ("was", "now"),
    [(b"PK\1\2\x14\3\x14", b"PK\1\2\x14\3\xff"), ("ä.json".encode(), b"\xff\xff.json")],
    ids=["a later version", "a name that is no text"],
)
def test_a_directory_that_cannot_be_understood_is_refused_in_words(tmp_path, was, now):
    path = zipped(tmp_path / "x.zip", [("ä.json", "[]")])
    raw = path.read_bytes()
    assert was in raw
    path.write_bytes(raw.replace(was, now))
    with pytest.raises(SourceError, match="no whole zip archive"):
        everything(path)


def test_what_is_taken_for_an_archive(tmp_path):
    path = zipped(tmp_path / "x.zip", [])
    assert archive.is_zip(path)
    assert not archive.is_zip(tmp_path)
    assert not archive.is_zip(tmp_path / "none")
    (tmp_path / "x.json").write_text("[]")
    assert not archive.is_zip(tmp_path / "x.json")


def test_errors_of_the_reading_program_pass(tmp_path):
    path = zipped(tmp_path / "x.zip", [("a", "b")])
    with pytest.raises(RuntimeError, match="mine"), archive.opened(path):
        raise RuntimeError("mine")
    with contextlib.suppress(GeneratorExit), archive.opened(path):
        raise GeneratorExit
