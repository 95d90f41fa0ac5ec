"""The one way of text into the HTML: runs of equal looks, marked, escaped.

A match is found in the text as it is shown, over all runs of a block, so it survives bold,
links and code colours inside it, and no address or attribute is ever touched.
"""

import html as html_entities
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from app.render import safe_text
from app.tokens import Tokens

_OURS = "\ufffc"  # nobody looks for it
_CJK = re.compile(
    r"[\u1100-\u11ff\u2e80-\u303f\u3041-\u30ff\u3100-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    r"\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]+"
)

Ranges = Sequence[tuple[int, int]]
Marker = Callable[[str], Ranges]


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text with one look. `href` is one of our own actions, or ''.

    `is_ours` tells words of the viewer within a text: no match is looked for in them.
    """

    text: str
    css: str = ""
    href: str = ""
    is_ours: bool = False


def no_marks(text: str) -> Ranges:  # noqa: ARG001 - a Marker
    """Mark nothing."""
    return ()


def literal_marker(wanted: str) -> Marker:
    """Return a marker of `wanted` as plain text, case ignored; '' marks nothing."""
    if not wanted:
        return no_marks
    pattern = re.compile(re.escape(wanted), re.IGNORECASE)

    def find(text: str) -> Ranges:
        return [found.span() for found in pattern.finditer(text)]

    return find


def tidy(
    ranges: Iterable[tuple[int, int]], length: int, *, apart: bool = False
) -> list[tuple[int, int]]:
    """Return ranges in order, inside the text, not empty, those that touch joined.

    With `apart` only those that overlap are.
    """
    result: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        start, end = max(0, start), min(end, length)
        if start >= end:
            continue
        if result and start < result[-1][1] + (not apart):
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def text_of(runs: Iterable[Run]) -> str:
    """Return the text of the runs, as a marker sees it."""
    return "".join(_OURS * len(run.text) if run.is_ours else run.text for run in runs)


def in_family(runs: Iterable[Run], family: str) -> list[Run]:
    """Return the runs with their CJK characters set in `family`; the text stays the same.

    A list of families would not do: Qt 6.11 keeps the first fallback it met for a family and
    gives it to every later list that begins with the same one.
    """
    result: list[Run] = []
    for run in runs:
        if "font-family" in run.css:
            result.append(run)
            continue
        at = 0
        for found in _CJK.finditer(run.text):
            if found.start() > at:
                result.append(replace(run, text=run.text[at : found.start()]))
            look = _joined(run.css, f"font-family:'{family}'")
            result.append(replace(run, text=found[0], css=look))
            at = found.end()
        if at < len(run.text) or not run.text:
            result.append(replace(run, text=run.text[at:]))
    return result


def html(
    runs: Sequence[Run], ranges: Sequence[tuple[int, int]], tokens: Tokens, *, code: bool = False
) -> str:
    """Return the runs as HTML; `ranges` are tidy ranges of their whole text.

    Line ends become `<br>`. Odd characters are shown by name with a `title` from which
    copying restores them; `code` shows the invisible ones too.
    """
    odd = safe_text.ODD_IN_CODE if code else safe_text.ODD_IN_PROSE
    breaks = safe_text.break_points(text_of(runs))
    cuts = sorted({*breaks, *(each for pair in ranges for each in pair)})
    marked = [
        f"background-color:{ground};color:{tokens.marktext}"
        for ground in (tokens.mark, twin(tokens.mark))
    ]
    looks = _alternating(ranges)
    offered = set(breaks)
    parts: list[str] = []
    start = next_cut = next_range = 0
    for run in runs:
        end = start + len(run.text)
        at = start
        while at < end:
            while next_cut < len(cuts) and cuts[next_cut] <= at:
                next_cut += 1
            to = min(end, cuts[next_cut]) if next_cut < len(cuts) else end
            while next_range < len(ranges) and ranges[next_range][1] <= at:
                next_range += 1
            inside = next_range < len(ranges) and ranges[next_range][0] <= at
            css = _joined(run.css, marked[looks[next_range]]) if inside else run.css
            if at in offered:
                parts.append(f'<span title="{safe_text.BREAK}" style="{css}">\u200b</span>')
            parts.append(_piece(run.text[at - start : to - start], css, run.href, odd, tokens))
            at = to
        start = end
    return "".join(parts)


def twin(color: str) -> str:
    """Return a colour that nobody can tell from `color`, for a match that touches another."""
    return f"#{int(color[1:], 16) ^ 1:06X}"


def _alternating(ranges: Sequence[tuple[int, int]]) -> list[int]:
    """Return 0 or 1 for each range, so that two that touch differ."""
    looks: list[int] = []
    for at, (start, _) in enumerate(ranges):
        touches = at > 0 and ranges[at - 1][1] == start
        looks.append(1 - looks[-1] if touches else 0)
    return looks


def _joined(css: str, more: str) -> str:
    return f"{css};{more}" if css else more


def _piece(text: str, css: str, href: str, odd: re.Pattern[str], tokens: Tokens) -> str:
    body = _escaped(text, css, odd, tokens)
    if href:
        return f'<a href="{href}" style="text-decoration:none;{css}">{body}</a>'
    return f'<span style="{css}">{body}</span>' if css else body


def _escaped(text: str, css: str, odd: re.Pattern[str], tokens: Tokens) -> str:
    if text.isprintable() and _OURS not in text:  # the one odd character that is printable
        return _plain(text)
    parts: list[str] = []
    at = 0
    for found in odd.finditer(text):
        parts.append(_plain(text[at : found.start()]))
        shown, name = safe_text.mark(found[0])
        look = css if "background-color" in css else _joined(css, f"color:{tokens.err}")
        parts.append(f'<span title="{name}" style="{look}">{shown}</span>')
        at = found.end()
    parts.append(_plain(text[at:]))
    return "".join(parts)


def _plain(text: str) -> str:
    return html_entities.escape(text, quote=False).replace("\n", "<br>")
