"""Which messages without ids are stored already, told by the order of what was said.

Some sources keep the newest messages only, or put a summary in the place of the oldest, and give
them no ids. A word that occurs twice is two messages, so words alone decide nothing: what is
read and what is stored of a session are laid over each other where they agree longest.
"""

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import apsw

from core.history.bodies import clean, incoming
from core.sources.records import MessageRecord

_COMPARED = 1_000_000
_SURE = 3
"""So many messages in the same order are the same ones; fewer may be chance."""


class _Stored(NamedTuple):
    content_hash: bytes
    uid: str


def aligned(
    db: apsw.Connection, source_id: int, messages: list[MessageRecord]
) -> list[MessageRecord]:
    """Return the messages with the uids that those which are aligned have in the store.

    One whose place is not found gets a uid that its session does not have. Nothing is asked
    where none is aligned; else one look at each such session, and time that grows with its length.
    """
    sessions = {record.session for record in messages if record.aligned}
    if not sessions:
        return messages
    found = list(messages)
    for session in sessions:
        places = [n for n, record in enumerate(messages) if record.session == session]
        for place, record in zip(
            places,
            _of_session(_stored(db, source_id, session), [messages[n] for n in places]),
            strict=True,
        ):
            found[place] = record
    return found


def _stored(db: apsw.Connection, source_id: int, session: str) -> list[_Stored]:
    """Return what a session has, in its order; earlier texts of a message are left out."""
    rows = db.execute(
        "SELECT m.content_hash, m.uid FROM sessions AS s"
        " JOIN message_placements AS p ON p.session_id = s.id"
        " JOIN messages AS m ON m.id = p.message_id"
        " WHERE s.source_id = ? AND s.native_id = ? AND m.state <> 'superseded'"
        " ORDER BY p.seq, p.message_id",
        (source_id, clean(session)),
    )
    return [_Stored(content_hash, uid) for content_hash, uid in rows]


def _of_session(stored: list[_Stored], records: list[MessageRecord]) -> list[MessageRecord]:
    told = [incoming(record, 0).content_hash for record in records]
    known = _known([each.content_hash for each in stored], told)
    kept = {record.uid for record in records if not record.aligned}
    taken = kept | {each.uid for each in stored}
    found = []
    for n, record in enumerate(records):
        if record.aligned:
            place = known.get(n)
            if place is not None and stored[place].uid not in kept:
                record = replace(record, uid=stored[place].uid)
            else:
                record = replace(record, uid=_free(record.uid, taken))
                taken.add(record.uid)
        found.append(record)
    return found


def _free(uid: str, taken: set[str]) -> str:
    number, found = 1, uid
    while found in taken:
        number += 1
        found = f"{uid}~{number}"
    return found


def _known(stored: Sequence[bytes], told: Sequence[bytes]) -> dict[int, int]:
    """Return, for each of `told` that is stored, which of `stored` it is."""
    overlap = _overlap(stored, told)
    if overlap and overlap >= min(_SURE, len(stored), len(told)):
        first = len(stored) - overlap
        return {n: first + n for n in range(overlap)}
    if (inside := _place_of(told, stored)) is not None:
        return {n: inside + n for n in range(len(told))}
    if len(stored) * len(told) > _COMPARED:
        return _by_counting(stored, told)
    matcher = difflib.SequenceMatcher(None, stored, told, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    begins_alike = any(block.a == block.b == 0 for block in blocks)
    if not begins_alike and all(block.size < _SURE for block in blocks):
        return {}
    return {block.b + n: block.a + n for block in blocks for n in range(block.size)}


def _overlap(stored: Sequence[bytes], told: Sequence[bytes]) -> int:
    """Return how many of the last of `stored` are the first of `told`, at most."""
    table = _prefixes(told)
    length = 0
    for each in stored[-len(told) :]:
        while length and (length == len(told) or told[length] != each):
            length = table[length - 1]
        length += bool(told) and told[length] == each
    return length


def _place_of(part: Sequence[bytes], whole: Sequence[bytes]) -> int | None:
    """Return where all of `part` stands in `whole` the last time."""
    if not part:
        return None
    table, length, found = _prefixes(part), 0, None
    for n, each in enumerate(whole):
        while length and (length == len(part) or part[length] != each):
            length = table[length - 1]
        length += part[length] == each
        if length == len(part):
            found = n + 1 - length
    return found


def _prefixes(words: Sequence[bytes]) -> list[int]:
    """Return, for each beginning, the length of its longest end that is a beginning too."""
    table = [0] * len(words)
    length = 0
    for n in range(1, len(words)):
        while length and words[length] != words[n]:
            length = table[length - 1]
        length += words[length] == words[n]
        table[n] = length
    return table


def _by_counting(stored: Sequence[bytes], told: Sequence[bytes]) -> dict[int, int]:
    """Match equal words from the end on: what is too long to be laid over each other."""
    waiting: dict[bytes, list[int]] = {}
    for n, each in enumerate(stored):
        waiting.setdefault(each, []).append(n)
    left = Counter({each: len(places) for each, places in waiting.items()})
    found = {}
    for n in range(len(told) - 1, -1, -1):
        if left[told[n]]:
            left[told[n]] -= 1
            found[n] = waiting[told[n]].pop()
    return found
