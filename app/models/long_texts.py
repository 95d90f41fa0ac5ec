"""How far the long texts of the open conversation are shown."""

from collections.abc import Iterable
from dataclasses import replace

from app.render import folded
from app.render.item import Far, Item
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

    def put_text(self, text: Text, more: str) -> None:
        """Add what was read on of a message's content."""
        content = text.loaded + more

        def longer(messages: Iterable[Message]) -> tuple[Message, ...]:
            return tuple(
                replace(each, content=content, truncated=len(content) < each.content_length)
                if each.id == text.message_id and each.content == text.loaded
                else each
                for each in messages
            )

        page = self.page
        self.page = replace(
            page,
            messages=longer(page.messages),
            opening=longer(page.opening),
            resolution=longer(page.resolution),
        )

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

    def goes_far(self, key: str, *, behind_far: bool) -> bool:
        """Tell whether the next piece is kept as what is shown further on."""
        return behind_far or self.page.pieces.get(key, 0) + 1 >= MOST_PIECES

    def offset_wanted(self, key: str, *, behind_far: bool) -> int | None:
        """Show one more piece of a text; return the offset to read on from, None if it is here.

        Only the beginning is shown piece by piece from what is loaded.
        """
        text = self.text(key)
        if text is None:
            return None
        if behind_far:
            return self.page.far[key].end if key in self.page.far else None
        end = self.head_end(key)
        if self.goes_far(key, behind_far=False):
            return end
        count = self.page.pieces.get(key, 0) + 1
        self.page = replace(self.page, pieces={**self.page.pieces, key: count})
        return len(text.loaded) if end >= len(text.loaded) and end < text.length else None

    def add_far(self, key: str, start: int, piece: str) -> None:
        """Show a piece behind what is shown further on; the first ones go when they are many."""
        far = self.page.far.get(key)
        if far is None or far.end != start:
            far = Far(start, ())
        pieces = (*far.pieces, piece)
        if len(pieces) > MOST_PIECES:
            far, pieces = Far(far.start + len(pieces[0]), ()), pieces[1:]
        self.put_far(key, Far(far.start, pieces))

    def put_far(self, key: str, far: Far) -> None:
        """Show a stretch of a text apart from its beginning, instead of another one."""
        self.page = replace(self.page, far={**self.page.far, key: far})
