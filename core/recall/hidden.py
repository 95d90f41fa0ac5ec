"""What a store says of an id, a title or a phrase: which sessions fit, and what hides them."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from core.errors import StoreError
from core.history import legacy_imports, tombstones, watched
from core.history.sessions import SEARCHED_TITLE, sessions_by_id
from core.recall.families import Families
from core.recall.link import place_of
from core.search.run import search
from core.source_types import AbsenceFinding, WatchedPlace
from core.store.listing import LISTED_KINDS
from core.store.migrations import schema_version
from core.text import project
from core.types import MessageState, Relation, SearchRequest, Session

MOST_SESSIONS = 10
_SHORTEST_PREFIX = 4
_PLACES_SINCE = 5  # m0005
_LIKE_ESCAPES = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})
_TAKEN_BACK = {
    MessageState.REWOUND: "was taken back with a rewind",
    MessageState.HIDDEN: "was hidden by its source",
    MessageState.OFF_BRANCH: "is on a branch that was left",
    MessageState.COMPACTED: "was compacted away",
    MessageState.SUPERSEDED: "is an earlier text of a message that was changed",
    MessageState.TRASHED: "is in the trash",
}


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that was read: how, and which lines of it could not be. Lines are 1-based."""

    state: str
    size: int
    mtime_ns: int
    error: str
    bad: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """What the store knows. `is_deleted` tells of a session's name whether the user deleted it.

    `left_alone` are files that are moved in completely and not opened any more.
    """

    findings: tuple[AbsenceFinding, ...]
    sessions: tuple[Session, ...]
    files: dict[str, StoredFile]
    watched: tuple[WatchedPlace, ...]
    is_deleted: Callable[[str], bool]
    messages: int = 0
    complete: bool = True
    reason: str = ""
    left_alone: frozenset[str] = frozenset()


def in_store(db: apsw.Connection, text: str, deadline_s: float = 2.0) -> Stored:
    """Look for a text in the store as the id of a session, as a title, and as a phrase.

    Everything is looked at, in the trash and taken back too. Milliseconds, and `deadline_s` for
    a phrase that no index answers; what was cut short is said.
    """
    wanted = place_of(text)
    asked = wanted.session.strip()
    rows = dict.fromkeys(_by_id(db, asked), "")
    rows |= {row: "" for row in _by_title(db, asked) if row not in rows}
    complete, reason, messages = True, "", 0
    if asked:
        request = SearchRequest(
            query=_phrase(asked),
            limit=50,
            include=frozenset({"rewound", "hidden", "tool", "trash"}),
            inside_words=True,
            deadline_s=deadline_s,
        )
        found = search(db, request)
        messages = found.messages_searched
        complete, reason = found.complete, found.reason or ""
        for hit in found.hits:
            told = "" if hit.state == MessageState.ACTIVE else _TAKEN_BACK[hit.state]
            if len(rows) < MOST_SESSIONS or hit.session_id in rows:
                rows[hit.session_id] = rows.get(hit.session_id, told) and told
    sessions = sessions_by_id(db, list(rows)[:MOST_SESSIONS])
    findings = [each for row in sessions for each in _of(db, sessions[row], rows[row])]
    is_deleted, trouble = _deleted(db)
    if is_deleted(asked):
        findings.append(_of_deleted(asked))
    is_old = schema_version(db) < _PLACES_SINCE
    moved_in = {} if is_old else legacy_imports.states(db)
    return Stored(
        findings=tuple(findings),
        sessions=tuple(sessions.values()),
        files=_files(db),
        watched=() if is_old else watched.places(db),
        is_deleted=is_deleted,
        messages=messages,
        complete=complete and not trouble,
        reason=trouble or reason,
        left_alone=frozenset(path for path, each in moved_in.items() if each.complete),
    )


def _of_deleted(name: str) -> AbsenceFinding:
    return AbsenceFinding(
        "deleted",
        f"You deleted the session {name} for good, so no import brings it back.",
        f"backscroll trash forget {name}, then import its source again",
        facts={"session": name},
    )


def _of(db: apsw.Connection, session: Session, taken_back: str) -> Iterator[AbsenceFinding]:
    """Yield why a session is not seen, the strongest reason first; else that it is."""
    reasons = list(_reasons(session))
    if taken_back and not reasons:
        yield AbsenceFinding(
            "taken_back",
            f"The text {taken_back} in {session.ref}; it is searched only when asked for.",
            "include what was taken back, or search --everything",
            session,
            facts={"why": taken_back},
        )
    yield from reasons
    if not reasons and not taken_back:
        yield AbsenceFinding(
            "visible",
            f"It is in the store and can be seen: {session.ref}, {_named(session)}.",
            f"backscroll show {session.ref}",
            session,
        )
    yield from _of_thrown_away(db, session)
    yield from _of_lineage(db, session)
    yield from _of_source(db, session)


def _reasons(session: Session) -> Iterator[AbsenceFinding]:
    ref = session.ref
    if session.trashed_at_ms is not None:
        yield AbsenceFinding(
            "trashed",
            f"{ref}, {_named(session)}, is in the trash.",
            f"backscroll trash restore {ref}",
            session,
            facts={"since_ms": session.trashed_at_ms},
        )
    if session.archived_at_ms is not None:
        yield AbsenceFinding(
            "archived",
            f"{ref}, {_named(session)}, is archived: lists leave it out, search finds it.",
            f"backscroll sessions unarchive {ref}",
            session,
            facts={"since_ms": session.archived_at_ms},
        )
    if session.kind not in LISTED_KINDS:
        yield AbsenceFinding(
            "kind",
            f"{ref} is a session of the kind {session.kind}: lists leave those out.",
            f"backscroll show {ref}",
            session,
            facts={"kind": str(session.kind)},
        )
    if not session.message_count:
        yield AbsenceFinding(
            "empty",
            f"{ref} has no message that is shown, so lists leave it out.",
            f"backscroll show {ref}",
            session,
        )


def _of_thrown_away(db: apsw.Connection, session: Session) -> Iterator[AbsenceFinding]:
    """Yield that messages of a session that is not itself in the trash are there."""
    if session.trashed_at_ms is not None:
        return
    count, operation = db.execute(
        "SELECT count(*), max(thrown_by) FROM"
        " (SELECT trashed_by AS thrown_by FROM trashed_messages WHERE session_id = ?1 UNION ALL"
        " SELECT cleared_by FROM cleared_places WHERE session_id = ?1)",
        (session.id,),
    ).get
    if count:
        back = f" restore --operation {operation}" if operation is not None else " list"
        are = "message of it is" if count == 1 else "messages of it are"
        yield AbsenceFinding(
            "trashed",
            f"{session.ref}: {count:,} {are} in the trash.",
            f"backscroll trash{back}",
            session,
            facts={"messages": count},
        )


def _of_lineage(db: apsw.Connection, session: Session) -> Iterator[AbsenceFinding]:
    if session.relation in (None, Relation.RESET) or session.trashed_at_ms is not None:
        return
    families = Families(db)
    root = families.root(session.id)
    if root == session.id:
        return
    first = sessions_by_id(db, [root])[root]
    yield AbsenceFinding(
        "lineage",
        f"{session.ref} belongs to the conversation {first.ref}, {_named(first)}:"
        f" it is a {session.relation} of it, and recall tells both as one.",
        f"backscroll recall --session {first.ref}",
        session,
        facts={"parent": first.ref, "relation": str(session.relation)},
    )


def _of_source(db: apsw.Connection, session: Session) -> Iterator[AbsenceFinding]:
    if session.gone_at_ms is not None:
        yield AbsenceFinding(
            "gone",
            f"The source of {session.ref} no longer has it; what was read of it is kept here.",
            "",
            session,
            facts={"since_ms": session.gone_at_ms},
        )
    name, enabled = db.execute(
        "SELECT r.display_name, r.enabled FROM sessions AS s JOIN sources AS r"
        " ON r.id = s.source_id WHERE s.id = ?",
        (session.id,),
    ).get
    if not enabled:
        yield AbsenceFinding(
            "removed",
            f"The source {name} of {session.ref} was removed: nothing new is read from it.",
            "import its place again",
            session,
            facts={"source": str(name)},
        )


def _by_id(db: apsw.Connection, text: str) -> list[int]:
    """Return sessions of this id, ref or beginning of an id, and those that show such a message."""
    source, _, native_id = text.partition("/")
    exact: list[Any] = db.execute(
        "SELECT s.id FROM sessions AS s JOIN sources AS r ON r.id = s.source_id"
        " WHERE s.native_id = ?1 OR (s.native_id = ?2 AND ?3 IN (r.kind, r.kind || '#' || r.id))",
        (text, native_id, source),
    ).fetchall()
    if not exact and len(text) >= _SHORTEST_PREFIX and not any(map(str.isspace, text)):
        exact = db.execute(
            "SELECT id FROM sessions WHERE native_id >= ?1 AND native_id < ?1 || ?2"
            " ORDER BY native_id LIMIT ?3",
            (text, "\U0010ffff", MOST_SESSIONS),
        ).fetchall()
    shown: list[Any] = db.execute(
        "SELECT p.session_id FROM sources AS r CROSS JOIN messages AS m"
        " ON m.source_id = r.id AND m.uid = ? CROSS JOIN message_placements AS p"
        " ON p.message_id = m.id LIMIT ?",
        (text, MOST_SESSIONS),
    ).fetchall()
    return [row for (row,) in (*exact, *shown)]


def _by_title(db: apsw.Connection, text: str) -> list[int]:
    """Return sessions whose title holds the text, the newest first, in the trash too."""
    folded = project(text).strip()
    if not folded:
        return []
    rows: list[Any] = db.execute(
        f"SELECT s.id FROM sessions AS s WHERE {SEARCHED_TITLE} LIKE ? ESCAPE '\\'"
        " ORDER BY s.last_active_at_ms DESC, s.id DESC LIMIT ?",
        (f"%{folded.translate(_LIKE_ESCAPES)}%", MOST_SESSIONS),
    ).fetchall()
    return [row for (row,) in rows]


def _phrase(text: str) -> str:
    """Return a query for the text as it stands."""
    return '"' + " ".join(text.replace('"', " ").split()) + '"'


def _deleted(db: apsw.Connection) -> tuple[Callable[[str], bool], str]:
    """Return what tells whether the user deleted the session of a name, and why it cannot."""
    macs = {
        bytes(mac)
        for (mac,) in db.execute("SELECT session_mac FROM tombstones WHERE message_mac IS NULL")
    }
    named: list[Any] = db.execute("SELECT kind, instance FROM sources").fetchall()
    if not macs:
        return _never, ""
    try:
        key = tombstones.read_key(Path(db.filename).parent)
    except StoreError as error:
        return _never, str(error)

    def is_deleted(name: str) -> bool:
        return any(tombstones.mac(key, kind, instance, name) in macs for kind, instance in named)

    return is_deleted, ""


def _never(_name: str) -> bool:
    return False


def _files(db: apsw.Connection) -> dict[str, StoredFile]:
    return {
        path: StoredFile(
            state, size, mtime_ns, error or "", tuple((line, why) for line, why in json.loads(bad))
        )
        for path, state, size, mtime_ns, error, bad in db.execute(
            "SELECT path, state, size, mtime_ns, error, bad_records FROM source_files"
        )
    }


def _named(session: Session) -> str:
    return f"“{session.title}”" if session.title else "without a title"
