"""Session files of PicoBot: the newest 50 entries as `role: text`, without ids or times.

Shape: `{"Key": "chat:42", "History": ["user: hello", …]}`, rewritten in place with each turn
(internal/session/manager.go of the program). An entry's uid is made of its words and its
ordinal among equal ones, which changes as the window moves on: the store finds again what it has
by the order of what was said (`MessageRecord.aligned`).
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.errors import SourceError
from core.sources import files
from core.sources.headline import derived_title
from core.sources.lines import LINE_BYTES, too_deep, whole, without_surrogates
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    ReadTo,
    Record,
    SessionRecord,
    UnknownRecord,
)
from core.types import Origin, Role, TitleSource

SUFFIX = ".json"
_ROLES = {
    "user": (Role.USER, Origin.HUMAN),
    "assistant": (Role.ASSISTANT, Origin.MODEL),
    "tool": (Role.TOOL, Origin.TOOL),
    "system": (Role.SYSTEM, Origin.INJECTED),
}


def read(path: Path) -> Iterator[Record]:
    """Yield the session of one file and its entries, in order.

    Raises:
        SourceError: it is too large, or ends in the middle: the program writes it in place.
    """
    value = _loaded(path)
    name = value.get("Key")
    session = without_surrogates(name) if isinstance(name, str) and name.strip() else path.stem
    session = without_surrogates(session)
    history = value.get("History")
    entries = history if isinstance(history, list) else []
    messages: list[MessageRecord] = []
    notes: list[Record] = []
    equals: Counter[str] = Counter()
    if history is not None and not isinstance(history, list):
        notes.append(BadSourceRecord(1, "History is no list"))
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, str):
            notes.append(BadSourceRecord(number, "an entry that is no text"))
            continue
        equals[entry] += 1
        message, is_known = _message(session, entry, equals[entry], f"entry:{number}")
        messages.append(message)
        if not is_known:
            notes.append(UnknownRecord("an entry without a role"))
    channel, colon, _ = session.partition(":")
    title = next((t for m in messages if m.role == Role.USER and (t := _title(m))), None)
    yield SessionRecord(
        session,
        title=title,
        title_source=TitleSource.DERIVED if title else TitleSource.NONE,
        updated_at_ms=files.stamp(path).mtime_ns // 1_000_000,
        channel=channel if colon else None,
    )
    yield from messages
    yield from notes
    yield ReadTo(len(entries), len(entries))


def _loaded(path: Path) -> dict[str, Any]:
    with files.opened(path) as stream:
        raw = stream.read(LINE_BYTES + 1)
    if len(raw) > LINE_BYTES:
        raise SourceError(f"{path} is larger than is read at once", path=str(path))
    if too_deep(raw):
        raise SourceError(f"{path} is nested too deep", path=str(path))
    # The program knows no lone surrogates and escapes nothing twice; bytes may be damaged.
    value = whole(raw.decode("utf-8-sig", "replace").encode())
    if value is None:
        raise SourceError(
            f"{path} is not whole: it is read when the program has written it to its end",
            path=str(path),
        )
    return value


def _message(session: str, entry: str, ordinal: int, raw_ref: str) -> tuple[MessageRecord, bool]:
    """Return an entry as a message, and whether it says who speaks; only the first colon counts."""
    name, colon, content = entry.partition(": ")
    role, origin = _ROLES.get(name.casefold(), (Role.SYSTEM, Origin.SYNTHETIC))
    is_known = bool(colon) and name.casefold() in _ROLES
    content = without_surrogates(content if is_known else entry)
    if not is_known:
        role, origin = Role.SYSTEM, Origin.SYNTHETIC
    key = "\0".join((session, str(ordinal), role, content)).encode()
    return MessageRecord(
        session,
        f"entry:{hashlib.blake2b(key, digest_size=16).hexdigest()}",
        role,
        content,
        origin,
        raw_ref=raw_ref,
        aligned=True,
    ), is_known


def _title(message: MessageRecord) -> str | None:
    return derived_title(message.content)
