"""The outline's rows from what is known of the open session."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import apsw
from PySide6.QtCore import QCoreApplication

from app import formatting
from app.models.outline import OutlineRow, Row, heading
from app.render import gist, runs
from app.render.item import ROLE_INKS
from app.render.message import role_sign
from app.render.page import Page
from app.render.runs import Marker
from core.history.outline import Prompt, numbers_of, prompts
from core.search.run import search
from core.types import Hit, Message, Role, SearchRequest, Session

HITS_SHOWN = 200
_DEADLINE_S = 2.0
_ENDS_SHOWN = 3
_WORDS = 120
_LEAD = 12  # characters kept before the match at most
_PHRASE_END = re.compile(r"[\s,.;:!?…，。、；：！？）)」』】]+")

translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class Found:
    """What of a session the outline and the rail name: hits by number, or prompts.

    `entries` are their rows in the outline; `with_entries` makes them.
    """

    hits: tuple[tuple[int, Hit], ...] = ()
    hits_total: int = 0
    prompts: tuple[Prompt, ...] = ()
    entries: tuple[OutlineRow, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the hits, in order."""
        return tuple(number for number, _ in self.hits)


def find_in_session(db: apsw.Connection, session: Session, query: str) -> Found:
    """Return the first 200 hits of a query in a session, or its prompts without a query.

    Raises:
        QueryError: as `search`.
    """
    if not query.strip():
        return Found(prompts=prompts(db, session.id))
    request = SearchRequest(
        query,
        limit=HITS_SHOWN,
        sort="oldest",
        sessions=(session.ref,),
        deadline_s=_DEADLINE_S,
    )
    result = search(db, request)
    numbers = numbers_of(db, session.id, [hit.message_id for hit in result.hits])
    hits = sorted(
        ((numbers[hit.message_id], hit) for hit in result.hits if hit.message_id in numbers),
        key=lambda pair: pair[0],
    )
    return Found(hits=tuple(hits), hits_total=max(len(hits), result.total_hits))


def rows(page: Page, found: Found, marker: Marker, current: int) -> list[OutlineRow]:
    """Return opening, hits or prompts, and resolution; `current` is the hit one stands on."""
    made: list[OutlineRow] = []
    if page.reading:
        opening = page.messages[:_ENDS_SHOWN]
        resolution = (page.resolution or page.messages)[-_ENDS_SHOWN:]
    else:
        opening, resolution = page.opening[:_ENDS_SHOWN], page.resolution[-_ENDS_SHOWN:]
    if opening:
        made.append(heading(translate("outline", "Opening"), _span(opening)))
        made.extend(_entry(each, marker) for each in opening)
    made.extend(_middle(found, current))
    shown = {each.number for each in opening}
    resolution = tuple(each for each in resolution if each.number not in shown)
    if resolution:
        made.append(heading(translate("outline", "Resolution"), _span(resolution)))
        made.extend(_entry(each, marker) for each in resolution)
    return made


def with_entries(found: Found, marker: Marker) -> Found:
    """Return `found` with its rows; marking 200 hits takes 20 ms, so not on the GUI thread."""
    if found.hits:
        return replace(
            found, entries=tuple(_hit(number, hit, marker) for number, hit in found.hits)
        )
    return replace(
        found,
        entries=tuple(
            _row(each.number, each.message_id, gist.plain(each.text, _WORDS), _USER, runs.no_marks)
            for each in found.prompts
        ),
    )


def _middle(found: Found, current: int) -> list[OutlineRow]:
    if not found.entries:
        return []
    if not found.hits:
        count = formatting.number(len(found.prompts))
        return [heading(translate("outline", "Prompts"), count), *found.entries]
    facts = formatting.number(found.hits_total)
    if current:
        facts = translate("outline", "%1 of %2").replace("%2", facts)
        facts = facts.replace("%1", formatting.number(current))
    return [heading(translate("outline", "Hits in this session"), facts), *found.entries]


_USER = ("role-user", ROLE_INKS[Role.USER])


def _span(messages: Sequence[Message]) -> str:
    first, last = messages[0].number, messages[-1].number
    return (
        formatting.number(first)
        if first == last
        else f"{formatting.number(first)}–{formatting.number(last)}"
    )


def _entry(message: Message, marker: Marker) -> OutlineRow:
    return _row(message.number, message.id, gist.of(message, _WORDS), role_sign(message), marker)


def _hit(number: int, hit: Hit, marker: Marker) -> OutlineRow:
    """Return a hit by its words from the beginning of the phrase that matches."""
    text = gist.plain(hit.snippet, len(hit.snippet) + 1)
    marks = runs.tidy(marker(text), len(text))
    if marks:
        text = text[_phrase_start(text, marks[0][0]) :]
    sign = (f"role-{hit.role.value}", ROLE_INKS[hit.role])
    return _row(number, hit.message_id, text[:_WORDS], sign, marker)


def _phrase_start(text: str, match: int) -> int:
    """Return where the phrase around a match begins, at most 12 characters before it.

    A row of the outline holds some 12 CJK characters: the match has to be among them.
    """
    if match <= _LEAD:
        return 0
    ends = [found.end() for found in _PHRASE_END.finditer(text, match - _LEAD, match)]
    near = [end for end in ends if end < match]
    return near[0] if near else match - _LEAD // 2


def _row(
    number: int, message_id: int, text: str, sign: tuple[str, str], marker: Marker
) -> OutlineRow:
    return OutlineRow(
        Row.ENTRY,
        text,
        number=number,
        message_id=message_id,
        icon=sign[0],
        ink=sign[1],
        bold=tuple(runs.tidy(marker(text), len(text))),
    )


def place_of(numbers: Sequence[int], number: int | None) -> int:
    """Return the 1-based place of a number among others, 0 when it is not one of them."""
    return numbers.index(number) + 1 if number in numbers else 0
