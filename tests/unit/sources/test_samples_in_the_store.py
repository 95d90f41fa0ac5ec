"""What each sample holds, read by eye, held against the store after an import without a kind.

The reader's own tests compare records; this is the whole way: detection, import, search.
"""

from contextlib import closing

import apsw
import pytest

from core.history.sessions import list_sessions
from core.search.run import search
from core.sources import detect
from core.sources.ingest import Import, run_sync
from core.store.connection import open_store
from core.types import SearchRequest, SessionFilter
from tests.unit.sources import expected
from tests.unit.store.making import library, verify_indexes

KINDS = {
    "aider": "aider", "chatgpt": "chatgpt", "claude_ai": "claude-ai", "claude_code": "claude-code",
    "codex": "codex", "copilot": "copilot-cli", "cursor": "cursor", "gemini": "gemini-cli",
    "goose": "goose", "hermes": "hermes", "librechat": "librechat", "moviepilot": "moviepilot",
    "openclaw": "pi", "opencode": "opencode", "openwebui": "open-webui", "pi": "pi",
    "picobot": "picobot", "qwen": "qwen-code", "vscode_chat": "vscode-chat",
}  # fmt: skip
"""The kinds of the expectations and of our readers."""


def entries():
    return [e for kind in KINDS for e in expected.entries(kind)]


@pytest.mark.parametrize("entry", entries(), ids=expected.name)
def test_a_sample_is_recognised_imported_and_found(entry, tmp_path):
    folder = tmp_path / "profile"
    folder.mkdir(mode=0o700)
    db = open_store(folder / "state.db", library())
    places = [placed(path, tmp_path) for path in expected.paths(entry)]
    report = imported(db, places)
    assert report.new > 0 or not entry["visible_messages"]
    kinds = {kind for (kind,) in db.execute("SELECT kind FROM sources")}
    assert kinds <= {KINDS[entry["kind"]]}
    held_against(entry, db)
    again = imported(db, places)
    assert (again.new, again.changed) == (0, 0)
    verify_indexes(db)
    db.close()


def placed(path, folder):
    """The sample itself, or the database that a file of SQL makes."""
    if path.suffix != ".sql":
        return path
    database = folder / "made" / "state.db"
    database.parent.mkdir()
    with closing(apsw.Connection(str(database))) as db:
        db.execute(path.read_text(encoding="utf-8"))
    return database


def imported(db, places):
    job = Import(places)
    for _ in run_sync(db, job):
        pass
    return job.report()


def held_against(entry, db):
    """The counts that a store can tell, and what a search must and must not find."""
    report_of = entry["bad_records"]
    if report_of is not None:
        told = db.execute("SELECT coalesce(sum(json_array_length(bad_records)), 0)"
                          " FROM source_files").get  # fmt: skip
        allowed = {report_of, *(entry.get("bad_records_alternatives") or ())}
        assert told in allowed
    everything = SessionFilter(include_archived=True, include_hidden_kinds=True)
    sessions = list_sessions(db, everything, limit=500).sessions
    if entry["confidence"] == "high" and entry.get("sessions_listed") is not None:
        spoken = [s for s in sessions if has_visible(db, s.id)]
        assert len(spoken) == entry["sessions_listed"]
    titles = {session.title for session in sessions}
    for title in entry["titles"]:
        start = title[:40].rstrip("…")
        assert any(each.startswith(start) or start.startswith(each.rstrip("…")) for each in titles)
    for wanted in entry["must_find"]:
        hits = hits_of(db, wanted["query"])
        assert hits >= wanted["count_at_least"], wanted
    for query in entry["must_not_find"]:
        assert hits_of(db, query) == 0, query


def has_visible(db, session_id):
    return db.execute(
        "SELECT EXISTS (SELECT 1 FROM message_placements AS p JOIN messages AS m"
        " ON m.id = p.message_id WHERE p.session_id = ? AND m.state IN ('active', 'compacted')"
        " AND m.origin NOT IN ('injected', 'synthetic'))",
        (session_id,),
    ).get


def hits_of(db, words):
    """How many messages a search finds as a whole: a phrase, whatever kind of session."""
    phrase = '"' + words.replace('"', " ") + '"'
    request = SearchRequest(phrase, limit=500, include=frozenset({"tool"}), inside_words=True)
    found = search(db, request)
    assert found.complete
    return found.total_hits


def test_every_kind_that_is_expected_has_a_reader():
    assert set(KINDS.values()) <= set(detect.READERS)
