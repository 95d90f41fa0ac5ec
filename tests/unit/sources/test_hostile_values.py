"""Any value in any field of any sample: an import ends in words or rows, never in a traceback."""

import contextlib
import json
import random
import shutil

import apsw
import pytest

from core.errors import SourceError
from core.sources import codex, cursor, detect, ingest, neutral
from core.sources.records import BadSourceRecord, MessageRecord, SessionRecord, UnknownRecord
from core.store.connection import open_store
from core.types import Origin, Role
from tests.unit.sources.expected import SAMPLES

MOST_BYTES = 60_000
LEAST, MOST = -(1 << 63), (1 << 63) - 1
VALUES = [
    None, True, 0, -1, MOST, MOST + 1, 10**30, -(10**30), 10**15, 1.5, 1e308, -0.0, "", "x", "\0",
    "a\0b", "\ud800", "x" * 1000, [], {}, [[]], {"a": 1}, ["x", None, 3],
    [{"type": "text", "text": 5}], "9999999999999999", "2026-13-45T99:99:99Z",
    "0000-00-00", "99999-01-01T00:00:00Z", -62135596800000,
]  # fmt: skip
IN_CELLS = [*VALUES, MOST, LEAST, float("inf"), float("nan"), b"\xff\xfe"]


@pytest.fixture
def db(tmp_path):
    db = open_store(tmp_path / "store" / "state.db", None)
    yield db
    db.close()


def run(db, path, kind=None):
    job = ingest.Import([path], kind)
    for _ in ingest.run_sync(db, job):
        pass
    return job.report()


def samples():
    found = []
    for path in sorted(SAMPLES.rglob("*")):
        is_named = path.suffix in (".json", ".jsonl", ".db", ".vscdb")
        if is_named and 0 < path.stat().st_size < MOST_BYTES:
            with contextlib.suppress(SourceError):
                reader = detect.detect(path)
                found += [(path, reader)] if reader else []
    return found


def changed(rng, value, share):
    """The value with a share of what is in it replaced, left out, or told twice."""
    if isinstance(value, dict):
        kept = [(k, v) for k, v in value.items() if rng.random() > share / 4]
        return {k: replaced(rng, v, share) for k, v in kept}
    if isinstance(value, list):
        found = [replaced(rng, each, share) for each in value]
        return found + found[:1] if rng.random() < share else found
    return value


def replaced(rng, value, share):
    return rng.choice(VALUES) if rng.random() < share else changed(rng, value, share)


def change_file(rng, path):
    share, texts = rng.choice([0.02, 0.1, 0.3]), [path.read_text(errors="replace")]
    if path.suffix == ".jsonl":
        texts = texts[0].splitlines()
    for number, text in enumerate(texts):
        with contextlib.suppress(ValueError):
            texts[number] = json.dumps(changed(rng, json.loads(text), share))
    if rng.random() < 0.2:
        rng.shuffle(texts)
    path.write_text("\n".join(texts) + "\n")


def change_database(rng, path):
    with contextlib.closing(apsw.Connection(str(path))) as db:
        db.pragma("synchronous", "OFF")
        tables = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
        for table, sql in tables:
            if "VIRTUAL" in sql.upper() or "WITHOUT ROWID" in sql.upper():
                continue
            columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
            for (row,) in db.execute(f'SELECT rowid FROM "{table}" LIMIT 40').fetchall():
                for column in columns:
                    value = cell(rng, db, table, column, row)
                    if value is not None:
                        with contextlib.suppress(apsw.Error):  # its own constraints
                            db.execute(
                                f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (value, row)
                            )


def cell(rng, db, table, column, row):
    chance = rng.random()
    if chance < 0.05:
        value = rng.choice(IN_CELLS)
        if isinstance(value, int) and not LEAST <= value <= MOST:
            return str(value)
        if isinstance(value, str):
            return value.replace("\ud800", "\ufffd")
        return json.dumps(value) if isinstance(value, list | dict) else value
    if chance < 0.2:
        text = db.execute(f'SELECT "{column}" FROM "{table}" WHERE rowid = ?', (row,)).get
        if isinstance(text, str | bytes) and text[:1] in ("{", "[", b"{", b"["):
            with contextlib.suppress(ValueError):
                return json.dumps(changed(rng, json.loads(text), 0.15))
    return None


def check(db, path, reader, folder, seed):
    rng = random.Random(f"{path.name} {seed}")
    shutil.rmtree(folder, ignore_errors=True)
    made = folder / path.parent.name / path.name
    made.parent.mkdir(parents=True)
    for each in path.parent.iterdir():
        if each.is_file():
            shutil.copy(each, made.parent)
    (change_file if path.suffix in (".json", ".jsonl") else change_database)(rng, made)
    for each in detect.READERS.values():
        with contextlib.suppress(SourceError):
            each.recognises(made)
    run(db, made, reader.KIND)


EVERY = samples()


def sound(db):
    assert db.pragma("quick_check") == "ok"
    texts = "SELECT count(*) FROM messages WHERE typeof(content) <> 'text' OR typeof(uid) <> 'text'"
    assert db.execute(texts).get == 0
    far = "SELECT count(*) FROM messages WHERE created_at_ms NOT BETWEEN 0 AND 4e12"
    assert db.execute(far).get == 0


def test_any_value_of_a_sample_of_each_kind(db, tmp_path):
    by_kind = {}
    for path, reader in EVERY:
        by_kind.setdefault(reader.KIND, []).append((path, reader))
    for several in by_kind.values():
        for path, reader in several[:4]:
            check(db, path, reader, tmp_path / "made", 1)
    sound(db)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_any_value_of_every_sample(db, tmp_path, seed):
    for path, reader in EVERY:
        check(db, path, reader, tmp_path / "made", seed)
    sound(db)


@pytest.mark.parametrize("kind", [["x"], {"a": 1}, 5, None, True])
def test_a_line_whose_type_is_no_text_is_counted(tmp_path, kind):
    path = tmp_path / "rollout-x.jsonl"
    meta = {"type": "session_meta", "payload": {"id": "0a000000-0000-4000-8000-000000000001"}}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    lines = [
        meta,
        {"type": kind, "payload": {}},
        {"type": "response_item", "payload": {"type": kind}},
        {"type": "response_item", "payload": said},
        {"type": kind, "role": "user"},
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    assert codex.recognises(path)
    records = list(codex.read(path))
    assert any(isinstance(each, MessageRecord) and each.content == "hi" for each in records)
    assert sum(isinstance(each, UnknownRecord) for each in records) >= 2
    path.write_text(json.dumps({"type": kind, "role": "user"}) + "\n")
    for reader in detect.READERS.values():
        reader.recognises(path)


def test_a_part_of_a_result_whose_type_is_no_text_is_kept(tmp_path):
    parts = [{"type": ["image"], "text": "seen"}]
    lines = [
        {"role": "user", "message": {"content": [{"type": "text", "text": "look"}]}},
        {"role": "user", "message": {"content": [{"type": "tool_result", "content": parts}]}},
    ]
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    told = [each.content for each in cursor.read(path) if isinstance(each, MessageRecord)]
    assert "seen" in told


class Hostile:
    """What a reader yields whatever the file."""

    def __init__(self, *records):
        self.records = records

    def read(self, _path):
        yield from self.records


def said(uid, position):
    return MessageRecord("s", uid, Role.USER, f"said {uid}", Origin.HUMAN, position)


def test_a_position_beyond_all_integers_is_the_last_or_the_first(db, tmp_path, monkeypatch):
    far = [said("a", 10**30), said("b", None), said("c", -(10**30)), said("d", 5), said("e", MOST)]
    reader = Hostile(SessionRecord("s"), *far)
    monkeypatch.setattr(neutral, "read", reader.read)
    path = tmp_path / "a.jsonl"
    path.write_text('{"session": "s", "role": "user"}\n')
    assert run(db, path, neutral.KIND).new == 5
    order = "SELECT m.uid FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id"
    uids = [uid for (uid,) in db.execute(order + " ORDER BY p.seq, m.id")]
    assert (uids[:2], set(uids[2:])) == (["c", "d"], {"a", "b", "e"})
    path.write_text('{"session": "s", "role": "user"}\n\n')
    again = run(db, path, neutral.KIND)
    assert (again.new, again.changed) == (0, 0)


def test_words_about_what_is_unknown_or_broken_may_be_no_text(db, tmp_path, monkeypatch):
    reader = Hostile(UnknownRecord("a\ud800"), BadSourceRecord(1, "b\ud800"))
    monkeypatch.setattr(neutral, "read", reader.read)
    path = tmp_path / "a.jsonl"
    path.write_text('{"session": "s", "role": "user"}\n')
    run(db, path, neutral.KIND)
    told = db.execute("SELECT unknown_records, bad_records FROM source_files").get
    assert [json.loads(each) for each in told] == [{"a\ufffd": 1}, [[1, "b\ufffd"]]]
