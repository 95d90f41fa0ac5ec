"""A result that its source keeps with the call is kept, found, shown and capped with it."""

import pytest

from core.history.bodies import read_calls
from core.history.messages import message_by_ref
from core.recall.caps import RESULT_CHARS, capped
from core.search.run import search
from core.text import INDEXED_CHARS
from core.types import Role, SearchRequest, ToolCall, ToolStatus
from tests.unit.store.making import add_source, message, store_at, store_messages, verify_indexes


@pytest.fixture
def db(tmp_path):
    store = store_at(tmp_path)
    add_source(store, "opencode")
    yield store
    store.close()


def asked(result: str = "", status: ToolStatus = ToolStatus.UNKNOWN):
    call = ToolCall("c", "bash", '{"command":"make"}', status, result=result)
    return message("m", "running it", role=Role.ASSISTANT, tool_calls=(call,))


def stored_call(db):
    (call,) = read_calls(db.execute("SELECT tool_calls FROM messages WHERE uid = 'm'").get)
    return call


def hits(db, query: str) -> list[str]:
    return [hit.message for hit in search(db, SearchRequest(query)).hits]


def test_a_result_is_stored_verbatim_and_found_by_every_index(db):
    store_messages(db, asked("kestrel\n订阅\x00成功", ToolStatus.SUCCEEDED))
    assert stored_call(db) == ToolCall(
        "c", "bash", '{"command":"make"}', ToolStatus.SUCCEEDED, result="kestrel\n订阅\x00成功"
    )
    for query in ("kestrel", "订阅", "estre", "成"):
        assert hits(db, query) == ["m"], query
    verify_indexes(db)


def test_a_result_that_comes_later_joins_its_call(db):
    store_messages(db, asked())
    assert hits(db, "kestrel") == []
    counts = store_messages(db, asked("kestrel 东京", ToolStatus.FAILED))
    assert (counts.new, counts.changed) == (0, 1)
    assert (stored_call(db).result, stored_call(db).status) == ("kestrel 东京", ToolStatus.FAILED)
    assert hits(db, "kestrel") == hits(db, "东京") == ["m"]
    again = store_messages(db, asked("kestrel 东京", ToolStatus.FAILED))
    assert (again.new, again.changed, again.unchanged) == (0, 0, 1)
    store_messages(db, asked("osprey", ToolStatus.FAILED))
    assert hits(db, "kestrel") == []
    verify_indexes(db)


def test_an_answer_takes_so_much_of_a_result_and_says_so(db):
    store_messages(db, asked("x" * (RESULT_CHARS + 1)))
    session = db.execute("SELECT id FROM sessions").get
    (call,) = capped(message_by_ref(db, session, "m")).tool_calls
    assert (len(call.result), call.result_length) == (RESULT_CHARS, RESULT_CHARS + 1)
    (short,) = capped(message_by_ref(db, store_short(db), "short")).tool_calls
    assert (short.result, short.result_length) == ("x" * RESULT_CHARS, None)


def store_short(db) -> int:
    call = ToolCall("c", "bash", "{}", result="x" * RESULT_CHARS)
    store_messages(db, message("short", role=Role.ASSISTANT, tool_calls=(call,), session="other"))
    return int(db.execute("SELECT id FROM sessions WHERE native_id = 'other'").get)


def test_a_result_beyond_what_is_indexed_is_counted_as_not_searched(db):
    store_messages(db, asked("y " * INDEXED_CHARS + "kestrel"))
    answer = search(db, SearchRequest("kestrel"))
    assert answer.total_hits == 0
    assert sum(answer.not_searched.values()) == 1
