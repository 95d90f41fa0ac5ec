"""What the word one is typing could become: a list below the field, which keeps the focus."""

from collections.abc import Sequence

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QKeyEvent,
    QPainter,
)
from PySide6.QtWidgets import (
    QFrame,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app import formatting, theme
from app.models.choices import ChoicesModel, Offer
from app.text_ranges import one_line
from app.views import painting
from app.views.parts import Text
from app.views.search_field import SearchField

Index = QModelIndex | QPersistentModelIndex

_ROW = 28
_WIDTH = 380
_FOOT = 28
_SIDE = 12
_GAP = 2
_KEYPAD = Qt.KeyboardModifier.KeypadModifier


class _Delegate(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, _ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        offer: Offer = index.data(ChoicesModel.OfferRole)
        painter.save()
        rect = option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, theme.color("tint2"))
            bar = rect.adjusted(0, 0, painting.BAR - rect.width(), 0)
            painter.fillRect(bar, theme.color("accent"))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, theme.color("panel"))
        left, right = rect.left() + _SIDE, rect.right() + 1 - _SIDE
        base = rect.top() + painting.baseline("ui", _ROW)
        taken = painting.draw(
            painter,
            one_line(offer.beside),
            left + rect.width() // 2,
            right,
            base,
            step="caption",
            ink="text2",
            align=painting.RIGHT,
        )
        painting.draw(painter, one_line(offer.shown), left, right - taken - 12, base)
        painter.restore()


class CompletionPopup(QFrame):
    """Offers choices; its field goes on being typed in. The field's keys pass here first.

    Down and Up move through the list, Tab takes the first or the one moved to, Enter only the
    one moved to: it searches otherwise. Esc closes the list and nothing else.

    Signals:
        taken: a choice was made; carries the `Offer`.
        closed: the list is gone, whatever closed it.
    """

    taken = Signal(object)
    closed = Signal()

    def __init__(self, field: SearchField, parent: QWidget) -> None:
        super().__init__(parent)
        self._field = field
        self.setProperty("class", "popup")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(self.tr("Completions"))
        self.model = ChoicesModel()
        self.list = QListView()
        self.list.setObjectName("choices")
        self.list.setAccessibleName(self.tr("Completions"))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setModel(self.model)
        self.list.setItemDelegate(_Delegate(self.list))
        self.list.clicked.connect(lambda index: self._take(index.row()))
        hint = Text(self.tr("Tab takes the first, ↓ chooses, Esc closes"), "caption", "text3")
        hint.setContentsMargins(_SIDE, 0, _SIDE, 0)
        hint.setFixedHeight(_FOOT)
        column = QVBoxLayout(self)
        column.setContentsMargins(1, 5, 1, 1)
        column.setSpacing(0)
        column.addWidget(self.list)
        column.addWidget(hint)
        self.hide()
        field.installEventFilter(self)

    def show_offers(self, offers: Sequence[Offer], start: int) -> None:
        """Show choices below the word that begins at `start` (UTF-16); nothing is chosen yet."""
        self.model.replace(offers)
        self.list.setCurrentIndex(QModelIndex())
        self.list.setFixedHeight(_ROW * len(offers))
        width = min(_WIDTH, self.parentWidget().width() - 2 * _SIDE)
        self.setFixedSize(width, _ROW * len(offers) + _FOOT + 6)
        corner = self._field.mapTo(self.parentWidget(), QPoint(0, self._field.height() + _GAP))
        left = corner.x() + self._field.left_of(start) - _SIDE
        left = max(corner.x(), min(left, self.parentWidget().width() - width - _SIDE))
        self.move(left, corner.y())
        was_hidden = self.isHidden()
        self.show()
        self.raise_()
        if was_hidden:
            count = formatting.counted(
                len(offers), self.tr("%1 completion"), self.tr("%1 completions")
            )
            self._say(f"{count}: {one_line(offers[0].shown)}")

    def close_list(self) -> None:
        """Hide the list."""
        if not self.isHidden():
            self.hide()
            self.closed.emit()

    def current(self) -> Offer | None:
        """Return the choice moved to, or None."""
        row = self.list.currentIndex().row()
        return None if row < 0 else self.model.offer(row)

    def _move(self, step: int) -> None:
        row = self.list.currentIndex().row() + step
        if not 0 <= row < self.model.rowCount():
            row = -1 if row < 0 else row - 1
        index = self.model.index(row) if row >= 0 else QModelIndex()
        self.list.setCurrentIndex(index)
        if index.isValid():
            self._say(str(index.data(Qt.ItemDataRole.AccessibleTextRole)))

    def _take(self, row: int) -> None:
        if 0 <= row < self.model.rowCount():
            self.taken.emit(self.model.offer(row))

    def _say(self, words: str) -> None:
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self._field, words))

    def _on_key(self, event: QKeyEvent) -> bool:
        """Do what a key of the field means here; returns whether it means nothing else."""
        key, row = event.key(), self.list.currentIndex().row()
        if key == Qt.Key.Key_Escape:
            self.close_list()
        elif key == Qt.Key.Key_Down and not event.modifiers() & ~_KEYPAD:
            self._move(1)
        elif key == Qt.Key.Key_Up and row >= 0 and not event.modifiers() & ~_KEYPAD:
            self._move(-1)
        elif key == Qt.Key.Key_Tab and not event.modifiers():
            self._take(max(row, 0))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and row >= 0:
            self._take(row)
        else:
            if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Backtab):
                self.close_list()
            return False
        return True

    # QObject

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if self.isHidden():
            return False
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._on_key(event)
        if event.type() in (QEvent.Type.FocusOut, QEvent.Type.Resize, QEvent.Type.Hide) or (
            event.type() == QEvent.Type.InputMethod
        ):
            self.close_list()
        return False
