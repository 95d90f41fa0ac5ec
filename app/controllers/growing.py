"""Keeps the open conversation true while it goes on: what is new appears below."""

from dataclasses import dataclass

import apsw

from app.controllers.drawing import Drawing, Wish
from app.controllers.loading import Loaded, load_ends, load_more
from app.controllers.matches import Matches
from app.controllers.opened import Opened
from app.models.transcript import MOST, STEP, Transcript
from app.views.transcript_view import TranscriptView
from core.errors import NotFoundError
from core.types import Message


@dataclass(frozen=True, slots=True)
class Growth:
    """What a session is by now, and what follows the last message that was shown."""

    now: Loaded
    beyond: tuple[Message, ...]


class Growing:
    """Adds what is new to what is shown, and moves nothing of what is in view."""

    def __init__(
        self, opened: Opened, view: TranscriptView, transcript: Transcript, drawing: Drawing
    ) -> None:
        self._opened, self._view = opened, view
        self._transcript, self._drawing = transcript, drawing

    async def take(self, matches: Matches) -> None:
        """Read what is new of the open session, and show it; nothing where nothing is."""
        session, page = self._opened.session, self._transcript.page
        if session is None:
            return
        last = self._transcript.last_shown()
        seq = None if last is None else last.seq
        found = await self._opened.read(_growth, session.id, seq, reading=page.reading)
        if found is None or self._transcript.page is not page:
            return
        now, is_longer = found.now, found.now.bookends.total > page.total
        if now.session == session and not is_longer:
            return
        self._opened.session, self._opened.family = now.session, now.family
        if not is_longer:
            self._drawing.tell()
            return
        first, bottom = self._view.numbers_in_view()
        in_view = range(int(first), int(bottom) + 1)
        self._transcript.grow(now.bookends, found.beyond, in_view)
        await self._drawing.now(Wish(hold=self._view.holding_key("after")))
        matches.fill()


def _growth(
    db: apsw.Connection, session_id: int, seq: int | None, *, reading: bool
) -> Growth | None:
    """Return the growth of a session behind `seq`; None when it is no longer listed."""
    try:
        now = load_ends(db, session_id, reading=reading)
    except NotFoundError:
        return None
    beyond: list[Message] = []
    while seq is not None and len(beyond) < MOST:
        found = load_more(db, session_id, "after", seq)
        beyond += found
        seq = found[-1].seq if len(found) >= STEP else None
    return Growth(now, tuple(beyond))
