import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from core.history.staging import insert_rows
from tests.unit.store import making


@settings(max_examples=30, deadline=None)
@given(count=st.integers(0, 3000), columns=st.integers(1, 30))
def test_every_row_arrives_in_its_order_whatever_their_number(count, columns):
    db = apsw.Connection(":memory:")
    db.execute(f"CREATE TABLE t({', '.join(f'c{i}' for i in range(columns))})")
    rows = [tuple(range(n, n + columns)) for n in range(count)]

    insert_rows(db, "t", columns, rows)

    assert list(map(tuple, db.execute("SELECT * FROM t ORDER BY rowid"))) == rows


def test_what_waits_is_never_in_a_file(tmp_path):
    db = making.store_at(tmp_path)

    files = {name: file for _, name, file in db.execute("PRAGMA database_list")}

    assert files["staging"] == ""
