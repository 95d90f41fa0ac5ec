"""Titles made from what was said first, when that goes to the trash or comes back."""

from typing import Any

import apsw

from core.history.messages import IS_VISIBLE
from core.sources.headline import derived_title
from core.store.keys import ORIGIN_BITS, ORIGIN_MASK, ROLE_BITS, ROLE_MASK
from core.text import project
from core.types import Origin, Role

_PROMPTS_TRIED = 20  # blank ones give no title

# Of a renamed session, the title that it would have again without its user's.
_OWN = "CASE WHEN s.renamed_at_ms IS NULL THEN s.{0} ELSE s.told_{0} END"
_TITLED = (
    f"SELECT s.id, {_OWN.format('title')} FROM message_placements AS p CROSS JOIN sessions AS s"
    f" ON s.id = p.session_id WHERE p.message_id = ? AND {_OWN.format('title_source')} = 'derived'"
)
_IS_DERIVED = f"SELECT {_OWN.format('title_source')} = 'derived' FROM sessions AS s WHERE s.id = ?"
_PROMPTS = (
    "SELECT m.id, m.content FROM message_placements AS p"
    " CROSS JOIN message_keys AS k ON k.id = p.message_id"
    " CROSS JOIN messages AS m ON m.id = p.message_id"
    f" WHERE p.session_id = ? AND {IS_VISIBLE}"
    f" AND (k.flags & {ROLE_MASK}) = {ROLE_BITS[Role.USER]}"
    f" AND (k.flags & {ORIGIN_MASK}) = {ORIGIN_BITS[Origin.HUMAN]}"
    f" ORDER BY p.seq, p.message_id LIMIT {_PROMPTS_TRIED}"
)


def hide(db: apsw.Connection, message_id: int) -> None:
    """Give another title to sessions that have theirs from a message now in the trash.

    From what a person said first of what is left; none where nothing is. No import gives
    such a session the old title again, because it stays a derived one.
    """
    content = db.execute("SELECT content FROM messages WHERE id = ?", (message_id,)).get
    was = derived_title(content)
    for session_id, title in _titled(db, message_id):
        if title and title == was:
            _, new = _first(db, session_id)
            _write(db, session_id, new)


def show(db: apsw.Connection, message_id: int) -> None:
    """Give sessions their title from a message that is back, where it is what was said first."""
    for session_id, _ in _titled(db, message_id):
        first, title = _first(db, session_id)
        if first == message_id:
            _write(db, session_id, title)


def fill(db: apsw.Connection, session_id: int) -> None:
    """Give a session its title anew, if that is one made from what was said first."""
    if db.execute(_IS_DERIVED, (session_id,)).get:
        _write(db, session_id, _first(db, session_id)[1])


def _titled(db: apsw.Connection, message_id: int) -> list[Any]:
    return db.execute(_TITLED, (message_id,)).fetchall()


def _first(db: apsw.Connection, session_id: int) -> tuple[int | None, str]:
    """Return the first prompt that gives a title, and that title."""
    prompts: list[Any] = db.execute(_PROMPTS, (session_id,)).fetchall()
    for message_id, content in prompts:
        if title := derived_title(content):
            return message_id, title
    return None, ""


def _write(db: apsw.Connection, session_id: int, title: str) -> None:
    searchable = project(title)
    db.execute(
        "UPDATE sessions SET"
        " title = CASE WHEN renamed_at_ms IS NULL THEN ?1 ELSE title END,"
        " search_title = CASE WHEN renamed_at_ms IS NULL THEN ?2 ELSE search_title END,"
        " told_title = CASE WHEN renamed_at_ms IS NOT NULL THEN ?1 END WHERE id = ?3",
        (title, None if searchable == title else searchable, session_id),
    )
