"""Hits under the title of their session."""

from functools import lru_cache

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from app import formatting, theme
from app.models.hits import HitGroup, HitsModel
from app.models.sessions import source_icon, source_name
from app.views import painting
from app.views.snippet_layout import LaidOut, lay_out
from core.types import Hit

Index = QModelIndex | QPersistentModelIndex
Marks = tuple[tuple[int, int], ...]

GUTTER = 64
_TITLE = 36
_TIME_RIGHT = 52
_GAP = 8


@lru_cache(maxsize=512)
def _laid_out(
    text: str, marks: Marks, width: int, step: str, lines: int, _look: tuple[bool, float]
) -> LaidOut:
    font = painting.font(step, bold=lines == 1)
    return lay_out(text, marks, font, width, lines=lines)


class HitDelegate(QStyledItemDelegate):
    """Paints rows of one height: a session's title with a count, or a hit's snippet."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, row_height())

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        selected = painting.ground(painter, option)
        hit = index.data(HitsModel.HitRole)
        group = index.data(HitsModel.GroupRole)
        if hit is None:
            if index.row() > 0:
                rect = option.rect
                painting.hairline(painter, rect.left(), rect.right() + 1, rect.top())
            expanded = bool(index.data(HitsModel.ExpandedRole))
            self._paint_group(painter, option, group, expanded=expanded, selected=selected)
        else:
            self._paint_hit(painter, option, hit, selected=selected)
        painter.restore()

    def _paint_group(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        group: HitGroup,
        *,
        expanded: bool,
        selected: bool,
    ) -> None:
        top, right = option.rect.top(), option.rect.right() + 1 - painting.SIDE
        left = option.rect.left()
        quiet = "text2" if selected else "text3"
        if group.hits:
            name = "chevron-down" if expanded else "chevron-right"
            painting.icon(painter, name, "text2", left + 12, top + 20, 16)
            count = formatting.number(len(group.hits)) + ("+" if group.open_ended else "")
        else:
            count = self.tr("title")
        taken = painting.pill(painter, count, right, top + 18)
        title = _laid_out(
            group.title or self.tr("Untitled"),
            group.title_marks,
            int(right - taken - _GAP - left - _TITLE),
            "ui",
            1,
            _look(),
        )
        painter.setPen(theme.color("text"))
        title.draw(painter, left + _TITLE, (top + painting.LINE_1,))
        painting.icon(painter, source_icon(group.source), quiet, left + _TITLE, top + 38, 14)
        day = ""
        if group.at_ms is not None:
            at = formatting.local(group.at_ms).date()
            day = formatting.short_day(at, formatting.today())
        taken = painting.draw(
            painter, day, left, right, top + 42, step="caption", ink=quiet, align=painting.RIGHT
        )
        program = group.program or source_name(group.source)
        where = " · ".join(each for each in (program, group.project) if each)
        start = left + _TITLE + 20
        painting.draw(
            painter, where, start, right - taken - _GAP, top + 42, step="caption", ink=quiet
        )

    def _paint_hit(
        self, painter: QPainter, option: QStyleOptionViewItem, hit: Hit, *, selected: bool
    ) -> None:
        top, left = option.rect.top(), option.rect.left()
        right = option.rect.right() + 1 - painting.SIDE
        role = hit.role.value
        painting.icon(painter, f"role-{role}", f"role_{role}", left + 36, top + 18, 16)
        if hit.created_at_ms is not None:
            painting.draw(
                painter,
                formatting.clock(hit.created_at_ms),
                left,
                left + _TIME_RIGHT,
                top + 42,
                step="caption",
                ink="text2" if selected else "text3",
                align=painting.RIGHT,
            )
        snippet = _laid_out(
            hit.snippet, hit.marks, int(right - left - GUTTER), "snippet", 2, _look()
        )
        painter.setPen(theme.color("text"))
        pitch = painting.PITCH * theme.text_scale()
        base = top + 8 + painting.baseline("snippet", pitch)
        snippet.draw(painter, left + GUTTER, (base, base + pitch))


def row_height() -> int:
    """Return the height of every row: two lines of snippet at the text scale, and 16 px."""
    return round(painting.ROW - 2 * painting.PITCH + 2 * painting.PITCH * theme.text_scale())


def _look() -> tuple[bool, float]:
    return theme.current().dark, theme.text_scale()
