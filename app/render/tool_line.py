"""A tool call and its result: one telling line, and what it holds when unfolded."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from app import formatting
from app.render import blocks, gist, safe_text, words
from app.render.runs import Marker, Run
from app.render.sheet import Sheet
from app.render.style import Style, icon, link
from app.render.words import translate
from core.types import Message, TimeQuality, ToolCall, ToolStatus

SHOWN_CHARS = 4_000
ALL_CHARS = 65_536
_DAY_MS = 86_400_000
_AROUND = (3, 8)  # lines before and after a match in a block that opened itself
_BADGES = {
    ToolStatus.SUCCEEDED: ("ok", "ok", "okbg"),
    ToolStatus.FAILED: ("fail", "err", "errbg"),
    ToolStatus.PENDING: ("pending", "info", "infobg"),
    ToolStatus.UNKNOWN: ("unknown", "unk", "unkbg"),
}


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call with its result, where both are known; at least one is."""

    call: ToolCall | None
    asked: Message | None
    result: Message | None

    @property
    def name(self) -> str:
        """The tool's name, or ''."""
        if self.call is not None and self.call.name:
            return self.call.name
        return (self.result.tool_name if self.result else "") or ""

    @property
    def status(self) -> ToolStatus:
        """How it ended; the result knows better than the call."""
        told = self.result.tool_status if self.result else None
        if told is not None and told is not ToolStatus.UNKNOWN:
            return told
        return self.call.status if self.call else ToolStatus.UNKNOWN

    @property
    def elapsed_ms(self) -> int | None:
        """The time between call and result, where both times are exact."""
        if self.asked is None or self.result is None:
            return None
        start, end = self.asked.created_at_ms, self.result.created_at_ms
        exact = self.asked.time_quality is self.result.time_quality is TimeQuality.EXACT
        if not exact or start is None or end is None or not 0 < end - start < _DAY_MS:
            return None
        return end - start


def holds_match(use: ToolUse, marker: Marker) -> bool:
    """Tell whether what the fold hides holds a match."""
    hidden = [use.call.arguments] if use.call else []
    if use.result is not None:
        hidden.append(safe_text.without_terminal_codes(use.result.content))
    return any(marker(text) for text in hidden if text)


def fold_row(
    sheet: Sheet,
    image: str,
    name: str,
    told: str,
    ink: str,
    *,
    is_open: bool,
    mono: bool,
    right: str,
) -> str:
    """Return the two-cell line of a fold: chevron, bold name, what it is about, outcome.

    `name` and `told` are untrusted text, `right` is HTML. Returned without its table.
    """
    style, tokens = sheet.style, sheet.style.tokens
    chevron = icon("chevron-down" if is_open else "chevron-right", "text3", 12)
    fold = link(sheet.act("fold"), chevron, tokens.text3)
    look = style.code(12, 18) if mono else style.caption()
    room = style.width_px - 56 - 24 - 24 - (180 if right else 0) - 8 * len(name)
    cut = safe_text.fit(told, room, style.px(12), mono=mono)
    text = sheet.text(
        [
            Run(name, f"font-weight:bold;color:{getattr(tokens, ink)}", sheet.act("fold")),
            Run("\u00a0" if mono else "\u00a0\u00a0"),
            Run(cut, f"color:{tokens.text2}"),
        ]
    )
    return (
        f'<td width="56" valign="middle" style="padding:7px 0 7px 24px">{image}</td>'
        f'<td valign="middle" style="padding:7px 0 7px 0;{look}">{fold}&nbsp;{"" if mono else " "}{text}</td>'
        f'<td align="right" valign="middle" style="padding:7px 24px 7px 0;{style.caption()}">'
        f"{right}</td>"
    )


def outcome(style: Style, use: ToolUse) -> str:
    """Return duration and outcome badge: icon, word and tint."""
    image, ink, ground = _BADGES[use.status]
    tokens = style.tokens
    color, tint = getattr(tokens, ink), getattr(tokens, ground)
    badge = (
        f'<span style="background-color:{tint};color:{color}">&nbsp;{icon(image, ink, 14)}'
        f"&nbsp;{words.status(use.status)}&nbsp;</span>"
    )
    took = use.elapsed_ms
    return badge if took is None else f"{_took(took)}&nbsp;&nbsp;{badge}"


def _took(ms: int) -> str:
    if ms < 1000:
        return f"{ms} ms"
    if ms < 10_000:
        return formatting.elapsed(ms)
    seconds = round(ms / 1000)
    return f"{seconds} s" if seconds < 100 else f"{round(seconds / 60)} min"


def changed_lines(named: Mapping[str, object] | None, raw: str) -> str:
    """Return `+18 −9` for a call that edits text, or ''."""
    added = removed = 0
    if named is None:
        if not raw.startswith("*** Begin Patch"):
            return ""
        lines = raw[:ALL_CHARS].splitlines()
        added = sum(line.startswith("+") for line in lines)
        removed = sum(line.startswith("-") for line in lines)
    elif isinstance(named.get("old_string"), str) and isinstance(named.get("new_string"), str):
        diff = _difference(str(named["old_string"]), str(named["new_string"]))
        added = sum(line.startswith("+") for line in diff)
        removed = sum(line.startswith("-") for line in diff)
    return f"+{added} \u2212{removed}" if added or removed else ""


def _difference(old: str, new: str) -> list[str]:
    """Return `old` to `new` as diff lines without headers; large texts whole, unmatched."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > 600:
        return [f"-{line}" for line in before] + [f"+{line}" for line in after]
    lines = difflib.unified_diff(before, after, lineterm="", n=3)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def told_by(use: ToolUse, folder: str) -> str:
    """Return the main argument with its line counts, or the result's first line."""
    if use.call is None:
        return safe_text.one_line(safe_text.without_terminal_codes(_content(use)), 200)
    named = gist.arguments(use.call)
    counts = changed_lines(named, use.call.arguments)
    told = gist.main_argument(use.call, folder)
    return f"{told} {counts}" if counts else told


def _content(use: ToolUse) -> str:
    return use.result.content if use.result else ""


def inside(sheet: Sheet, use: ToolUse, *, whole: bool, raw: bool, by_match: bool) -> str:
    """Return what an unfolded call shows: its arguments, then its result.

    Args:
        sheet: what it is written on.
        use: the call and its result.
        whole: show up to 65,536 characters of each argument instead of 4,000.
        raw: show the result with its terminal codes made visible.
        by_match: it opened by itself, so a long result is shown around its first match.
    """
    parts = [] if use.call is None else _arguments(sheet, use.call, whole=whole)
    if use.result is not None:
        parts.append(_result(sheet, use.result.content, raw=raw, by_match=by_match))
    return "".join(parts)


def _arguments(sheet: Sheet, call: ToolCall, *, whole: bool) -> list[str]:
    named = gist.arguments(call)
    title = translate("viewer", "arguments")
    if named is None:
        if not call.arguments.strip():
            return []
        language = "diff" if call.arguments.startswith("*** Begin Patch") else ""
        return [_cut_block(sheet, call.arguments, language, title, whole=whole)]
    small: list[str] = []
    parts: list[str] = []
    old, new = named.get("old_string"), named.get("new_string")
    for name, value in named.items():
        if isinstance(old, str) and isinstance(new, str) and name in ("old_string", "new_string"):
            continue
        text = value if isinstance(value, str) else gist.json.dumps(value, ensure_ascii=False)
        if "\n" in text or len(text) > 120:
            language = {"command": "bash", "cmd": "bash", "code": "python"}.get(name, "")
            parts.append(_cut_block(sheet, text, language, name, whole=whole))
        else:
            small.append(f"{name}: {text}")
    if small:
        parts.insert(0, _cut_block(sheet, "\n".join(small), "", title, whole=whole))
    if isinstance(old, str) and isinstance(new, str):
        diff = "\n".join(_difference(old, new))
        parts.append(_cut_block(sheet, diff, "diff", translate("viewer", "change"), whole=whole))
    return parts


def _cut_block(sheet: Sheet, text: str, language: str, title: str, *, whole: bool) -> str:
    cap = ALL_CHARS if whole else SHOWN_CHARS
    html = blocks.code(sheet, text[:cap], language, title=title, top=2)
    left = len(text) - cap
    if left <= 0:
        return html
    more = words.rest(min(left, ALL_CHARS - SHOWN_CHARS), left)
    if whole:
        more = translate("viewer", "%1 not shown; copy takes up to here")
        return html + note(sheet, more.replace("%1", words.characters(left)))
    return html + note(sheet, link(sheet.act("whole"), more, sheet.style.tokens.accent))


def _result(sheet: Sheet, content: str, *, raw: bool, by_match: bool) -> str:
    clean = safe_text.without_terminal_codes(content)
    text = content if raw else clean
    title = f"{translate('viewer', 'result')} · {words.lines(text.count(chr(10)) + 1)}"
    more = ""
    if clean != content:
        word = translate("viewer", "clean") if raw else translate("viewer", "raw")
        more = link(sheet.act("raw"), word, sheet.style.tokens.accent) + "&nbsp;&nbsp;"
    if not text:
        return note(sheet, translate("viewer", "The result is empty."))
    shown = around_match(text, sheet.marker) if by_match else text
    if shown is not text:
        word = translate("viewer", "show the whole result")
        more = link(sheet.act("open"), word, sheet.style.tokens.accent) + "&nbsp;&nbsp;"
    return blocks.code(sheet, shown, "", title=title, top=6, more=more)


def around_match(text: str, marker: Marker) -> str:
    """Return the lines around the first match of a long text, or `text` itself."""
    lines = text.split("\n")
    found = marker(text)
    if len(lines) <= sum(_AROUND) + 4 or not found:
        return text
    at = text.count("\n", 0, min(found)[0])
    first, last = max(0, at - _AROUND[0]), min(len(lines), at + _AROUND[1] + 1)
    shown = lines[first:last]
    return "\n".join((["…"] if first else []) + shown + (["…"] if last < len(lines) else []))


def note(sheet: Sheet, html: str, *, top: int = 4) -> str:
    """Return a caption line below a block; `html` is ours."""
    return f'<p style="margin:{top}px 0 0 0;{sheet.style.caption()}">{html}</p>'
