"""A file that is read in pieces while it grows ends in the rows of one that is read whole."""

import contextlib
import itertools
import json
import os
import random
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.sources import claude_code, codex, ingest, neutral
from core.sources.following import Followed
from core.sources.records import EarlierChangedError
from core.store.connection import open_store
from tests.unit.sources.expected import SAMPLES

MOST_SAMPLE_BYTES = 200_000
MOMENT = 1785899243
UNCERTAIN = "agent-sessions/small.jsonl"
"""Lines of many files in one, where one id names lines of two types: what a part of them was
read to be, the whole takes back."""


@contextlib.contextmanager
def store(folder):
    db = open_store(folder / "state.db", None)
    try:
        yield db
    finally:
        db.close()


def run(db, *paths, followed=None, kind=None):
    job = ingest.Import(list(paths), kind, followed=followed)
    for _ in ingest.run_sync(db, job):
        pass
    return job.report()


def rows(db):
    """What is shown and found, without ids; revisions and unsent prompts left out.

    A prompt that waits to be sent is stored hidden; sent, a whole reading no longer tells it.
    Where Codex tells a text twice, either telling may be what `raw_ref` names.
    """
    messages = db.execute(
        "SELECT s.native_id, row_number() OVER (PARTITION BY s.id ORDER BY p.seq, m.uid), m.uid,"
        " m.role, m.origin, m.state, m.content, m.reasoning, m.tool_calls, m.tool_call_id,"
        " m.tool_name, m.tool_status, m.model, m.created_at_ms, m.time_quality, m.usage,"
        " m.media_refs"
        " FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id"
        " JOIN sessions AS s ON s.id = p.session_id WHERE m.state <> 'superseded'"
        " AND NOT (m.role = 'system' AND m.origin = 'human' AND m.state = 'hidden')"
    )
    sessions = db.execute(
        "SELECT native_id, kind, title_source, cwd, message_count, user_turn_count,"
        " started_at_ms, last_active_at_ms FROM sessions"
    )
    return sorted(messages, key=str), sorted(sessions, key=str)


def samples(reader):
    found = []
    for folder in sorted(SAMPLES.iterdir()):
        for path in sorted(folder.rglob("*")):
            if path.suffix not in (".jsonl", ".ndjson") or not path.is_file():
                continue
            if told(path).endswith(UNCERTAIN) or not 0 < path.stat().st_size < MOST_SAMPLE_BYTES:
                continue
            if reader.recognises(path):
                found.append(path)
    return found


def told(path):
    return str(path.relative_to(SAMPLES))


def ends_of_lines(text):
    return [at + 1 for at, byte in enumerate(text) if byte == ord("\n")][:-1]


def in_pieces(sample, folder, cuts, followed, text=None):
    """Import a file as it grows; return its rows, and those of a whole reading."""
    text = sample.read_bytes() if text is None else text
    places = [0, *sorted(cuts), len(text)]
    grown = folder / "grown" / sample.parent.name / sample.name
    grown.parent.mkdir(parents=True)
    for beside in sample.parent.glob("*.meta.json"):
        shutil.copy(beside, grown.parent)
    with store(folder / "pieces") as db:
        grown.write_bytes(b"")
        for start, end in itertools.pairwise(places):
            with grown.open("ab") as stream:
                stream.write(text[start:end])
            os.utime(grown, (MOMENT, MOMENT))  # what a session without any time is as old as
            run(db, grown, followed=followed)
        pieces = rows(db)
    with store(folder / "whole") as db:
        run(db, grown)
        whole = rows(db)
    shutil.rmtree(folder)
    return pieces, whole


class Counted:
    """Counts what a reader did with what was appended: read it by itself, or all anew."""

    def __init__(self, monkeypatch, reader):
        self.alone = self.whole = 0
        read_on = reader.read_on

        def counted(path, before):
            try:
                yield from read_on(path, before)
                self.alone += 1
            except EarlierChangedError:
                self.whole += 1
                raise

        monkeypatch.setattr(reader, "read_on", counted)


@pytest.mark.parametrize("reader", [claude_code, codex], ids=lambda reader: reader.KIND)
def test_a_file_that_grows_line_by_line_or_torn(reader, tmp_path, monkeypatch):
    counted = Counted(monkeypatch, reader)
    for number, sample in enumerate(samples(reader)[::4]):
        text, rng = sample.read_bytes(), random.Random(told(sample))
        ends = ends_of_lines(text)
        lines = rng.sample(ends, min(len(ends), rng.randint(1, 4)))
        anywhere = [rng.randrange(1, len(text)) for _ in range(rng.randint(0, 2))]
        pieces, whole = in_pieces(sample, tmp_path / str(number), lines + anywhere, Followed())
        assert pieces == whole, told(sample)
    assert counted.alone > 10 * counted.whole


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_any_file_cut_anywhere(tmp_path_factory, data):
    reader_at_any_cut(tmp_path_factory, data)


@pytest.mark.long
@settings(max_examples=1_000, deadline=None)
@given(st.data())
def test_any_file_cut_anywhere_long(tmp_path_factory, data):
    reader_at_any_cut(tmp_path_factory, data)


FILES = [*samples(claude_code), *samples(codex)]


def reader_at_any_cut(tmp_path_factory, data):
    sample = data.draw(st.sampled_from(FILES))
    text = sample.read_bytes()
    at_ends = st.sampled_from(ends_of_lines(text) or [len(text)])
    cuts = data.draw(st.lists(at_ends | st.integers(1, len(text)), min_size=1, max_size=6))
    folder = tmp_path_factory.mktemp("cut") / "one"
    pieces, whole = in_pieces(sample, folder, cuts, Followed())
    assert pieces == whole


def test_a_file_written_anew_while_it_is_read_is_read_whole_next_time(tmp_path, monkeypatch):
    def lines(*words):
        told = [{"session": "s", "id": w, "role": "user", "content": w} for w in words]
        return "".join(json.dumps(each) + "\n" for each in told)

    path = tmp_path / "a.jsonl"
    path.write_text(lines("one", "two"))
    read = neutral.read

    def reading(place):
        yield from read(place)
        path.write_text(lines("new", "rows", "here", "and more"))  # the same file, other bytes

    with store(tmp_path / "store") as db:
        followed = Followed()
        monkeypatch.setattr(neutral, "read", reading)
        run(db, path, followed=followed)
        monkeypatch.setattr(neutral, "read", read)
        run(db, path, followed=followed)
        uids = {uid for (uid,) in db.execute("SELECT uid FROM messages")}
    assert uids == {"one", "two", "new", "rows", "here", "and more"}


MESSAGES = st.fixed_dictionaries(
    {"session": st.sampled_from("ab"), "role": st.sampled_from(["user", "assistant"])},
    optional={
        "id": st.sampled_from("123"),
        "content": st.sampled_from(["x", "yy", "x y"]),
        "title": st.just("t"),
        "source": st.sampled_from(["", "here"]),
        "created_at": st.sampled_from(["2026-11-01T10:00:00Z", "soon"]),
    },
)


@settings(max_examples=12, deadline=None)
@given(st.lists(MESSAGES, min_size=1, max_size=8), st.lists(st.integers(1, 600), max_size=5))
def test_neutral_lines_cut_anywhere(tmp_path_factory, messages, places):
    text = "".join(json.dumps(each) + "\n" for each in messages).encode()
    folder = tmp_path_factory.mktemp("neutral")
    cuts = [min(place, len(text)) for place in places]
    pieces, whole = in_pieces(folder / "n" / "n.jsonl", folder / "one", cuts, Followed(), text)
    assert pieces == whole
