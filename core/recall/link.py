"""Names of places in the store that can be passed around: `backscroll://session/REF#MESSAGE`."""

from typing import NamedTuple
from urllib.parse import quote, unquote

from core.types import Session

_PREFIX = "backscroll://session/"
_PLAIN = "-._~"


class Place(NamedTuple):
    """What a link names: a session's ref, and a message's uid if it names one."""

    session: str
    message: str | None


def link(session: Session, message_uid: str | None = None) -> str:
    """Return the link to a session, or to a message of it; all but plain ASCII is escaped."""
    anchor = "" if message_uid is None else f"#{quote(message_uid, safe=_PLAIN)}"
    return f"{_PREFIX}{quote(session.ref, safe=_PLAIN)}{anchor}"


def place_of(text: str) -> Place:
    """Return what a link names; any other text is taken for the ref of a session."""
    text = text.strip()
    if not text.startswith(_PREFIX):
        return Place(text, None)
    session, _, message = text[len(_PREFIX) :].partition("#")
    return Place(unquote(session), unquote(message) or None)
