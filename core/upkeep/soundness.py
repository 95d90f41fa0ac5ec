"""Whether every page of a store can be read: what is stored itself, and what is made from it."""

from typing import NamedTuple

import apsw

from core.store import damage


class Unsound(NamedTuple):
    """What is wrong with the tables that hold the history, and which indexes are damaged.

    Indexes can be made again; the tables cannot.
    """

    problems: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()


def examine(db: apsw.Connection) -> Unsound:
    """Check every page in use, table by table; takes a second for each 50 MB."""
    problems = [told for table in _tables(db) if (told := damage.wrong_in(db, table))]
    indexes = [name for name in damage.full_text_names(db) if damage.fault_in(db, name)]
    return Unsound(tuple(problems), tuple(indexes))


def _tables(db: apsw.Connection) -> list[str]:
    """Return the tables that are not of a full-text index, one that was set aside included."""
    rows = db.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' ORDER BY name"
    ).fetchall()
    return [str(name) for (name,) in rows if not damage.is_set_aside(str(name))]
