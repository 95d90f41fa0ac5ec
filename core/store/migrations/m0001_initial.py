"""The first schema: sources, sessions, messages and where they are shown.

Wide columns stand last, so that a row's narrow part is read without its overflow pages.
"""

import apsw

from core.store import indexes, keys, listing, places

TABLES = """
CREATE TABLE sources(
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  instance TEXT NOT NULL,
  root TEXT NOT NULL,
  display_name TEXT NOT NULL,
  reader_version INTEGER NOT NULL,
  enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  last_run_at_ms INTEGER,
  unknown_records TEXT NOT NULL DEFAULT '{}',
  UNIQUE(kind, instance)
);

CREATE TABLE source_files(
  id INTEGER PRIMARY KEY,
  source_id INTEGER NOT NULL REFERENCES sources(id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  device INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  offset INTEGER NOT NULL DEFAULT 0,
  head_hash BLOB,
  tail_hash BLOB,
  reader_version INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('reading', 'done', 'failed', 'gone')),
  error TEXT,
  unknown_records TEXT NOT NULL DEFAULT '{}',
  bad_records TEXT NOT NULL DEFAULT '[]',
  UNIQUE(source_id, path)
);

CREATE TABLE sessions(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source_id INTEGER NOT NULL REFERENCES sources(id),
  native_id TEXT NOT NULL,
  parent_native_id TEXT,
  relation TEXT,
  evidence TEXT,
  kind TEXT NOT NULL DEFAULT 'interactive',
  title TEXT NOT NULL DEFAULT '',
  title_source TEXT NOT NULL DEFAULT 'none',
  model TEXT,
  cwd TEXT,
  git_repo_root TEXT,
  git_branch TEXT,
  started_at_ms INTEGER,
  updated_at_ms INTEGER,
  last_active_at_ms INTEGER,
  message_count INTEGER NOT NULL DEFAULT 0,
  user_turn_count INTEGER NOT NULL DEFAULT 0,
  reset_cutoff_seq INTEGER NOT NULL DEFAULT 0,
  archived_at_ms INTEGER,
  pinned_at_ms INTEGER,
  trashed_at_ms INTEGER,
  end_reason TEXT,
  metadata TEXT,
  renamed_at_ms INTEGER,
  search_title TEXT,
  project TEXT GENERATED ALWAYS AS (PROJECT),
  UNIQUE(source_id, native_id)
);
CREATE INDEX sessions_by_native_id ON sessions(native_id);
CREATE INDEX sessions_by_parent ON sessions(source_id, parent_native_id)
  WHERE parent_native_id IS NOT NULL;
CREATE INDEX sessions_by_activity ON sessions(last_active_at_ms DESC, id DESC)
  WHERE trashed_at_ms IS NULL;
CREATE INDEX sessions_by_start ON sessions(started_at_ms DESC, id DESC)
  WHERE trashed_at_ms IS NULL;
CREATE INDEX sessions_by_size ON sessions(message_count DESC, id DESC)
  WHERE trashed_at_ms IS NULL;
CREATE INDEX sessions_by_project ON sessions(project, last_active_at_ms DESC, id DESC)
  WHERE trashed_at_ms IS NULL;
CREATE INDEX sessions_by_title
  ON sessions(coalesce(search_title, title), last_active_at_ms, trashed_at_ms)
  WHERE trashed_at_ms IS NULL;
CREATE INDEX sessions_in_trash ON sessions(id) WHERE trashed_at_ms IS NOT NULL;

CREATE TABLE messages(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source_id INTEGER NOT NULL REFERENCES sources(id),
  session_id INTEGER NOT NULL REFERENCES sessions(id),
  uid TEXT NOT NULL,
  content_hash BLOB NOT NULL,
  role TEXT NOT NULL,
  origin TEXT NOT NULL,
  state TEXT NOT NULL,
  provenance TEXT NOT NULL,
  tool_call_id TEXT,
  tool_name TEXT,
  tool_status TEXT,
  model TEXT,
  created_at_ms INTEGER,
  time_quality TEXT NOT NULL,
  text_flags INTEGER NOT NULL,
  usage TEXT,
  raw_ref TEXT,
  content TEXT NOT NULL,
  search_text TEXT,
  tool_calls_text TEXT,
  reasoning TEXT,
  tool_calls TEXT,
  media_refs TEXT,
  UNIQUE(source_id, uid, content_hash)
);

CREATE TABLE message_placements(
  session_id INTEGER NOT NULL REFERENCES sessions(id),
  seq INTEGER NOT NULL,
  message_id INTEGER NOT NULL REFERENCES messages(id),
  PRIMARY KEY(session_id, seq, message_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX message_placements_by_message
  ON message_placements(message_id, session_id);

CREATE TABLE message_keys(
  id INTEGER PRIMARY KEY,
  session_id INTEGER NOT NULL,
  at_ms INTEGER,
  flags INTEGER NOT NULL
);
CREATE INDEX message_keys_by_time ON message_keys(at_ms, id);
CREATE INDEX message_keys_by_session ON message_keys(session_id, id);
CREATE INDEX message_keys_aside ON message_keys(session_id, id, at_ms, flags)
  WHERE (flags & 28) > 4;  -- neither active nor compacted
CREATE INDEX message_keys_long ON message_keys(id, session_id, at_ms, flags)
  WHERE (flags & 2048) <> 0;
CREATE INDEX message_keys_cjk_tools ON message_keys(id, session_id, at_ms, flags)
  WHERE (flags & 4099) = 4098;

CREATE TABLE message_counts(flags INTEGER PRIMARY KEY, n INTEGER NOT NULL);

CREATE TABLE session_counts(source_id INTEGER PRIMARY KEY, listed INTEGER NOT NULL);

CREATE TABLE tombstones(
  id INTEGER PRIMARY KEY,
  session_mac BLOB NOT NULL,
  message_mac BLOB,
  UNIQUE(session_mac, message_mac)
);

CREATE TABLE index_state(
  name TEXT PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('ready', 'building', 'settling', 'detached', 'stale')),
  cursor INTEGER NOT NULL DEFAULT 0,
  high_water INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  last_moved_at_ms INTEGER,
  holder TEXT,
  heartbeat_at_ms INTEGER,
  fingerprint TEXT,
  unsettled_rows INTEGER NOT NULL DEFAULT 0,
  rate_rows_s REAL
) WITHOUT ROWID;

CREATE TABLE index_queue(
  index_name TEXT NOT NULL,
  id INTEGER NOT NULL,
  was_indexed INTEGER NOT NULL CHECK (was_indexed IN (0, 1)),
  text TEXT,
  tool_name TEXT,
  tool_calls TEXT,
  PRIMARY KEY(index_name, id)
) WITHOUT ROWID;

CREATE TABLE operations(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  argument_fingerprint TEXT NOT NULL,
  token TEXT NOT NULL,
  state TEXT NOT NULL
    CHECK (state IN ('running', 'succeeded', 'failed', 'pending', 'unknown')),
  started_at_ms INTEGER NOT NULL,
  ended_at_ms INTEGER,
  outcome TEXT NOT NULL DEFAULT ''
);

CREATE TABLE jobs(
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  schedule TEXT NOT NULL,
  payload TEXT NOT NULL DEFAULT '{}',
  state TEXT NOT NULL DEFAULT 'scheduled'
    CHECK (state IN ('scheduled', 'running', 'paused', 'completed')),
  last_status TEXT CHECK (last_status IN ('ok', 'error', 'skipped')),
  last_error TEXT,
  run_count INTEGER NOT NULL DEFAULT 0,
  max_runs INTEGER,
  last_fired_at_ms INTEGER,
  next_fire_at_ms INTEGER
) WITHOUT ROWID;

CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


def upgrade(db: apsw.Connection) -> None:
    """Create schema 1 in the caller's transaction.

    The CJK index is left out: it needs its tokenizer, which this process may not have.
    """
    db.execute(TABLES.replace("PROJECT", places.PROJECT))
    keys.create(db)
    db.execute(listing.TRIGGERS)
    db.execute(indexes.TITLES)
    for index in indexes.INDEXES.values():
        indexes.create_view(db, index)
        if index.name == indexes.CJK:
            state, reason = "detached", indexes.NEVER_BUILT
        else:
            state, reason = "ready", ""
            indexes.create_table(db, index)
            indexes.install_live_triggers(db, index)
        db.execute(
            "INSERT INTO index_state(name, state, reason) VALUES (?, ?, ?)",
            (index.name, state, reason),
        )
