"""How exports are looked into: keys near the surface, entries of archives, wrapped lists."""

import json
import zipfile

import pytest

from core.errors import SourceError
from core.sources import exported
from core.sources.records import ReadTo, UnknownRecord

DEEP = {"a": {"b": {"key": 1}}}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"key": 1}, True),
        ([{"x": "}", "key": 1}], True),
        ({"list": [[{"key": 1}]]}, True),
        (DEEP, False),
        ([{"a": {"b": {}}}, {"key": 1}], True),
        ({"x": '"key": 1'}, False),
        ({"x": "key"}, False),
        ({"x": ["key"]}, False),
        ({"x": '{"key": {"'}, False),
        ({"x": "\\", "key": 1}, True),
        ({"kéy": 1}, False),
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_key_counts_near_the_surface_alone(value, found, indent):
    assert exported.has_key(json.dumps(value, indent=indent).encode(), "key") == found


def test_a_head_may_end_anywhere():
    whole = json.dumps([{"x": "té{xt", "key": {"y": [1]}}]).encode()
    told = [exported.has_key(whole[:end], "key") for end in range(len(whole))]
    assert sorted(told) == told
    assert exported.has_key(json.dumps(DEEP).encode(), "key", depth=3)


@pytest.mark.parametrize(
    "head",
    [b'"' * 100_001, b"{" * 200_000, b'"' + b'\\"' * 100_000, b'"a"' + b" " * 200_000],
    ids=["quotes", "braces", "escapes", "blanks"],
)
def test_hostile_heads_cost_little(head):
    assert not exported.has_key(b'{"a": {"b": {"key": 0, "x": ' + head, "key")


def is_talk(value):
    return "talk" in value


def is_talks(path):
    return path.suffix == ".json"


def told(path):
    return [
        each.value["talk"] if isinstance(each, exported.Found) else each
        for each in exported.conversations(path, is_talks, is_talk)
        if not isinstance(each, ReadTo)
    ]


def test_entries_are_read_by_name_and_progress_is_of_all_of_them(tmp_path):
    path = tmp_path / "e.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("b.json", '[{"talk": 3}]')
        made.writestr("a/é.json", '[{"talk": 1}, {"talk": 2}]')
        made.writestr("picture.png", "p")
    assert told(path) == [1, 2, 3]
    reached = [e for e in exported.conversations(path, is_talks, is_talk) if isinstance(e, ReadTo)]
    assert [(r.offset, r.total) for r in reached] == [(12, 39), (25, 39), (38, 39)]
    assert exported.names(path) == {"b.json", "a/é.json"}
    assert exported.head(path, is_talks).startswith(b'[{"talk": 1}')


def test_a_wrapped_list_is_taken_out_and_what_is_none_is_unknown(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"conversations": [{"talk": 1}, {"other": 2}, 3]}')
    assert told(path) == [1, UnknownRecord("object")]
    path.write_text('{"conversations": [{"talk": 1}], "talk": 2}')
    assert told(path) == [2]


def test_an_archive_without_conversations_or_with_a_way_out_is_refused(tmp_path):
    path = tmp_path / "e.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("letter.txt", "dear all")
    with pytest.raises(SourceError, match="holds no conversations"):
        told(path)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("../a.json", "[]")
    with pytest.raises(SourceError, match="points outside"):
        told(path)
    assert exported.names(path) == frozenset()
    assert exported.names(tmp_path / "none.zip") == frozenset()
