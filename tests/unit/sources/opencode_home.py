"""OpenCode databases and trees made by hand, as small as a test needs them."""

import contextlib
import json

import apsw

from core.sources import opencode
from core.sources.records import BadSourceRecord, MessageRecord, SessionRecord, UnknownRecord

SCHEMA = """
CREATE TABLE project(id TEXT PRIMARY KEY, worktree TEXT, vcs TEXT);
CREATE TABLE session(
  id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT,
  revert TEXT, time_created INTEGER, time_updated INTEGER, time_archived INTEGER, model TEXT);
CREATE TABLE message(
  id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part(
  id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
  time_updated INTEGER, data TEXT);
"""
TIME = 1_785_899_243_000  # 2026-08-05


class Home:
    """A folder with an `opencode.db` and, where a test wants it, a tree of old files."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.path = folder / "opencode.db"

    def run(self, sql, bindings=()):
        with contextlib.closing(apsw.Connection(str(self.path))) as db:
            db.execute("PRAGMA synchronous=OFF").fetchall()
            db.execute("PRAGMA journal_mode=MEMORY").fetchall()
            if not db.execute("SELECT 1 FROM sqlite_schema").fetchone():
                db.execute(SCHEMA)
            return db.execute(sql, bindings).fetchall()

    def insert(self, table, **values):
        values = {k: json.dumps(v) if isinstance(v, dict) else v for k, v in values.items()}
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self.run(f"INSERT INTO {table}({names}) VALUES({marks})", tuple(values.values()))

    def session(self, native_id="s", **values):
        self.insert("session", **{"id": native_id, "time_created": TIME, **values})

    def message(self, native_id, *texts, session="s", role="user", at=0, parts=(), **data):
        """Insert a message with a part for each text, then the other parts, a ms apart."""
        self.insert(
            "message", id=native_id, session_id=session, time_created=TIME + at,
            data={"role": role, **data},
        )  # fmt: skip
        for n, part in enumerate([*({"type": "text", "text": t} for t in texts), *parts]):
            self.insert(
                "part", id=f"{native_id}-{n}", message_id=native_id, session_id=session,
                time_created=TIME + at + n, data=part,
            )  # fmt: skip

    def old_session(self, native_id, *messages, title="old", **fields):
        """Write the files of a session: `messages` are (id, role, text)."""
        storage = self.folder / "storage"
        time = {"created": TIME, "updated": TIME}
        write(storage / f"session/p/{native_id}.json",
              {"id": native_id, "title": title, "time": time, **fields})  # fmt: skip
        for n, (message, role, text) in enumerate(messages):
            write(storage / f"message/{native_id}/{message}.json",
                  {"id": message, "sessionID": native_id, "role": role,
                   "time": {"created": TIME + n}})  # fmt: skip
            write(storage / f"part/{message}/prt_1.json", {"type": "text", "text": text})

    def read(self, path=None):
        return Reading(opencode.read(path or self.path))


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


class Reading:
    """The records of one reading, by type."""

    def __init__(self, records):
        self.records = list(records)
        self.messages = [r for r in self.records if isinstance(r, MessageRecord)]
        self.bad = [r for r in self.records if isinstance(r, BadSourceRecord)]
        self.unknown = [r.type for r in self.records if isinstance(r, UnknownRecord)]
        self.sessions = {r.native_id: r for r in self.records if isinstance(r, SessionRecord)}

    def texts(self):
        return [m.content for m in sorted(self.messages, key=lambda m: m.position)]

    def only(self):
        (message,) = self.messages
        return message
