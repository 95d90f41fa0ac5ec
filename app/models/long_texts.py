"""How far the long texts of the open conversation are shown."""

from dataclasses import replace

from app.render import folded
from app.render.item import Item, Read
from app.render.page import Page
from app.render.stretch import Text
from core.types import Message

MOST_PIECES = 24  # of one text are shown from its beginning, and as many further on


class LongTexts:
    """The part of a transcript that knows texts by their keys."""

    def __init__(self) -> None:
        self.page = Page()
        self.items: tuple[Item, ...] = ()

    def message_of(self, key: str) -> Message | None:
        """Return the message that an item's key names."""
        raise NotImplementedError

    def text(self, key: str) -> Text | None:
        """Return a text of a loaded message by its key; None when it is not loaded."""
        message = self.message_of(key)
        if message is None:
            return None
        if key.startswith("th"):
            reasoning = message.reasoning or ""
            return Text(message.id, folded.REASONING, key, reasoning, len(reasoning))
        return folded.content_of(message)

    def head_end(self, key: str) -> int:
        """Return where the beginning of a text ends that is shown, 0 where none is."""
        end = 0
        for item in self.items:
            if item.shows is not None and item.shows[:2] == (key, end):
                end = item.shows[2]
        return end

    def shows(self, key: str, at: int) -> bool:
        """Tell whether the character `at` of a text is shown."""
        stretches = [item.shows for item in self.items if item.shows is not None]
        return any(each[0] == key and each[1] <= at < each[2] for each in stretches)

    def offset_wanted(self, key: str, *, behind_far: bool) -> int | None:
        """Show one more piece of what is loaded of a text, or return where to read on from."""
        text, far = self.text(key), self.page.far.get(key)
        if text is None or (behind_far and far is None):
            return None
        if behind_far and far is not None:
            return far.end
        end = self.head_end(key)
        count = self.page.pieces.get(key, 0) + 1
        if end >= len(text.loaded) or count >= MOST_PIECES:
            return end
        self.page = replace(self.page, pieces={**self.page.pieces, key: count})
        return None

    def room_for(self, text: Text, offset: int) -> int:
        """Return how many characters lie between `offset` and what is shown further on."""
        far = self.page.far.get(text.key)
        return (text.length if far is None or far.start <= offset else far.start) - offset

    def add_piece(self, key: str, start: int, piece: str) -> None:
        """Show a piece behind what is shown of a text.

        When there are many the next ones are kept apart, and the first of those go again.
        """
        near = self.page.near.get(key, Read(start, ()))
        far = self.page.far.get(key)
        is_near = start == near.end and (far is None or start < far.start)
        if is_near and len(near.pieces) < MOST_PIECES:
            pieces = Read(near.start, (*near.pieces, piece))
            self.page = replace(self.page, near={**self.page.near, key: pieces})
            return
        if far is None or far.end != start:
            far = Read(start, ())
        first, pieces_on = far.start, (*far.pieces, piece)
        if len(pieces_on) > MOST_PIECES:
            first, pieces_on = first + len(pieces_on[0]), pieces_on[1:]
        self.put_far(key, Read(first, pieces_on))

    def put_far(self, key: str, far: Read) -> None:
        """Show a stretch of a text apart from its beginning, instead of another one."""
        self.page = replace(self.page, far={**self.page.far, key: far})
