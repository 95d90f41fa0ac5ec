"""What long upkeep of the store is called, asks and comes to, in words."""

from collections.abc import Sequence
from pathlib import PurePath

from PySide6.QtCore import QCoreApplication

from app import formatting
from app.dialogs import Question
from app.messages import Notice, describe
from app.text_ranges import one_line
from app.views.maintenance.index_words import sentence
from app.views.maintenance.store_words import others
from core.errors import CoreError
from core.upkeep_types import OpenElsewhere, PurgePreview, Report, Snapshot, StoreSizes

_CONTEXT = "upkeep"
_RESTORE = "backscroll restore"
_LIST = "backscroll backup --list"
_SALVAGE = "backscroll repair --salvage"
_COMPACT_BYTES_S = 130_000_000  # 4 GB in 30 s


def tr(text: str) -> str:
    """Translate a text of this module."""
    return QCoreApplication.translate(_CONTEXT, text)


def doing(name: str, what: str) -> str:
    """Return what runs: the action, and the part of it that is being worked on."""
    names = {
        "check": tr("Full check of a private copy"),
        "backup": tr("Backing up and proving it"),
        "prove": tr("Proving the newest snapshot by a restore"),
        "optimize": tr("Merging the indexes"),
        "compact": tr("Compacting"),
        "repair": tr("Repairing"),
        "erase": tr("Erasing what was deleted"),
    }
    part = one_line(what).strip()
    return f"{names[name]}: {part}" if part else names[name]


def may_close(name: str) -> str:
    """Return what closing the window would do to it."""
    if name == "repair":
        return tr("You can close the window: the filling goes on at the next start.")
    if name == "erase":
        return tr("You can close the window: what is not erased yet waits, and is erased later.")
    return tr("You can close the window: it stops at a safe point, and nothing is lost.")


def ask_compact(sizes: StoreSizes, elsewhere: Sequence[OpenElsewhere]) -> Question:
    """Return the question before the file is written anew."""
    freed = sizes.free_pages_bytes + sizes.damaged_bytes
    facts = [
        tr("About %1 go back to the disk.").replace("%1", formatting.size(freed)),
        tr("It needs %1 beside the store for a while; %2 are free.")
        .replace("%1", formatting.size(sizes.compact_needs_bytes))
        .replace("%2", formatting.size(sizes.disk_free_bytes)),
        tr("Nothing can be written meanwhile, for about %1.").replace(
            "%1", tr("%1 s").replace("%1", formatting.number(_compact_s(sizes)))
        ),
    ]
    if elsewhere:
        facts.append(others(elsewhere))
    return Question(tr("Compact the store?"), tuple(facts), tr("Compact"))


def _compact_s(sizes: StoreSizes) -> int:
    """Return about how many seconds it takes, at least one."""
    held = sum(sizes.parts.values()) + sizes.free_pages_bytes
    return max(1, round(held / _COMPACT_BYTES_S))


def ask_erase(preview: PurgePreview) -> Question:
    """Return the question before deleted texts are gone for good."""
    waiting = preview.waiting
    count = formatting.counted(waiting.messages, tr("%1 message"), tr("%1 messages"))
    facts = [
        tr("Erased from every file of the store: %1, %2. This cannot be undone.")
        .replace("%1", count)
        .replace("%2", formatting.size(waiting.bytes)),
    ]
    if preview.snapshots:
        oldest = min(each.created_at_ms for each in preview.snapshots)
        snapshots = formatting.counted(
            len(preview.snapshots), tr("%1 snapshot"), tr("%1 snapshots")
        )
        total = sum(each.bytes for each in preview.snapshots)
        facts.append(
            tr("Deleted with them: %1 with the text, %2, since %3; a new one is made after it.")
            .replace("%1", snapshots)
            .replace("%2", formatting.size(total))
            .replace("%3", formatting.full_time(oldest))
        )
    if preview.folders:
        facts.append(
            tr("So are damaged and replaced stores kept beside it: %1 (%2).")
            .replace("%1", ", ".join(one_line(each) for each in preview.folders))
            .replace("%2", formatting.size(preview.folder_bytes))
        )
    facts.append(
        tr("It needs %1 beside the store for a while; %2 are free. Others wait about %3 s.")
        .replace("%1", formatting.size(preview.needed_bytes))
        .replace("%2", formatting.size(preview.free_bytes))
        .replace("%3", formatting.number(preview.lock_s))
    )
    if preview.others:
        facts.append(others(preview.others))
    return Question(tr("Erase what was deleted?"), tuple(facts), tr("Erase for good"))


def outcome(name: str, last: object) -> Notice:
    """Return what finished upkeep came to."""
    if isinstance(last, Snapshot):
        return _of_snapshot(name, last)
    if not isinstance(last, Report):
        return Notice("info", tr("There was nothing to do."), "", "")
    told = sentence(last.outcome)
    if name == "check" and not last.facts.get("ok", True):
        words = tr("Repair sets damaged indexes aside and fills new ones.")
        return Notice("err", tr("The full check found damage."), words, last.outcome)
    if last.state == "pending":
        return Notice("warn", tr("Not all of it could be done yet."), told, last.outcome)
    causes = {
        "check": tr("The full check found nothing wrong."),
        "optimize": tr("The indexes are merged."),
        "compact": tr("The store is compact."),
        "repair": tr("The repair is done."),
        "erase": tr("What was deleted is erased."),
    }
    detail = _freed(last) if name == "compact" else told
    return Notice("ok", causes[name], detail, last.outcome)


def _freed(report: Report) -> str:
    freed = report.facts.get("freed_bytes")
    if not isinstance(freed, int):
        return ""
    return tr("%1 went back to the disk.").replace("%1", formatting.size(max(0, freed)))


def _of_snapshot(name: str, made: Snapshot) -> Notice:
    if made.problem:
        cause = tr("The snapshot could not be proved.")
        words = tr("It is kept, but do not rely on it: make another one.")
        return Notice("err", cause, words, f"{made.path}\n{made.problem}")
    cause = tr("Backed up and proved by a restore.")
    if name == "prove":
        cause = tr("The newest snapshot restores whole.")
    count = formatting.counted(made.messages, tr("%1 message"), tr("%1 messages"))
    words = tr("%1 in %2. To go back to it, close Backscroll and run: %3")
    words = words.replace("%1", count).replace("%2", formatting.size(made.bytes))
    command = f"{_RESTORE} {one_line(PurePath(made.path).name)}"
    return Notice("ok", cause, words.replace("%3", command), made.path)


def failure(error: CoreError) -> Notice:
    """Return an expected error with its own sentence, which names numbers and places."""
    words = describe(error)
    return Notice(
        words.kind, words.cause, f"{sentence(str(error))} {words.consequence}", words.details
    )


def stopped() -> Notice:
    """Return what is said when something was stopped."""
    words = tr("What was done until then is kept; nothing is half done.")
    return Notice("info", tr("Stopped at a safe point."), words, "")


def how_to_salvage() -> Notice:
    """Return how a damaged file is rescued: the store has to be closed for it."""
    words = tr(
        "Close Backscroll and every other program that has the store open, then run: %1. "
        "It writes a new store with what can be read and a report of the rest; the damaged file "
        "is kept. To go back to a snapshot instead, run: %2 (%3 lists them)."
    )
    words = words.replace("%1", _SALVAGE).replace("%2", f"{_RESTORE} FILE").replace("%3", _LIST)
    return Notice("warn", tr("A damaged file is rescued while it is closed."), words, _SALVAGE)
