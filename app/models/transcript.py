"""What is loaded of the open conversation, and what the reader did to it.

Holds what it is given; fetches and renders nothing. The controller turns `page` into items
and gives them back with `rendered`.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from app.models.long_texts import LongTexts
from app.render.item import Item
from app.render.page import Kept, Page
from app.render.sheet import Spot
from core.types import Bookends, Message, Window

STEP = 20
MOST = 120

Side = Literal["before", "after"]
Match = tuple[str, int]

_MESSAGE_KEY = re.compile(r"(?:m|b|th|t)(\d+)")


class Transcript(LongTexts):
    """The loaded window of one session: at most 120 messages and the bookends.

    `match` is the current one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept: Kept = {}
        self.match: Match | None = None

    # Loading

    def open_window(self, window: Window, bookends: Bookends, reset_seq: int = 0) -> None:
        """Hold a window around its anchor, with the session's first and last messages.

        Messages up to `reset_seq` were taken from the model by a reset.
        """
        self._start(
            Page(
                total=bookends.total,
                messages=window.messages,
                opening=bookends.opening,
                resolution=bookends.resolution,
                anchor_id=window.anchor_id,
                reset_seq=reset_seq,
            )
        )

    def open_reading(self, bookends: Bookends, reset_seq: int = 0) -> None:
        """Hold a session's first messages to read on from, and its last ones in full."""
        last = bookends.opening[-1].number if bookends.opening else 0
        rest = tuple(each for each in bookends.resolution if each.number > last)
        head = bookends.opening
        if rest and rest[0].number == last + 1:  # nothing lies between: one stretch
            head, rest = head + rest, ()
        self._start(
            Page(
                total=bookends.total,
                messages=head,
                opening=bookends.opening[:3],
                resolution=rest,
                reading=True,
                reset_seq=reset_seq,
            )
        )

    def _start(self, page: Page) -> None:
        self.page = page
        self.kept = {}
        self.match = None

    def edge(self, side: Side) -> int | None:
        """Return the seq of the message to read on from; None when nothing is hidden there."""
        page = self.page
        hidden = page.hidden_before if side == "before" else page.hidden_after
        if not hidden or not page.messages:
            return None
        return page.messages[0 if side == "before" else -1].seq

    def extend(self, side: Side, found: Sequence[Message], in_view: range) -> int:
        """Add what was read at a side; beyond 120 messages the far side is dropped.

        Args:
            side: where `found` belongs.
            found: messages that follow what is loaded, oldest first; known ones are skipped.
            in_view: the numbers of the messages in view, which are never dropped.

        Returns how many messages were added.
        """
        known = self.page.messages
        numbers = {each.number for each in known}
        fresh = tuple(each for each in found if each.number not in numbers)
        both = fresh + known if side == "before" else known + fresh
        surplus = max(0, len(both) - MOST)
        if surplus and side == "before":
            while surplus and both[-1].number not in in_view:
                both, surplus = both[:-1], surplus - 1
        while surplus and side == "after" and both[0].number not in in_view:
            both, surplus = both[1:], surplus - 1
        self.page = replace(self.page, messages=both)
        return len(fresh)

    def last_shown(self) -> Message | None:
        """Return the last message of the session if it is shown in full, else None."""
        page = self.page
        held = page.messages + (page.tail if page.reading else ())
        return held[-1] if held and held[-1].number == page.total else None

    def grow(self, ends: Bookends, beyond: Sequence[Message], in_view: range) -> None:
        """Hold what became of a session that has more messages than before.

        What was shown stays. `beyond` follows the last message where that was shown; where so
        much is new that it leaves a gap, only the ends are held behind it.
        """
        page, tail = self.page, self.page.tail if self.page.reading else ()
        if not page.messages:
            self.open_reading(ends, page.reset_seq)
            return
        at_end = self.last_shown() is not None
        self.page = replace(page, total=ends.total)
        if at_end and not tail:
            self.extend("after", beyond, in_view)
            shown = self.page.messages[-1].number if page.reading else 0
        else:
            tail = (*tail, *beyond)
            shown = tail[-1].number if tail else 0
        rest = tuple(each for each in ends.resolution if each.number > shown)
        if tail and (not rest or rest[0].number == shown + 1):
            rest = (*tail, *rest)
        while len(rest) > MOST and rest[0].number not in in_view:
            rest = rest[1:]
        self.page = replace(self.page, resolution=rest)

    # The reader's choices

    def open_fold(self, key: str) -> bool:
        """Unfold what holds a text; tells whether it was folded."""
        message = self.message_of(key)
        if message is None or any(item.shows and item.shows[0] == key for item in self.items):
            return False
        kinds = ("th",) if key.startswith("th") else ("t", "m")
        for item in self.items:
            is_its = message.id in item.message_ids and item.key.rstrip("0123456789.") in kinds
            if is_its:
                self.choose(item.key, "fold")
                return True
        return False

    def unfold(self, message_id: int) -> bool:
        """Take back what the reader folded of a message; tells whether there was anything."""
        choices = dict(self.page.choices)
        for item in self.items:
            is_its = message_id in item.message_ids and not item.key.startswith("b")
            if is_its and "fold" in choices.get(item.key, ()):
                choices[item.key] = choices[item.key] - {"fold"}
        is_other = choices != self.page.choices
        self.page = replace(self.page, choices=choices)
        return is_other

    def choose(self, key: str, choice: str) -> None:
        """Make or take back a choice about an item (see `Scene.choices`)."""
        chosen = self.page.choices.get(key, frozenset()) ^ {choice}
        self.page = replace(self.page, choices={**self.page.choices, key: chosen})

    def set_anchor(self, message_id: int) -> bool:
        """Make a loaded message the anchor; returns False when it is not loaded."""
        if self.message(message_id) is None:
            return False
        self.page = replace(self.page, anchor_id=message_id)
        return True

    # What is shown

    def rendered(self, items: tuple[Item, ...], kept: Kept) -> None:
        """Take what the page was rendered to; a match that is gone is no longer current."""
        self.items = items
        self.kept = kept
        if self.match is not None and self.match not in self.matches():
            self.match = None

    def message(self, message_id: int) -> Message | None:
        """Return a loaded message, a bookend included; None when it is not loaded."""
        page = self.page
        for each in (*page.messages, *page.opening, *page.resolution):
            if each.id == message_id:
                return each
        return None

    def numbered(self, number: int) -> Message | None:
        """Return the message with a number, if it is shown in full."""
        page = self.page
        held = page.messages + (page.tail if page.reading else ())
        return next((each for each in held if each.number == number), None)

    def is_loaded(self, message_id: int) -> bool:
        """Tell whether a message is shown in full (bookends around a hit are not)."""
        held = self.page.messages + (self.page.tail if self.page.reading else ())
        return any(each.id == message_id for each in held)

    def anchor(self) -> Message | None:
        """Return the anchor."""
        return None if self.page.anchor_id is None else self.message(self.page.anchor_id)

    def standing_on(self) -> list[int]:
        """Return the messages one stands on: the match's, the anchor first; else the anchor."""
        anchor = [] if self.page.anchor_id is None else [self.page.anchor_id]
        for item in self.items:
            if self.match is not None and item.key == self.match[0]:
                others = [each for each in item.message_ids if each not in anchor]
                return [*anchor, *others] if len(others) < len(item.message_ids) else others
        return anchor

    def current_number(self, hits: Sequence[int] = ()) -> int:
        """Return the number of the message one stands on: the match's, the anchor's, or 0.

        A call and its result are one item; the one of `hits` is meant, else the anchor.
        """
        anchor = self.anchor()
        numbers = [] if anchor is None else [anchor.number]
        for item in self.items:
            if self.match is not None and item.key == self.match[0]:
                shown = [self.message(each) for each in item.message_ids]
                on = [each.number for each in shown if each is not None]
                numbers = numbers if set(numbers) & set(on) else on
                numbers += [each for each in on if each not in numbers]
        found = [each for each in numbers if each in hits]
        return (found or numbers or [0])[0]

    def key_of(self, message_id: int) -> str:
        """Return the key of the item that shows a message's own text best; '' when none does."""
        shown = [item for item in self.items if message_id in item.message_ids]
        named = {f"m{message_id}", f"b{message_id}"}
        return next(
            (item.key for item in shown if item.key in named), shown[0].key if shown else ""
        )

    def message_of(self, key: str) -> Message | None:
        """Return the message that an item's key names."""
        found = _MESSAGE_KEY.match(key)
        return self.message(int(found[1])) if found else None

    def link(self, key: str, number: int) -> str:
        """Return the address a link of an item stands for; '' when there is none."""
        return next(
            (
                item.links[number]
                for item in self.items
                if item.key == key and number < len(item.links)
            ),
            "",
        )

    def code(self, key: str, number: int) -> str:
        """Return the text a copy link of an item stands for; '' when there is none."""
        return next(
            (
                item.codes[number]
                for item in self.items
                if item.key == key and number < len(item.codes)
            ),
            "",
        )

    def loaded_ranges(self) -> tuple[tuple[int, int], ...]:
        """Return the stretches of message numbers that are shown, bookends included."""
        page = self.page
        numbers = sorted({each.number for each in (*page.head, *page.messages, *page.tail)})
        ranges: list[tuple[int, int]] = []
        for number in numbers:
            if ranges and ranges[-1][1] + 1 == number:
                ranges[-1] = (ranges[-1][0], number)
            else:
                ranges.append((number, number))
        return tuple(ranges)

    # Matches

    def matches(self) -> list[Match]:
        """Return every match shown in full messages, as item key and number within the item.

        Top to bottom. The marks of one-line rows are none to stop at.
        """
        return [(item.key, n) for item in self.items if item.is_full for n in range(item.matches)]

    def matches_of(self, message_id: int) -> list[Match]:
        """Return the matches of a message that are shown in full, top to bottom."""
        return [
            (item.key, n)
            for item in self.items
            if message_id in item.message_ids and item.is_full
            for n in range(item.matches)
        ]

    def match_number(self, message_id: int, number: int, count: int) -> Match | None:
        """Return match `number` of a message's `count`; None when not all of them are shown."""
        shown = self._spots_of(message_id)
        return shown[number][1] if len(shown) == count else None

    def match_at(self, spot: Spot, *, exact: bool) -> Match | None:
        """Return the match at a spot; where that is not marked by itself, the one before it."""
        near: Match | None = None
        for found, match in self._spots_of(spot[0]):
            if found == spot:
                return match
            if found[1] == spot[1] and found[2] <= spot[2]:
                near = match
        return None if exact else near

    def _spots_of(self, message_id: int) -> list[tuple[Spot, Match]]:
        return [
            (spot, (item.key, n))
            for item in self.items
            if item.is_full
            for n, spot in enumerate(item.spots)
            if spot[0] == message_id
        ]

    def first_match_of(self, message_id: int) -> Match | None:
        """Return the first match of a message, or None."""
        for item in self.items:
            if message_id in item.message_ids and item.matches and item.is_full:
                return item.key, 0
        return None
