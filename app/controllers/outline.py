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
from core.history.outline import PROMPTS_SHOWN, Prompt, places_of, prompts
from core.search.run import search
from core.types import Hit, Message, Role, SearchRequest, Session

HITS_SHOWN = 200
HITS_READ = 1_000
_NEAR = 20
_DEADLINE_S = 2.0
_ENDS_SHOWN = 3
_WORDS = 120
_LEAD = 12  # characters kept before the match at most
_PHRASE_END = re.compile(r"[\s,.;:!?…，。、；：！？）)」』】]+")

translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class Found:
    """What of a session the outline and the rail name: hits by number, or prompts.

    `hits` are in the order of the session; `next` is where the rest of them begins, None when
    they are all here. `entries` are the rows of some in the outline, from hit `first_entry` on,
    or of the prompts; `with_entries` makes them.
    """

    hits: tuple[tuple[int, Hit], ...] = ()
    prompts: tuple[Prompt, ...] = ()
    next: str | None = None
    at_least: int = 0
    entries: tuple[OutlineRow, ...] = ()
    first_entry: int = 0

    @property
    def hits_total(self) -> int:
        """How many hits there are, as far as is known."""
        return len(self.hits) if self.next is None else max(len(self.hits), self.at_least)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the hits, in order."""
        return tuple(number for number, _ in self.hits)


def find_in_session(
    db: apsw.Connection,
    session: Session,
    query: str,
    asked: SearchRequest | None = None,
    *,
    after: str | None = None,
) -> Found:
    """Return the hits of a question in a session, or the session's prompts without a question.

    At most `HITS_READ` at a time; `after` is the `next` of those before.

    Args:
        db: a connection to a store.
        session: the session.
        query: what is searched for.
        asked: the question as it was asked of all sessions, with its filters.
        after: read on from there.

    Raises:
        QueryError: as `search`.
    """
    if not query.strip():
        return Found(prompts=prompts(db, session.id))
    request = replace(
        asked if asked is not None and asked.query == query else SearchRequest(query),
        limit=HITS_READ,
        offset=0,
        sort="oldest",
        sessions=(session.ref,),
        deadline_s=_DEADLINE_S,
        after=after,
    )
    result = search(db, request)
    places = places_of(db, session.id, [hit.message_id for hit in result.hits])
    found = [(*places[hit.message_id], hit) for hit in result.hits if hit.message_id in places]
    found.sort(key=lambda each: each[0])
    hits = tuple((number, hit) for _, number, hit in found)
    return Found(hits=hits, next=result.next, at_least=result.total_hits)


def joined(found: Found, more: Found) -> Found:
    """Return both together, in the order of the session; a message once."""
    hits = {hit.message_id: (number, hit) for number, hit in (*found.hits, *more.hits)}
    in_order = sorted(hits.values(), key=lambda each: each[0])  # stable: by number
    return replace(found, hits=tuple(in_order), next=more.next, at_least=more.at_least)


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


def with_entries(found: Found, marker: Marker, current: int = 0) -> Found:
    """Return `found` with rows for the 200 hits around hit `current`, or for the prompts.

    Marking 200 hits takes 20 ms, so not on the GUI thread.
    """
    if found.hits:
        first = max(0, min(current - HITS_SHOWN // 2, len(found.hits) - HITS_SHOWN))
        shown = found.hits[first : first + HITS_SHOWN]
        entries = tuple(_hit(number, hit, marker) for number, hit in shown)
        return replace(found, entries=entries, first_entry=first)
    return replace(
        found,
        entries=tuple(
            _row(each.number, each.message_id, gist.plain(each.text, _WORDS), _USER, runs.no_marks)
            for each in found.prompts
        ),
    )


def shows(found: Found, current: int) -> bool:
    """Tell whether hit `current` has a row, and neighbours where there are any."""
    first, end = found.first_entry, found.first_entry + len(found.entries)
    before = first == 0 or current >= first + _NEAR
    return before and (end == len(found.hits) or current < end - _NEAR)


def _middle(found: Found, current: int) -> list[OutlineRow]:
    if not found.entries:
        return []
    if not found.hits:
        count = formatting.number(len(found.prompts))
        if len(found.prompts) >= PROMPTS_SHOWN:
            count = translate("outline", "first %1").replace("%1", count)
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
