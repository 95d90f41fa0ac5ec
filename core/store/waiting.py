"""Waiting for a lock that another connection holds, so that whoever waits gets its turn.

SQLite's own busy handler looks again after up to 100 ms (sqliteDefaultBusyCallback, main.c).
Between the batches of an import the lock is free for a few milliseconds only, so a pin or a
deletion waited until the import had ended. Looking every 3 ms costs a hundredth of a core.
"""

import time

import apsw

LOOK_EVERY_S = 0.003
GAP_S = 2 * LOOK_EVERY_S
"""So long whoever writes batch after batch leaves the lock free between two of them."""


def wait_for_locks(db: apsw.Connection, most_ms: int) -> None:
    """Let `db` wait up to so many milliseconds for a lock before it is refused as busy.

    `PRAGMA busy_timeout` reads 0 from then on, because SQLite has one handler at a time.
    """
    until_s = 0.0

    def look_again(tries: int) -> bool:
        nonlocal until_s
        now = time.monotonic()
        if tries == 0:
            until_s = now + most_ms / 1000
        if now >= until_s:
            return False
        time.sleep(LOOK_EVERY_S)
        return True

    db.set_busy_handler(look_again)
