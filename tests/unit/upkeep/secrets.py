"""Secrets for the tests of erasing, and a search for their bytes in every file of a profile.

The marker stands in the middle of each secret, because an index stores a term without the
beginning that it shares with the term before.
"""

import base64
import random
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from core.sources.records import MessageRecord, SessionRecord
from core.store.connection import transaction
from core.types import Role, TitleSource, ToolCall, ToolStatus
from tests.unit.store.making import message, store_messages

MARKER = "QzqzqJxjxjQz"
SECRET_SESSION, MIXED, PLAIN = "secret", "mixed", "plain"
_WORDS = (
    "deploy",
    "failed",
    "because",
    "the",
    "nginx",
    "was",
    "stale",
    "订阅",
    "服务器",
    "설정",
    "東京",
)


def forms(marker: str = MARKER) -> dict[str, list[bytes]]:
    """The ways its bytes may lie in a file."""
    raw = marker.encode()
    in_base64 = []
    for before in range(3):  # what does not hang on the bytes around it
        low, high = (base64.b64encode(e * before + raw + e * 3) for e in (b"\0", b"\xff"))
        same = [at for at in range(len(low)) if low[at] == high[at] != ord("=")]
        in_base64.append(low[same[0] : same[-1] + 1])
    return {
        "raw": [raw],
        "lower": [raw.lower()],
        "utf-16-le": [marker.encode("utf-16-le"), marker.lower().encode("utf-16-le")],
        "utf-16-be": [marker.encode("utf-16-be"), marker.lower().encode("utf-16-be")],
        "base64": in_base64,
    }


def found(profile: Path) -> dict[str, dict[str, int]]:
    """How often each form lies in each file. No connection of this process may be open."""
    result: dict[str, dict[str, int]] = {}
    for path in sorted(profile.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            counts = {
                name: sum(content.count(pattern) for pattern in patterns)
                for name, patterns in forms().items()
            }
            if any(counts.values()):
                result[str(path.relative_to(profile))] = {k: v for k, v in counts.items() if v}
    return result


def secret(chance: random.Random) -> str:
    sides = ("".join(chance.choices(string.ascii_lowercase, k=6)) for _ in range(2))
    return MARKER.join(sides)


def _plain(chance: random.Random) -> str:
    return " ".join(chance.choices(_WORDS, k=chance.randrange(5, 60)))


def _holding(chance: random.Random, uid: str, session: str) -> MessageRecord:
    """A message with a secret in every text that it has."""
    text = f"{_plain(chance)} {secret(chance)} {_plain(chance)} １２ {secret(chance)}"
    role = chance.choice([Role.USER, Role.ASSISTANT, Role.TOOL])
    more: dict[str, Any] = {"reasoning": f"since {secret(chance)}", "raw_ref": secret(chance)}
    if role == Role.TOOL:
        more["tool_name"] = f"tool {secret(chance)}"
    if role == Role.ASSISTANT:
        call = ToolCall("c", secret(chance), f'{{"q": "{secret(chance)}"}}', ToolStatus.SUCCEEDED)
        more["tool_calls"] = (call,)
    return message(uid, text, session=session, role=role, **more)


def fill(db: apsw.Connection, rows: int, secrets: int, seed: int) -> None:
    """Store messages among which some hold secrets: in a session of their own, and mixed."""
    chance = random.Random(seed)
    titled = SessionRecord(
        native_id=SECRET_SESSION, title=f"about {secret(chance)}", title_source=TitleSource.MODEL
    )
    records = [
        _holding(chance, f"secret{n}", SECRET_SESSION if n % 2 else MIXED) for n in range(secrets)
    ]
    records += [
        message(f"plain{n}", _plain(chance), session=chance.choice([PLAIN, MIXED]))
        for n in range(rows - secrets)
    ]
    chance.shuffle(records)
    for start in range(0, len(records), 250):
        store_messages(db, *records[start : start + 250], sessions=(titled,))


def churn(db: apsw.Connection, seed: int, rounds: int = 4) -> None:
    """Change, delete and add messages around them, so that pages are split and joined."""
    chance = random.Random(seed)
    for turn in range(rounds):
        plain = [
            row
            for (row,) in db.execute("SELECT id FROM messages WHERE uid LIKE 'plain%'").fetchall()
        ]
        with transaction(db):
            for row in chance.sample(plain, len(plain) // 8):
                db.execute("UPDATE messages SET content = ? WHERE id = ?", (_plain(chance), row))
            for row in chance.sample(plain, len(plain) // 20):
                db.execute("DELETE FROM message_placements WHERE message_id = ?", (row,))
                db.execute("DELETE FROM messages WHERE id = ?", (row,))
        store_messages(
            db, *(message(f"plain-{seed}-{turn}-{n}", _plain(chance)) for n in range(60))
        )


def mixed_ids(db: apsw.Connection) -> Iterator[int]:
    rows = db.execute(
        "SELECT m.id FROM messages AS m JOIN message_placements AS p ON p.message_id = m.id"
        " JOIN sessions AS s ON s.id = p.session_id WHERE s.native_id = ? AND m.uid LIKE 'secret%'",
        (MIXED,),
    ).fetchall()
    return (row for (row,) in rows)
