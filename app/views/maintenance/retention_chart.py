"""How much was last active in which month, and which of it would go: bars before a cut-off."""

from dataclasses import dataclass
from datetime import date

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import formatting, theme
from app.views import painting
from core.upkeep_types import MonthOfSessions

_HEIGHT = 140
_LEFT, _TOP, _FOOT = 42, 20, 22  # room for the sizes, for the cut-off's words, for the months
_GAP = 0.22  # of a slot
_WIDEST = 40.0
_MOST_BARS = 36
_SPANS = (1, 3, 12)  # months in a bar
_YEAR = 12
_NICE = (2, 4, 6, 8, 10)
_LABEL_GAP = 6
_LABEL_STEPS = (1, 2, 3, 4, 6, 12)
_KILO = 1000


@dataclass(frozen=True, slots=True)
class Bar:
    """The months of one bar, the first and the last of them, and what they hold."""

    first: date
    months: int
    going_sessions: int
    going_bytes: int
    staying_sessions: int
    staying_bytes: int


def bars(months: tuple[MonthOfSessions, ...]) -> list[Bar]:
    """Return bars in order of time without a gap: months, or quarters or years of a long time."""
    if not months:
        return []
    by_month = {each.year * _YEAR + each.month - 1: each for each in months}
    first, last = min(by_month), max(by_month)
    span = next((n for n in _SPANS if (last - first) // n < _MOST_BARS), _SPANS[-1])
    found = []
    for start in range(first - first % span, last + 1, span):
        held = [by_month[n] for n in range(start, start + span) if n in by_month]
        found.append(
            Bar(
                date(start // _YEAR, start % _YEAR + 1, 1),
                span,
                sum(each.going_sessions for each in held),
                sum(each.going_bytes for each in held),
                sum(each.staying_sessions for each in held),
                sum(each.staying_bytes for each in held),
            )
        )
    return found


def top_of_scale(largest: int) -> int:
    """Return the least round number of bytes, half of which is round too, not below `largest`."""
    step = _KILO
    while True:
        for factor in _NICE:
            if factor * step >= largest:
                return factor * step
        step *= _NICE[-1]


class RetentionChart(QWidget):
    """Bars: solid would go, outlined stays; a dashed line where the rule cuts.

    Signals:
        reading_changed: a bar is pointed at, by mouse or arrow keys; carries what it says, or ''.
    """

    reading_changed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMouseTracking(True)
        self.setFixedHeight(_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("What would go, by month of last activity"))
        self._bars: list[Bar] = []
        self._cutoff: date | None = None
        self._current = -1
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(320, _HEIGHT)

    def show_months(
        self, months: tuple[MonthOfSessions, ...], cutoff_at_ms: int | None = None
    ) -> None:
        """Show other months; `cutoff_at_ms` is the first moment that stays, None without a rule."""
        self._bars = bars(months)
        self._cutoff = None
        if cutoff_at_ms is not None:
            self._cutoff = formatting.local(cutoff_at_ms).date()
        self._point_at(-1)
        self.setAccessibleDescription(
            "; ".join(self.reading(n) for n in range(len(self._bars)))
            or self.tr("nothing has a date")
        )
        self.update()

    def reading(self, number: int) -> str:
        """Return what bar `number` says, in words."""
        bar = self._bars[number]
        parts = []
        if bar.going_sessions:
            words = self._sessions(bar.going_sessions, bar.going_bytes)
            parts.append(self.tr("%1 would go").replace("%1", words))
        if bar.staying_sessions:
            words = self._sessions(bar.staying_sessions, bar.staying_bytes)
            stay = self.tr("%1 stays") if bar.staying_sessions == 1 else self.tr("%1 stay")
            parts.append(stay.replace("%1", words))
        return f"{self._name(bar)}: {', '.join(parts) or self.tr('nothing')}"

    def _sessions(self, count: int, size: int) -> str:
        words = formatting.counted(count, self.tr("%1 session"), self.tr("%1 sessions"))
        return f"{words} ({formatting.size(size)})"

    def _name(self, bar: Bar) -> str:
        if bar.months == _YEAR:
            return str(bar.first.year)
        name = formatting.month(bar.first)
        if bar.months > 1:
            last = bar.first.replace(month=bar.first.month + bar.months - 1)
            name = f"{name}–{formatting.month(last)}"
        return f"{name} {bar.first.year}"

    def _point_at(self, number: int) -> None:
        if number != self._current:
            self._current = number
            self.reading_changed.emit(self.reading(number) if number >= 0 else "")
            self.update()

    # Geometry

    def _plot(self) -> QRectF:
        return QRectF(_LEFT, _TOP, max(1, self.width() - _LEFT), _HEIGHT - _TOP - _FOOT)

    def _slot(self) -> float:
        return self._plot().width() / max(1, len(self._bars))

    def _cutoff_x(self) -> float | None:
        """Return where the cut-off lies, None where everything lies on one side far from it."""
        if self._cutoff is None or not self._bars:
            return None
        first, span = self._bars[0].first, self._bars[0].months
        whole = (self._cutoff.year - first.year) * _YEAR + self._cutoff.month - first.month
        place = (whole + (self._cutoff.day - 1) / 31) / span
        if not 0 <= place <= len(self._bars):
            return None
        return self._plot().left() + place * self._slot()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        plot = self._plot()
        top = top_of_scale(
            max((each.going_bytes + each.staying_bytes for each in self._bars), default=0)
        )
        self._paint_scale(painter, plot, top)
        for number, bar in enumerate(self._bars):
            self._paint_bar(painter, plot, top, number, bar)
        self._paint_months(painter, plot)
        self._paint_cutoff(painter, plot)
        if self.hasFocus():
            painter.setPen(QPen(theme.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))

    def _paint_scale(self, painter: QPainter, plot: QRectF, top: int) -> None:
        whole = formatting.size(top)
        half = formatting.size(top // 2)
        unit = whole.rpartition(" ")[2] or whole
        if half.endswith(unit):
            half = half.removesuffix(unit).strip()
        for fraction, words in ((0.0, "0"), (0.5, half), (1.0, whole)):
            y = round(plot.bottom() - fraction * plot.height())
            painter.fillRect(QRectF(plot.left(), y, plot.width(), 1), theme.color("line"))
            painting.draw(
                painter,
                words,
                -40,
                plot.left() - 8,
                y + 4,
                step="micro",
                ink="text2",
                align=painting.RIGHT,
            )

    def _paint_bar(self, painter: QPainter, plot: QRectF, top: int, number: int, bar: Bar) -> None:
        slot = self._slot()
        width = min(_WIDEST, max(2.0, slot * (1 - _GAP)))
        left = plot.left() + number * slot + (slot - width) / 2
        bottom = float(round(plot.bottom()))
        going = round(bar.going_bytes / top * plot.height())
        staying = round(bar.staying_bytes / top * plot.height())
        going = max(going, 2) if bar.going_sessions else 0
        staying = max(staying, 2) if bar.staying_sessions else 0
        box = QRectF(round(left), bottom - going, round(width), going)
        painter.fillRect(box, theme.color("fill"))
        if staying:
            outline = QRectF(round(left), bottom - going - staying, round(width), staying)
            painter.fillRect(outline, theme.color("bar"))
            painter.fillRect(outline.adjusted(1, 1, -1, -1), theme.color("track"))
        if number == self._current:
            painter.setPen(QPen(theme.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            high = going + staying
            painter.drawRect(QRectF(round(left) - 2, bottom - high - 2, round(width) + 4, high + 4))

    def _paint_months(self, painter: QPainter, plot: QRectF) -> None:
        slot, base = self._slot(), float(self.height() - 7)
        for number in range(0, len(self._bars), self.label_step()):
            words = self._label(number)
            wide = painting.metrics("micro").horizontalAdvance(words)
            left = plot.left() + (number + 0.5) * slot - wide / 2
            painting.draw(painter, words, left, left + wide + 2, base, step="micro", ink="text2")

    def _label(self, number: int) -> str:
        first, months = self._bars[number].first, self._bars[number].months
        return str(first.year) if months == _YEAR else formatting.month_letter(first)

    def label_step(self) -> int:
        """Return how many bars share a label: as few as there is room for, everywhere the same."""
        metrics = painting.metrics("micro")
        widest = max(
            (metrics.horizontalAdvance(self._label(n)) for n in range(len(self._bars))), default=0
        )
        return next((n for n in _LABEL_STEPS if n * self._slot() - _LABEL_GAP / 2 >= widest), _YEAR)

    def _paint_cutoff(self, painter: QPainter, plot: QRectF) -> None:
        x = self._cutoff_x()
        if x is None or self._cutoff is None:
            return
        painter.setPen(QPen(theme.color("text"), 1, Qt.PenStyle.DashLine))
        line = QPoint(round(x), 4), QPoint(round(x), round(plot.bottom()))
        painter.drawLine(*line)
        day = formatting.short_day(self._cutoff, formatting.today())
        words = self.tr("before %1").replace("%1", day)
        wide = painting.metrics("caption").horizontalAdvance(words) + 2
        left = x - wide - _LABEL_GAP
        if left < plot.left():
            left = x + _LABEL_GAP
        ground = QRectF(left - 3, 1, wide + 4, 17)
        painter.fillRect(ground, theme.color("base"))
        painting.draw(painter, words, left, left + wide, 14, step="caption")

    # QWidget

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        number = int((event.position().x() - _LEFT) // self._slot())
        self._point_at(number if 0 <= number < len(self._bars) else -1)

    def leaveEvent(self, event: QEvent) -> None:
        self._point_at(-1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        last = len(self._bars) - 1
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        key = Qt.Key(event.key())
        if last < 0 or key not in (*steps, Qt.Key.Key_Home, Qt.Key.Key_End):
            super().keyPressEvent(event)
            return
        if key in steps:
            start = self._current if self._current >= 0 else (-1 if steps[key] > 0 else last + 1)
            self._point_at(min(max(start + steps[key], 0), last))
        else:
            self._point_at(0 if key == Qt.Key.Key_Home else last)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._point_at(-1)
        self.update()
