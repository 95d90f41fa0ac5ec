"""Let searches be saved under a name.

Adds one small table and touches no other: the step is instant at any size.
"""

import apsw

TABLE = """
CREATE TABLE saved_searches(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  query TEXT NOT NULL,
  sort TEXT NOT NULL CHECK (sort IN ('relevance', 'newest', 'oldest')),
  saved_at_ms INTEGER NOT NULL,
  filters TEXT NOT NULL DEFAULT '{}'
)
"""


def upgrade(db: apsw.Connection) -> None:
    """Make the table in the caller's transaction."""
    db.execute(TABLE)
