"""A tool call and its result as one telling line: name, main argument, outcome."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from app import formatting
from app.render import gist, safe_text, words
from app.render.item import Scene
from app.render.style import Style, badge, gap, icon
from core.types import Message, TimeQuality, ToolCall, ToolStatus

_COUNTED_CHARS = 65_536  # of an argument or a result are looked through
_COMPARED_LINES = 600
_DAY_MS = 86_400_000
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


def holds_match(scene: Scene, use: ToolUse) -> bool:
    """Tell whether what the fold hides holds a match."""
    hidden = [use.call.arguments, use.call.result] if use.call else []
    if use.call is not None and scene.call_texts is not None:
        hidden = scene.call_texts(use.call)
    if use.result is not None:
        hidden.append(safe_text.without_terminal_codes(use.result.content))
    return any(scene.marker(text[:_COUNTED_CHARS]) for text in hidden if text)


def outcome(style: Style, use: ToolUse) -> str:
    """Return duration and outcome badge: icon, word and tint."""
    image, ink, ground = _BADGES[use.status]
    color, tint = getattr(style.tokens, ink), getattr(style.tokens, ground)
    word = badge(words.status(use.status), color, tint, icon(image, ink, 14))
    took = use.elapsed_ms
    return word if took is None else f"{_took(took)}{gap()}{word}"


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
        lines = raw[:_COUNTED_CHARS].splitlines()
        added = sum(line.startswith("+") for line in lines)
        removed = sum(line.startswith("-") for line in lines)
    elif isinstance(named.get("old_string"), str) and isinstance(named.get("new_string"), str):
        diff = difference(str(named["old_string"]), str(named["new_string"]))
        added = sum(line.startswith("+") for line in diff)
        removed = sum(line.startswith("-") for line in diff)
    return f"+{added} \u2212{removed}" if added or removed else ""


def difference(old: str, new: str) -> list[str]:
    """Return `old` to `new` as diff lines without headers; large texts whole, unmatched."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _COMPARED_LINES:
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
