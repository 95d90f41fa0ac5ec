"""A session in two lines beside an agenda of days."""

from datetime import date

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem

from app import formatting
from app.models.sessions import SessionsModel, program_name, source_icon
from app.text_ranges import visible
from app.views import painting
from core.types import Session

Index = QModelIndex | QPersistentModelIndex

GUTTER = 84
_GAP = 8
_TEXT_AFTER_ICON = 20


class SessionDelegate(QStyledItemDelegate):
    """Paints 56 px rows; the top visible row always says which day it is."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, painting.ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        session = index.data(SessionsModel.SessionRole)
        painter.save()
        selected = painting.ground(painter, option)
        self._paint_day(painter, option, index)
        self._paint_lines(painter, option, session, selected=selected)
        painter.restore()

    def _paint_day(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        rect = option.rect
        first = bool(index.data(SessionsModel.FirstOfDayRole))
        if first and index.row() > 0:
            painting.hairline(painter, rect.left(), rect.right() + 1 - painting.SIDE, rect.top())
        sticky = isinstance(option.widget, QListView) and rect.top() <= 0 < rect.bottom()
        if not (first or sticky):
            return
        top = float(rect.top())
        if sticky:
            last = not self._same_day_below(index)
            top = min(0.0, rect.bottom() + 1.0 - painting.ROW) if last else 0.0
        day = index.data(SessionsModel.DayRole)
        if not isinstance(day, date):
            name, number = self.tr("No date"), ""
        else:
            name, number = formatting.agenda_day(day, formatting.today())
        left, right = rect.left() + painting.SIDE, rect.left() + GUTTER - 4
        painting.draw(painter, name, left, right, top + painting.LINE_1, bold=True)
        painting.draw(
            painter, number, left, right, top + painting.LINE_2, step="caption", ink="text2"
        )

    @staticmethod
    def _same_day_below(index: Index) -> bool:
        below = index.model().index(index.row() + 1, 0)
        return below.isValid() and not below.data(SessionsModel.FirstOfDayRole)

    def _paint_lines(
        self, painter: QPainter, option: QStyleOptionViewItem, session: Session, *, selected: bool
    ) -> None:
        top, right = option.rect.top(), option.rect.right() + 1 - painting.SIDE
        left = option.rect.left() + GUTTER
        quiet = "text2" if selected else "text3"
        at_ms = session.last_active_at_ms
        time = 0.0
        if at_ms is not None:
            time = painting.draw(
                painter,
                formatting.clock(at_ms),
                left,
                right,
                top + painting.LINE_1,
                step="caption",
                ink=quiet,
                align=painting.RIGHT,
            )
        title = visible(session.title) or self.tr("Untitled")
        painting.draw(
            painter, title, left, right - time - _GAP, top + painting.LINE_1, bold=selected
        )
        middle = top + painting.LINE_2 - 4
        for name, wanted in (
            ("lineage", session.parent_ref is not None),
            ("archive", session.archived_at_ms is not None),
            ("pin", session.pinned_at_ms is not None),
        ):
            if wanted:
                painting.icon(painter, name, "text2", right - 14, middle, 14)
                right -= 14 + _GAP
        painting.icon(painter, source_icon(session.source), quiet, left, middle, 14)
        painting.draw(
            painter,
            self._facts(session),
            left + _TEXT_AFTER_ICON,
            right,
            top + painting.LINE_2,
            step="caption",
            ink=quiet,
        )

    def _facts(self, session: Session) -> str:
        count = formatting.counted(
            session.message_count, self.tr("%1 message"), self.tr("%1 messages")
        )
        parts = (program_name(session), visible(session.project), count)
        return " · ".join(part for part in parts if part)
