"""The whole conversation as loaded: bookends, gaps, messages, as a list of items.

What changes between two renderings is found by comparing items, so that the viewer touches
only those.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from app.render import blocks, gist, message, safe_text, words
from app.render.item import Item, Read, Scene
from app.render.runs import Run
from app.render.style import GUTTER_PX, Style, gap, icon, link, pad
from app.render.words import translate
from core.types import Message, Role

GAP_BEFORE = "gap-before"
GAP_AFTER = "gap-after"
_OWNER = re.compile(r"(?:m|th|t|b)(\d+)")
_NUMBER_PX = 56

Kept = Mapping[str, tuple[tuple[object, ...], tuple[Item, ...]]]


@dataclass(frozen=True, slots=True)
class Page:
    """What is loaded of one session, and what the reader did to it.

    `messages` are consecutive. `opening` and `resolution` are shown as far as `messages`
    does not hold them: as one-line rows around a hit, in full when `reading` from the start
    (then only the resolution stands apart). A reset took the messages up to `reset_seq` from
    the model.
    """

    total: int = 0
    messages: tuple[Message, ...] = ()
    opening: tuple[Message, ...] = ()
    resolution: tuple[Message, ...] = ()
    anchor_id: int | None = None
    reading: bool = False
    reset_seq: int = 0
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    pieces: Mapping[str, int] = field(default_factory=dict)
    near: Mapping[str, Read] = field(default_factory=dict)
    far: Mapping[str, Read] = field(default_factory=dict)

    @property
    def head(self) -> tuple[Message, ...]:
        """The opening messages that stand before what is loaded."""
        first = self.messages[0].number if self.messages else self.total + 1
        return tuple(each for each in self.opening if each.number < first)

    @property
    def tail(self) -> tuple[Message, ...]:
        """The resolution messages that stand after what is loaded."""
        last = self.messages[-1].number if self.messages else 0
        return tuple(each for each in self.resolution if each.number > last)

    @property
    def hidden_before(self) -> int:
        """How many messages lie in the gap before what is loaded."""
        if not self.messages:
            return 0
        shown = self.head[-1].number if self.head else 0
        return max(0, self.messages[0].number - 1 - shown)

    @property
    def hidden_after(self) -> int:
        """How many messages lie in the gap after what is loaded."""
        if not self.messages:
            return 0
        shown = self.tail[0].number if self.tail else self.total + 1
        return max(0, shown - 1 - self.messages[-1].number)


def build(page: Page, scene: Scene, kept: Kept) -> tuple[tuple[Item, ...], Kept]:
    """Return the page's items, and what to pass as `kept` the next time.

    Args:
        page: what is loaded.
        scene: the look and the marks; its anchor and the reader's choices are the page's.
        kept: from the rendering before; a message that did not change is taken from it.
    """
    scene = replace(scene, anchor_id=page.anchor_id, choices=page.choices, pieces=page.pieces)
    scene = replace(scene, near=page.near, far=page.far)
    results = _results(page.messages + page.tail if page.reading else page.messages)
    maker = _Maker(page, scene, kept, results)
    made: list[Item] = [] if page.messages else [_nothing(scene.style)]
    if page.head:
        made.append(_label(scene.style, "opening", len(page.head), page.total))
        for each in page.head:
            made.extend(maker.bookend(each))
    elif page.reading and page.hidden_after and page.messages[0].number == 1:
        made.append(_label(scene.style, "opening", len(page.messages), page.total))
    made.extend(_gap(scene.style, GAP_BEFORE, page.hidden_before))
    before = 0
    for each in page.messages:
        if 0 < before <= page.reset_seq < each.seq:
            made.append(_reset(scene.style))
        before = each.seq
        made.extend(maker.message(each))
    made.extend(_gap(scene.style, GAP_AFTER, page.hidden_after))
    if page.tail:
        made.append(_label(scene.style, "resolution", len(page.tail), page.total))
        for each in page.tail:
            made.extend(maker.message(each) if page.reading else maker.bookend(each))
    return tuple(made), maker.made


def _results(messages: tuple[Message, ...]) -> dict[str, Message]:
    """Return the loaded results by call, for calls that stand before them."""
    calls: set[str] = set()
    results: dict[str, Message] = {}
    for each in messages:
        calls.update(call.id for call in each.tool_calls if call.id)
        wanted = each.tool_call_id
        if each.role is Role.TOOL and wanted in calls and wanted not in results:
            results[wanted] = each
    return results


def _by_key(page: Page) -> Iterator[tuple[str, object]]:
    """Yield what the reader did to items and texts."""
    for each in (page.choices, page.pieces, page.near, page.far):
        yield from each.items()


class _Maker:
    """Makes the items of messages, or takes them from the rendering before."""

    def __init__(
        self, page: Page, scene: Scene, kept: Kept, results: Mapping[str, Message]
    ) -> None:
        self._page = page
        self._scene = scene
        self._kept = kept
        self._results = results
        self._merged = {each.id for each in results.values()}
        self._choices: dict[int, list[tuple[str, object]]] = {}
        for key, chosen in _by_key(page):
            owner = _OWNER.match(key)
            if owner:
                self._choices.setdefault(int(owner[1]), []).append((key, chosen))
        self.made: dict[str, tuple[tuple[object, ...], tuple[Item, ...]]] = {}

    def message(self, each: Message) -> tuple[Item, ...]:
        """Return a message in full; nothing for a result shown with its call."""
        if each.id in self._merged:
            return ()
        results = {
            call.id: self._results[call.id]
            for call in each.tool_calls
            if call.id and call.id in self._results
        }
        wanted = {each.id, *(result.id for result in results.values())}
        anchor = self._page.anchor_id if self._page.anchor_id in wanted else None
        chosen = tuple(pair for owner in sorted(wanted) for pair in self._choices.get(owner, ()))
        stamp = (each, tuple(results.values()), anchor, chosen, *self._common())
        known = self._kept.get(f"m{each.id}")
        if known is None or known[0] != stamp:
            known = (stamp, tuple(message.items(self._scene, each, results)))
        self.made[f"m{each.id}"] = known
        return known[1]

    def bookend(self, each: Message) -> tuple[Item, ...]:
        """Return a message as one line; in full when the reader opened it."""
        if "fold" in self._page.choices.get(f"b{each.id}", ()):
            return (_opened_bookend(self._scene, each), *self.message(each))
        stamp = (each, None, None, None, *self._common())
        known = self._kept.get(f"b{each.id}")
        if known is None or known[0] != stamp:
            known = (stamp, (_bookend(self._scene, each),))
        self.made[f"b{each.id}"] = known
        return known[1]

    def _common(self) -> tuple[object, ...]:
        scene = self._scene
        return scene.style, scene.marker, scene.folder, scene.model, scene.call_texts


def _nothing(style: Style) -> Item:
    """Return what a session without visible messages shows."""
    sentence = translate("viewer", "There is no message to show in this conversation.")
    html = (
        f'{blocks.TABLE}><tr><td style="padding:16px 24px;{style.caption()}">{sentence}</td></tr>'
        "</table>"
    )
    return Item(key="nothing", html=html)


def _label(style: Style, which: str, count: int, total: int) -> Item:
    """Return the line that names a part of the session, with a rule to the right edge."""
    tokens = style.tokens
    if which == "opening":
        name, facts, top = translate("viewer", "Opening"), words.first_of(count, total), 10
    else:
        name, facts, top = translate("viewer", "Resolution"), words.last_of(count, total), 0
    html = (
        f'{blocks.TABLE}><tr><td style="padding:{top}px 12px 4px 24px;{style.caption()};'
        f'white-space:nowrap"><b style="color:{tokens.text2}">{name}</b>{gap()}{facts}</td>'
        f'<td width="100%" style="padding:{top + 9}px 24px 0 0"><table width="100%" '
        f'cellspacing="0" cellpadding="0"><tr><td style="border-top:1px solid {tokens.line};'
        f'font-size:1px;line-height:1px"></td></tr></table></td></tr></table>'
    )
    return Item(key=which, html=html)


def _reset(style: Style) -> Item:
    """Return the line between what a reset took from the model and what came after it."""
    tokens = style.tokens
    edge = f'<td width="50%" style="padding:9px 24px 0 24px"><table width="100%" {blocks.BARE}>'
    edge += f'<tr><td style="border-top:1px solid {tokens.line2};font-size:1px"></td></tr>'
    edge += "</table></td>"
    said = translate("viewer", "Reset: the model no longer had what stands above")
    html = (
        f"{blocks.TABLE}><tr>{edge}"
        f'<td align="center" style="padding:0;white-space:nowrap;{style.caption()}">{said}</td>'
        f"{edge}</tr></table>"
    )
    return Item(key="reset", html=html)


def _gap(style: Style, key: str, hidden: int) -> list[Item]:
    """Return the row that stands for messages not loaded; nothing where there are none."""
    if not hidden:
        return []
    tokens = style.tokens
    side = key.removeprefix("gap-")
    edge = f"1px dashed {tokens.line2}"
    dot = f'{pad(count=2)}<span style="color:{tokens.line2}">\u2022</span>{pad(count=2)}'
    parts = [words.messages(hidden)]
    if hidden > 20:
        parts.append(link(f"do:more/{side}", translate("viewer", "show 20"), tokens.accent))
    parts.append(link(f"do:all/{side}", translate("viewer", "show all"), tokens.accent))
    html = (
        f'{blocks.TABLE} style="margin:6px 0"><tr><td align="center" style="border-top:{edge};'
        f'border-bottom:{edge};padding:4px;{style.caption()}">{dot.join(parts)}</td></tr></table>'
    )
    return [Item(key=key, html=html)]


def _opened_bookend(scene: Scene, each: Message) -> Item:
    """Return the line that folds an opened message of the opening or resolution again."""
    style, tokens = scene.style, scene.style.tokens
    sheet = scene.sheet(f"b{each.id}")
    fold = link(sheet.act("fold"), translate("viewer", "fold"), tokens.accent)
    chevron = link(sheet.act("fold"), icon("chevron-down", "text3", 12), tokens.text3)
    html = (
        f'{blocks.TABLE}><tr><td width="{GUTTER_PX}" style="padding:6px 0 0 24px">{chevron}</td>'
        f'<td style="padding:4px 24px 0 0;{style.caption(20)}">{fold}</td></tr></table>'
    )
    return Item(sheet.key, html, (), each.number, each.number)


def _bookend(scene: Scene, each: Message) -> Item:
    """Return a message as one line of 28 px, cut to the width; it opens in place."""
    style, tokens = scene.style, scene.style.tokens
    sheet = scene.sheet(f"b{each.id}")
    name, ink = message.role_sign(each)
    room = style.width_px - GUTTER_PX - 24 - _NUMBER_PX
    text = safe_text.fit(gist.of(each), room, 13)
    sheet.cjk_family = style.cjk_family(text)
    shown = sheet.text([Run(text, f"color:{tokens.text2}", sheet.act("fold"))])
    html = (
        f'{blocks.TABLE}><tr><td width="{GUTTER_PX}" style="padding:6px 0 4px 24px">'
        f"{icon(name, ink)}</td>"
        f'<td style="padding:4px 0;font-size:13px;line-height:20px;color:{tokens.text2}">'
        f"{shown}</td>"
        f'<td align="right" style="padding:4px 24px 4px 0;{style.caption(20)}">'
        f"#{each.number}</td></tr></table>"
    )
    return Item(sheet.key, html, (each.id,), each.number, each.number, sheet.matches)
