"""Public faults of importers, by their numbers in tests/data/cases, from file to search."""

import base64
import json
import os
import resource
import time
import zipfile
from pathlib import Path

import pytest

from core.history.sessions import list_sessions, session_by_ref
from core.search.run import search
from core.sources.ingest import Import, run_sync
from core.store.connection import transaction
from core.types import MessageState, SearchRequest, SessionFilter
from core.upkeep import trash
from tests.unit.store.making import store_at

DAY = "2026-05-01T10:%02d:00Z"


@pytest.fixture
def db(tmp_path):
    store = store_at(tmp_path)
    yield store
    store.close()


def imported(db, *paths: Path, kind: str | None = None):
    job = Import(list(paths), kind)
    for _ in run_sync(db, job):
        pass
    return job.report()


def found(db, query: str, **more) -> list[str]:
    return [hit.message for hit in search(db, SearchRequest(query, limit=100, **more)).hits]


def contents(db, session: str) -> list[str]:
    row = session_by_ref(db, session).id
    shown = db.execute(
        "SELECT m.content FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id"
        " WHERE p.session_id = ? AND m.state IN ('active', 'compacted') ORDER BY p.seq",
        (row,),
    )
    return [content for (content,) in shown]


def lines(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def user(uuid: str, content: object, *, minute: int = 0, parent: str | None = None, **more):
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s",
            "timestamp": DAY % minute, "message": message, **more}  # fmt: skip


def answer(uuid: str, of: str, *blocks: object, minute: int = 1, parent: str | None = None):
    message = {"role": "assistant", "id": of, "content": list(blocks),
               "usage": {"input_tokens": 3, "output_tokens": len(uuid)}}  # fmt: skip
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "sessionId": "s",
            "timestamp": DAY % minute, "message": message}  # fmt: skip


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def test_i06_half_an_emoji_costs_itself_alone(db, tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text(
        r'{"session":"s","id":"1","role":"user","content":"cut emoji \ud83d then badger",'
        r'"title":"half \ud83d title"}' "\n"
        r'{"session":"s","id":"2","role":"user","content":"good pair \ud83d\ude00 fox"}' "\n"
        r'{"session":"s","id":"3","role":"assistant","content":"plain wolf",'
        r'"tool_calls":[{"id":"c","name":"Bash","arguments":"\ud83d otter"}]}' "\n",
        encoding="utf-8",
    )  # fmt: skip
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/half\xed\xa0\xbd.jsonl"))
    odd.write_text('{"session":"t","id":"9","role":"user","content":"lynx"}\n', encoding="utf-8")
    report = imported(db, tmp_path, kind=None)
    assert (report.new, report.failed) == (4, 0)
    for word, message in (("badger", "1"), ("fox", "2"), ("wolf", "3"), ("otter", "3"),
                          ("lynx", "9")):  # fmt: skip
        assert found(db, word) == [message]
    assert contents(db, "s")[:2] == ["cut emoji \ufffd then badger", "good pair \U0001f600 fox"]


def test_i07_a_huge_line_costs_itself_once(db, tmp_path):
    path = tmp_path / "talk.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.write('{"session":"s","id":"1","role":"user","content":"ibis"}\n')
        file.write('{"session":"s","id":"2","role":"tool","content":"' + "x" * 100_000_000 + '"}\n')
        file.write('{"session":"s","id":"3","role":"user","content":"stork"}\n')
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = imported(db, path, kind="jsonl")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert found(db, "ibis") == ["1"]
    assert found(db, "stork") == ["3"]
    (file,) = report.files
    assert [bad.line for bad in file.bad_records] == [2]
    size = len('{"session":"s","id":"2","role":"tool","content":""}') + 100_000_000
    assert f"{size} bytes" in file.bad_records[0].reason
    assert grown < 4 * 100_000_000


def test_i08_a_picture_is_a_reference_and_never_text(db, tmp_path):
    picture = base64.b64encode(os.urandom(1_500_000)).decode()
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                         "data": picture}}  # fmt: skip
    result = {"type": "tool_result", "tool_use_id": "c", "content": [block, text("see toucan")]}
    call = {"type": "tool_use", "id": "c", "name": "Read", "input": {"file_path": "a.png"}}
    more = {"toolUseResult": {"file": {"base64": picture}}}
    path = lines(
        tmp_path / "p" / "s.jsonl",
        user("u1", "look"), answer("a1", "m1", call, parent="u1"),
        user("u2", [result], parent="a1", minute=2, **more),
    )  # fmt: skip
    assert imported(db, path).failed == 0
    assert len(found(db, "toucan", include=frozenset({"tool"}))) == 1
    piece = picture[700_000:700_012]
    assert found(db, f'"{piece}"', everything=True, deadline_s=20.0) == []
    size = db.execute("SELECT sum(octet_length(content)) FROM messages").get
    assert size < len(picture) // 20
    media = db.execute("SELECT media_refs FROM messages WHERE media_refs IS NOT NULL").get
    assert "image/png" in media


def test_i09_a_title_behind_a_large_picture_is_the_sessions(db, tmp_path):
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                           "data": "A" * 900_000}}  # fmt: skip
    path = lines(
        tmp_path / "p" / "s.jsonl",
        {"type": "queue-operation", "operation": "dequeue", "sessionId": "s",
         "timestamp": DAY % 0},
        user("u1", [picture, text("plan the pelican")]),
        answer("a1", "m1", text("ok"), parent="u1"),
        {"type": "custom-title", "customTitle": "Pelican plan", "sessionId": "s"},
    )  # fmt: skip
    imported(db, path)
    (session,) = list_sessions(db, SessionFilter()).sessions
    assert session.title == "Pelican plan"
    untitled = lines(tmp_path / "q" / "t.jsonl", user("v1", [picture, text("find the heron")]))
    imported(db, untitled)
    assert session_by_ref(db, "t").title == "find the heron"


def test_i10_one_reply_in_several_lines_is_one_message(db, tmp_path):
    path = lines(
        tmp_path / "p" / "s.jsonl",
        user("u0", "continue"),
        answer("a", "msg_1", {"type": "thinking", "thinking": "hmm"}, parent="u0"),
        answer("b", "msg_1", text("Use the heron"), parent="a"),
        answer("c", "msg_1", {"type": "tool_use", "id": "t", "name": "Read",
                              "input": {"file_path": "x.py"}}, parent="b"),
        answer("dd", "msg_1", text("Use the heron library"), parent="c"),
        user("u1", "continue", parent="dd", minute=5),
    )  # fmt: skip
    imported(db, path)
    assert contents(db, "s").count("continue") == 2
    assert len(found(db, "heron")) == 1
    row = db.execute(
        "SELECT content, reasoning, tool_calls, usage FROM messages WHERE role = 'assistant'"
    ).fetchall()
    ((content, reasoning, calls, usage),) = row
    assert content.endswith("Use the heron library")
    assert reasoning == "hmm"
    assert '"Read"' in calls
    assert json.loads(usage)["output_tokens"] == 2  # the last line's


def test_i11_copies_in_forks_are_one_hit_and_each_session_stands(db, tmp_path):
    folder = tmp_path / "p"
    first = [user("m1", "otter"), answer("m2", "x2", text("two"), parent="m1"),
             user("m3", "three", parent="m2", minute=3)]  # fmt: skip
    lines(folder / "A.jsonl", *first)
    lines(folder / "B.jsonl", *first, user("m4", "beaver", parent="m3", minute=4))
    imported(db, folder)
    assert len(found(db, "otter")) == 1
    listed = {s.native_id: s for s in list_sessions(db, SessionFilter()).sessions}
    assert {name: s.message_count for name, s in listed.items()} == {"A": 3, "B": 4}
    assert db.execute("SELECT count(*) FROM messages").get == 4
    with transaction(db):
        trash.trash_sessions(db, [listed["B"].id], "you")
    assert len(found(db, "otter")) == 1
    assert found(db, "beaver") == []
    assert contents(db, "A") == ["otter", "two", "three"]


def test_i12_loops_end_and_deep_chains_hold(db, tmp_path):
    rows = [
        user("u1", "loop one", parent="u3"), user("u2", "loop two", parent="u1"),
        user("u3", "loop three", parent="u2"), user("u4", "itself", parent="u4"),
        user("u5", "orphan", parent="missing"), user("u6", "same id, first", parent="u5"),
        user("u6", "same id, second", parent="u5"),
    ]  # fmt: skip
    chain = [user(f"c{i}", f"link {i}", parent=f"c{i - 1}" if i else None) for i in range(20_000)]
    path = lines(tmp_path / "p" / "s.jsonl", *rows, *chain)
    began = time.process_time()
    first = imported(db, path)
    assert time.process_time() - began < 30
    assert first.failed == 0
    said = db.execute("SELECT content FROM messages ORDER BY id").fetchall()
    assert len(said) == len(set(said)) == len(rows) + len(chain)
    path.write_bytes(path.read_bytes() + b"\n")
    again = imported(db, path)
    assert (again.new, again.changed) == (0, 0)


def node(uid: str, parent: str | None, role: str, parts: list[object], at: float | None = 1.0e9):
    message = {"id": uid, "author": {"role": role}, "create_time": at and at + 700_000_000,
               "content": {"content_type": "text", "parts": parts}}  # fmt: skip
    return {"id": uid, "parent": parent, "message": message}


def conversation(native_id: str, current: str | None, *nodes: dict[str, object]):
    mapping = {str(each["id"]): each for each in nodes}
    mapping["root"] = {"id": "root", "parent": None, "message": None}
    return {"conversation_id": native_id, "title": native_id, "create_time": 1.7e9,
            "update_time": 1.7e9, "mapping": mapping, "current_node": current}  # fmt: skip


@pytest.mark.parametrize("current", ["U2", None])
def test_i13_the_current_branch_is_shown_and_the_other_is_found(db, tmp_path, current):
    talk = conversation(
        "tree", current, node("U1", "root", "user", ["plan"]),
        node("A1", "U1", "assistant", ["old goose"], 1.0e9 + 1),
        node("A1b", "U1", "assistant", ["new swan"], 1.0e9 + 2),
        node("U2", "A1b", "user", ["thanks"], 1.0e9 + 3),
    )  # fmt: skip
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([talk]), encoding="utf-8")
    imported(db, path)
    assert contents(db, "tree") == ["plan", "new swan", "thanks"]
    (goose,) = search(db, SearchRequest("goose")).hits
    assert goose.state == MessageState.OFF_BRANCH


def test_i14_every_shape_of_an_export_is_one_talk_in_order(db, tmp_path):
    system = node("S", "U1", "system", [""])
    plain = node("A1", "S", "assistant", ["answer"], None)
    del plain["message"]["author"]["role"]
    plain["message"]["author"] = {"role": "assistant", "metadata": {}}
    spoken = node(
        "U2",
        "A1",
        "user",
        [
            "text",
            None,
            {"content_type": "audio_transcription", "text": "spoken raven", "direction": "in"},
        ],
    )
    spoken["message"]["content"]["content_type"] = "multimodal_text"
    odd = node("A2", "U2", "assistant", [])
    odd["message"]["content"] = {"content_type": "unknown_new_type", "text": "a puffin"}
    talk = conversation("odd", "A2", node("U1", "root", "user", ["first"]), system, plain, spoken,
                        odd)  # fmt: skip
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([talk]), encoding="utf-8")
    report = imported(db, path)
    assert report.failed == 0
    shown = contents(db, "odd")
    assert shown[:2] == ["first", "answer"] or shown[1:3] == ["first", "answer"]
    assert len(found(db, "raven")) == 1
    kept = db.execute("SELECT count(*) FROM messages WHERE uid = 'A2'").get
    assert kept == 1 or report.unknown_records


def test_i15_sharded_exports_come_in_once_and_older_ones_take_nothing(db, tmp_path):
    c1 = conversation("c1", "b", node("a", "root", "user", ["hare"]),
                      node("b", "a", "assistant", ["newer"], 1.0e9 + 9))  # fmt: skip
    older = conversation("c1", "a", node("a", "root", "user", ["hare"]))
    older["update_time"] = 1.6e9
    c2 = conversation("c2", "x", node("x", "root", "user", ["vole"]))
    c3 = conversation("c3", "y", node("y", "root", "user", ["shrew"]))
    export = tmp_path / "export.zip"
    with zipfile.ZipFile(export, "w") as archive:
        archive.writestr("folder/conversations-000.json", json.dumps([c1, c2]))
        archive.writestr("folder/conversations-001.json", json.dumps([c3]))
        archive.writestr("folder/user.json", "{}")
        archive.writestr("folder/文件.txt", "x")
    assert imported(db, export).new == 4
    again = tmp_path / "again.zip"
    again.write_bytes(export.read_bytes())
    second = imported(db, again)
    assert (second.new, second.changed) == (0, 0)
    with zipfile.ZipFile(tmp_path / "older.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps([older]))
    imported(db, tmp_path / "older.zip")
    assert found(db, "newer") == ["c1:b"]
    outside = tmp_path / "outside.zip"
    with zipfile.ZipFile(outside, "w") as archive:
        archive.writestr("../conversations.json", json.dumps([c3]))
    (told,) = imported(db, outside).files
    assert told.outcome == "failed"
    assert ".." in told.reason


@pytest.mark.parametrize("has_events", [True, False])
def test_i17_each_turn_of_a_rollout_counts_once(db, tmp_path, has_events):
    def item(at, role, words):
        kind = "output_text" if role == "assistant" else "input_text"
        return {
            "timestamp": at,
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": role,
                "content": [{"type": kind, "text": words}],
            },
        }

    def event(at, kind, words):
        return {"timestamp": at, "type": "event_msg", "payload": {"type": kind, "message": words}}

    ten = "2026-05-01T10:%02d:%02d.000Z"
    rows = [
        {"timestamp": ten % (0, 0), "type": "session_meta", "payload": {
            "id": "11111111-1111-4111-8111-111111111111", "cwd": "/w",
            "timestamp": ten % (0, 0)}},
        item(ten % (0, 1), "user", "<environment_context>\n<cwd>/w</cwd>\n</environment_context>"),
        item(ten % (0, 2), "user", "fix the kiwi"), event(ten % (0, 2), "user_message",
                                                          "fix the kiwi"),
        event(ten % (0, 9), "agent_message", "done kiwi"), item(ten % (0, 9), "assistant",
                                                                "done kiwi"),
        item(ten % (5, 0), "user", "continue"), event(ten % (5, 0), "user_message", "continue"),
        item(ten % (6, 0), "user", "continue"), event(ten % (6, 0), "user_message", "continue"),
    ]  # fmt: skip
    if not has_events:
        rows = [row for row in rows if row["type"] != "event_msg"]
    name = "rollout-2026-05-01T10-00-00-11111111-1111-4111-8111-111111111111.jsonl"
    imported(db, lines(tmp_path / name, *rows))
    (session,) = list_sessions(db, SessionFilter()).sessions
    assert session.title == "fix the kiwi"
    said = [c for c in contents(db, session.ref) if not c.startswith("<environment_context>")]
    assert said == ["fix the kiwi", "done kiwi", "continue", "continue"]
    assert session.user_turn_count == 3
