"""Find in conversation: plain text over the whole session, loaded or not."""

from bisect import bisect_left
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import accumulate

from PySide6.QtCore import QObject

from app.controllers.drawing import Drawing
from app.controllers.opened import Opened
from app.controllers.reading_on import ReadingOn
from app.models.transcript import Transcript
from app.tasks import TaskScope
from app.views.conversation_pane import ConversationPane
from core.recall.find import Found, MessageMatches, Spot, find, spot_of
from core.recall.message_texts import CALL, REASONING, call_texts
from core.recall.plain_text import Sought, find_ranges, sought

_FIRST_S = 0.25  # a look that is over by then shows no counting
_NEXT_S = 0.5

Load = Callable[[int], Awaitable[bool]]
At = tuple[int, int]


class Finding(QObject):
    """Counts the matches of what is typed, marks them, and goes from one to the next.

    `load` shows the window around a message. The latest text wins; nothing here waits on the
    window's thread. `numbers` are those of the messages that match.
    """

    def __init__(
        self,
        opened: Opened,
        pane: ConversationPane,
        transcript: Transcript,
        drawing: Drawing,
        reading_on: ReadingOn,
        tasks: TaskScope,
        load: Load,
    ) -> None:
        super().__init__(pane)
        self._opened, self._pane, self._transcript = opened, pane, transcript
        self._drawing, self._reading_on, self._tasks, self._load = drawing, reading_on, tasks, load
        self.text = ""
        self._wanted: Sought | None = None
        self._entries: list[MessageMatches] = []
        self._sums: list[int] = [0]
        self._numbers: tuple[int, ...] = ()
        self._is_whole = False
        self._at: At | None = None
        self._awaited = 0
        self._from = 1

    @property
    def is_on(self) -> bool:
        """True while something is looked for."""
        return self._wanted is not None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the messages that match, as far as they were counted."""
        return self._numbers

    @property
    def place(self) -> tuple[int, int]:
        """Which match one stands on, 0 for none, and how many there are so far."""
        number = 0 if self._at is None else self._sums[self._at[0]] + self._at[1] + 1
        return number, self._sums[-1]

    def forget(self) -> None:
        """Look for nothing; what is drawn is the caller's to change."""
        self._tasks.cancel("context-find")
        self._tasks.cancel("context-find-go")
        self.text, self._wanted = "", None
        self._reset()

    def _reset(self) -> None:
        self._entries, self._sums, self._numbers, self._is_whole = [], [0], (), False
        self._at, self._awaited = None, 0

    def find(self, text: str) -> None:
        """Mark `text` instead of what the search found; '' marks that again."""
        if text == self.text or self._opened.session is None:
            return
        self._from = self._number_now()
        self.forget()
        self.text, self._wanted = text, sought(text)
        if self._wanted is None:
            self._mark(None)
            self._drawing.soon()
            self._show_count()
        else:
            self._tasks.start("context-find", self._find(self._wanted))

    def step(self, step: int) -> None:
        """Go to the next match (1) or the one before (-1), round the end where it is the last."""
        if not self._is_whole and (self._at is None or self._is_last_known(step)):
            self._awaited = step
        elif self._entries:
            self._go(*self._beside(step))

    def _number_now(self) -> int:
        """Return the number of the message to begin at: the match's, else the first in view."""
        if self._at is not None:
            return self._entries[self._at[0]].number
        top, end = self._pane.transcript.numbers_in_view()
        anchor = self._transcript.anchor()
        is_seen = anchor is not None and top <= anchor.number < end
        return anchor.number if anchor is not None and is_seen else int(top)

    def _mark(self, wanted: Sought | None) -> None:
        marker = self._opened.marker if wanted is None else partial(find_ranges, wanted)
        self._drawing.mark(marker, None if wanted is None else call_texts)
        self._transcript.match = None

    # Counting

    async def _find(self, wanted: Sought) -> None:
        session = self._opened.session
        seconds, looked_at = _FIRST_S, 0
        while session is not None and not self._is_whole:
            found = await self._opened.read(
                find, session.id, wanted, behind=looked_at, deadline_s=seconds
            )
            if found is None:
                return
            seconds = _NEXT_S if found.looked_at > looked_at else 2 * seconds
            is_first, looked_at = looked_at == 0, found.looked_at
            self._take(found)
            if is_first:
                self._mark(wanted)
                self._drawing.soon()
            self._go_on()
            self._show_count()

    def _take(self, found: Found) -> None:
        self._entries += found.messages
        self._sums = list(accumulate((entry.matches for entry in self._entries), initial=0))
        self._numbers = tuple(entry.number for entry in self._entries)
        self._is_whole = found.is_whole

    def _go_on(self) -> None:
        """Go where one wanted to go before it was known what is there."""
        if self._at is None and self._entries:
            near = bisect_left(self._entries, self._from, key=lambda entry: entry.number)
            if near < len(self._entries) or self._is_whole:
                self._go((near % len(self._entries), 0), near == len(self._entries))
        if self._awaited and (self._is_whole or not self._is_last_known(self._awaited)):
            step, self._awaited = self._awaited, 0
            self.step(step)

    def _is_last_known(self, step: int) -> bool:
        return self._at is not None and self._beside(step)[1]

    def _beside(self, step: int) -> tuple[At, bool]:
        """Return the match beside the current one, and whether that is round the end."""
        if self._at is None:
            return (0, 0) if step > 0 else self._last(), False
        entry, number = self._at[0], self._at[1] + step
        if 0 <= number < self._entries[entry].matches:
            return (entry, number), False
        entry += step
        if entry == len(self._entries):
            return (0, 0), True
        if entry < 0:
            return self._last(), True
        return (entry, 0 if step > 0 else self._entries[entry].matches - 1), False

    def _last(self) -> At:
        return len(self._entries) - 1, self._entries[-1].matches - 1

    # Going

    def _go(self, at: At, wrapped: bool) -> None:
        first = at == (0, 0)
        self._at = at
        note = ""
        if wrapped:
            note = self.tr("from the beginning") if first else self.tr("from the end")
        self._show_count(note)
        entry = self._entries[at[0]]
        match = self._transcript.match_number(entry.message_id, at[1], entry.matches)
        if match is not None and not self._drawing.is_busy:
            self._tasks.cancel("context-find-go")
            self._show_match(match)
        else:
            self._tasks.start("context-find-go", self._show(entry, at[1]))

    def _show_match(self, match: tuple[str, int]) -> None:
        self._transcript.match = match
        self._pane.transcript.show_match(*match)
        self._drawing.tell()

    async def _show(self, entry: MessageMatches, number: int) -> None:
        """Bring a match into view: load its window, unfold it, show the piece that holds it."""
        transcript, wanted = self._transcript, self._wanted
        if wanted is None:
            return
        if not transcript.is_loaded(entry.message_id) and not await self._load(entry.message_id):
            return
        await self._drawing.settled()
        match = transcript.match_number(entry.message_id, number, entry.matches)
        if match is None:
            spot = await self._opened.read(spot_of, entry.message_id, wanted, number)
            if spot is None:
                return
            await self._uncover(spot)
            match = transcript.match_at(spot, exact=False)
        if match is None:
            self._pane.transcript.centre(transcript.key_of(entry.message_id))
        else:
            self._show_match(match)

    async def _uncover(self, spot: Spot) -> None:
        """Have the match at a spot drawn: open its fold, then show the piece that holds it."""
        if self._transcript.match_at(spot, exact=True) is not None:
            return
        if self._transcript.unfold(spot.message_id):
            await self._drawing.now()
        if self._transcript.match_at(spot, exact=True) is not None or spot.part.startswith(CALL):
            return
        is_reasoning = spot.part == REASONING
        key = f"th{spot.message_id}" if is_reasoning else f"m{spot.message_id}"
        await self._reading_on.show_around(key, spot.start)
        await self._drawing.now()

    def _show_count(self, note: str = "") -> None:
        number, total = self.place
        self._pane.find_bar.show_count(number, total, whole=self._is_whole, note=note)
