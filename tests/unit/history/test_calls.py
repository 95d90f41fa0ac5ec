"""A call has the outcome that its result tells, wherever the message that makes it is read."""

from core.history.messages import messages_page
from core.recall.recall import recall
from core.types import RecallRequest, Role, ToolCall, ToolStatus
from tests.unit.store.making import message, store_at, store_messages


def call(name: str, **more) -> ToolCall:
    return ToolCall(name, "bash", "{}", **more)


def outcomes(messages) -> list[list[str]]:
    return [[each.status.value for each in m.tool_calls] for m in messages if m.tool_calls]


def result(uid: str, of: str, status: ToolStatus | None):
    return message(uid, role=Role.TOOL, tool_call_id=of, tool_status=status, content="done")


def stored(tmp_path, *records):
    db = store_at(tmp_path, cjk=False)
    store_messages(db, *records)
    session = db.execute("SELECT id FROM sessions").get
    return db, session


def test_calls_are_told_by_their_results(tmp_path):
    db, session = stored(
        tmp_path,
        message("q"),
        message("a", role=Role.ASSISTANT, tool_calls=(call("c1"), call("c2"), call("c3"))),
        result("r2", "c2", ToolStatus.FAILED),
        result("r1", "c1", ToolStatus.SUCCEEDED),
    )
    page = messages_page(db, session, first=1, count=10)
    assert outcomes(page) == [["succeeded", "failed", "unknown"]]
    alone = messages_page(db, session, first=2, count=1)
    assert outcomes(alone) == [["succeeded", "failed", "unknown"]]
    db.close()


def test_an_id_that_is_used_again_is_another_call(tmp_path):
    db, session = stored(
        tmp_path,
        message("a", role=Role.ASSISTANT, tool_calls=(call("c1"),)),
        message("b", role=Role.ASSISTANT, tool_calls=(call("c1"),)),
        result("r", "c1", ToolStatus.SUCCEEDED),
        result("s", "c1", ToolStatus.FAILED),
    )
    page = messages_page(db, session, first=1, count=10)
    assert outcomes(page) == [["unknown"], ["succeeded"]]
    assert outcomes(messages_page(db, session, first=1, count=1)) == [["unknown"]]
    db.close()


def test_what_a_source_says_of_the_call_itself_stays(tmp_path):
    db, session = stored(
        tmp_path,
        message("a", role=Role.ASSISTANT, tool_calls=(call("c1", status=ToolStatus.FAILED),)),
        result("r", "c1", ToolStatus.SUCCEEDED),
    )
    assert outcomes(messages_page(db, session, first=1, count=10)) == [["failed"]]
    db.close()


def test_recall_tells_it_though_it_leaves_results_out(tmp_path):
    db, _ = stored(
        tmp_path,
        message("q", content="ochre"),
        message("a", role=Role.ASSISTANT, content="umber", tool_calls=(call("c1"),)),
        result("r", "c1", ToolStatus.SUCCEEDED),
    )
    (found,) = recall(db, RecallRequest(query="umber")).results
    told = [*found.opening, *found.messages, *found.resolution]
    assert outcomes(told) == [["succeeded"]]
    db.close()
