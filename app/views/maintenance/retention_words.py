"""What retention and the trash say: how much, from when to when, and what stays all the same."""

import re
from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from app import formatting
from core.upkeep_types import RetentionPreview, Trash

Runs = list[tuple[str, bool]]


def _tr(text: str) -> str:
    return QCoreApplication.translate("retention", text)


def marked(words: str, *values: str) -> Runs:
    """Return a translated sentence as runs, with %1, %2 … replaced by values in bold."""
    parts = re.split(r"(%[1-9])", words)
    bold = {f"%{number}": value for number, value in enumerate(values, 1)}
    return [(bold.get(each, each), each in bold) for each in parts if each]


def sessions(count: int) -> str:
    """Return `71 sessions`."""
    return formatting.counted(count, _tr("%1 session"), _tr("%1 sessions"))


def messages(count: int) -> str:
    """Return `9,310 messages`."""
    return formatting.counted(count, _tr("%1 message"), _tr("%1 messages"))


def listed(parts: Sequence[str]) -> str:
    """Return `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    words = _tr("%1 and %2").replace("%1", ", ".join(parts[:-1]))
    return words.replace("%2", parts[-1])


def going(preview: RetentionPreview) -> Runs:
    """Return the sentence of how much would go, numbers in bold."""
    if not preview.sessions:
        return [(_tr("Nothing would go to the trash"), True)]
    amount = sessions(preview.sessions), formatting.size(preview.bytes)
    words = _tr("%1, %3, %2 would go to the trash").replace("%3", messages(preview.messages))
    return marked(words, *amount)


def span_and_rest(preview: RetentionPreview) -> str:
    """Return when what would go was last active, and what stays though it is as old."""
    days = span(preview.oldest_at_ms, preview.newest_at_ms)
    return "; ".join(each for each in (days, staying(preview)) if each)


def span(oldest_at_ms: int | None, newest_at_ms: int | None) -> str:
    """Return `oldest 3 Dec 2025, newest 1 Jun 2026`, or '' without dates."""
    if oldest_at_ms is None or newest_at_ms is None:
        return ""
    words = _tr("oldest %1, newest %2").replace("%1", _day(oldest_at_ms))
    return words.replace("%2", _day(newest_at_ms))


def staying(preview: RetentionPreview) -> str:
    """Return `12 pinned and 1 running stay`, or '' where nothing does."""
    counts = (
        (preview.kept_pinned, _tr("%1 pinned")),
        (preview.kept_running, _tr("%1 running")),
        (preview.kept_by_lineage, _tr("%1 with a younger continuation")),
        (preview.kept_without_time, _tr("%1 without a date")),
    )
    parts = [words.replace("%1", formatting.number(count)) for count, words in counts if count]
    if not parts:
        return ""
    total = sum(count for count, _ in counts)
    words = _tr("%1 stays") if total == 1 else _tr("%1 stay")
    return words.replace("%1", listed(parts))


def share(preview: RetentionPreview) -> str:
    """Return `31 %`: how much of all messages would go."""
    return formatting.percent(preview.messages / max(1, preview.all_messages))


def trash_line(trash: Trash) -> str:
    """Return `Trash: 3 sessions until 4 Dec`."""
    words = _tr("Trash: %1 until %2").replace("%1", trash_amount(trash))
    until = trash.next_expiry_at_ms
    if until is None:
        return _tr("Trash: %1").replace("%1", trash_amount(trash))
    return words.replace("%2", _day(until))


def trash_amount(trash: Trash) -> str:
    """Return `3 sessions`, or `4 items` where single messages are among them."""
    whole = all(each.message is None for each in trash.items)
    if whole:
        return sessions(trash.total)
    if all(each.message is not None for each in trash.items):
        return messages(trash.total)
    return formatting.counted(trash.total, _tr("%1 item"), _tr("%1 items"))


def _day(at_ms: int) -> str:
    return formatting.short_day(formatting.local(at_ms).date(), formatting.today())
