"""What reads around a message tells of those that their source no longer has."""

import pytest

from core.history.sessions import session_by_id
from core.recall.anchored import anchored
from core.recall.window import bookends, more, opening, window
from core.store.connection import transaction
from tests.unit.store.making import message, store_at, store_messages

COUNT = 12
LOST = ("m2", "m3", "m11")


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    store_messages(made, *(message(f"m{n}", f"text {n}", position=n) for n in range(COUNT)))
    store_messages(made, message("other", "text", session="t"))
    yield made
    made.close()


def lose(db, *uids):
    with transaction(db):
        for uid in uids:
            db.execute(
                "INSERT INTO gone_messages SELECT id, session_id, 5 FROM messages WHERE uid = ?",
                (uid,),
            )


def row_of(db, uid):
    return db.execute("SELECT id FROM messages WHERE uid = ?", (uid,)).get


def gone(messages):
    return [each.uid for each in messages if each.gone]


def test_every_look_at_a_session_tells_them(db):
    lose(db, *LOST, "other")
    anchor = row_of(db, "m3")
    around = anchored(db, session_by_id(db, 1), anchor, window=1, bookend=2)

    assert gone(window(db, anchor, before=2, after=9).messages) == [*LOST]
    assert gone(window(db, row_of(db, "m5"), before=1, after=1).messages) == []
    assert gone(more(db, 1, before_seq=3, count=2)) == ["m2"]
    assert gone(more(db, 1, after_seq=3, count=2)) == []
    ends = bookends(db, 1)
    assert (gone(ends.opening), gone(ends.resolution)) == (["m2"], ["m11"])
    ends = opening(db, 1, 4, 2)
    assert (gone(ends.opening), gone(ends.resolution)) == (["m2", "m3"], ["m11"])
    assert gone(around.messages) == ["m2", "m3"]
    assert gone(around.resolution) == ["m11"]


def test_a_message_of_another_session_is_not_taken_for_one_of_this(db):
    lose(db, "other")
    assert gone(window(db, row_of(db, "m3"), before=9, after=9).messages) == []


def test_where_nothing_is_gone_it_costs_one_look_into_an_index(db):
    """And where much is gone, only what is shown is looked up."""
    seen: list[tuple[str, ...]] = []

    def note(cursor, sql, bindings):
        if "gone_messages" in sql and not sql.startswith("EXPLAIN"):
            plan = cursor.connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)
            seen.append(tuple(row[3] for row in plan))
        return True

    anchor = row_of(db, "m3")
    db.exec_trace = note
    window(db, anchor)
    db.exec_trace = None

    assert seen == [
        (
            "SEARCH gone_messages USING COVERING INDEX gone_messages_by_session"
            " (session_id=? AND rowid>? AND rowid<?)",
        )
    ]
