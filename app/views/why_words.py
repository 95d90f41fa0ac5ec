"""Why a conversation is not seen, in words."""

from dataclasses import dataclass

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from app import formatting
from app.text_ranges import one_line
from app.views.source_delegate import short_path
from core.source_types import Absence, AbsenceFinding, AbsenceKind

_LOOKS: dict[AbsenceKind, tuple[str, str, str]] = {
    "visible": ("ok", "ok", QT_TRANSLATE_NOOP("absence", "It is here")),
    "archived": ("archive", "unk", QT_TRANSLATE_NOOP("absence", "Archived")),
    "kind": ("eye-off", "unk", QT_TRANSLATE_NOOP("absence", "Left out of lists")),
    "empty": ("eye-off", "unk", QT_TRANSLATE_NOOP("absence", "Nothing to show")),
    "lineage": ("lineage", "info", QT_TRANSLATE_NOOP("absence", "Part of another")),
    "taken_back": ("undo", "unk", QT_TRANSLATE_NOOP("absence", "Taken back")),
    "trashed": ("trash", "warn", QT_TRANSLATE_NOOP("absence", "In the trash")),
    "deleted": ("trash", "err", QT_TRANSLATE_NOOP("absence", "Deleted by you")),
    "gone": ("info", "unk", QT_TRANSLATE_NOOP("absence", "Gone at its source")),
    "removed": ("info", "unk", QT_TRANSLATE_NOOP("absence", "Source removed")),
    "failed": ("fail", "err", QT_TRANSLATE_NOOP("absence", "File failed")),
    "unreadable": ("fail", "err", QT_TRANSLATE_NOOP("absence", "Broken record")),
    "not_imported": ("import", "warn", QT_TRANSLATE_NOOP("absence", "Not imported")),
    "not_watched": ("eye-off", "warn", QT_TRANSLATE_NOOP("absence", "Not watched")),
    "changed": ("history", "warn", QT_TRANSLATE_NOOP("absence", "Not read yet")),
    "in_file": ("unknown", "unk", QT_TRANSLATE_NOOP("absence", "In a file only")),
    "nowhere": ("search", "unk", QT_TRANSLATE_NOOP("absence", "Not found")),
}


@dataclass(frozen=True, slots=True)
class Said:
    """A finding as it is shown: icon, badge kind, word, sentence, and a button's word or ''."""

    icon: str
    kind: str
    word: str
    sentence: str
    action: str = ""


def _tr(text: str) -> str:
    return QCoreApplication.translate("absence", text)


def said(finding: AbsenceFinding, absence: Absence) -> Said:
    """Return a finding in words."""
    icon, kind, word = _LOOKS[finding.kind]
    return Said(icon, kind, _tr(word), _sentence(finding, absence), _action(finding))


def _action(finding: AbsenceFinding) -> str:
    if finding.kind in ("not_imported", "changed", "failed"):
        return _tr("Import it")
    if finding.kind == "not_watched":
        return _tr("Watch")
    if finding.kind == "trashed":
        return _tr("Show the trash")
    return _tr("Open") if finding.session is not None and finding.kind != "gone" else ""


def _sentence(finding: AbsenceFinding, absence: Absence) -> str:
    words = _template(finding, absence)
    session = finding.session
    name = "" if session is None else one_line(session.title) or session.ref
    facts = finding.facts
    values = {
        "%title": f"“{name}”",
        "%path": _place(finding),
        "%reason": str(facts.get("reason", "")),
        "%when": _when(facts.get("since_ms")),
        "%what": str(facts.get("parent") or facts.get("kind") or facts.get("session") or ""),
        "%files": formatting.counted(absence.files, _tr("%1 file"), _tr("%1 files")),
        "%size": formatting.size(absence.bytes),
        "%places": formatting.counted(absence.places, _tr("%1 place"), _tr("%1 places")),
    }
    for key, value in values.items():
        words = words.replace(key, one_line(value))
    return words[:1].upper() + words[1:] if words.startswith(_tr("line")) else words


def _when(at_ms: object) -> str:
    return formatting.moment(at_ms) if isinstance(at_ms, int) else ""


def _place(finding: AbsenceFinding) -> str:
    line = finding.facts.get("line")
    if isinstance(line, int) and line > 0:
        words = _tr("line %1 of %2").replace("%1", formatting.number(line))
        return words.replace("%2", short_path(finding.path))
    return short_path(finding.path)


def _template(finding: AbsenceFinding, absence: Absence) -> str:
    """Return the sentence with names in place of its values."""
    if finding.kind == "nowhere":
        if absence.complete:
            return _tr(
                "Nothing of it is in the store, nor in the %files (%size) of %places that were "
                "looked through to their ends."
            )
        return _tr(
            "Nothing of it was found in the store, nor in %files (%size) of %places, but not "
            "everything could be looked through."
        )
    if finding.kind == "not_watched" and finding.facts.get("paused"):
        return _tr("Watching %path is paused: what is new there is not read by itself.")
    return {
        "visible": _tr("%title is in the store and can be seen."),
        "archived": _tr("%title is archived since %when: lists leave it out, search finds it."),
        "kind": _tr("%title is of the kind %what: lists leave such sessions out."),
        "empty": _tr("%title has no message that is shown, so lists leave it out."),
        "lineage": _tr("%title goes on from %what: recall tells both as one conversation."),
        "taken_back": _tr(
            "The words are in %title, but were taken back or are in the trash there."
        ),
        "trashed": _tr("%title is in the trash since %when."),
        "deleted": _tr("You deleted %what for good, so no import brings it back."),
        "gone": _tr("The source no longer has %title since %when; it is kept here."),
        "removed": _tr("The source of %title was removed: nothing new is read from it."),
        "failed": _tr("%path has it, but the file could not be read to its end: %reason"),
        "unreadable": _tr("%path has it, but that record could not be read: %reason"),
        "not_imported": _tr("%path has it, and this file was not imported yet."),
        "not_watched": _tr("%path is not watched: what is new there is not read by itself."),
        "changed": _tr("%path has it, and the file changed since it was read last."),
        "in_file": _tr(
            "%path has it and was read, but these words are no part of a message that is shown."
        ),
    }[finding.kind]


def foot(absence: Absence) -> str:
    """Return what was looked through, and what cut it short."""
    if not absence.complete:
        words = _tr("Not everything was looked through: %1")
        return words.replace("%1", one_line(absence.reason))
    if any(each.kind == "nowhere" for each in absence.findings):
        return ""  # the finding itself says so
    if not absence.files:
        return _tr("The store answered; no file had to be looked into.")
    words = _tr("Looked through the store, and %1 files (%2) of %3 places, in %4.")
    words = words.replace("%1", formatting.number(absence.files))
    words = words.replace("%2", formatting.size(absence.bytes))
    words = words.replace("%3", formatting.number(absence.places))
    return words.replace("%4", formatting.elapsed(absence.elapsed_ms))
