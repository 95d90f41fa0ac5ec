"""MoviePilot's databases made by hand, as small as a test needs them."""

import contextlib
import hashlib
import json

import apsw

from core.sources.records import MessageRecord, SessionRecord, SourceIdentity

# The columns of app/db/models/agentchat.py, and of app/agent/history/schema.py.
CHATS = """
CREATE TABLE agentchat(
  id INTEGER NOT NULL PRIMARY KEY, session_id VARCHAR NOT NULL, client_session_id VARCHAR,
  user_id VARCHAR, username VARCHAR, channel VARCHAR, source VARCHAR, original_chat_id VARCHAR,
  title VARCHAR, preview VARCHAR, agent_messages JSON, display_messages JSON,
  message_count INTEGER, created_at VARCHAR, updated_at VARCHAR
)
"""
STORE = """
CREATE TABLE state_meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE sessions(
  id TEXT PRIMARY KEY, source TEXT NOT NULL, title TEXT NOT NULL DEFAULT '',
  model TEXT NOT NULL DEFAULT '', started_at REAL NOT NULL, last_active REAL NOT NULL,
  parent_session_id TEXT NOT NULL DEFAULT '', end_reason TEXT NOT NULL DEFAULT '',
  message_count INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE deleted_sessions(id TEXT PRIMARY KEY);
CREATE TABLE messages(
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_uid TEXT NOT NULL,
  role TEXT NOT NULL, content TEXT NOT NULL, tool_call_id TEXT NOT NULL DEFAULT '',
  tool_name TEXT NOT NULL DEFAULT '', tool_calls TEXT NOT NULL DEFAULT '',
  tool_status TEXT NOT NULL DEFAULT '', timestamp REAL NOT NULL,
  provenance TEXT NOT NULL DEFAULT 'observed', active INTEGER NOT NULL DEFAULT 1,
  compacted INTEGER NOT NULL DEFAULT 0, UNIQUE(session_id, message_uid)
);
PRAGMA user_version = 1;
"""
TIME = 1_784_800_000.5


class Database:
    """A database that is written to without leaving a log."""

    def __init__(self, path, schema):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.run(schema)

    def run(self, sql, bindings=()):
        with contextlib.closing(apsw.Connection(str(self.path))) as db:
            db.execute("PRAGMA journal_mode=MEMORY").fetchall()
            db.execute("PRAGMA synchronous=OFF").fetchall()
            return db.execute(sql, bindings).fetchall()

    def insert(self, table, **values):
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self.run(f"INSERT INTO {table}({names}) VALUES({marks})", tuple(values.values()))


class Main(Database):
    """A `user.db` in a folder of configuration."""

    def __init__(self, config, schema=CHATS):
        super().__init__(config / "user.db", schema)

    def chat(self, session="s", agent=None, display=None, *, user="1", name="ann", **values):
        """Insert a chat; `agent` and `display` are lists, or the text of the column itself."""
        columns = {
            column: json.dumps(value) if isinstance(value, list) else value
            for column, value in (("agent_messages", agent), ("display_messages", display))
        }
        told = {
            "created_at": "2026-07-01 10:00:00",
            "updated_at": "2026-07-01 10:05:00",
            "title": "A chat",
            **columns,
            **values,
        }
        self.insert("agentchat", session_id=session, user_id=user, username=name, **told)


class UserStore(Database):
    """The history store of one user below a folder of configuration."""

    def __init__(self, config, user="1"):
        key = hashlib.sha256(user.encode()).hexdigest()
        super().__init__(config / f"agent/runtime/history/users/{key}/state.db", STORE)

    def session(self, name="s", source="web-agent", started=TIME, **values):
        told = {"source": source, "started_at": started, "last_active": started, **values}
        self.insert("sessions", id=name, **told)

    def say(self, uid, content, *, session="s", role="user", at=TIME, **values):
        told = {"message_uid": uid, "role": role, "content": content, "timestamp": at, **values}
        self.insert("messages", session_id=session, **told)


def human(text, uid=None, **extra):
    return {"type": "human", "data": {"content": text, "id": uid, "additional_kwargs": extra}}


def ai(text, uid=None, calls=(), **fields):
    data = {"content": text, "id": uid, "tool_calls": list(calls), **fields}
    return {"type": "ai", "data": data}


def tool(text, call, uid=None, status="success", name="look"):
    data = {"content": text, "id": uid, "tool_call_id": call, "status": status, "name": name}
    return {"type": "tool", "data": data}


def call(uid="c1", name="look", **arguments):
    return {"id": uid, "name": name, "args": arguments, "type": "tool_call"}


def shown(role, text, at=None, **fields):
    return {"id": f"{role}-{text}", "role": role, "content": text, "createdAt": at, **fields}


def messages(records):
    return [each for each in records if isinstance(each, MessageRecord)]


def sessions(records):
    """The sessions of a reading, as (instance, record)."""
    found, source = [], None
    for each in records:
        if isinstance(each, SourceIdentity):
            source = each
        elif isinstance(each, SessionRecord):
            found.append((source, each))
    return found
