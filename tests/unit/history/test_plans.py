"""A batch of any size finds what is stored by the index on uids, never by reading all of it."""

import pytest

from core.history.append import Batch, append
from core.history.sources import ensure_source
from core.sources.records import SourceIdentity
from core.store.connection import transaction
from tests.unit.store.making import message, store_at


@pytest.mark.parametrize("count", [1, 100, 300, 500, 1_000, 3_000])
def test_no_statement_of_a_batch_makes_an_index_of_its_own(tmp_path, count):
    # SQLite made one over all messages where it expected 200 to 600 rows to look up.
    db = store_at(tmp_path, cjk=False)
    with transaction(db):
        source = ensure_source(db, SourceIdentity("test"), "", 1)
    plans: list[str] = []

    def explain(_cursor, statement, bindings):
        if statement.lstrip().startswith(("WITH", "INSERT INTO message", "SELECT")):
            plan = db.execute(f"EXPLAIN QUERY PLAN {statement}", bindings)
            plans.extend(row[3] for row in plan)
        return True

    messages = [message(f"m{n}", f"text {n}") for n in range(count)]
    for batch in (messages, messages, [*messages[:5], message("more", "more")]):
        with transaction(db):
            db.exec_trace = explain
            append(db, Batch(source, messages=batch))
            db.exec_trace = None
    assert any("sqlite_autoindex_messages_1 (source_id=? AND uid=?)" in plan for plan in plans)
    assert not [plan for plan in plans if "AUTOMATIC" in plan]
