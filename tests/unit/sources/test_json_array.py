"""Large JSON arrays: every object at any cut of the bytes, damage told and survived."""

import io
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sources import json_array
from core.sources.json_array import elements
from core.sources.lines import JsonObject
from core.sources.records import BadSourceRecord, Remark


class Trickle:
    """A stream that gives its bytes in the pieces it is told, then all at once."""

    def __init__(self, data, sizes):
        self.data, self.sizes, self.at = data, list(sizes), 0

    def read(self, size):
        step = min(self.sizes.pop(0) if self.sizes else len(self.data), size)
        piece = self.data[self.at : self.at + step]
        self.at += step
        return piece


def known(value):
    return "mapping" in value


def read(data, sizes=(), **limits):
    return list(elements(Trickle(data, sizes), known, **limits))


def values(found):
    return [each.value for each in found if isinstance(each, JsonObject)]


def bad(found):
    return [each for each in found if isinstance(each, BadSourceRecord)]


def conversation(name, **more):
    return {"title": name, "mapping": {"n": {"message": {"text": f"in {name}"}}}, **more}


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(st.text(), json_values, max_size=4)


@given(
    st.lists(json_objects, max_size=5),
    st.booleans(),
    st.sampled_from([None, 2]),
    st.sampled_from([b"", b"\xef\xbb\xbf", b" \n"]),
    st.lists(st.integers(1, 9), max_size=40),
)
def test_every_object_comes_back_at_any_cut_of_the_bytes(written, ascii_only, indent, start, sizes):
    data = start + json.dumps(written, ensure_ascii=ascii_only, indent=indent).encode()
    found = read(data, sizes)
    assert values(found) == written
    assert [each.line for each in found] == list(range(1, len(written) + 1))
    assert all(json.loads(data[o.offset : o.offset + o.length]) == o.value for o in found)


def test_one_object_instead_of_an_array_is_read():
    assert values(read(json.dumps(conversation("a")).encode())) == [conversation("a")]


@pytest.mark.parametrize("data", [b"", b"  ", b"[]", b"\xef\xbb\xbf[ ]", b"[[], [[]]]"])
def test_nothing_is_in_what_is_empty(data):
    assert read(data) == []


def test_an_object_larger_than_a_chunk_is_read(monkeypatch):
    monkeypatch.setattr(json_array, "CHUNK_BYTES", 64)
    large = conversation("large", text='{"' * 500)
    data = json.dumps([conversation("a"), large, conversation("b")]).encode()
    assert values(read(data)) == [conversation("a"), large, conversation("b")]


@pytest.mark.parametrize(
    "damage",
    [
        b'{"title": "x", "mapping": {"n": }}',
        b'{"title" "x"}',
        b'{"a": [1, 2}',
        b'{"a": \\ud83d}',
        b'{"a": ' + b"[" * 2000 + b"]" * 2000 + b"}",
        b'{"a": ' + b"7" * 5000 + b"}",
        b"null",
        b"42",
        b'"text, with {braces}"',
    ],
    ids=lambda part: str(part)[:30],
)
def test_a_broken_element_costs_only_itself(damage):
    first, last = (json.dumps(conversation(name)).encode() for name in "ab")
    found = read(b"[" + b", ".join([first, damage, last]) + b"]")
    assert values(found) == [conversation("a"), conversation("b")]
    assert [each.line for each in bad(found)] == [2]


@pytest.mark.parametrize("cut", range(1, len(json.dumps(conversation("b"))), 7))
def test_a_truncated_array_gives_what_is_whole_and_tells_the_rest(cut):
    data = json.dumps([conversation("a"), conversation("b")]).encode()
    whole = len(json.dumps([conversation("a")])) - 1
    found = read(data[: whole + 2 + cut])
    assert values(found) == [conversation("a")]
    (told,) = bad(found)
    assert (told.line, "cut short" in told.reason) == (2, True)


def test_conversations_behind_a_lost_brace_are_found():
    parts = [json.dumps(conversation(name)).encode() for name in "abcd"]
    parts[1] = parts[1][:-3]  # the rest of the array is inside it now
    found = read(b"[" + b", ".join(parts) + b"]")
    assert values(found) == [conversation("a"), conversation("c"), conversation("d")]
    assert [each.line for each in bad(found)] == [2]


@pytest.mark.parametrize("size", [7, 40, 990])
def test_an_object_over_the_limit_is_skipped_and_those_behind_it_are_read(size):
    huge = conversation("huge", text="x" * 3000, list=[{"id": i} for i in range(50)])
    data = json.dumps([conversation("a"), huge, conversation("b"), conversation("c")]).encode()
    found = read(data, [size] * 900, limit=1000)
    assert values(found) == [conversation("a"), conversation("b"), conversation("c")]
    (told,) = bad(found)
    assert (told.line, "more than 1000 characters" in told.reason) == (2, True)


@pytest.mark.parametrize("text", ["\\ud83d", "\\ude00", "\\uD83D x", "a \\ude00\\ud83d"])
def test_half_a_pair_becomes_a_replacement_character(text):
    data = ('[{"mapping": {}, "t": "' + text + '"}]').encode()
    (value,) = values(read(data))
    value["t"].encode()
    assert "\ufffd" in value["t"]


def test_pairs_and_escaped_backslashes_stay():
    data = rb'[{"mapping": {}, "t": "\ud83d\ude00 \\ud83d"}]'
    assert values(read(data)) == [{"mapping": {}, "t": "😀 \\ud83d"}]


def test_bytes_that_are_not_utf8_cost_themselves_and_are_remarked():
    data = b'[{"mapping": {}, "t": "caf\xe9"}, {"mapping": {}, "t": "caf\xc3\xa9"}]'
    found = read(data, (25, 1, 1, 1))
    assert [value["t"] for value in values(found)] == ["caf\ufffd", "café"]
    assert [each.line for each in found if isinstance(each, Remark)] == [1]
    assert [o.offset for o in found if isinstance(o, JsonObject)] == [1, 31]


@pytest.mark.parametrize(
    "hostile",
    [b'{"' * 300_000, b'{"a":' * 300_000, b"[" * 1_000_000, b'[{"a":"' + b"\\" * 1_000_000],
    ids=["starts", "nested", "arrays", "escapes"],
)
def test_hostile_bytes_end_soon(hostile):
    assert values(read(hostile)) == []


@pytest.mark.parametrize(("levels", "is_read"), [(199, True), (200, False), (900, False)])
def test_an_object_that_nests_too_deep_costs_itself_as_a_line_does(levels, is_read):
    """The object is a level, too."""
    deep = b'{"mapping": ' + b"[" * levels + b"]" * levels + b', "t": "]}"}'
    found = read(b"[" + deep + b', {"mapping": {}, "t": "next"}]')
    assert [value["t"] for value in values(found)] == ["]}", "next"][not is_read :]
    bad = [each for each in found if isinstance(each, BadSourceRecord)]
    assert [(each.line, each.reason) for each in bad] == (
        [] if is_read else [(1, "nested deeper than 200 levels")]
    )


def test_memory_is_bounded_by_the_largest_object():
    one = json.dumps(conversation("x", text="y" * 100_000)).encode()
    data = b"[" + b",".join([one] * 300) + b"]"
    stream = io.BytesIO(data)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    count = sum(1 for _ in elements(stream, known))
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert count == 300
    assert peak < 20_000_000 < len(data)
