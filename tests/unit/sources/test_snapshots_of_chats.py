"""Exports of one chat, imported in any order: the youngest state is what is shown.

Public case I15: an older export does not delete or undo what a newer one brought.
"""

import itertools
import json

import pytest

from core.sources import ingest
from core.store.connection import open_store

SECOND = 1_750_000_000


@pytest.fixture
def db(tmp_path):
    opened = open_store(tmp_path / "store" / "state.db", None)
    yield opened
    opened.close()


def chatgpt(changed, title, current, **texts):
    """A question and two answers to it, of which `current` is shown."""
    mapping = {
        key: {
            "parent": None if key == "ask" else "ask",
            "message": {
                "author": {"role": "user" if key == "ask" else "assistant"},
                "content": {"content_type": "text", "parts": [text]},
            },
        }
        for key, text in texts.items()
    }
    return {
        "id": "c",
        "title": title,
        "update_time": changed,
        "current_node": current,
        "mapping": mapping,
    }


def claude(changed, title, current, **texts):
    messages = [
        {
            "uuid": key,
            "sender": "human" if key == "ask" else "assistant",
            "text": text,
            "parent_message_uuid": "00000000-0000-4000-8000-000000000000"
            if key == "ask"
            else "ask",
        }
        for key, text in texts.items()
    ]
    return {
        "uuid": "c",
        "name": title,
        "updated_at": changed,
        "chat_messages": messages,
        "current_leaf_message_uuid": current,
    }


@pytest.fixture(params=[chatgpt, claude])
def states(request):
    """Three states of one chat, each a younger one."""
    return [
        request.param(SECOND, "First title", "a", ask="why", a="becau"),
        request.param(SECOND + 60, "Second title", "b", ask="why", a="because", b="otter"),
        request.param(SECOND + 90, "Third title", "b", ask="why", a="because", b="beaver"),
    ]


def imported(db, folder, *chats):
    """Import each chat as an export of its own, in one go, and return what came of it."""
    paths = []
    for number, chat in enumerate(chats):
        path = folder / f"{len(list(folder.iterdir()))}-{number}" / "conversations.json"
        path.parent.mkdir()
        path.write_text(json.dumps([chat]))
        paths.append(path)
    job = ingest.Import(paths)
    for _ in ingest.run_sync(db, job):
        pass
    report = job.report()
    assert report.failed == 0
    return report


def stored(db):
    (session,) = db.execute("SELECT title, updated_at_ms FROM sessions").fetchall()
    messages = db.execute(
        "SELECT content, state FROM messages WHERE state <> 'superseded' ORDER BY uid"
    ).fetchall()
    return session, messages


YOUNGEST = (
    ("Third title", (SECOND + 90) * 1000),
    [("because", "off_branch"), ("why", "active"), ("beaver", "active")],
)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
@pytest.mark.parametrize("together", [True, False], ids=["together", "apart"])
def test_the_youngest_state_is_what_is_shown(db, tmp_path, states, order, together):
    chats = [states[place] for place in order]
    for each in [chats] if together else [[chat] for chat in chats]:
        imported(db, tmp_path, *each)
    session, messages = stored(db)
    assert session == YOUNGEST[0]
    assert sorted(messages) == sorted(YOUNGEST[1])
    assert imported(db, tmp_path, *chats).new == 0
    assert stored(db) == (session, messages)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_one_file_may_hold_several_states(db, tmp_path, states, order):
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([states[place] for place in order]))
    for _ in ingest.run_sync(db, ingest.Import([path])):
        pass
    session, messages = stored(db)
    assert (session, sorted(messages)) == (YOUNGEST[0], sorted(YOUNGEST[1]))


def test_an_older_export_adds_what_only_it_has(db, tmp_path, states):
    old, _, new = states
    key = "mapping" if "mapping" in new else "chat_messages"
    imported(db, tmp_path, {**new, key: type(new[key])()})
    assert imported(db, tmp_path, old).new == 2
    (title, _), messages = stored(db)
    assert (title, len(messages)) == ("Third title", 2)


def test_an_earlier_text_is_kept_as_a_revision_unless_the_later_one_goes_on_from_it(
    db, tmp_path, states
):
    imported(db, tmp_path, states[2])
    report = imported(db, tmp_path, states[1])
    assert (report.new, report.changed, report.conflicts) == (0, 0, 0)
    imported(db, tmp_path, states[0])
    kept = db.execute("SELECT content FROM messages WHERE state = 'superseded'").fetchall()
    assert kept == [("otter",)]


def test_a_state_without_a_time_is_taken_as_it_comes(db, tmp_path, states):
    timeless = {**states[0], "update_time": None, "updated_at": None}
    imported(db, tmp_path, states[2], timeless)
    assert db.execute("SELECT title FROM sessions").get == "First title"


def librechat(changed, title, current, **texts):
    messages = [
        {"messageId": key, "text": text, "isCreatedByUser": key == "ask", "updatedAt": changed}
        for key, text in texts.items()
    ]
    return {"conversationId": current, "title": title, "messages": messages}


def open_webui(changed, title, current, **texts):
    nodes = {
        key: {"parentId": None if key == "ask" else "ask", "role": "user", "content": text}
        for key, text in texts.items()
    }
    history = {"messages": nodes, "currentId": current}
    return {"id": title, "title": title, "chat": {"history": history}, "updated_at": changed}


@pytest.mark.parametrize("kind", [chatgpt, claude, librechat, open_webui])
def test_what_the_next_export_lacks_is_not_gone(db, tmp_path, kind):
    path = tmp_path / "conversations.json"
    one = {**kind(SECOND, "one", "a", ask="why", a="because"), "id": "one", "uuid": "one"}
    two = {**kind(SECOND, "two", "b", ask="who", b="otter"), "id": "two", "uuid": "two"}
    for chat in (one, two):
        path.write_text(json.dumps([chat]))
        for _ in ingest.run_sync(db, ingest.Import([path])):
            pass
    path.unlink()
    for _ in ingest.run_sync(db, ingest.Import([tmp_path])):
        pass
    rows = db.execute("SELECT title, gone_at_ms FROM sessions ORDER BY title").fetchall()
    assert rows == [("one", None), ("two", None)]
    assert db.execute("SELECT count(*) FROM gone_messages").get == 0
