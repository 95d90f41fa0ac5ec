"""Shows more of a long text: the next piece, the end, or the piece around a match."""

import asyncio

from PySide6.QtCore import QObject

from app.controllers.drawing import Drawing
from app.controllers.opened import Opened
from app.models.transcript import Transcript
from app.render import cost
from app.render.item import Read
from app.render.stretch import Text
from core.history.messages import message_piece

_CONTEXT_CHARS = 600  # shown before a match that is far from the beginning
_LINE_CHARS = 400  # of which so many may be left out to begin with a line
_END_CHARS = 8_192


class ReadingOn(QObject):
    """Reads pieces of the texts of the open conversation and has them drawn."""

    def __init__(self, opened: Opened, transcript: Transcript, drawing: Drawing) -> None:
        super().__init__(drawing)
        self._opened, self._transcript, self._drawing = opened, transcript, drawing

    async def show_more(self, key: str, *, behind_far: bool) -> None:
        """Show the next piece behind what is shown of a text; what is in view stays there."""
        text = self._transcript.text(key)
        if text is None:
            return
        offset = self._transcript.offset_wanted(key, behind_far=behind_far)
        if offset is not None:
            room = min(cost.PIECE_CHARS, self._transcript.room_for(text, offset))
            read = await self._piece(text, offset, room)
            if not read:
                return
            self._transcript.add_piece(key, offset, await _first_piece(text, read))
        await self._drawing.now()

    async def show_end(self, key: str) -> None:
        """Show the last piece of a text."""
        text = self._transcript.text(key)
        if text is None:
            return
        start = max(self._transcript.head_end(key), text.length - _END_CHARS)
        read = await self._piece(text, start, text.length - start)
        if read:
            last = (await asyncio.to_thread(text.pieces, read))[-1]
            self._transcript.put_far(key, Read(text.length - len(last), (last,)))
            await self._drawing.now()

    async def show_around(self, key: str, target: int) -> None:
        """Show the piece of a text that holds the character `target`."""
        text = self._transcript.text(key)
        if text is None or self._transcript.shows(key, target):
            return
        if self._transcript.open_fold(key):
            await self._drawing.now()
            if self._transcript.shows(key, target):
                return
        start = max(self._transcript.head_end(key), target - _CONTEXT_CHARS)
        read = await self._piece(text, start, cost.PIECE_CHARS + _CONTEXT_CHARS)
        if not read:
            return
        if start > self._transcript.head_end(key):
            line = read.find("\n", 0, min(_LINE_CHARS, target - start)) + 1
            start, read = start + line, read[line:]
        piece = await _first_piece(text, read)
        if start + len(piece) <= target:  # what stands before it is slow to lay out
            start, read = target, read[target - start :]
            piece = await _first_piece(text, read)
        self._transcript.put_far(key, Read(start, (piece,)))

    async def _piece(self, text: Text, offset: int, chars: int) -> str:
        """Return whole characters of a text from `offset` on, `chars` of them at most."""
        if text.key.startswith("th"):
            return text.loaded[offset : offset + chars]
        return await self._opened.read(message_piece, text.message_id, offset, chars) or ""


async def _first_piece(text: Text, read: str) -> str:
    return (await asyncio.to_thread(text.pieces, read, 1))[0]
