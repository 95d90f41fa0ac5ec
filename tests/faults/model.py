"""A store and, beside it, what each of its indexes must answer, kept as plain Python values."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw

from core.index import backfill, reference
from core.index.backfill import Pace
from core.index.state import new_holder, release
from core.store import attachment
from core.store.connection import (
    open_store,
    open_writer,
    tokenizer_fingerprint,
    transaction,
)
from core.store.indexes import CJK, INDEXES
from core.store.tokenizer_probe import ARGUMENTS
from core.types import INDEX_NAMES, MessageState, Role
from tests.faults import truth
from tests.unit.store.making import library, message, path_at, store_at, store_messages

WORDS = {
    "kestrel": "kestrel",
    "Osaka": "Osaka",
    "Ñandú": "nandu",
    "ＡＢ１": "AB1",
    "电影订阅成功": "电影订阅成功",
    "订阅": "订阅",
    "nginx服务": "nginx服务",
    "日本語のテスト": "日本語のテスト",
    "ответ": "ответ",
    "don't": "don't",
}
"""Words as they are written and as they can be searched, by the rules of the store's design."""

MOST_ROWS = 150
_TEXT_COLUMNS = ("content", "search_text", "text_flags")
STATES = (MessageState.ACTIVE, MessageState.REWOUND, MessageState.HIDDEN, MessageState.TRASHED)


@dataclass
class Row:
    """A message as the indexes see it."""

    role: str
    state: str
    text: str
    tool_name: str = ""
    calls: str = ""

    @property
    def has_cjk(self) -> bool:
        """Whether a tool row belongs to the CJK index."""
        return any("\u3000" < char < "\ua000" for char in self.text)


class Pair:
    """A store and its model; `steps` changes both, `differences` compares them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        self.rows: dict[int, Row] = {}
        self.path = path_at(folder)
        self.db = store_at(folder)
        self._number = 0
        self._cut: dict[tuple[str, tuple[str, ...]], set[str]] = {}
        plain = apsw.Connection(":memory:")
        self._unicode61 = plain.fts5_tokenizer("unicode61", list(ARGUMENTS))

    def step(self) -> str:
        """Do one random thing; return its name."""
        actions, weights = zip(*self._weighted(), strict=True)
        action: Callable[[apsw.Connection], None]
        (action,) = self.rng.choices(actions, weights)
        action(self.db)
        return action.__name__.strip("_")

    def _weighted(self) -> Iterator[tuple[Callable[[apsw.Connection], None], int]]:
        yield from ((self._insert, 30), (self._update, 20), (self._delete, 10))
        yield from ((self._change_state, 10), (self._upsert, 6), (self._replace, 4))
        yield from ((self._retool, 4), (self._fill, 18), (self._empty, 1), (self._settle, 1))
        yield from ((self._write_without_tokenizer, 2), (self._roll_back, 3), (self._reopen, 1))

    # What may happen to messages

    def _insert(self, db: apsw.Connection) -> None:
        while len(self.rows) > MOST_ROWS:
            self._delete(db)
        records = []
        for _ in range(self.rng.randrange(1, 6)):
            self._number += 1
            role = self.rng.choice((Role.USER, Role.ASSISTANT, Role.TOOL, Role.SYSTEM))
            written, searchable = self._text()
            row = Row(role, "active", searchable, "shell" if role == Role.TOOL else "")
            self.rows[self._next_id(db) + len(records)] = row
            more = {"tool_name": row.tool_name} if row.tool_name else {}
            records.append(message(f"u{self._number}", written, role=role, **more))
        store_messages(db, *records)

    def _update(self, db: apsw.Connection) -> None:
        if self.rows:
            row_id = self._any()
            written, searchable = self._text()
            with transaction(db):
                self._write(db, row_id, written, searchable)
                self.rows[row_id].text = searchable

    def _write(self, db: apsw.Connection, row_id: int, written: str, searchable: str) -> None:
        kept = None if written == searchable else searchable
        has_cjk = Row("", "", searchable).has_cjk
        db.execute(
            "UPDATE messages SET content = ?, search_text = ?, text_flags = ? WHERE id = ?",
            (written, kept, int(has_cjk), row_id),
        )

    def _delete(self, db: apsw.Connection) -> None:
        if self.rows:
            row_id = self._any()
            with transaction(db):
                db.execute("DELETE FROM message_placements WHERE message_id = ?", (row_id,))
                db.execute("DELETE FROM messages WHERE id = ?", (row_id,))
                del self.rows[row_id]

    def _change_state(self, db: apsw.Connection) -> None:
        """Also to and from what no index holds."""
        if self.rows:
            row_id = self._any()
            state = self.rng.choice((*STATES, MessageState.SUPERSEDED))
            with transaction(db):
                db.execute("UPDATE messages SET state = ? WHERE id = ?", (state, row_id))
                self.rows[row_id].state = state

    def _retool(self, db: apsw.Connection) -> None:
        """Change the role and what a tool was called with."""
        if self.rows:
            row_id, row = self._any(), None
            row = self.rows[row_id]
            row.role = self.rng.choice((Role.USER, Role.TOOL))
            row.calls = self.rng.choice(("", "grep kestrel", "ls -la"))
            with transaction(db):
                db.execute(
                    "UPDATE messages SET role = ?, tool_calls_text = ? WHERE id = ?",
                    (row.role, row.calls or None, row_id),
                )

    def _upsert(self, db: apsw.Connection) -> None:
        changes = ", ".join(f"{name} = excluded.{name}" for name in _TEXT_COLUMNS)
        self._insert_again(db, "INSERT", f" ON CONFLICT(id) DO UPDATE SET {changes}")

    def _replace(self, db: apsw.Connection) -> None:
        """As a foreign program would; with recursive triggers the old row leaves the indexes."""
        self._insert_again(db, "REPLACE", "")

    def _insert_again(self, db: apsw.Connection, verb: str, conflict: str) -> None:
        if not self.rows:
            return
        row_id = self._any()
        written, searchable = self._text()
        kept = None if written == searchable else searchable
        flags = int(Row("", "", searchable).has_cjk)
        columns = [name for (_, name, *_) in db.execute("PRAGMA table_info(messages)")]
        new = dict(zip(_TEXT_COLUMNS, (":written", ":kept", ":flags"), strict=True))
        values = ", ".join(new.get(name, name) for name in columns)
        with transaction(db):
            db.execute(
                f"{verb} INTO messages({', '.join(columns)}) SELECT {values} FROM messages"
                f" WHERE id = :id{conflict}",
                {"written": written, "kept": kept, "flags": flags, "id": row_id},
            )
            self.rows[row_id].text = searchable

    # What may happen to indexes

    def _fill(self, db: apsw.Connection) -> None:
        holder, name = new_holder(), self.rng.choice(INDEX_NAMES)
        with transaction(db):
            backfill.step(db, name, Pace(text_bytes=self.rng.choice((50, 400, 4_000))), holder)
        with transaction(db):
            release(db, holder)

    def _settle(self, db: apsw.Connection) -> None:
        for _ in backfill.run_sync(db, new_holder()):
            pass

    def _empty(self, db: apsw.Connection) -> None:
        name = self.rng.choice(INDEX_NAMES)
        if name == CJK and self._state(CJK) in ("detached", "stale"):
            return
        with transaction(db):
            own = tokenizer_fingerprint(db) if name == CJK else None
            attachment.rebuild(db, INDEXES[name], own)

    def _write_without_tokenizer(self, db: apsw.Connection) -> None:
        """Another program without the tokenizer does something: the CJK index is detached."""
        other = open_writer(self.path, tokenizer=None)
        self.rng.choice((self._insert, self._update, self._delete, self._replace))(other)
        other.close()

    def _roll_back(self, db: apsw.Connection) -> None:
        """What was begun and not committed when a process died leaves no trace."""
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE messages SET content = 'never committed kestrel', search_text = NULL")
        db.execute("ROLLBACK")

    def _reopen(self, db: apsw.Connection) -> None:
        db.close()
        self.db = open_store(self.path, library())

    # What must hold

    def differences(self, questions: int) -> Iterator[str]:
        """Ask some words of every index that answers, and compare with the model."""
        for name in INDEX_NAMES:
            state = self._state(name)
            if state in ("detached", "stale"):
                continue
            held = truth.held(self.db, INDEXES[name])
            if not held <= (wanted := self._eligible(name)):
                yield f"{name} holds {held - wanted}"
            if state in ("ready", "settling") and held != wanted:
                yield f"{name} is {state} and lacks {wanted - held}"
            texts = {row: self._tokens(name, self.rows[row]) for row in held & wanted}
            asked = sorted(set().union(*texts.values(), {"xyz"}))
            for token in self.rng.sample(asked, min(len(asked), questions)):
                expected = {row for row, tokens in texts.items() if token in tokens}
                sql = f"SELECT rowid FROM {name} WHERE {name} MATCH ?"
                quoted = '"' + token.replace('"', '""') + '"'
                found = {row for (row,) in self.db.execute(sql, (quoted,))}
                if found != expected:
                    yield f"{name} answers {sorted(found ^ expected)} wrongly for {token!r}"

    def check_rows(self) -> list[str]:
        """Compare the rows, and let SQLite compare every posting of what is complete."""
        with transaction(self.db):
            self.db.execute(RECOUNT)
        stored = {
            row_id: Row(*values)
            for row_id, *values in self.db.execute(
                "SELECT id, role, state, coalesce(search_text, content), coalesce(tool_name, ''),"
                " coalesce(tool_calls_text, '') FROM messages"
            )
        }
        return [*truth.problems(self.db), *([] if stored == self.rows else ["other rows"])]

    def _eligible(self, name: str) -> set[int]:
        shown = {row_id: row for row_id, row in self.rows.items() if row.state != "superseded"}
        if name == "messages_fts":
            return set(shown)
        return {
            row_id
            for row_id, row in shown.items()
            if row.role != "tool" or (name == CJK and row.has_cjk)
        }

    def _tokens(self, name: str, row: Row) -> set[str]:
        texts = (row.text, row.tool_name, row.calls)
        if (name, texts) not in self._cut:
            self._cut[name, texts] = self._cut_anew(name, texts)
        return self._cut[name, texts]

    def _cut_anew(self, name: str, texts: tuple[str, ...]) -> set[str]:
        found: set[str] = set()
        for text in texts:
            if name == "messages_fts_trigram":
                lower = text.lower()
                found |= {lower[at : at + 3] for at in range(len(lower) - 2)}
            elif name == CJK:
                found |= {t for *_, t in reference.tokens(text, self._unicode61, query=False)}
            else:
                told = self._unicode61(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None)
                found |= {token for *_, token in told}
        return found

    def _text(self) -> tuple[str, str]:
        words = self.rng.choices(list(WORDS), k=self.rng.randrange(1, 12))
        return " ".join(words), " ".join(WORDS[word] for word in words)

    def _any(self) -> int:
        return self.rng.choice(sorted(self.rows))

    def _next_id(self, db: apsw.Connection) -> int:
        last = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'messages'").get
        return (last or 0) + 1

    def _state(self, name: str) -> str:
        return str(self.db.execute("SELECT state FROM index_state WHERE name = ?", (name,)).get)


RECOUNT = f"""
UPDATE sessions SET (message_count, user_turn_count) = (
  SELECT count(*), coalesce(sum(m.role = 'user' AND m.origin = 'human'), 0)
    FROM message_placements AS p JOIN messages AS m ON m.id = p.message_id
   WHERE p.session_id = sessions.id AND m.state IN {truth.VISIBLE})
"""
