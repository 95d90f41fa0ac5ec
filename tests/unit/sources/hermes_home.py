"""Hermes databases made by hand, as small as a test needs them."""

import contextlib

import apsw

from core.sources import hermes
from core.sources.records import BadSourceRecord, MessageRecord, SessionRecord, UnknownRecord

SESSIONS = """
CREATE TABLE sessions(
  id TEXT PRIMARY KEY, source TEXT NOT NULL DEFAULT 'cli', session_key TEXT, model TEXT,
  model_config TEXT, parent_session_id TEXT, started_at REAL NOT NULL DEFAULT 1784800000.0,
  ended_at REAL, end_reason TEXT, cwd TEXT, git_branch TEXT, git_repo_root TEXT, title TEXT,
  title_source TEXT, archived INTEGER DEFAULT 0, pinned INTEGER DEFAULT 0,
  hidden INTEGER DEFAULT 0, last_activity_at REAL, input_tokens INTEGER DEFAULT 0
)
"""
MESSAGES = """
CREATE TABLE messages(
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT,
  tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, effect_disposition TEXT,
  timestamp REAL, token_count INTEGER, finish_reason TEXT, reasoning TEXT,
  reasoning_content TEXT, reasoning_details TEXT, codex_reasoning_items TEXT,
  codex_message_items TEXT, api_content TEXT, active INTEGER DEFAULT 1,
  compacted INTEGER DEFAULT 0, display_kind TEXT, display_order INTEGER,
  _compressed_summary INTEGER DEFAULT 0
)
"""
TIME = 1784800000.0


class Home:
    """A `state.db` and what a reader makes of it."""

    def __init__(self, folder):
        folder.mkdir(exist_ok=True, parents=True)
        self.path = folder / "state.db"
        self.run(SESSIONS)
        self.run(MESSAGES)

    def run(self, sql, bindings=()):
        with contextlib.closing(apsw.Connection(str(self.path))) as db:
            db.execute("PRAGMA synchronous=OFF").fetchall()
            db.execute("PRAGMA journal_mode=MEMORY").fetchall()
            return db.execute(sql, bindings).fetchall()

    def insert(self, table, **values):
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        sql = f"INSERT INTO {table}({names}) VALUES({marks}) RETURNING rowid"
        return self.run(sql, tuple(values.values()))[0][0]

    def session(self, native_id, **values):
        self.insert("sessions", id=native_id, **values)

    def message(self, content, *, session="s", role="user", at=None, **values):
        """Insert a message; without `at` it is a second later than the row before."""
        if at is None:
            at = TIME + self.run("SELECT coalesce(max(id), 0) FROM messages")[0][0]
        return self.insert(
            "messages", session_id=session, role=role, content=content, timestamp=at, **values
        )

    def messages(self, texts, session="s"):
        """Insert many prompts at once, a second apart."""
        rows = [(session, text, TIME + second) for second, text in enumerate(texts)]
        with contextlib.closing(apsw.Connection(str(self.path))) as db, db:
            db.executemany(
                "INSERT INTO messages(session_id, role, content, timestamp)"
                " VALUES(?, 'user', ?, ?)",
                rows,
            )

    def read(self):
        return Reading(hermes.read(self.path))


class Reading:
    """The records of one reading, by type."""

    def __init__(self, records):
        self.records = list(records)
        self.messages = [r for r in self.records if isinstance(r, MessageRecord)]
        self.bad = [r for r in self.records if isinstance(r, BadSourceRecord)]
        self.unknown = [r.type for r in self.records if isinstance(r, UnknownRecord)]
        self.sessions = {r.native_id: r for r in self.records if isinstance(r, SessionRecord)}

    def of(self, session):
        return [m for m in self.messages if m.session == session]

    def texts(self, session="s"):
        return [m.content for m in self.of(session)]

    def only(self):
        (message,) = self.messages
        return message
