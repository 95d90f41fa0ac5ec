"""Line-delimited JSON: nothing lost but what is damaged, at any cut of the bytes."""

import io
import json
import os
import socket
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import SourceError
from core.sources import files
from core.sources.lines import HALF_A_LINE, JsonObject, Line, lines, objects, too_deep
from core.sources.records import BadSourceRecord, Remark
from tests.unit.sources.expected import SAMPLES


def known(value):
    return isinstance(value.get("type"), str) and "uuid" in value


def read(data, **limits):
    return list(objects(io.BytesIO(data), known, **limits))


def values(found):
    return [each.value for each in found if isinstance(each, JsonObject)]


def bad_lines(found):
    return [each.line for each in found if isinstance(each, BadSourceRecord)]


def user(uuid, text="hello"):
    return {"type": "user", "uuid": uuid, "message": {"role": "user", "content": text}}


def line(value, end=b"\n"):
    return json.dumps(value, ensure_ascii=False).encode() + end


class Trickle(io.RawIOBase):
    """A stream that gives its bytes in the pieces it is told."""

    def __init__(self, data, sizes):
        self.data, self.sizes, self.at = data, list(sizes), 0

    def read(self, size=-1):
        step = min(self.sizes.pop(0) if self.sizes else len(self.data), size)
        piece = self.data[self.at : self.at + step]
        self.at += step
        return piece


def naive_lines(data):
    """What the lines are, written the plain way."""
    found, offset = [], 0
    for number, raw in enumerate(data.split(b"\n"), 1):
        ended = offset + len(raw) < len(data)
        if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
            raw, offset = raw[3:], offset + 3
        if raw and not raw.isspace():
            found.append(Line(number, offset, raw, ended))
        offset += len(raw) + 1
    return found


raw_bytes = st.lists(
    st.sampled_from(
        [b"\n", b"\r\n", b"{", b'"a":1}', b"\0", b"\xff", b"\xef\xbb\xbf", b" ", b"\xe2\x80\xa8"]
    )
    | st.binary(max_size=4),
    max_size=30,
).map(b"".join)


@given(raw_bytes, st.lists(st.integers(1, 7), max_size=60))
def test_lines_are_the_same_at_any_cut_of_the_bytes(data, sizes):
    assert list(lines(Trickle(data, sizes))) == naive_lines(data)


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
    st.lists(json_objects, max_size=6),
    st.booleans(),
    st.sampled_from([b"\n", b"\r\n", b"\n\n", b" \n"]),
)
def test_what_was_written_comes_back(written, ascii_only, end):
    data = b"".join(json.dumps(v, ensure_ascii=ascii_only).encode() + end for v in written)
    found = read(data)
    assert values(found) == written
    assert all(json.loads(data[o.offset : o.offset + o.length]) == o.value for o in found)


@given(st.lists(json_objects, min_size=1, max_size=5))
def test_objects_glued_into_one_line_all_come_back(written):
    found = read(b"".join(line(v, b"") for v in written) + b"\n")
    assert values(found) == written


@given(st.lists(json_objects, min_size=1, max_size=4), st.data())
def test_a_growing_file_only_ever_gains_records(written, choice):
    data = b"".join(line(v) for v in written)
    cut = choice.draw(st.integers(0, len(data)))
    early = read(data[:cut])
    assert not bad_lines(early)
    assert values(read(data))[: len(values(early))] == values(early)
    ended = [o for o in early if isinstance(o, JsonObject) and o.terminated]
    assert len(ended) == data[:cut].count(b"\n")


escapes = st.lists(
    st.sampled_from(["\\ud83d", "\\ude00", "\\u0041", "\\\\", '\\"', "a", "\\u0000", "中"]),
    max_size=8,
).map("".join)


@given(escapes)
def test_lone_surrogates_become_replacement_characters_and_pairs_stay(text):
    data = ('{"type":"user","uuid":"1","t":"' + text + '"}\n').encode()
    wanted = (
        json.loads(data)["t"].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    )
    (found,) = [v["t"] for v in values(read(data))]
    assert found == wanted
    found.encode()


def test_a_surrogate_in_a_key_and_deep_inside_is_replaced():
    found = values(read(b'{"a":[{"\\udc00k":["x\\ud800"]}]}\n'))
    assert found == [{"a": [{"\ufffdk": ["x\ufffd"]}]}]


def test_bytes_that_are_not_utf8_cost_only_themselves():
    damaged = b'{"type":"user","uuid":"1","t":"caf\xe9 \xff"}\n'
    found = read(damaged + line(user("2")))
    assert [v["uuid"] for v in values(found)] == ["1", "2"]
    assert values(found)[0]["t"] == "caf\ufffd \ufffd"
    assert [r.line for r in found if isinstance(r, Remark)] == [1]
    assert (found[-1].offset, found[-1].line) == (len(damaged), 2)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (b"\0" * 9, "NUL"),
        (b"42", "not a JSON object"),
        (b"[1]", "not a JSON object"),
        (b'{"type":"user","mess', "not JSON: Unterminated string starting at character 16"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":1e999}', "out of range"),
        (b'{"a":' + b"7" * 5000 + b"}", "4300 digits"),
        (b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", "nested deeper than 200"),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, "nested deeper than 200"),
        (b"[" * 100_000, "nested deeper than 200"),
    ],
    ids=lambda part: str(part)[:24],
)
def test_a_damaged_line_is_one_bad_record_and_the_next_line_is_read(damage, reason):
    found = read(line(user("1")) + damage + b"\n" + line(user("2")))
    assert [v["uuid"] for v in values(found)] == ["1", "2"]
    (bad,) = [each for each in found if isinstance(each, BadSourceRecord)]
    assert bad.line == 2
    assert reason in bad.reason


def test_brackets_in_texts_are_no_nesting():
    text = '[{"\\' * 3000
    assert values(read(line(user("1", text)))) == [user("1", text)]


@pytest.mark.parametrize("depth", [200, 201])
def test_the_depth_limit_counts_levels(depth):
    assert too_deep(b"[" * depth + b"]" * depth) == (depth > 200)


@given(st.text("[]{}", max_size=60), st.integers(1, 30))
def test_the_depth_is_that_of_counting_whatever_the_brackets(brackets, deepest):
    depth = most = 0
    for each in brackets:
        depth += 1 if each in "[{" else -1
        most = max(most, depth)
    assert too_deep(brackets.encode(), deepest) == (most > deepest)


@pytest.mark.parametrize("cut", range(1, len(line(user("1"))) - 1))
def test_a_record_glued_to_a_truncated_one_is_found(cut):
    found = read(line(user("1"))[:cut] + line(user("2")) + line(user("3")))
    assert [v["uuid"] for v in values(found)] == ["2", "3"]
    assert bad_lines(found) == [1]


def test_a_record_behind_nul_bytes_is_found():
    found = read(b"\0" * 500 + line(user("1")))
    assert [(o.value["uuid"], o.offset) for o in found if isinstance(o, JsonObject)] == [("1", 500)]
    assert bad_lines(found) == [1]


def test_parts_of_a_broken_record_are_not_records():
    broken = b'{"type":"user","uuid":"1","message":{"role":"user","content":"x"},"cut\n'
    found = read(broken)
    assert values(found) == []
    assert bad_lines(found) == [1]


def test_a_hostile_line_costs_no_quadratic_time():
    found = read(b'{"' * 2_000_000 + b"\n" + line(user("1")))
    assert [v["uuid"] for v in values(found)] == ["1"]
    assert bad_lines(found) == [1]


def test_a_tail_without_newline_is_held_unless_it_is_whole():
    whole_tail = line(user("1")) + line(user("2"), b"")
    assert [o.terminated for o in read(whole_tail)] == [True, False]
    for cut in range(1, len(line(user("2"), b""))):
        found = read(whole_tail[:-cut])
        assert [v["uuid"] for v in values(found)] == ["1"]
        assert found[1:] == [Remark(2, HALF_A_LINE)]


def test_a_line_over_the_limit_is_skipped_in_bounded_memory_and_counted_once():
    huge = b'{"t":"' + b"x" * 10_000_000 + b'"}\n'
    stream = Trickle(line(user("1")) + huge + line(user("2")), [])
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    found = list(objects(stream, known, limit=1_000_000))
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert [v["uuid"] for v in values(found)] == ["1", "2"]
    assert bad_lines(found) == [2]
    assert peak < 8_000_000


def test_separators_and_returns_inside_strings_do_not_end_lines():
    text = "a\u2028b\u2029c\x85d"
    assert values(read(line(user("1", text), b"\r\n"))) == [user("1", text)]


def test_a_raw_control_character_inside_a_string_is_kept():
    assert values(read(b'{"type":"user","uuid":"1","t":"a\tb\0c"}\n'))[0]["t"] == "a\tb\0c"


def test_utf16_with_a_byte_order_mark_is_read(tmp_path):
    for encoding in ("utf-16-le", "utf-16-be"):
        path = tmp_path / encoding
        path.write_bytes(("\ufeff" + line(user("1", "čau 中")).decode()).encode(encoding))
        with files.opened(path) as stream:
            assert values(objects(files.as_utf8(stream), known)) == [user("1", "čau 中")]


@pytest.mark.parametrize(
    ("name", "records", "bad"),
    [
        ("claude_bom_crlf", 2, 0),
        ("claude_complete_tail_no_newline", 2, 0),
        ("claude_deep_nesting", 0, 1),
        ("claude_empty", 0, 0),
        ("claude_invalid_utf8", 2, 0),
        ("claude_lone_surrogate", 2, 0),
        ("claude_nul_escape", 1, 0),
        ("claude_null_run", 3, 1),
        ("claude_partial_tail", 2, 0),
        ("codex_partial_tail", 3, 0),
    ],
)
def test_the_edge_samples(name, records, bad):
    with files.opened(SAMPLES / "edge" / f"{name}.jsonl") as stream:
        found = list(objects(files.as_utf8(stream), known))
    assert (len(values(found)), len(bad_lines(found))) == (records, bad)


def test_a_stamp_changes_with_the_file_and_hashes_survive_growth(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x" * 9000)
    first = files.stamp(path)
    with files.opened(path) as stream:
        assert files.stamp_of(stream) == first
        before = files.hashes(stream, 9000)
        assert stream.tell() == 0
    with path.open("ab") as grown:
        grown.write(b"more")
    assert files.stamp(path) != first
    with files.opened(path) as stream:
        assert files.hashes(stream, 9000) == before
        assert files.hashes(stream, 9004) != before


def test_what_is_no_regular_file_is_refused_in_words(tmp_path):
    pipe, folder, sock = tmp_path / "pipe", tmp_path / "folder", tmp_path / "socket"
    os.mkfifo(pipe)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(sock))
        for path, word in ((pipe, "pipe"), (folder, "folder"), (sock, "socket")):
            with pytest.raises(SourceError, match=word), files.opened(path):
                pass
    with pytest.raises(SourceError, match="No such file"):
        files.stamp(tmp_path / "none")


def test_a_link_to_a_file_is_followed_and_one_to_a_device_is_not(tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"x")
    (tmp_path / "file").symlink_to(target)
    (tmp_path / "device").symlink_to("/dev/zero")
    assert files.stamp(tmp_path / "file").size == 1
    with pytest.raises(SourceError, match="device"):
        files.stamp(tmp_path / "device")


def test_credentials_are_never_opened(tmp_path):
    path = tmp_path / "auth.json"
    path.write_text("{}")
    with pytest.raises(SourceError, match="credentials"), files.opened(path):
        pass
