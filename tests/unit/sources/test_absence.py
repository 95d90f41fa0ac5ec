"""Why a session is not seen: every reason there is, and never "not there" without having looked."""

import json
import os
import time
import zipfile
from pathlib import Path

import apsw
import pytest

from core.history import known_sources, watched
from core.history.lifecycle import set_archived
from core.sources import absence, ingest, raw_text
from core.store.connection import open_store, written
from core.types import FoundSource
from core.upkeep import lifecycle, trash
from core.upkeep.trash import trash_sessions

LONG_AGO = 1_700_000_000


@pytest.fixture
def db(tmp_path):
    made = open_store(tmp_path / "store" / "state.db", None)
    yield made
    made.close()


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "talks"
    folder.mkdir()
    return folder


def write(path: Path, *lines: object) -> Path:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def said(session: str, content: str, **more: object) -> dict[str, object]:
    return {"session": session, "role": "user", "content": content} | more


def bring_in(db, *paths: Path) -> None:
    for _ in ingest.run_sync(db, ingest.Import(list(paths))):
        pass


def found(*paths: Path) -> list[FoundSource]:
    return [FoundSource("", str(path), path.name, None, 1, True) for path in paths]


def why(db, text: str, *places: Path, **limits: float):
    return absence.explain(db, text, found(*places), **limits)


def kinds(answer) -> list[str]:
    return [each.kind for each in answer.findings]


def row(db, name: str) -> int:
    return db.execute("SELECT id FROM sessions WHERE native_id = ?", (name,)).get


@pytest.fixture
def talks(db, place):
    """Sessions of the store, named after what becomes of them."""
    write(
        place / "a.jsonl",
        said("seen-0001", "the gate squeaks", title="Oiling the gate"),
        said("archived-0001", "old fence posts", title="The fence"),
        said("trashed-0001", "rotten planks", title="The planks"),
        said("sub-0001", "count the nails", kind="subagent"),
        said("parent-0001", "paint it blue", title="Painting"),
        said("child-0001", "and the other side", parent="parent-0001", relation="continuation"),
    )
    bring_in(db, place)
    return place


@pytest.mark.parametrize(
    "text", ["seen-0001", "seen-", "jsonl/seen-0001", "oiling the", "gate squeaks", "GATE  squeaks"]
)
def test_what_can_be_seen_is_found_by_id_title_and_phrase(db, talks, text):
    answer = why(db, text, talks)
    assert answer.is_visible
    assert kinds(answer)[0] == "visible"
    assert answer.findings[0].session.native_id == "seen-0001"
    assert answer.complete


def test_a_link_names_its_session(db, talks):
    assert why(db, "backscroll://session/seen-0001#m1").is_visible


def test_archived_is_said(db, talks):
    written(db, set_archived, row(db, "archived-0001"), True)
    for text in ("archived-0001", "The fence", "fence posts"):
        assert "archived" in kinds(why(db, text, talks))


def test_the_trash_is_said_with_the_way_back(db, talks):
    written(db, trash_sessions, [row(db, "trashed-0001")], "command")
    for text in ("trashed-0001", "The planks", "rotten planks"):
        answer = why(db, text, talks)
        assert "trashed" in kinds(answer)
        assert not answer.is_visible
        (finding,) = [each for each in answer.findings if each.kind == "trashed"]
        assert finding.next_step == "backscroll trash restore trashed-0001"
        assert abs(finding.facts["since_ms"] - time.time() * 1000) < 60_000


def test_messages_in_the_trash_of_a_session_that_stays_are_said(db, talks):
    session = row(db, "seen-0001")
    operation = written(db, lifecycle.clear, [session], "command")
    (told,) = [each for each in why(db, "seen-0001", talks).findings if each.kind == "trashed"]
    assert told.sentence.endswith("in the trash.")
    assert told.facts["messages"] > 0
    assert told.next_step == f"backscroll trash restore --operation {operation.id}"
    written(db, trash.undo, operation.id, "command")
    assert "trashed" not in kinds(why(db, "seen-0001", talks))


def test_a_subagent_and_an_empty_session_are_said_to_be_left_out(db, talks):
    answer = why(db, "sub-0001", talks)
    assert "kind" in kinds(answer)
    assert "subagent" in answer.findings[0].sentence
    db.execute("UPDATE sessions SET message_count = 0 WHERE native_id = 'seen-0001'")
    assert "empty" in kinds(why(db, "seen-0001", talks))


def test_a_continuation_says_what_it_is_folded_into(db, talks):
    answer = why(db, "child-0001", talks)
    (finding,) = [each for each in answer.findings if each.kind == "lineage"]
    assert finding.facts == {"parent": "parent-0001", "relation": "continuation"}


def test_what_was_deleted_for_good_is_said_by_its_name_and_by_its_words(db, place):
    path = write(place / "gone-0001.jsonl", said("gone-0001", "a secret recipe"))
    bring_in(db, place)
    written(db, trash_sessions, [row(db, "gone-0001")], "command")
    for _ in trash.empty(db, "command"):
        pass
    assert [each.kind for each in absence.in_store(db, "gone-0001").findings] == ["deleted"]
    assert kinds(why(db, "gone-0001", place)) == ["deleted"]
    by_words = why(db, "secret recipe", place)
    assert kinds(by_words) == ["deleted"]
    assert str(path) in by_words.findings[0].sentence
    assert not absence.in_store(db, "another-0001").is_deleted("another-0001")


def test_words_of_a_file_that_was_never_imported(db, place):
    path = write(place / "new.jsonl", said("x", "first"), said("x", 'plums "cheap" für 3 €'))
    answer = why(db, 'PLUMS "cheap" für 3 €', place)
    assert kinds(answer) == ["not_imported", "not_watched"]
    assert answer.findings[0].path == str(path)
    assert answer.findings[0].facts["line"] == 2
    written(db, watched.watch, str(place))
    assert kinds(why(db, "plums", place)) == ["not_imported"]
    written(db, watched.set_paused, str(place), paused=True)
    assert kinds(why(db, "plums", place)) == ["not_imported", "not_watched"]


def test_a_name_of_a_file_is_enough(db, place):
    write(place / "0198aa-session.jsonl", said("x", "first"))
    assert kinds(why(db, "0198aa-session", place))[0] == "not_imported"


def test_a_file_that_grew_since_it_was_read(db, place):
    path = write(place / "a.jsonl", said("s", "before"))
    bring_in(db, place)
    with path.open("a") as file:
        file.write(json.dumps(said("s", "written later")) + "\n")
    assert kinds(why(db, "written later", place)) == ["changed", "not_watched"]


def test_a_broken_record_is_named_by_its_line(db, place):
    write(
        place / "a.jsonl", said("s", "before"), '{"session":"s","role":"user","content":broken plum'
    )
    bring_in(db, place)
    answer = why(db, "broken plum", place)
    assert kinds(answer) == ["unreadable"]
    assert answer.findings[0].facts["line"] == 2
    assert "could not be read" in answer.findings[0].sentence


def test_a_file_that_failed_says_why(db, place):
    path = write(place / "a.jsonl", said("s", "hello", cwd="/only plum"))
    bring_in(db, place)
    db.execute("UPDATE source_files SET state = 'failed', error = 'the disk was away'")
    answer = why(db, "only plum", place)
    assert kinds(answer) == ["failed"]
    assert "the disk was away" in answer.findings[0].sentence
    assert answer.findings[0].path == str(path)


def test_words_of_a_file_that_are_no_message(db, place):
    write(place / "a.jsonl", said("s", "hello", cwd="/srv/plum-orchard"))
    bring_in(db, place)
    assert kinds(why(db, "plum-orchard/", place)) == ["nowhere"]
    assert kinds(why(db, "plum-orchard", place)) == ["in_file"]


def test_a_source_that_lost_it_or_was_removed(db, talks):
    db.execute("UPDATE sessions SET gone_at_ms = 5 WHERE native_id = 'seen-0001'")
    written(db, known_sources.forget, known_sources.named(db, "jsonl"))
    answer = why(db, "seen-0001", talks)
    assert kinds(answer) == ["visible", "gone", "removed"]


def test_escaped_text_zips_and_databases_are_looked_into(db, place):
    (place / "escaped.jsonl").write_text('{"session":"s","content":"\\u8ba2\\u9605 plum"}\n')
    with zipfile.ZipFile(place / "export.zip", "w") as archive:
        archive.writestr("conversations.json", '[{"title": "zipped plum"}]')
    other = apsw.Connection(str(place / "some.db"))
    many = ", ".join(f"c{n}" for n in range(70))
    other.execute(f"CREATE TABLE notes({many}, body)")
    other.execute("INSERT INTO notes(body) VALUES ('a plum in a table')")
    other.close()
    for text, name in (
        ("订阅 plum", "escaped.jsonl"),
        ("zipped plum", "export.zip"),
        ("Plum in a table", "some.db"),
    ):
        answer = why(db, text, place)
        assert Path(answer.findings[0].path).name == name, text
        assert answer.complete


def test_nothing_found_says_how_much_was_looked_through(db, talks):
    answer = why(db, "no such words anywhere", talks)
    assert kinds(answer) == ["nowhere"]
    assert answer.complete
    assert (answer.places, answer.files) == (1, 1)
    assert answer.bytes == (talks / "a.jsonl").stat().st_size
    assert "6 messages" in answer.findings[0].sentence


@pytest.mark.parametrize("limits", [{"most_s": 0.0}, {"most_bytes": 10}])
def test_a_look_cut_short_never_says_that_it_is_not_there(db, place, limits, monkeypatch):
    monkeypatch.setattr(raw_text, "_CHUNK", 64)
    for n in range(5):
        write(place / f"{n}.jsonl", *(said("s", "x" * 100) for _ in range(10)))
    answer = why(db, "no such words", place, **limits)
    assert not answer.complete
    assert answer.reason
    assert "not all was looked through" in answer.findings[0].sentence


def test_a_file_that_cannot_be_looked_into_makes_it_partial(db, place):
    (place / "bad.zip").write_bytes(b"PK\3\4 not really")
    answer = why(db, "no such words", place)
    assert not answer.complete
    assert "bad.zip" in answer.reason


def test_files_with_credentials_are_never_opened(db, place):
    write(place / "auth.json", {"token": "plum-secret"})
    assert kinds(why(db, "plum-secret", place)) == ["nowhere"]


def test_a_phrase_over_two_chunks_is_found_in_its_line(place, monkeypatch):
    monkeypatch.setattr(raw_text, "_CHUNK", 16)
    path = write(place / "a.jsonl", said("s", "one"), said("s", "a needle across chunks"))
    result = raw_text.look("needle across chunks", [raw_text.RawPlace(str(path), "")])
    assert [each.line for each in result.matches] == [2]
