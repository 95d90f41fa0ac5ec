"""Painting that the list delegates share: one row height, one grid of baselines."""

from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QListView, QStyle, QStyleOptionViewItem

from app import theme

ROW = 56
SIDE = 16
BAR = 3
LINE_1 = 23.0  # baselines below the row's top
LINE_2 = 42.0
PITCH = 20.0

LEFT = Qt.AlignmentFlag.AlignLeft
RIGHT = Qt.AlignmentFlag.AlignRight


@lru_cache(maxsize=64)
def _font(step: str, bold: bool, _look: tuple[bool, float]) -> QFont:
    return theme.font(step, bold=bold)


def font(step: str, *, bold: bool = False) -> QFont:
    """Return a type step's font; cheap enough for every paint."""
    return _font(step, bold, (theme.current().dark, theme.text_scale()))


@lru_cache(maxsize=64)
def _metrics(step: str, bold: bool, look: tuple[bool, float]) -> QFontMetricsF:
    return QFontMetricsF(_font(step, bold, look))


def metrics(step: str, *, bold: bool = False) -> QFontMetricsF:
    """Return the metrics of `font(step)`."""
    return _metrics(step, bold, (theme.current().dark, theme.text_scale()))


def baseline(step: str, pitch: float) -> float:
    """Return where the baseline of the step's Latin letters lies in a line `pitch` px high."""
    found = metrics(step)
    return (pitch - found.ascent() - found.descent()) / 2 + found.ascent()


def draw(
    painter: QPainter,
    text: str,
    left: float,
    right: float,
    base: float,
    *,
    step: str = "ui",
    ink: str = "text",
    bold: bool = False,
    align: Qt.AlignmentFlag = LEFT,
) -> float:
    """Draw one line between `left` and `right` on baseline `base`, elided at its end.

    Returns the width drawn.
    """
    found = metrics(step, bold=bold)
    shown = found.elidedText(text, Qt.TextElideMode.ElideRight, max(0.0, right - left))
    width = found.horizontalAdvance(shown)
    painter.setFont(font(step, bold=bold))
    painter.setPen(theme.color(ink))
    painter.drawText(QPointF(right - width if align == RIGHT else left, base), shown)
    return width


def icon(painter: QPainter, name: str, ink: str, left: float, middle: float, size: int) -> None:
    """Draw an icon with its left edge at `left`, centred on `middle`."""
    theme.paint_icon(painter, name, ink, QRectF(left, middle - size / 2, size, size))


def ground(painter: QPainter, option: QStyleOptionViewItem) -> bool:
    """Paint the ground of a row and the bar of a selected one; returns whether it is selected."""
    selected = bool(option.state & QStyle.StateFlag.State_Selected)
    view = option.widget
    focused = isinstance(view, QListView) and view.hasFocus()
    if selected:
        painter.fillRect(option.rect, theme.color("tint2" if focused else "sel"))
        bar = QRectF(option.rect.left(), option.rect.top(), BAR, option.rect.height())
        painter.fillRect(bar, theme.color("accent"))
    elif option.state & QStyle.StateFlag.State_MouseOver:
        painter.fillRect(option.rect, theme.color("window"))
    return selected


def hairline(painter: QPainter, left: float, right: float, top: float) -> None:
    """Draw a 1 px rule."""
    painter.fillRect(QRectF(left, top, right - left, 1), theme.color("line"))


def pill(painter: QPainter, text: str, right: float, middle: float) -> float:
    """Draw a count in a pill that ends at `right`; returns its width."""
    width = max(26.0, metrics("caption", bold=True).horizontalAdvance(text) + 16)
    box = QRectF(right - width, middle - 10, width, 20)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.color("unkbg")))
    painter.drawRoundedRect(box, 10, 10)
    painter.restore()
    painter.setFont(font("caption", bold=True))
    painter.setPen(theme.color("unk"))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
    return width
