"""What the Indexes card says of an index: badge, bar and facts, as pure words."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from app import formatting
from core.types import IndexStatus

_CONTEXT = "indexes"
Runs = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Verified:
    """What a real MATCH over one index came to. `words` are the core's own, empty for well."""

    at_ms: int
    ok: bool
    elapsed_ms: float | None
    words: str = ""


@dataclass(frozen=True, slots=True)
class IndexShown:
    """An index as the card shows it.

    `rates` are rows a second over the last minutes, the latest last. `is_now`: its rows are
    done without pauses. `can_work` is false where this program may not or cannot fill it.
    """

    status: IndexStatus
    now_ms: int
    verified: Verified | None = None
    is_verifying: bool = False
    is_now: bool = False
    is_running: bool = False
    is_repairing: bool = False
    can_work: bool = True
    rates: tuple[float, ...] = ()

    @property
    def is_damaged(self) -> bool:
        """Whether the last look at it found that it does not answer as it should."""
        return self.verified is not None and not self.verified.ok

    @property
    def is_whole(self) -> bool:
        """Whether it holds all that it should and may be asked for it."""
        return self.status.ready and not self.is_damaged

    @property
    def is_pausable(self) -> bool:
        """Whether there is work that can be stopped, or taken up again."""
        return self.can_work and (self.status.state != "ready" or self.status.paused)


@dataclass(frozen=True, slots=True)
class Look:
    """Icon, word and kind of the badge; look and fraction of the bar."""

    icon: str
    word: str
    kind: str
    bar: str
    fraction: float


def look(shown: IndexShown) -> Look:
    """Return how an index looks: what is worst of it comes first."""
    status = shown.status
    part = formatting.percent(status.coverage)
    if shown.is_damaged:
        return Look("fail", tr("damaged"), "err", "off", 0.0)
    if status.state == "detached":
        if shown.is_running and not status.paused:
            word = tr("catching up %1").replace("%1", part)
            return Look("pending", word, "info", "part", status.coverage)
        return Look("warning", tr("detached"), "warn", "off", 0.0)
    if status.state == "ready" and not status.todo:
        return Look("ok", tr("ready"), "ok", "whole", 1.0)
    if status.paused:
        return Look(
            "pause", tr("paused at %1").replace("%1", part), "unk", "halted", status.coverage
        )
    if status.stuck:
        word = tr("stuck at %1").replace("%1", part)
        return Look("warning", word, "warn", "halted", status.coverage)
    if status.state == "stale":
        return Look("warning", tr("out of date"), "warn", "off", 0.0)
    if status.state == "settling":
        return Look("pending", tr("settling"), "info", "part", 1.0)
    return Look("pending", tr("backfill %1").replace("%1", part), "info", "part", status.coverage)


def facts(shown: IndexShown) -> Runs:
    """Return the line of numbers: rows, rate, time left, last moved, verified."""
    status = shown.status
    is_filled = status.state in ("building", "settling") or shown.is_running
    moves = is_filled and not status.paused
    rows = tr("%1 of %2 rows").replace("%1", formatting.number(status.done))
    rows = rows.replace("%2", formatting.number(status.done + status.todo))
    parts = [(rows, bool(status.todo))]
    if moves and status.rate_rows_s and not status.stuck:
        rate = formatting.number(max(1, round(status.rate_rows_s)))
        parts.append((tr("%1 rows/s").replace("%1", rate), False))
        if status.eta_s is not None:
            left = formatting.remaining(status.eta_s)
            parts.append((tr("%1 left").replace("%1", left), True))
    if status.last_moved_at_ms is not None and status.state != "detached":
        parts.append((moved(status.last_moved_at_ms, shown.now_ms), status.stuck))
    if shown.is_verifying:
        parts.append((tr("asking it …"), False))
    elif shown.verified is not None and shown.verified.ok:
        parts.append((_verified(shown.verified), False))
    return apart(parts)


def _verified(verified: Verified) -> str:
    at = when(verified.at_ms)
    if verified.elapsed_ms is None:
        return tr("checked %1").replace("%1", at)
    words = tr("verified %1 by a real MATCH, %2").replace("%1", at)
    return words.replace("%2", formatting.elapsed(verified.elapsed_ms).replace(" ", "\u00a0"))


def summary(indexes: Sequence[IndexShown]) -> tuple[str, str, str, str]:
    """Return icon, ink and words for all indexes, and what it means for who searches."""
    counts = Counter(_group(each) for each in indexes)
    named = (
        ("damaged", tr("%1 damaged")),
        ("building", tr("%1 building")),
        ("settling", tr("%1 settling")),
        ("stuck", tr("%1 stuck")),
        ("paused", tr("%1 paused")),
        ("stale", tr("%1 out of date")),
        ("detached", tr("%1 detached")),
    )
    parts = [
        words.replace("%1", formatting.number(counts[key])) for key, words in named if counts[key]
    ]
    if not parts:
        return "ok", "ok", tr("every index is whole"), ""
    first = parts[0].split(" ", 1)
    noun = tr("index") if first[0] == formatting.number(1) else tr("indexes")
    words = ", ".join((f"{first[0]} {noun} {first[1]}", *parts[1:]))
    if counts["damaged"]:
        return "fail", "err", words, tr("searches go other ways and say so")
    if set(counts) <= {"ready", "building", "settling"}:
        return "pending", "info", words, tr("everything stays searchable meanwhile")
    return "warning", "warn", words, tr("everything stays searchable meanwhile")


def _group(shown: IndexShown) -> str:
    status = shown.status
    if shown.is_damaged:
        return "damaged"
    if status.state in ("detached", "ready"):
        return status.state
    if status.paused:
        return "paused"
    return "stuck" if status.stuck else status.state


def reason(shown: IndexShown) -> Runs:
    """Return in words why an index is not whole and what goes on meanwhile; () for nothing."""
    status = shown.status
    why = sentence(status.reason)
    if shown.is_damaged and shown.verified is not None:
        at = tr("Found %1:").replace("%1", formatting.clock(shown.verified.at_ms))
        meanwhile = tr("Searches go other ways and say so; no message is lost.")
        return ((f"{at} ", True), (f"{sentence(shown.verified.words)} {meanwhile}", False))
    if status.state == "detached":
        queued = formatting.counted(
            status.queued,
            tr("%1 changed row waits in its queue."),
            tr("%1 changed rows wait in its queue."),
        )
        if shown.is_running and not status.paused:
            words = tr("It is being brought up to date; searches go other ways until then.")
            return ((f"{words} ", False), (queued, status.queued > 0))
        if not status.queued:
            return ((f"{why} {tr('Searches go other ways and say so.')}", False),)
        words = f"{why} {tr('Searches go other ways and say so;')} "
        return ((words, False), (queued, status.queued > 0))
    if status.state == "stale":
        return ((f"{why} {tr('Searches go other ways until it is filled anew.')}".strip(), False),)
    if status.paused and status.state == "settling":
        words = tr("It answers for every row; its segments are merged when you resume it.")
        return ((words, False),)
    if status.paused and status.state != "ready":
        return (
            (
                tr("Paused: it goes on when you resume it. New messages are indexed as they come."),
                False,
            ),
        )
    if status.stuck:
        words = tr("There are rows to do, but nothing moves. Pause and resume it, or restart.")
        return ((f"{why} {words}".strip(), False),)
    if status.state == "building":
        return ((_pace(shown), False),)
    if status.state == "settling":
        return ((tr("It answers for every row; its segments are being merged."), False),)
    return ()


def _pace(shown: IndexShown) -> str:
    if shown.is_now:
        return tr("Running without pauses. New messages are indexed as they come.")
    if shown.is_running:
        return tr(
            "Running gently, so that searches stay quick. New messages are indexed as they come."
        )
    if shown.status.worker is not None:
        words = tr("Another program is working on it (pid %1).")
        return words.replace("%1", str(shown.status.worker))
    return tr("Waiting for its turn. New messages are indexed as they come.")


def moved(at_ms: int, now_ms: int) -> str:
    """Return how long ago something moved, or at which time of which day."""
    seconds = max(0, (now_ms - at_ms) // 1000)
    if seconds < 60:
        return tr("moved %1 s ago").replace("%1", formatting.number(seconds))
    if seconds < 3600:
        return tr("moved %1 min ago").replace("%1", formatting.number(seconds // 60))
    return tr("moved %1").replace("%1", when(at_ms))


def when(at_ms: int) -> str:
    """Return the time of day for today, else the day."""
    day, today = formatting.local(at_ms).date(), formatting.today()
    return formatting.clock(at_ms) if day == today else formatting.short_day(day, today)


def apart(parts: list[tuple[str, bool]]) -> Runs:
    """Return facts with dots between them."""
    runs: list[tuple[str, bool]] = []
    for n, part in enumerate(parts):
        if n:
            runs.append((" · ", False))
        runs.append(part)
    return tuple(runs)


def tr(text: str) -> str:
    """Translate a text of this module."""
    return QCoreApplication.translate(_CONTEXT, text)


def sentence(words: str) -> str:
    """Return words of the core as a sentence."""
    words = words.strip()
    if not words:
        return ""
    if any(sign in words.split()[0] for sign in "./_"):  # a name, which is as it is
        return words + ("" if words.endswith(".") else ".")
    return words[0].upper() + words[1:] + ("" if words.endswith(".") else ".")
