import apsw
from hypothesis import given, settings
from hypothesis import strategies as st

from core.history.rows import value_lists


@settings(max_examples=30, deadline=None)
@given(count=st.integers(0, 6000), columns=st.integers(1, 30))
def test_every_row_arrives_in_its_order_whatever_their_number(count, columns):
    db = apsw.Connection(":memory:")
    db.execute(f"CREATE TABLE t({', '.join(f'c{i}' for i in range(columns))})")
    rows = [tuple(range(n, n + columns)) for n in range(count)]

    for values in value_lists(rows):
        db.execute(f"INSERT INTO t VALUES {values.text}", values.bindings)

    assert list(map(tuple, db.execute("SELECT * FROM t ORDER BY rowid"))) == rows
