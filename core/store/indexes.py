"""What each full-text index holds, and the triggers that keep it so.

An index is an FTS5 table over a view (external content): FTS5 stores no text, but it must be
told, for every row that leaves, the very text that it was given. A `delete` of a row that was
never indexed breaks ranking silently, so every one is gated by the index's docsize table,
which has one row for each row indexed (https://www.sqlite.org/fts5.html, section 4.4.3).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import apsw

from core.store import keys
from core.store.tokenizer_probe import ARGUMENTS, TOKENIZER
from core.text import INDEXED_CHARS, TOOL_INDEXED_CHARS
from core.types import IndexName, MessageState, Role
from core.unicode61 import tokenize_option

CJK: IndexName = "messages_fts_cjk"
NEVER_BUILT = "the CJK tokenizer has not been there yet"

ToolRows = Literal["all", "with cjk", "none"]


@dataclass(frozen=True, slots=True)
class Index:
    """One index over `messages`: its columns and which rows it holds.

    `tool_rows` tells which tool messages are held; superseded revisions never are.
    """

    name: IndexName
    columns: tuple[str, ...]
    tokenizer: tuple[str, ...]
    tool_rows: ToolRows
    detail: Literal["full", "none"] = "full"

    @property
    def docsize(self) -> str:
        """The shadow table with one row for each row indexed."""
        return f"{self.name}_docsize"

    @property
    def view(self) -> str:
        """The view whose rows the index should hold."""
        return f"{self.name}_rows"

    def eligible(self, row: str) -> str:
        """Return SQL that is true for a row of `messages` the index should hold."""
        has_cjk = f"({row}.text_flags & {keys.HAS_CJK}) <> 0"
        held = self._fits(f"{row}.role <> 'tool'", has_cjk)
        return f"({row}.state <> 'superseded' AND {held})"

    def eligible_key(self, row: str) -> str:
        """Return the same for a row of `message_keys`."""
        superseded = keys.STATE_BITS[MessageState.SUPERSEDED]
        spoken = f"({row}.flags & {keys.ROLE_MASK}) <> {keys.ROLE_BITS[Role.TOOL]}"
        held = self._fits(spoken, f"({row}.flags & {keys.HAS_CJK_FLAG}) <> 0")
        return f"(({row}.flags & {keys.STATE_MASK}) <> {superseded} AND {held})"

    def eligible_of(self, counts: Mapping[int, int]) -> int:
        """Return how many rows that is true for, from `keys.counts`."""
        shown = frozenset(MessageState) - {MessageState.SUPERSEDED}
        tool = frozenset({Role.TOOL})
        found = keys.total(counts, roles=frozenset(Role) - tool, states=shown)
        if self.tool_rows != "none":
            flags = keys.HAS_CJK_FLAG if self.tool_rows == "with cjk" else 0
            found += keys.total(counts, roles=tool, states=shown, flags=flags)
        return found

    def _fits(self, is_spoken: str, has_cjk: str) -> str:
        rows = {"all": "true", "with cjk": f"({is_spoken} OR {has_cjk})", "none": is_spoken}
        return rows[self.tool_rows]

    def values(self, row: str) -> tuple[str, ...]:
        """Return SQL for the text of each column, for a row of `messages`."""
        return tuple(self._value(column, row) for column in self.columns)

    def _value(self, column: str, row: str) -> str:
        if column == "tool_name":
            return f"coalesce({row}.tool_name, '')"
        if column == "tool_calls":
            return f"coalesce({row}.tool_calls_text, '')"
        cap = f"CASE {row}.role WHEN 'tool' THEN {TOOL_INDEXED_CHARS} ELSE {INDEXED_CHARS} END"
        return f"substr(coalesce({row}.search_text, {row}.content), 1, {cap})"

    def changed(self) -> str:
        """Return SQL that is true for an update after which the index must read the row anew."""
        pairs = zip(
            (self.eligible("old"), *self._sources("old")),
            (self.eligible("new"), *self._sources("new")),
            strict=True,
        )
        return " OR ".join(f"{old} IS NOT {new}" for old, new in pairs)

    def _sources(self, row: str) -> tuple[str, ...]:
        texts = (f"{row}.content", f"{row}.search_text", f"{row}.tool_name", f"{row}.role")
        return (*texts, f"{row}.tool_calls_text") if "tool_calls" in self.columns else texts


INDEXES: dict[IndexName, Index] = {
    index.name: index
    for index in (
        Index(
            "messages_fts",
            ("content", "tool_name", "tool_calls"),
            ("unicode61", *ARGUMENTS),
            tool_rows="all",
        ),
        Index(
            "messages_fts_trigram",
            ("content", "tool_name", "tool_calls"),  # what one index finds, every index finds
            ("trigram",),
            tool_rows="none",
            detail="none",
        ),
        Index(
            CJK,
            ("content", "tool_name", "tool_calls"),
            (TOKENIZER, *ARGUMENTS),
            tool_rows="with cjk",
        ),
    )
}


def create_view(db: apsw.Connection, index: Index) -> None:
    """Create the view that the index reads its texts from; it reads `messages` alone."""
    values = ", ".join(
        f"{value} AS {column}"
        for column, value in zip(index.columns, index.values("m"), strict=True)
    )
    db.execute(
        f"CREATE VIEW {index.view} AS SELECT m.id AS id, {values}"
        f" FROM messages AS m WHERE {index.eligible('m')}"
    )


def create_table(db: apsw.Connection, index: Index) -> None:
    """Create the empty index; its tokenizer must be known to `db`."""
    columns = ", ".join(index.columns)
    db.execute(
        f"CREATE VIRTUAL TABLE {index.name} USING fts5({columns},"
        f" content = '{index.view}', content_rowid = 'id',"
        f" {tokenize_option(index.tokenizer)}, detail = {index.detail})"
    )


def table_exists(db: apsw.Connection, index: Index) -> bool:
    """Tell whether the index was ever created."""
    found = db.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (index.name,)).get
    return found is not None


def delete_sql(index: Index, values: str, source: str) -> str:
    """Return SQL that takes rows out of the index: `values` are (rowid, texts) of `source`."""
    columns = ", ".join(("rowid", *index.columns))
    return f"INSERT INTO {index.name}({index.name}, {columns}) SELECT 'delete', {values} {source}"


def install_live_triggers(db: apsw.Connection, index: Index) -> None:
    """Have every change of `messages` change the index in the same transaction."""
    drop_triggers(db, index)
    columns = ", ".join(("rowid", *index.columns))
    new = ", ".join(("new.id", *index.values("new")))
    old = ", ".join(("old.id", *index.values("old")))
    is_indexed = f"EXISTS (SELECT 1 FROM {index.docsize} WHERE id = old.id)"
    leave = delete_sql(index, old, f"WHERE {is_indexed}")
    db.execute(
        f"CREATE TRIGGER {index.name}_ai AFTER INSERT ON messages WHEN {index.eligible('new')}"
        f" BEGIN INSERT INTO {index.name}({columns}) VALUES ({new}); END"
    )
    db.execute(
        f"CREATE TRIGGER {index.name}_ad AFTER DELETE ON messages WHEN {is_indexed}"
        f" BEGIN {delete_sql(index, old, '')}; END"
    )
    db.execute(
        f"CREATE TRIGGER {index.name}_au AFTER UPDATE ON messages WHEN {index.changed()}"
        f" BEGIN {leave};"
        f" INSERT INTO {index.name}({columns}) SELECT {new} WHERE {index.eligible('new')}; END"
    )


def install_queue_triggers(db: apsw.Connection, index: Index) -> None:
    """Have every change of `messages` noted in `index_queue` instead.

    A queue row keeps the texts the index was given, so that they can be taken out later; the
    first change of a row wins. An index that was never created needs no notes.
    """
    drop_triggers(db, index)
    if not table_exists(db, index):
        return
    texts = ("text", "tool_name", "tool_calls")[: len(index.columns)]
    into = f"INSERT INTO index_queue(index_name, id, was_indexed, {', '.join(texts)})"
    is_indexed = f"EXISTS (SELECT 1 FROM {index.docsize} WHERE id = old.id)"
    old = ", ".join(f"CASE WHEN {is_indexed} THEN {value} END" for value in index.values("old"))
    note = f"{into} SELECT '{index.name}', old.id, {is_indexed}, {old} WHERE true"
    db.execute(
        f"CREATE TRIGGER {index.name}_qi AFTER INSERT ON messages WHEN {index.eligible('new')}"
        f" BEGIN INSERT INTO index_queue(index_name, id, was_indexed)"
        f" VALUES ('{index.name}', new.id, 0) ON CONFLICT DO NOTHING; END"
    )
    db.execute(
        f"CREATE TRIGGER {index.name}_qu AFTER UPDATE ON messages WHEN {index.changed()}"
        f" BEGIN {note} ON CONFLICT DO NOTHING; END"
    )
    db.execute(
        f"CREATE TRIGGER {index.name}_qd AFTER DELETE ON messages WHEN {is_indexed}"
        f" BEGIN {note} ON CONFLICT DO NOTHING; END"
    )


def drop_triggers(db: apsw.Connection, index: Index) -> None:
    """Leave the index without triggers of either kind."""
    for suffix in ("ai", "ad", "au", "qi", "qd", "qu"):
        db.execute(f"DROP TRIGGER IF EXISTS {index.name}_{suffix}")


TITLES_TABLE = """
CREATE VIRTUAL TABLE sessions_fts USING fts5(title, content = 'sessions_fts_rows',
  content_rowid = 'id', tokenize = 'trigram', detail = none);
"""
TITLES_TRIGGERS = """
CREATE TRIGGER sessions_fts_ai AFTER INSERT ON sessions
BEGIN
  INSERT INTO sessions_fts(rowid, title) VALUES (new.id, coalesce(new.search_title, new.title));
END;
CREATE TRIGGER sessions_fts_ad AFTER DELETE ON sessions
  WHEN EXISTS (SELECT 1 FROM sessions_fts_docsize WHERE id = old.id)
BEGIN
  INSERT INTO sessions_fts(sessions_fts, rowid, title)
    VALUES ('delete', old.id, coalesce(old.search_title, old.title));
END;
CREATE TRIGGER sessions_fts_au AFTER UPDATE ON sessions
  WHEN coalesce(old.search_title, old.title) IS NOT coalesce(new.search_title, new.title)
BEGIN
  INSERT INTO sessions_fts(sessions_fts, rowid, title)
    SELECT 'delete', old.id, coalesce(old.search_title, old.title)
    WHERE EXISTS (SELECT 1 FROM sessions_fts_docsize WHERE id = old.id);
  INSERT INTO sessions_fts(rowid, title) VALUES (new.id, coalesce(new.search_title, new.title));
END;
"""
TITLES = f"""
CREATE VIEW sessions_fts_rows AS SELECT id, coalesce(search_title, title) AS title FROM sessions;
{TITLES_TABLE}
{TITLES_TRIGGERS}
"""
