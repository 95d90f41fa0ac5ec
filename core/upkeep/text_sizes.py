"""How many bytes of text sessions hold, counted where they are few and estimated where not."""

import json
from collections.abc import Sequence

import apsw

from core.history.deletion import TEXT_BYTES

COUNTED = 20_000
"""Messages up to which bytes are counted; of more, an even sample is."""

_SAMPLED = 6_000  # messages, where fewer are not asked for
_WALKED = 5  # times the sample: of more messages than these only some sessions are looked at
_HASHED = 1 << 32

_SUMS = f"""
SELECT count(*), coalesce(sum(chosen), 0), coalesce(sum(CASE WHEN chosen THEN
  (SELECT {TEXT_BYTES.format(m="m")} FROM messages AS m WHERE m.id = k.id) END), 0)
FROM (SELECT k.id AS id, (k.id * 2654435761) % {_HASHED} < ? AS chosen
  FROM json_each(?) AS j CROSS JOIN message_keys AS k ON k.session_id = j.value) AS k
"""


def text_bytes(
    db: apsw.Connection, sessions: Sequence[tuple[int, int]], counted: int = COUNTED
) -> int:
    """Return the bytes of the texts that belong to sessions, given as (row, messages).

    Exact up to `counted` messages. Beyond, they are estimated from messages taken evenly
    by a hash of their ids, within a few percent, at the cost of fewer.
    """
    total = sum([messages for _, messages in sessions])
    if total > counted:
        counted = min(counted, _SAMPLED)
    step = max(1, total // (_WALKED * counted))
    looked_at = sessions[::step]
    within = sum([messages for _, messages in looked_at])
    share = 1.0 if within <= counted else counted / within
    ids = json.dumps([row for row, _ in looked_at])
    sums: tuple[int, int, int] = db.execute(_SUMS, (int(share * _HASHED), ids)).get
    held, taken, size = sums
    if not taken:
        return 0
    scale = held / taken if share < 1.0 else 1.0
    return round(size * scale * (total / within if within and step > 1 else 1.0))
