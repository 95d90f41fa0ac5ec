"""Windows, their continuation and the ends of a session, against the plain list of it."""

from random import Random

import pytest

from core.errors import NotFoundError
from core.recall.window import (
    BOOKEND_CHARS,
    READ_CHARS,
    WINDOW_CHARS,
    bookends,
    more,
    opening,
    window,
)
from core.store.connection import transaction
from core.types import MessageState, Role
from tests.unit.store.making import message, store_at, store_messages

HIDDEN = (MessageState.REWOUND, MessageState.OFF_BRANCH, MessageState.HIDDEN)


@pytest.fixture
def db(tmp_path):
    made = store_at(tmp_path)
    yield made
    made.close()


def row_of(db, uid):
    return db.execute("SELECT id FROM messages WHERE uid = ?", (uid,)).get


def told(messages):
    return [(each.uid, each.number) for each in messages]


def listed(db, session_id):
    """Every visible message of a session and its number, the slow way."""
    rows = db.execute(
        "SELECT m.uid FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id"
        " WHERE p.session_id = ? AND m.state IN ('active', 'compacted')"
        " ORDER BY p.seq, p.message_id",
        (session_id,),
    )
    return [(uid, number) for number, (uid,) in enumerate(rows, start=1)]


def fill(db, random, count, session="s"):
    states = (MessageState.ACTIVE, MessageState.ACTIVE, MessageState.COMPACTED, *HIDDEN)
    store_messages(
        db,
        *(
            message(
                f"{session}{n}",
                f"text {n}",
                session=session,
                position=n * random.randint(1, 3) + n * 1_000,
                state=random.choice(states),
                role=random.choice(list(Role)),
            )
            for n in range(count)
        ),
    )


def test_a_window_is_what_stands_around_the_message(db):
    random = Random(3)
    fill(db, random, 120)
    fill(db, random, 40, session="t")
    for session_id, name in ((1, "s"), (2, "t")):
        every = listed(db, session_id)
        for _ in range(60):
            at = random.randrange(len(every))
            before, after = random.randint(0, 25), random.randint(0, 25)
            found = window(db, row_of(db, every[at][0]), before=before, after=after)
            start, end = max(0, at - before), min(len(every), at + after + 1)
            assert told(found.messages) == every[start:end]
            assert (found.before, found.after) == (start, len(every) - end)
            assert found.anchor_id == row_of(db, every[at][0])
            assert found.session.native_id == name


def test_a_message_no_longer_shown_stands_where_it_stood(db):
    states = [MessageState.ACTIVE, MessageState.REWOUND, MessageState.ACTIVE]
    store_messages(db, *(message(f"m{n}", "x", state=state) for n, state in enumerate(states)))
    found = window(db, row_of(db, "m1"))
    assert told(found.messages) == [("m0", 1), ("m1", 2), ("m2", 2)]
    assert found.messages[1].state is MessageState.REWOUND
    assert (found.before, found.after) == (0, 0)


def test_numbers_follow_what_is_written(db):
    random = Random(5)
    fill(db, random, 80)
    for n in range(30):
        uid, number = random.choice(listed(db, 1))
        (shown,) = window(db, row_of(db, uid), before=0, after=0).messages
        assert shown.number == number
        if n % 3 == 0:
            hidden = random.choice(listed(db, 1))[0]
            with transaction(db):
                db.execute("UPDATE messages SET state = 'rewound' WHERE uid = ?", (hidden,))
                db.execute("UPDATE sessions SET message_count = message_count - 1")


def test_a_body_shown_in_two_sessions_has_a_place_in_each(db):
    store_messages(db, message("a", "one"), message("b", "two"))
    store_messages(db, message("x", "zero", session="fork"), message("b", "two", session="fork"))
    row = row_of(db, "b")
    assert told(window(db, row).messages) == [("a", 1), ("b", 2)]
    assert told(window(db, row, session_id=2).messages) == [("x", 1), ("b", 2)]
    with pytest.raises(NotFoundError):
        window(db, row_of(db, "a"), session_id=2)


def test_what_is_gone_is_said_to_be(db):
    with pytest.raises(NotFoundError):
        window(db, 999_999)
    with pytest.raises(NotFoundError):
        bookends(db, 999_999)


def test_reading_on_meets_every_message_once(db):
    random = Random(9)
    fill(db, random, 150)
    every = listed(db, 1)
    start = window(db, row_of(db, every[70][0]), before=3, after=3)
    shown = list(start.messages)
    while found := more(db, 1, before_seq=shown[0].seq, count=20):
        assert len(found) <= 20
        shown[:0] = found
    while found := more(db, 1, after_seq=shown[-1].seq, count=20):
        shown += found
    assert told(shown) == every


@pytest.mark.parametrize("count", [0, 1, 3, 5, 6, 7, 40])
def test_the_ends_of_a_session_share_no_message(db, count):
    store_messages(db, message("other", session="t"))
    store_messages(db, *(message(f"m{n}", f"x{n}", session="s") for n in range(count)))
    if not count:
        return
    ends = bookends(db, 2)
    every = listed(db, 2)
    assert told(ends.opening) == every[:3]
    assert told(ends.resolution) == every[3:][-3:]
    assert ends.total == count
    read = opening(db, 2)
    assert told(read.opening) == every[:20]
    assert told(read.resolution) == every[20:][-10:]


def test_long_texts_are_cut_and_say_how_long_they_are(db):
    store_messages(db, message("m", "漓" * 10_000 + "\0end"))
    row = row_of(db, "m")
    for (shown, *_), most in (
        (window(db, row).messages, WINDOW_CHARS),
        (bookends(db, 1).opening, BOOKEND_CHARS),
        (opening(db, 1).opening, READ_CHARS),
    ):
        assert shown.content == "漓" * most
        assert (shown.truncated, shown.content_length) == (True, 10_004)


def test_a_window_reads_no_message_it_does_not_show(db):
    """Only the narrow rows are walked, along the primary key of the placements."""
    fill(db, Random(1), 50)
    plans: list[str] = []

    def note(cursor, sql, bindings):
        if sql.startswith("SELECT m.id") and "LIMIT" in sql:
            plan = cursor.connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)
            plans.extend(row[3] for row in plan)
        return True

    row = row_of(db, listed(db, 1)[10][0])
    db.exec_trace = note
    window(db, row)
    db.exec_trace = None
    steps = [step for step in plans if not step.startswith(("CO-ROUTINE", "MATERIALIZE"))]
    assert len(steps) == 8
    assert steps[0].startswith("SEARCH p USING PRIMARY KEY (session_id=?")
    assert steps[1] == "SEARCH k USING INTEGER PRIMARY KEY (rowid=?)"
    assert not any("TEMP B-TREE" in step for step in steps)
