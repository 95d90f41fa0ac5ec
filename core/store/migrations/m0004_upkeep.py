"""What retention, the trash, the ledger and scheduled upkeep need.

Adds columns, one small table and a state for messages in the trash; no row is rewritten.
"""

import apsw

from core.store import keys

SCHEMA = """
ALTER TABLE operations ADD COLUMN actor TEXT NOT NULL DEFAULT 'you';
ALTER TABLE operations ADD COLUMN arguments TEXT NOT NULL DEFAULT '{}';
ALTER TABLE operations ADD COLUMN receipt TEXT NOT NULL DEFAULT '{}';
ALTER TABLE operations ADD COLUMN holder TEXT;
ALTER TABLE operations ADD COLUMN heartbeat_at_ms INTEGER;
ALTER TABLE operations ADD COLUMN verified_at_ms INTEGER;
CREATE UNIQUE INDEX operations_running ON operations(kind, argument_fingerprint)
  WHERE state = 'running';
ALTER TABLE jobs ADD COLUMN holder TEXT;
ALTER TABLE jobs ADD COLUMN heartbeat_at_ms INTEGER;
ALTER TABLE sessions ADD COLUMN trashed_by INTEGER;
CREATE TABLE trashed_messages(
  message_id INTEGER PRIMARY KEY REFERENCES messages(id) ON DELETE CASCADE,
  session_id INTEGER NOT NULL,
  state TEXT NOT NULL,
  trashed_at_ms INTEGER NOT NULL,
  trashed_by INTEGER
);
"""


def upgrade(db: apsw.Connection) -> None:
    """Make all of it in the caller's transaction; some milliseconds at any size."""
    db.execute(SCHEMA)
    keys.create(db)
