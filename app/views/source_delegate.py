"""A place to import from: chosen or not, what it is, how far it was read, whether it is watched."""

from pathlib import Path

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app import formatting, theme
from app.models.sessions import source_icon
from app.models.sources import CHOOSABLE, SourceRow, SourcesModel, State, Watch
from app.text_ranges import visible
from app.views import painting
from app.views.parts import BADGE_INKS

Index = QModelIndex | QPersistentModelIndex

CHECK, ICON, NAME = 16, 48, 84
STATE_WIDTH = 194
MORE = 36
NUMBER_WIDTH = 88
_BOX = 16

_BADGES: dict[State, tuple[str, str]] = {
    "imported": ("ok", "ok"),
    "partial": ("warning", "warn"),
    "failed": ("fail", "err"),
    "unreadable": ("fail", "err"),
    "waiting": ("pending", "info"),
}
_WATCHES: dict[Watch, tuple[str, str]] = {
    "on": ("eye", "ok"),
    "paused": ("pause", "unk"),
    "missing": ("warning", "warn"),
}
_NEWS = frozenset({"imported", "partial", "failed", "waiting", "unreadable"})


def columns(right: float) -> dict[str, float]:
    """Return the right edges of the number columns and the left edge of the state."""
    state = right - STATE_WIDTH - MORE
    return {
        "state": state,
        "size": state - 40,
        "messages": state - 40 - NUMBER_WIDTH,
        "sessions": state - 40 - 2 * NUMBER_WIDTH,
    }


def short_path(path: str) -> str:
    """Return a path with the home folder as `~`."""
    home = str(Path.home())
    return visible("~" + path[len(home) :] if path.startswith(home + "/") else path)


class SourceDelegate(QStyledItemDelegate):
    """Paints rows of 56 px and takes the clicks on their checkboxes and on the dots at their end.

    Signals:
        menu_asked: what else can be done with a place; carries its row and where on the screen.
    """

    menu_asked = Signal(int, QPoint)

    def state_words(self, row: SourceRow) -> str:
        """Return the words for a state."""
        return {
            "ready": self.tr("ready to import"),
            "waiting": self.tr("waiting"),
            "importing": self.tr("importing"),
            "imported": self.tr("imported"),
            "partial": self.tr("imported in part"),
            "failed": self.tr("failed"),
            "unreadable": self.tr("not importable"),
        }[row.state]

    def watch_words(self, row: SourceRow) -> str:
        """Return the words for how a place is watched."""
        words = {"on": self.tr("watched"), "paused": self.tr("paused")}
        return words.get(row.watch, self.tr("not there now"))

    def told(self, row: SourceRow) -> tuple[str, str, str, str]:
        """Return icon, badge kind, word and note of a row's state; no icon means plain words."""
        news = row.state in _NEWS and not (row.state == "imported" and row.watch)
        if not news and row.watch:
            icon, kind = _WATCHES[row.watch]
            read = "" if row.read_at_ms is None else formatting.moment(row.read_at_ms)
            return icon, kind, self.watch_words(row), row.trouble or read
        if news:
            note = row.note.removeprefix(row.found.path).lstrip(" :")  # the path stands beside it
            return *_BADGES[row.state], self.state_words(row), note
        if row.trouble:
            return "warning", "warn", self.tr("in part"), row.trouble
        if row.read_at_ms is not None:
            once = self.tr("read once, %1").replace("%1", formatting.moment(row.read_at_ms))
            return "", "", once, ""
        return "", "", self.state_words(row), row.note

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, painting.ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(SourcesModel.RowRole)
        rect = option.rect
        left, top, middle = rect.left(), rect.top(), rect.top() + painting.ROW / 2
        edges = columns(rect.right() + 1)
        painter.save()
        if index.row() > 0:
            painting.hairline(painter, left, rect.right() + 1, top)
        view = option.widget
        current = bool(option.state & QStyle.StateFlag.State_HasFocus) and view.hasFocus()
        self._paint_box(painter, QRectF(left + CHECK, middle - _BOX / 2, _BOX, _BOX), row, current)
        painting.icon(painter, source_icon(row.found.kind), "text2", left + ICON, middle, 20)
        text_right = edges["sessions"] - NUMBER_WIDTH + 16
        painting.draw(
            painter, visible(row.found.name), left + NAME, text_right, top + 23, bold=True
        )
        painter.setFont(theme.code_font("caption"))
        painter.setPen(theme.color("text2"))
        path = painter.fontMetrics().elidedText(
            short_path(row.found.path), Qt.TextElideMode.ElideMiddle, int(text_right - left - NAME)
        )
        painter.drawText(left + NAME, top + 41, path)
        self._paint_numbers(painter, row, edges, middle + 5)
        state = QRectF(edges["state"], top, STATE_WIDTH, painting.ROW)
        self._paint_state(painter, row, state)
        painting.icon(painter, "more", "text2", rect.right() - MORE + 13, middle, 16)
        painter.restore()

    def _paint_box(self, painter: QPainter, box: QRectF, row: SourceRow, current: bool) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if current:
            painter.setPen(QPen(theme.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(-4, -4, 4, 4), 5, 5)
        usable = row.state in CHOOSABLE or row.state in ("waiting", "importing")
        painter.setPen(QPen(theme.color("fill" if row.chosen else "ctl"), 1))
        fill = "fill" if row.chosen else ("base" if usable else "window")
        painter.setBrush(theme.color(fill))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
        painter.restore()
        if row.chosen:
            theme.paint_icon(painter, "check", "on", box.adjusted(1, 1, -1, -1))

    def _paint_numbers(
        self, painter: QPainter, row: SourceRow, edges: dict[str, float], base: float
    ) -> None:
        values = {
            "sessions": "—" if row.sessions is None else formatting.number(row.sessions),
            "messages": "—" if row.messages is None else formatting.number(row.messages),
            "size": formatting.size(row.found.size_bytes),
        }
        for name, value in values.items():
            right = edges[name]
            ink = "text2" if name == "size" else "text"
            painting.draw(
                painter, value, right - NUMBER_WIDTH, right, base, ink=ink, align=painting.RIGHT
            )

    def _paint_state(self, painter: QPainter, row: SourceRow, box: QRectF) -> None:
        middle = box.center().y()
        if row.state == "importing":
            self._paint_progress(painter, row, box)
            return
        icon, kind, words, note = self.told(row)
        if not icon:
            painting.draw(painter, words, box.left(), box.right(), middle + 5, ink="text2")
            return
        ink = BADGE_INKS[kind]
        width = 26 + painting.metrics("caption").horizontalAdvance(words) + 6
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color(f"{kind}bg"))
        painter.drawRoundedRect(QRectF(box.left(), middle - 10, width, 20), 4, 4)
        painter.restore()
        painting.icon(painter, icon, ink, box.left() + 6, middle, 14)
        left = box.left() + 24
        painting.draw(painter, words, left, box.right(), middle + 4, step="caption", ink=ink)
        painting.draw(
            painter,
            visible(note),
            box.left() + width + 8,
            box.right(),
            middle + 4,
            step="caption",
            ink="warn" if row.trouble and note == row.trouble else "text2",
        )

    def _paint_progress(self, painter: QPainter, row: SourceRow, box: QRectF) -> None:
        fraction = row.fraction or 0.0
        middle = box.center().y()
        taken = painting.draw(
            painter,
            formatting.percent(fraction),
            box.left(),
            box.right(),
            middle - 2,
            step="caption",
            bold=True,
            align=painting.RIGHT,
        )
        done = formatting.counted(row.messages or 0, self.tr("%1 message"), self.tr("%1 messages"))
        painting.draw(
            painter,
            done,
            box.left(),
            box.right() - taken - 8,
            middle - 2,
            step="caption",
            ink="text2",
        )
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        track = QRectF(box.left(), middle + 6, box.width(), 6)
        painter.setBrush(theme.color("track"))
        painter.drawRoundedRect(track, 3, 3)
        track.setWidth(max(6.0, track.width() * fraction))
        painter.setBrush(theme.color("accent"))
        painter.drawRoundedRect(track, 3, 3)
        painter.restore()

    def editorEvent(
        self,
        event: QEvent,
        model: SourcesModel,
        option: QStyleOptionViewItem,
        index: Index,
    ) -> bool:
        if event.type() == QEvent.Type.MouseButtonRelease and isinstance(event, QMouseEvent):
            if event.position().x() > option.rect.right() - MORE:
                self.menu_asked.emit(index.row(), event.globalPosition().toPoint())
            elif event.button() == Qt.MouseButton.LeftButton:
                model.toggle(index.row())
            return True
        return False
