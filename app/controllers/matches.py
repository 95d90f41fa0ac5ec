"""The hits of the search in the open conversation, and the way from one to the next."""

import asyncio
from collections.abc import Callable

from PySide6.QtCore import QObject

from app.controllers import outline
from app.controllers.drawing import Drawing, Wish
from app.controllers.opened import Opened
from app.controllers.outline import Found
from app.controllers.reading_on import ReadingOn
from app.models.transcript import Transcript
from app.tasks import TaskScope
from app.views.conversation_pane import ConversationPane
from core.history.messages import message_text
from core.text import INDEXED_CHARS
from core.types import Message, Session

GoTo = Callable[[int], None]


class Matches(QObject):
    """Knows the hits of the question that opened the conversation.

    `go_to` makes a message the anchor. `found` grows until all hits of the session are read.
    """

    def __init__(
        self,
        opened: Opened,
        pane: ConversationPane,
        transcript: Transcript,
        drawing: Drawing,
        reading_on: ReadingOn,
        tasks: TaskScope,
        go_to: GoTo,
    ) -> None:
        super().__init__(pane)
        self._opened, self._pane, self._transcript = opened, pane, transcript
        self._drawing, self._reading_on, self._tasks = drawing, reading_on, tasks
        self._go_to = go_to
        self.found = Found()
        self._is_reading, self._awaited = False, 0
        self._hit_id = 0

    def begin(self, *, same: bool) -> None:
        """Leave what was open; the hits stay known while the `same` question is asked of it."""
        for name in ("context-outline", "context-outline-rows"):
            self._tasks.cancel(name)
        self._is_reading, self._awaited = False, 0
        if not same:
            self.found = Found()

    def fill(self) -> None:
        """Read the hits, or the prompts where nothing was searched for.

        Many hits that are known already are not read again for each step to another window.
        """
        if self.found.next is None and len(self.found.hits) > outline.HITS_READ:
            return
        if self._opened.session is not None:
            self._is_reading = True
            self._tasks.start("context-outline", self._fill(self._opened.session))

    async def _fill(self, session: Session) -> None:
        opened = self._opened
        found: Found | None = None
        after: str | None = None
        while found is None or found.next is not None:
            more = await opened.read(
                outline.find_in_session, session, opened.query, opened.asked, after=after
            )
            if more is None:
                break
            is_stuck = found is not None and more.next == after
            found = more if found is None else outline.joined(found, more)
            after = more.next
            await self._show(found)
            if is_stuck:
                break
        self._is_reading = False
        step, self._awaited = self._awaited, 0
        if step:
            self.step(step)

    async def _show(self, found: Found) -> None:
        at = self._index_in(found)
        self.found = await asyncio.to_thread(outline.with_entries, found, self._opened.marker, at)
        self._drawing.tell()

    def follow(self) -> None:
        """Let the outline's rows follow the hit one stands on, where there are too many."""
        at = self._index_in(self.found)
        is_busy = self._is_reading or self._tasks.running("context-outline-rows")
        if self.found.hits and not is_busy and not outline.shows(self.found, at):
            self._tasks.start("context-outline-rows", self._show(self.found))

    @property
    def current(self) -> int:
        """Which hit one stands on, from 1; 0 when on none."""
        return self._index() + 1

    def _index(self) -> int:
        """Return the place among the hits of the message one stands on, or -1.

        A call and its result are one item: of the two, the one that was gone to is meant.
        """
        places = {hit.message_id: n for n, (_, hit) in enumerate(self.found.hits)}
        standing = [each for each in self._transcript.standing_on() if each in places]
        if self._hit_id in standing:
            return places[self._hit_id]
        return places[standing[0]] if standing else -1

    def _index_in(self, found: Found) -> int:
        before, self.found = self.found, found
        at = self._index()
        self.found = before
        return max(0, at)

    # Going

    def step(self, step: int) -> None:
        """Go to the next match of this hit; behind its last one, to the next hit."""
        hits = self.found.hits
        at = self._index()
        if at >= 0 and self._step_within(hits[at][1].message_id, step):
            return
        if self._is_reading and not self._is_known(at, step):
            self._awaited = step
        elif hits:
            self._show_hit(self._beside(at, step), step, at)

    def _is_known(self, at: int, step: int) -> bool:
        return at >= 0 and 0 <= at + step < len(self.found.hits)

    def _beside(self, at: int, step: int) -> int:
        """Return the place of the hit beside, round the end where there is none."""
        hits = self.found.hits
        if at >= 0:
            return (at + step) % len(hits)
        now = self._transcript.current_number()
        ahead = [n for n, (number, _) in enumerate(hits) if (number - now) * step > 0]
        return (ahead or range(len(hits)))[0 if step > 0 else -1]

    def _step_within(self, message_id: int, step: int) -> bool:
        matches, match = self._transcript.matches_of(message_id), self._transcript.match
        at = matches.index(match) + step if match in matches else 0
        if not 0 <= at < len(matches):
            return False
        self._show_match(matches[at])
        return True

    def _show_hit(self, at: int, step: int, before: int) -> None:
        message_id = self._hit_id = self.found.hits[at][1].message_id
        matches = self._transcript.matches_of(message_id)
        if not matches:
            self._transcript.match = None
            self._go_to(message_id)
            return
        is_same = before >= 0 and matches == self._transcript.matches_of(
            self.found.hits[before][1].message_id
        )
        self._show_match(matches[0 if (step > 0) != (is_same and before != at) else -1])

    def _show_match(self, match: tuple[str, int]) -> None:
        self._transcript.match = match
        self._pane.transcript.show_match(*match)
        self._drawing.tell()

    # What is beyond the shown part

    async def uncover(self, message: Message) -> None:
        """Show the piece of a cut hit that holds its first match, when none is shown."""
        if not message.truncated or self._transcript.matches_of(message.id):
            return
        asked = self._opened.asked
        to_its_end = asked is not None and asked.everything
        chars = message.content_length if to_its_end else INDEXED_CHARS
        read = await self._opened.read(message_text, message.id, chars=chars)
        if read is None:
            return
        found = await asyncio.to_thread(self._opened.marker, read[0])
        if found:
            await self._reading_on.show_around(f"m{message.id}", found[0][0])
            await self._drawing.now(Wish())
            match = next(iter(self._transcript.matches_of(message.id)), None)
            if match is not None:
                self._show_match(match)
