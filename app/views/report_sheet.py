"""A source file by file: what was read of each, what could not be, and what is not known."""

import os
from collections.abc import Mapping

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QWidget

from app import formatting
from app.models.sessions import source_name
from app.text_ranges import one_line
from app.views.maintenance.list_sheet import Column, ListSheet, Row
from app.views.source_delegate import short_path
from core.source_types import ReportedFile, SourceReport

_LINES_OF_A_FILE = 20
_SIZE = (1040, 600)


def _tr(text: str) -> str:
    return QCoreApplication.translate("report", text)


class ReportSheet(ListSheet):
    """Shows a report; what is wrong comes first."""

    def __init__(self, report: SourceReport, parent: QWidget) -> None:
        columns = (
            Column(self.tr("File")),
            Column(self.tr("Outcome"), 130),
            Column(self.tr("Sessions"), 88, right=True),
            Column(self.tr("Messages"), 96, right=True),
            Column(self.tr("Reason")),
        )
        title = self.tr("%1, file by file").replace("%1", one_line(report.name or report.kind))
        super().__init__(title, columns, parent)
        self.resize(*_SIZE)
        folder = _folder(report)
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # names of files are at the end
        self.sentence.show_words(
            f"{short_path(folder)}: {sentence(report)}" if folder else sentence(report)
        )
        rows = [row for file in report.files for row in _rows(file, folder)]
        rows += _left_out(report)
        self.show_rows(rows)


def _folder(report: SourceReport) -> str:
    """Return the folder that all files of a report lie below, '' where there is none."""
    folders = [os.path.dirname(file.path) for file in report.files]  # noqa: PTH120 (as stored)
    try:
        found = os.path.commonpath(folders)
    except ValueError:  # none, or on several drives
        return ""
    return found if len(found) > 1 else ""


def sentence(report: SourceReport) -> str:
    """Return how much there is, and what of it the reader does not know."""
    parts = (
        formatting.counted(report.total, _tr("%1 file"), _tr("%1 files")),
        formatting.counted(report.sessions, _tr("%1 session"), _tr("%1 sessions")),
        formatting.counted(report.messages, _tr("%1 message"), _tr("%1 messages")),
    )
    words = ", ".join(parts) + "."
    if report.is_removed:
        words += " " + _tr("This source was removed; what was read of it is kept.")
    if report.unknown_records:
        name = report.name or source_name(report.kind)
        words += " " + drift(name, report.unknown_records, report.reader_version)
    return words


def drift(name: str, unknown: Mapping[str, int], version: int) -> str:
    """Return the sentence about records that a reader does not know: a format may have changed."""
    told = ", ".join(
        f"{one_line(kind)} {formatting.number(count)}" for kind, count in sorted(unknown.items())
    )
    words = formatting.counted(
        sum(unknown.values()),
        _tr("%1 record of %2 is of a type that reader %3 does not know (%4)."),
        _tr("%1 records of %2 are of types that reader %3 does not know (%4)."),
    )
    words = words.replace("%2", one_line(name)).replace("%3", str(version)).replace("%4", told)
    kept = _tr("They are left where they are; the program may have changed what it writes.")
    return f"{words} {kept}"


def _rows(file: ReportedFile, folder: str) -> list[Row]:
    state, ink = _state(file)
    unknown = sum(file.unknown.values())
    reason = file.error
    if not reason and unknown:
        reason = formatting.counted(
            unknown, _tr("%1 record of unknown type"), _tr("%1 records of unknown types")
        )
    texts = (
        file.path[len(folder) :].lstrip("/\\") if folder else file.path,
        state,
        formatting.number(file.sessions),
        formatting.number(file.messages),
        reason,
    )
    rows = [Row((file.path, 0), texts, ("", ink))]
    for bad in file.bad[:_LINES_OF_A_FILE]:
        line = _tr("line %1").replace("%1", formatting.number(bad.line))
        rows.append(Row((file.path, bad.line), (f"    {line}", "", "", "", bad.reason), ("text2",)))
    if len(file.bad) > _LINES_OF_A_FILE:
        more = _tr("%1 more broken records are not listed")
        more = more.replace("%1", formatting.number(len(file.bad) - _LINES_OF_A_FILE))
        rows.append(Row((file.path, -1), (f"    {more}", "", "", "", ""), ("text2",)))
    return rows


def _state(file: ReportedFile) -> tuple[str, str]:
    if file.state == "done" and file.bad:
        return _tr("read in part"), "warn"
    return {
        "done": (_tr("read"), ""),
        "failed": (_tr("failed"), "err"),
        "gone": (_tr("gone at the source"), ""),
        "reading": (_tr("not finished"), "warn"),
    }[file.state]


def _left_out(report: SourceReport) -> list[Row]:
    more = report.total - len(report.files)
    if more <= 0:
        return []
    words = _tr("… and %1 more").replace("%1", formatting.number(more))
    return [Row(("", 0), (words, "", "", "", ""), ("text2",))]
