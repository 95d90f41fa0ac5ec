"""Sessions that a query calls by their title or their id."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import apsw

from core.history.sessions import SEARCHED_TITLE
from core.recall.asked import Asked
from core.recall.link import place_of
from core.search.named import of_places
from core.search.scope import has_message_at
from core.search.sql import EVERYTHING, Sql, both
from core.search.term import ascii_lower
from core.store import damage
from core.text import project

MOST_TITLED = 50
"""So many sessions of one title are looked at, the newest."""

MOST_CHARS = 1_000
"""A longer query calls nothing by its name."""

_QUOTES = " \t\r\n`'\"“”‘’「」"
_NUMBERED = re.compile(r" #(\d{1,9})$")
_TRIGRAM = 3


def titled(db: apsw.Connection, asked: Asked) -> Iterator[int]:
    """Yield the sessions that the query names, the likeliest first.

    First one whose id it is, then those that go on under a title ("Title #2"), then those of
    exactly that title, the newest first. Letters' case and widths, blanks, backticks
    and quotes around the query are ignored. Sessions without a message in the time asked for
    are left out, and those of other sources or projects.
    """
    request = asked.request
    text = request.query.strip(_QUOTES)
    if not text or len(text) > MOST_CHARS:
        return
    allowed = both(
        Sql("s.trashed_at_ms IS NULL"),
        of_places(db, request.sources, request.projects),
        has_message_at(request.since_ms, request.until_ms),
    )
    yield from _by_id(db, place_of(text).session, allowed)
    yield from _by_title(db, project(text), allowed)


def _by_id(db: apsw.Connection, text: str, allowed: Sql) -> Iterator[int]:
    source, _, native_id = text.partition("/")
    of_source = "s.source_id IN (SELECT id FROM sources WHERE ? IN (kind, kind || '#' || id))"
    for name, place in ((text, EVERYTHING), (native_id, Sql(of_source, (source,)))):
        where = both(Sql("s.native_id = ?", (name,)), place, allowed)
        rows: Any = db.execute(
            f"SELECT s.id FROM sessions AS s WHERE {where.text}"
            " ORDER BY s.last_active_at_ms DESC, s.id DESC LIMIT 10",
            where.bindings,
        )
        yield from [row for (row,) in rows]


def _by_title(db: apsw.Connection, text: str, allowed: Sql) -> Iterator[int]:
    """Yield sessions by title; LIKE ignores the case of ASCII, and indexes find what it reads."""
    literal = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    fits = Sql(
        f"({SEARCHED_TITLE} LIKE ? ESCAPE '\\' OR {SEARCHED_TITLE} LIKE ? ESCAPE '\\')",
        (literal, f"{literal} #%"),
    )
    if not damage.titles_usable(db):
        rows = Sql("(SELECT id FROM sessions)")
    elif len(text) >= _TRIGRAM:
        # Without ESCAPE, or the index is not asked: a wildcard then stands for any character.
        rows = Sql(
            "(SELECT rowid AS id FROM sessions_fts WHERE title LIKE ?)",
            (f"{text.replace('%', '_')}%",),
        )
    else:
        rows = _spelt(text)
    where = both(fits, allowed)
    found: Any = db.execute(
        f"SELECT s.id, {SEARCHED_TITLE} FROM {rows.text} AS f"
        " CROSS JOIN sessions AS s ON s.id = f.id"
        f" WHERE {where.text} ORDER BY +s.started_at_ms DESC, s.id DESC LIMIT {MOST_TITLED}",
        (*rows.bindings, *where.bindings),
    )
    exact, numbered = list[int](), list[int]()
    for row, title in found.fetchall():
        rest = title[len(text) :]
        if ascii_lower(title) == ascii_lower(text):
            exact.append(row)
        elif _NUMBERED.fullmatch(rest):
            numbered.append(row)
    yield from (*numbered, *exact)


def _spelt(text: str) -> Sql:
    """Return the sessions titled by a text of few characters, alone or with a number behind it.

    Each spelling in capitals and small letters is looked up for itself.
    """
    spellings = {"".join(each) for each in product(*({c.lower(), c.upper()} for c in text))}
    each = (
        f"SELECT s.id FROM sessions AS s WHERE s.trashed_at_ms IS NULL AND {SEARCHED_TITLE} = ?"
        f" UNION ALL SELECT s.id FROM sessions AS s WHERE s.trashed_at_ms IS NULL"
        f" AND {SEARCHED_TITLE} > ? AND {SEARCHED_TITLE} < ?"
    )
    bindings = [value for t in sorted(spellings) for value in (t, f"{t} #", f"{t} #:")]
    return Sql(f"({' UNION ALL '.join([each] * len(spellings))})", tuple(bindings))
