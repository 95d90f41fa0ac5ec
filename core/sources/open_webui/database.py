"""The tables of an Open WebUI database, put together chat by chat."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path

import apsw

from core.errors import SourceError
from core.sources.foreign_rows import Row, Table, Value
from core.sources.json_value import json_value
from core.sources.loose import Json
from core.sources.open_webui import chat
from core.sources.records import BadSourceRecord, ReadTo, Record

SHARED = "shared-"
"""How the owner of a shared copy begins; what follows is the chat that it is a copy of."""

_PROGRESS_ROWS = 100
_JSON = {"chat", "meta"}
_CHAT = (
    "id", "user_id", "title", "chat", "created_at", "updated_at", "share_id", "archived",
    "pinned", "meta", "folder_id", "current_message_id",
)  # fmt: skip
_MESSAGE = {
    "id": "id", "role": "role", "parent_id": "parentId", "content": "content",
    "output": "output", "model_id": "model", "files": "files", "done": "done", "error": "error",
    "usage": "usage", "created_at": "timestamp",
}  # fmt: skip
_MESSAGE_JSON = {"content", "output", "files", "error", "usage"}


class Database:
    """One database while it is read.

    Raises:
        SourceError: it has no table of chats.
    """

    def __init__(self, db: apsw.Connection, path: Path) -> None:
        try:
            self._chats = Table(db, "chat")
        except SourceError as error:
            raise SourceError(f"{path} is no database of Open WebUI", path=str(path)) from error
        self._messages = _table(db, "chat_message")
        self._users = _names(_table(db, "user"))
        self._folders = _names(_table(db, "folder"))

    def records(self) -> Iterator[Record]:
        """Yield everything in the order of the rows of `chat`."""
        rows = self._chats.rows(("id",))
        known = {row.values[0] for row in rows if isinstance(row, Row)}
        places = yield from self._places()
        done = 0
        for row in self._chats.rows(_CHAT):
            if isinstance(row, BadSourceRecord):
                yield row
                continue
            done += 1
            fields = dict(zip(_CHAT, row.values, strict=True))
            owner = fields["user_id"]
            is_copy = isinstance(owner, str) and owner.startswith(SHARED)
            if is_copy and str(owner).removeprefix(SHARED) in known:
                continue
            yield from self._chat(row.rowid, fields, places.get(fields["id"], ()))
            if done % _PROGRESS_ROWS == 0:
                yield ReadTo(done, len(known))
        yield ReadTo(len(known), len(known))

    def _places(self) -> Generator[Record, None, dict[Value, list[int]]]:
        """Yield what is damaged of `chat_message`; return the rows of each chat."""
        places: dict[Value, list[int]] = {}
        for row in self._messages.rows(("chat_id",)) if self._messages else ():
            if isinstance(row, Row):
                places.setdefault(row.values[0], []).append(row.rowid)
            else:
                yield row
        return places

    def _chat(
        self, rowid: int, fields: Mapping[str, Value], places: Sequence[int]
    ) -> Iterator[Record]:
        row: dict[str, object] = {**fields}
        for name in _JSON:
            row[name] = json_value(value) if isinstance(value := fields[name], str) else None
        if not isinstance(row["chat"], dict) and fields["chat"] not in (None, "", "null"):
            yield BadSourceRecord(rowid, "chat: the chat is no JSON object")
        beside = chat.Beside(self._users, self._folders, self._rows(fields["id"], places))
        yield from chat.read(row, f"rowid:{rowid}", beside)

    def _rows(self, chat_id: Value, places: Sequence[int]) -> dict[str, Json]:
        """Return the messages of a chat as its JSON has them, by their ids, oldest first."""
        found: dict[str, Json] = {}
        prefix = f"{chat_id}-"
        for place in places:
            row = self._messages.row(place, tuple(_MESSAGE)) if self._messages else None
            if row is None or not isinstance(row.values[0], str):
                continue
            told = dict(zip(_MESSAGE, row.values, strict=True))
            node = {_MESSAGE[name]: _value(name, value) for name, value in told.items()}
            key = row.values[0].removeprefix(prefix)
            found[key] = {**node, "id": key}
        return found


def _value(name: str, value: Value) -> object:
    """What a column holds: JSON of a text, a list or an object; a flag; or what it says."""
    if name == "done":
        return None if value is None else bool(value)
    if name not in _MESSAGE_JSON or not isinstance(value, str):
        return value
    found = json_value(value)
    return value if found is None and value != "null" else found


def _table(db: apsw.Connection, name: str) -> Table | None:
    """Return a table that not every version has."""
    try:
        return Table(db, name)
    except SourceError:
        return None


def _names(table: Table | None) -> dict[str, str]:
    """Return the names that a table of things gives them, by their ids."""
    rows = table.rows(("id", "name")) if table else ()
    pairs = (row.values for row in rows if isinstance(row, Row))
    return {key: name for key, name in pairs if isinstance(key, str) and isinstance(name, str)}
