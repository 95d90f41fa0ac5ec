"""What the MCP tools answer from the store of one profile, each call on its own connection.

The store is opened anew for each call, and only to be read but for `project_session_move`: so
the server starts without one, sees what other processes stored meanwhile, and holds no file of
it while nothing is asked.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import apsw

from app.cli.documents import (
    call_document,
    operation_document,
    part_document,
    recall_document,
)
from app.cli.mcp_arguments import (
    ReadRequest,
    move_request,
    operation_request,
    project_request,
    read_request,
    recall_request,
)
from app.cli.mcp_pages import (
    PAYLOAD_CHARS,
    Cursor,
    bounded,
    cursor_text,
    digest,
    fitting,
    page_of,
    read_cursor,
)
from app.cli.output import json_text
from core.errors import NotFoundError, QueryError, SchemaTooNewError, StoreError
from core.history import facets
from core.history.bodies import clean
from core.history.messages import message_by_ref, message_text
from core.history.sessions import session_by_id, session_by_ref
from core.index import tokenizer
from core.recall.link import place_of
from core.recall.recall import recall
from core.search.named import said
from core.store import connection, migrations
from core.store.deadline import Deadline, deadline, expire
from core.store.errors import translated
from core.types import Message, RecallRequest
from core.upkeep import ledger, lifecycle

T = TypeVar("T")
Arguments = Mapping[str, Any]

_NEAR_NAMES = 5

CALL_S = 6.0
"""What a call may take in all; a search in it has 3 seconds, and then answers with what it has."""


class Call:
    """One call: work on the store that another thread may stop; `writes` lets it change that."""

    def __init__(self, path: Path, *, writes: bool = False) -> None:
        self._path, self._writes = path, writes
        self._lock = threading.Lock()
        self._limit: Deadline | None = None
        self._is_stopped = False

    def run(self, work: Callable[[apsw.Connection], T]) -> T:
        """Return what `work` makes of one state of the store.

        Raises:
            CoreError: the store cannot be read, or not as asked.
            TimeoutError: it took too long, or was stopped.
        """
        try:
            with (
                translated(self._path),
                _opened(self._path, writes=self._writes) as db,
                deadline(db, CALL_S) as limit,
            ):
                self._watch(limit)
                with connection.transaction(db) if self._writes else connection.snapshot(db):
                    return work(db)
        except apsw.InterruptError:
            raise TimeoutError(f"this took longer than {CALL_S:.0f} s and was stopped") from None

    def stop(self) -> None:
        """Interrupt the work, whether it has begun or not."""
        with self._lock:
            self._is_stopped = True
            if self._limit is not None:
                expire(self._limit)

    def _watch(self, limit: Deadline) -> None:
        with self._lock:
            self._limit = limit
            if self._is_stopped:
                expire(limit)


def session_search(db: apsw.Connection, given: Arguments) -> str:
    """Return a page of what was recalled, as JSON of at most `PAYLOAD_CHARS` characters.

    Raises:
        CoreError: an argument, or what it names, is not to be had; the cursor is another's.
    """
    return _recalled(db, given, recall_request)


def project_history_search(db: apsw.Connection, given: Arguments) -> str:
    """Return the same of one project alone, which there must be.

    Raises:
        CoreError: as `session_search`; there is no such project, or the session is not in it.
    """
    return _recalled(db, given, partial(_request_of_project, db))


def project_session_move(db: apsw.Connection, given: Arguments) -> str:
    """Move a session to a project, in the caller's transaction; tell how it is taken back.

    Raises:
        CoreError: an argument, or what it names, is not to be had.
    """
    wanted = move_request(given)
    session = session_by_ref(db, place_of(wanted.session).session)
    done = lifecycle.move(db, [session.id], wanted.project, "agent")
    moved = session_by_id(db, session.id)
    return json_text(
        {
            "operation": done.id,
            "outcome": done.outcome,
            "session": moved.ref,
            "project": moved.project,
            "project_before": session.project,
            "undo": f"backscroll operations undo {done.id}",
        }
    )


def _request_of_project(db: apsw.Connection, given: Arguments, now_ms: int) -> RecallRequest:
    """Return a request within a project, or say that there is none of this name."""
    request = project_request(given, now_ms)
    (project,) = request.projects
    known = [name for name, _ in facets.projects(db)]
    if clean(project) not in known:
        near = [name for name in known if _is_near(name, project)][:_NEAR_NAMES]
        hint = f"; there is {', '.join(map(said, near))}" if near else ""
        raise NotFoundError(f"no project is named {said(project)}{hint}")
    if request.session is not None:
        session = session_by_ref(db, clean(place_of(request.session).session))
        if session.project != project:
            raise NotFoundError(
                f"the session {said(session.ref)} is not in the project {said(project)}"
            )
    return request


def _is_near(name: str, wanted: str) -> bool:
    one, other = name.casefold(), wanted.casefold()
    return one in other or other in one


def _recalled(
    db: apsw.Connection, given: Arguments, request_of: Callable[[Arguments, int], RecallRequest]
) -> str:
    asked = {name: value for name, value in given.items() if value is not None}
    token = asked.pop("cursor", None)
    asked_digest = digest(sorted(asked.items()))
    cursor = None if token is None else _cursor_of(token, asked_digest)
    now_ms = time.time_ns() // 1_000_000 if cursor is None else cursor.now_ms
    request = request_of(asked, now_ms)
    found = recall(db, request)
    answer = bounded(recall_document(request, found))
    answer_digest = digest(answer["results"])
    if cursor is not None and cursor.answer != answer_digest:
        raise QueryError("the store has changed, and so has the answer: ask without the cursor")
    page = page_of(answer, 0 if cursor is None else cursor.position)
    if page.end is not None:
        following = Cursor(asked_digest, answer_digest, now_ms, page.end)
        page.document["cursor"] = cursor_text(following)
    return json_text(page.document)


def read_message(db: apsw.Connection, given: Arguments) -> str:
    """Return a part of one text of a message, as JSON of at most `PAYLOAD_CHARS` characters.

    Raises:
        CoreError: an argument, or what it names, is not to be had.
    """
    wanted = read_request(given)
    session = session_by_ref(db, place_of(wanted.session).session)
    message = message_by_ref(db, session.id, wanted.message)
    text, total = _part(db, message, wanted)
    document = part_document(session, message, "", wanted.offset, total)
    document |= {"part": wanted.part, "role": message.role.value, "text": ""}
    room = PAYLOAD_CHARS - len(json_text(document)) - 2 * len(str(total))
    shown = fitting(text, room) if text else ""
    return json_text(document | part_document(session, message, shown, wanted.offset, total))


def get_operation(db: apsw.Connection, given: Arguments) -> str:
    """Return one line of the ledger, as JSON of at most `PAYLOAD_CHARS` characters.

    Raises:
        CoreError: the argument is none, or there is no such operation.
    """
    document = operation_document(ledger.get(db, operation_request(given)))
    text = json_text(document)
    if len(text) > PAYLOAD_CHARS:
        text = json_text(document | {"receipt": {}, "receipt_left_out": True})
    return text


def _part(db: apsw.Connection, message: Message, wanted: ReadRequest) -> tuple[str, int]:
    """Return what is wanted of a text of a message, and the length of the whole text."""
    if wanted.part == "content":
        return message_text(db, message.id, offset=wanted.offset, chars=wanted.chars)
    if wanted.part == "reasoning":
        text = message.reasoning or ""
    else:
        text = json_text([call_document(call) for call in message.tool_calls])
    return text[wanted.offset : wanted.offset + wanted.chars], len(text)


def _cursor_of(token: Any, asked_digest: bytes) -> Cursor:
    if not isinstance(token, str):
        raise QueryError("cursor must be the text of an earlier answer")
    cursor = read_cursor(token)
    if cursor.request != asked_digest:
        raise QueryError("the cursor belongs to other arguments: pass the same ones, or none")
    return cursor


@contextmanager
def _opened(path: Path, *, writes: bool = False) -> Iterator[apsw.Connection]:
    """Give a connection that can only read, unless it `writes`; a schema is never changed.

    Raises:
        StoreError: there is no store, or it has another schema than this version reads.
    """
    if not os.path.lexists(path):
        raise StoreError("nothing is stored yet for this profile: run `backscroll import` first")
    opening = connection.open_writer if writes else connection.open_reader
    db = opening(path, tokenizer=tokenizer.locate())
    try:
        _require_our_schema(migrations.schema_version(db))
        yield db
    finally:
        db.close()


def _require_our_schema(found: int) -> None:
    """Refuse what a person would be warned of: a model cannot tell what such an answer lacks."""
    if found > migrations.NEWEST:
        raise SchemaTooNewError(
            found, migrations.NEWEST, "start this server again with the version that wrote it"
        )
    if found < migrations.NEWEST:
        raise StoreError(
            f"the store has schema {found}, this version reads {migrations.NEWEST}: run"
            " `backscroll status` once, which brings it up to date"
        )
