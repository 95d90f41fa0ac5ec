"""Families of sessions."""

import pytest

from core.errors import NotFoundError
from core.history.lineage import lineage
from core.history.sessions import session_by_ref
from core.sources.records import SessionRecord
from tests.unit.store.making import add_source, store_at, store_messages


@pytest.fixture
def db(tmp_path):
    db = store_at(tmp_path)
    yield db
    db.close()


def family(db, name):
    found = lineage(db, session_by_ref(db, name).id)
    return [s.native_id for s in found.ancestors], [s.native_id for s in found.children]


def test_ancestors_come_oldest_first_and_children_by_their_start(db):
    store_messages(
        db,
        sessions=(
            SessionRecord("late", parent_native_id="son", started_at_ms=9),
            SessionRecord("early", parent_native_id="son", started_at_ms=8),
            SessionRecord("son", parent_native_id="father"),
            SessionRecord("father", parent_native_id="grandfather"),
            SessionRecord("grandfather"),
        ),
    )
    assert family(db, "son") == (["grandfather", "father"], ["early", "late"])
    assert family(db, "grandfather") == ([], ["father"])
    assert family(db, "late") == (["grandfather", "father", "son"], [])


def test_a_circle_of_parents_ends(db):
    store_messages(
        db,
        sessions=(
            SessionRecord("a", parent_native_id="b"),
            SessionRecord("b", parent_native_id="a"),
            SessionRecord("self", parent_native_id="self"),
        ),
    )
    assert family(db, "a") == (["b"], ["b"])
    assert family(db, "self") == ([], [])


def test_families_do_not_reach_into_another_source(db):
    other = add_source(db, "codex")
    store_messages(db, sessions=(SessionRecord("parent"),))
    store_messages(db, sessions=(SessionRecord("child", parent_native_id="parent"),), source=other)
    assert family(db, "child") == ([], [])
    assert family(db, "parent") == ([], [])


def test_nobody_has_no_family(db):
    with pytest.raises(NotFoundError):
        lineage(db, 1)
