"""What an import did, in words."""

from collections import Counter
from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from app import formatting
from app.messages import Notice
from core.types import ImportReport

_DETAILS = 50


def _tr(text: str) -> str:
    return QCoreApplication.translate("import", text)


def merged(reports: Sequence[ImportReport]) -> ImportReport:
    """Return several reports as one."""
    unknown: Counter[str] = Counter()
    for report in reports:
        unknown.update(report.unknown_records)
    return ImportReport(
        new=sum(report.new for report in reports),
        changed=sum(report.changed for report in reports),
        skipped=sum(report.skipped for report in reports),
        failed=sum(report.failed for report in reports),
        files=tuple(file for report in reports for file in report.files),
        unknown_records=dict(unknown),
        conflicts=sum(report.conflicts for report in reports),
        unchanged=sum(report.unchanged for report in reports),
        sessions_without_messages=sum(each.sessions_without_messages for each in reports),
    )


def source_outcome(report: ImportReport, seconds: float) -> dict[str, object]:
    """Return what a place's row shows after its import."""
    bad = sum(len(file.bad_records) for file in report.files)
    read = any(file.outcome != "failed" for file in report.files)
    outcome: dict[str, object] = {"state": "imported", "fraction": 1.0}
    outcome["note"] = formatting.elapsed(seconds * 1000)
    sessions = sum(file.sessions for file in report.files)
    if sessions:
        outcome["sessions"] = sessions
    if report.failed and not read:
        outcome["state"] = "failed"
        outcome["note"] = next((file.reason for file in report.files if file.reason), "")
    elif report.failed or bad:
        outcome["state"] = "partial"
        outcome["note"] = _troubles(report.failed, bad)
    return outcome


def report_notice(report: ImportReport) -> Notice:
    """Return the message bar of a finished import: what is new, what could not be read."""
    bad = sum(len(file.bad_records) for file in report.files)
    new = formatting.counted(report.new, _tr("%1 new message"), _tr("%1 new messages"))
    cause = _tr("Imported %1.").replace("%1", new)
    if not report.new:
        cause = _tr("Nothing new: everything there is already imported.")
    parts = []
    if report.changed:
        parts.append(formatting.counted(report.changed, _tr("%1 changed"), _tr("%1 changed")))
    if report.conflicts:
        words = _tr("%1 differ from an earlier message of the same id; both are kept")
        parts.append(words.replace("%1", formatting.number(report.conflicts)))
    if report.failed or bad:
        parts.append(_troubles(report.failed, bad))
    if report.sessions_without_messages:
        words = _tr("%1 without messages, which no list shows")
        parts.append(words.replace("%1", formatting.number(report.sessions_without_messages)))
    unknown = sum(report.unknown_records.values())
    if unknown:
        words = _tr("%1 records are of types not known yet, and were left where they are")
        parts.append(words.replace("%1", formatting.number(unknown)))
    failed = bool(report.failed or bad)
    consequence = ". ".join(part[:1].upper() + part[1:] for part in parts)
    return Notice(
        "warn" if failed else "ok",
        cause if report.new or not report.failed else _tr("The import failed."),
        consequence + "." if consequence else "",
        _details(report),
    )


def _troubles(failed: int, bad: int) -> str:
    words = []
    if failed:
        words.append(formatting.counted(failed, _tr("%1 file not read"), _tr("%1 files not read")))
    if bad:
        words.append(formatting.counted(bad, _tr("%1 broken record"), _tr("%1 broken records")))
    return ", ".join(words)


def _details(report: ImportReport) -> str:
    lines = []
    for file in report.files:
        if file.reason:
            lines.append(f"{file.path}: {file.reason}")
        lines += [f"{bad.path}:{bad.line}: {bad.reason}" for bad in file.bad_records]
    lines += [f"unknown type {kind!r}: {count}" for kind, count in report.unknown_records.items()]
    if len(lines) > _DETAILS:
        lines = [*lines[:_DETAILS], f"… {len(lines) - _DETAILS} more"]
    return "\n".join(lines)
