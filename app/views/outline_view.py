"""The outline beside the conversation: number, who speaks, a few words."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app import formatting, theme
from app.models.outline import OutlineModel, OutlineRow, Row
from app.text_ranges import one_line
from app.views import painting

Index = QModelIndex | QPersistentModelIndex

WIDTH = 240
ROW_PX = 28
_FIRST_HEADING_PX = 32
_HEADING_PX = 38
_SIDE = 12
_NUMBER_RIGHT = 38
_ICON_LEFT = 46
_TEXT_LEFT = 68
_ICON_PX = 14


class OutlineView(QListView):
    """Shows the outline; a click or Enter goes to the message.

    Signals:
        message_asked: a row was chosen; carries message id and number.
    """

    message_asked = Signal(int, int)

    def __init__(self, model: OutlineModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.setObjectName("outline")
        self.setAccessibleName(self.tr("Outline"))
        self.setModel(model)
        self.setItemDelegate(_OutlineDelegate(self))
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(self._on_chosen)
        self.activated.connect(self._on_chosen)
        theme.changed.connect(self.viewport().update)

    def show_current(self, number: int) -> None:
        """Mark the row of a message as the current one, without going there."""
        row = self._model.row_of(number)
        index = self._model.index(row) if row >= 0 else QModelIndex()
        self.setCurrentIndex(index)
        if index.isValid():
            self.scrollTo(index)

    def _on_chosen(self, index: QModelIndex) -> None:
        row = self._model.row(index.row())
        if row is not None and row.kind is Row.ENTRY:
            self.message_asked.emit(row.message_id, row.number)

    def keyboardSearch(self, search: str) -> None:
        """Letters belong to the search field."""


class _OutlineDelegate(QStyledItemDelegate):
    """Paints headings and entries; the match is bold, yellow belongs to text one reads."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row: OutlineRow = index.data(OutlineModel.RowRole)
        if row.kind is Row.ENTRY:
            return QSize(0, ROW_PX)
        return QSize(0, _HEADING_PX if index.row() else _FIRST_HEADING_PX)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row: OutlineRow = index.data(OutlineModel.RowRole)
        painter.save()
        if row.kind is Row.HEADING:
            self._paint_heading(painter, option, row, first=index.row() == 0)
        else:
            self._paint_entry(painter, option, row)
        painter.restore()

    def _paint_heading(
        self, painter: QPainter, option: QStyleOptionViewItem, row: OutlineRow, *, first: bool
    ) -> None:
        left, right = option.rect.left(), option.rect.right() + 1
        if not first:
            painting.hairline(painter, left, right, option.rect.top() + 5)
        base = option.rect.bottom() - 8
        taken = painting.draw(
            painter, row.facts, left, right - 16, base,
            step="caption", ink="text3", align=painting.RIGHT,
        )  # fmt: skip
        painting.draw(
            painter, row.text, left + _SIDE, right - 16 - taken - 8, base,
            step="caption", ink="text2", bold=True,
        )  # fmt: skip

    def _paint_entry(
        self, painter: QPainter, option: QStyleOptionViewItem, row: OutlineRow
    ) -> None:
        rect = option.rect
        current = bool(option.state & QStyle.StateFlag.State_Selected)
        if current:
            painter.fillRect(rect, theme.color("sel"))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, theme.color("window"))
        view = option.widget
        if current and isinstance(view, QWidget) and view.hasFocus():
            painter.setPen(theme.color("accent"))
            painter.drawRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5))
        base = rect.top() + painting.baseline("caption", ROW_PX)
        number = formatting.number(row.number)
        painting.draw(
            painter, number, rect.left(), rect.left() + _NUMBER_RIGHT, base,
            step="caption", ink="accent" if current else "text3", bold=current,
            align=painting.RIGHT,
        )  # fmt: skip
        middle = rect.top() + ROW_PX / 2
        painting.icon(painter, row.icon, row.ink, rect.left() + _ICON_LEFT, middle, _ICON_PX)
        _draw_words(painter, row, rect.left() + _TEXT_LEFT, rect.right() - 8, base)


def _draw_words(painter: QPainter, row: OutlineRow, left: float, right: float, base: float) -> None:
    """Draw the words with the matches bold, cut at the right edge."""
    text = one_line(row.text)
    at = 0
    parts: list[tuple[str, bool]] = []
    for start, end in row.bold:
        parts += [(text[at:start], False), (text[start:end], True)]
        at = end
    parts.append((text[at:], False))
    painter.setPen(theme.color("text2"))
    for part, bold in parts:
        if not part:
            continue
        metrics = painting.metrics("caption", bold=bold)
        room = right - left
        shown = metrics.elidedText(part, Qt.TextElideMode.ElideRight, max(0.0, room))
        painter.setFont(painting.font("caption", bold=bold))
        painter.drawText(QPointF(left, base), shown)
        left += metrics.horizontalAdvance(shown)
        if shown != part:
            return
