"""The conversation as QTextBrowser draws it: a window of messages, never the whole session.

Each item of the page is one table at the top level of the document, so that item n is child
frame n, and a change touches only the tables that differ (20 messages: about 10 ms).
"""

from difflib import SequenceMatcher
from typing import Any

from PySide6.QtCore import QMimeData, QRectF, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QImage,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFrame,
)
from PySide6.QtWidgets import QFrame, QMenu, QScrollBar, QTextBrowser, QWidget

from app import theme
from app.render.item import Item
from app.views.transcript_text import selected_text

ICON_RATIO = 2.0
_BAR_PX = 10
_FOCUS_PX = 2
_RESIZE_MS = 120
_IMAGE = QTextDocument.ResourceType.ImageResource.value


class TranscriptView(QTextBrowser):
    """Shows items; opens nothing, loads nothing, asks nobody.

    Signals:
        acted: a link of ours was followed; carries action, item key and number (-1 if none).
        more_wanted: Page Up or Page Down at an edge; carries `before` or `after`.
        copy_asked: the anchor is wanted as Markdown with its citation.
        width_changed: the viewer's width settled at another value, in pixels.
        moved: what is in view changed.
    """

    acted = Signal(str, str, int)
    more_wanted = Signal(str)
    copy_asked = Signal()
    width_changed = Signal(int)
    moved = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: tuple[Item, ...] = ()
        self._frames: list[QTextFrame] = []
        self._current: tuple[str, int] | None = None
        self._images: dict[str, QImage] = {}
        self._keyboard_focus = False
        self._blank = QImage(1, 1, QImage.Format.Format_ARGB32)
        self._blank.fill(Qt.GlobalColor.transparent)
        self.setAccessibleName(self.tr("Conversation"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._prepare()
        self._bar = self._overlay_bar()
        self._resized = QTimer(self, singleShot=True, interval=_RESIZE_MS)
        self._resized.timeout.connect(lambda: self.width_changed.emit(self.viewport().width()))
        self.anchorClicked.connect(self._on_anchor_clicked)
        self.verticalScrollBar().valueChanged.connect(self.moved)

    def _prepare(self) -> None:
        document = self.document()
        document.setDocumentMargin(0)
        document.setIndentWidth(22)
        document.setUndoRedoEnabled(False)
        document.setDefaultFont(theme.font("read"))

    def _overlay_bar(self) -> QScrollBar:
        """Return a scroll bar over the text's margin: bands run below it to the edge."""
        real, shown = self.verticalScrollBar(), QScrollBar(Qt.Orientation.Vertical, self)
        shown.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        real.rangeChanged.connect(shown.setRange)
        real.rangeChanged.connect(self._fit_bar)
        real.valueChanged.connect(shown.setValue)
        shown.valueChanged.connect(real.setValue)
        shown.hide()
        return shown

    def _fit_bar(self) -> None:
        real = self.verticalScrollBar()
        self._bar.setPageStep(real.pageStep())
        self._bar.setSingleStep(real.singleStep())
        self._bar.setVisible(real.maximum() > real.minimum())

    # What is shown

    @property
    def items(self) -> tuple[Item, ...]:
        """The items shown, top to bottom."""
        return self._items

    def show_items(self, items: tuple[Item, ...], *, hold: str = "", centre: str = "") -> None:
        """Show `items`; tables that did not change stay as they are.

        Args:
            items: top to bottom.
            hold: the key of an item that keeps its place on the screen to the pixel; by
                default the topmost one in view that stays.
            centre: the key of an item to put in the middle of the view instead.
        """
        held = self._held(items, hold)
        self.setUpdatesEnabled(False)
        try:
            self._put(items)
            self._paint_current(self._current, True)
            if centre:
                self.centre(centre)
            elif held is not None:
                self._restore(*held)
            else:
                self.verticalScrollBar().setValue(0)
        finally:
            self.setUpdatesEnabled(True)
        self.moved.emit()

    def _held(self, items: tuple[Item, ...], hold: str) -> tuple[str, float] | None:
        """Return the item that keeps its place, and its distance from the view's top."""
        staying = {item.key for item in items}
        keys = [item.key for item in self._items]
        if hold in staying and hold in keys:
            return hold, self.top_of(hold)
        first, last = self._in_view()
        for key in keys[first : last + 1]:
            if key in staying and not key.startswith("gap-"):
                return key, self.top_of(key)
        return None

    def _restore(self, key: str, top: float) -> None:
        wanted = round(self.verticalScrollBar().value() + self.top_of(key) - top)
        self.verticalScrollBar().setValue(wanted)

    def _put(self, items: tuple[Item, ...]) -> None:
        """Make the document hold exactly the tables of `items`."""
        old = [(item.key, item.html) for item in self._items]
        new = [(item.key, item.html) for item in items]
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        if not old or matcher.real_quick_ratio() == 0 or not matcher.get_matching_blocks()[0].size:
            self.document().clear()
            self._prepare()
            self.setHtml("".join(item.html for item in items))
        else:
            self._replace(matcher, items)
        self._items = items
        self._frames = self.document().rootFrame().childFrames()
        self.document().documentLayout().documentSize()  # lays out, so that ranges are true

    def _replace(self, matcher: "SequenceMatcher[Any]", items: tuple[Item, ...]) -> None:
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        # From the end, so that the positions of what is still to change stay true.
        for tag, first, last, start, end in reversed(matcher.get_opcodes()):
            if tag == "equal":
                continue
            if first < len(self._frames):
                cursor.setPosition(self._frames[first].firstPosition() - 1)
            else:
                cursor.movePosition(QTextCursor.MoveOperation.End)
            if last > first:
                behind = self._frames[last - 1].lastPosition() + 1
                cursor.setPosition(behind, QTextCursor.MoveMode.KeepAnchor)
                cursor.removeSelectedText()
            if end > start:
                cursor.insertHtml("".join(item.html for item in items[start:end]))
        cursor.endEditBlock()

    # Places

    def _frame(self, key: str) -> QTextFrame | None:
        for item, frame in zip(self._items, self._frames, strict=True):
            if item.key == key:
                return frame
        return None

    def _frame_rect(self, frame: QTextFrame) -> QRectF:
        return self.document().documentLayout().frameBoundingRect(frame)

    def top_of(self, key: str) -> float:
        """Return an item's top edge in pixels below the view's top; 0 when not shown."""
        frame = self._frame(key)
        if frame is None:
            return 0.0
        return self._frame_rect(frame).top() - self.verticalScrollBar().value()

    def centre(self, key: str) -> None:
        """Put an item into the middle of the view; the top of one that is taller."""
        frame = self._frame(key)
        if frame is None:
            return
        rect = self._frame_rect(frame)
        free = max(0.0, self.viewport().height() - rect.height())
        self.verticalScrollBar().setValue(round(rect.top() - free / 2))

    def _in_view(self) -> tuple[int, int]:
        """Return the indexes of the first and the last item in view; (0, -1) when empty."""
        if not self._frames:
            return 0, -1
        top = self.verticalScrollBar().value()
        first = self._index_at(top)
        return first, self._index_at(top + self.viewport().height() - 1)

    def _index_at(self, y: float) -> int:
        """Return the index of the item at document height `y` by halving."""
        low, high = 0, len(self._frames) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self._frame_rect(self._frames[middle]).top() <= y:
                low = middle
            else:
                high = middle - 1
        return low

    def numbers_in_view(self) -> tuple[float, float]:
        """Return the message numbers at the view's top and bottom, with fractions."""
        first, last = self._in_view()
        top = self.verticalScrollBar().value()
        return self._number_at(first, top), self._number_at(last, top + self.viewport().height())

    def _number_at(self, index: int, y: float) -> float:
        if not 0 <= index < len(self._items):
            return 0.0
        item = self._items[index]
        if item.first is None or item.last is None:
            return self._number_near(index)
        rect = self._frame_rect(self._frames[index])
        part = min(1.0, max(0.0, (y - rect.top()) / max(1.0, rect.height())))
        return item.first + part * (item.last + 1 - item.first)

    def _number_near(self, index: int) -> float:
        """Return the number next to a row without one (a label or a gap)."""
        for item in self._items[index:]:
            if item.first is not None:
                return float(item.first)
        for item in reversed(self._items[:index]):
            if item.last is not None:
                return float(item.last + 1)
        return 0.0

    # Matches

    def show_match(self, key: str, number: int) -> None:
        """Make match `number` of an item the current one and bring it into view."""
        self._paint_current(self._current, False)
        self._current = (key, number)
        place = self._paint_current(self._current, True)
        if place is None:
            return
        cursor = QTextCursor(self.document())
        cursor.setPosition(place)
        rect = self.cursorRect(cursor)
        if rect.top() < 0 or rect.bottom() > self.viewport().height():
            middle = self.viewport().height() // 2
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + rect.center().y() - middle)

    def forget_match(self) -> None:
        """Let no match be the current one."""
        self._paint_current(self._current, False)
        self._current = None

    def _paint_current(self, match: tuple[str, int] | None, on: bool) -> int | None:
        """Colour a match as the current one or as any other; returns where it starts."""
        frame = self._frame(match[0]) if match is not None else None
        if frame is None or match is None:
            return None
        tokens = theme.current()
        spans = _coloured_spans(frame, (tokens.mark, tokens.markcur))
        if match[1] >= len(spans):
            return None
        start, end = spans[match[1]]
        look = QTextCharFormat()
        look.setBackground(QColor(tokens.markcur if on else tokens.mark))
        look.setForeground(QColor(tokens.markcurtext if on else tokens.marktext))
        cursor = QTextCursor(self.document())
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        cursor.mergeCharFormat(look)
        return start

    # Resources: our own icons and nothing else

    def forget_icons(self) -> None:
        """Draw icons anew the next time: the colours changed."""
        self._images.clear()

    # QTextBrowser

    def loadResource(self, kind: int, name: QUrl) -> object:
        """Return one of our icons, else a blank picture: nothing is read, nothing fetched.

        Anything but a valid image would let Qt read the file itself.
        """
        address = name.toString()
        if kind != _IMAGE or not address.startswith("icon:"):
            return self._blank
        if address not in self._images:
            icon, ink, size = address.removeprefix("icon:").split("/")
            self._images[address] = theme.image(icon, ink, int(size), ICON_RATIO)
        return self._images[address]

    def createMimeDataFromSelection(self) -> QMimeData:
        """Return the selection as plain text, verbatim."""
        mime = QMimeData()
        mime.setText(selected_text(self.textCursor()))
        return mime

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Page at an edge asks for more; Home and End go to opening and resolution."""
        bar = self.verticalScrollBar()
        key = Qt.Key(event.key())
        if key == Qt.Key.Key_PageUp:
            if bar.value() <= bar.minimum() or self._gap_in_view("before"):
                self.more_wanted.emit("before")
            else:
                bar.setValue(bar.value() - bar.pageStep())
        elif key == Qt.Key.Key_PageDown:
            if bar.value() >= bar.maximum() or self._gap_in_view("after"):
                self.more_wanted.emit("after")
            else:
                bar.setValue(bar.value() + bar.pageStep())
        elif key == Qt.Key.Key_Home:
            bar.setValue(bar.minimum())
        elif key == Qt.Key.Key_End:
            bar.setValue(bar.maximum())
        else:
            super().keyPressEvent(event)
            return
        event.accept()

    def _gap_in_view(self, side: str) -> bool:
        first, last = self._in_view()
        return any(item.key == f"gap-{side}" for item in self._items[first : last + 1])

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep what is in view in view; tell the new width when it has settled."""
        first, _ = self._in_view()
        key = self._items[first].key if self._items else ""
        top = self.top_of(key)
        super().resizeEvent(event)
        if key and event.oldSize().width() != event.size().width():
            self._restore(key, top)
        self._bar.setGeometry(self.width() - _BAR_PX, 0, _BAR_PX, self.height())
        self._fit_bar()
        self._resized.start()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be copied here."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = menu.addAction(self.tr("Copy"), self.copy)
        copy.setEnabled(self.textCursor().hasSelection())
        menu.addAction(self.tr("Copy message as Markdown with citation"), self.copy_asked.emit)
        menu.addAction(self.tr("Select all"), self.selectAll)
        menu.popup(event.globalPos())

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show a frame when the keyboard brought the focus here."""
        self._keyboard_focus = event.reason() != Qt.FocusReason.MouseFocusReason
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the frame away."""
        self._keyboard_focus = False
        super().focusOutEvent(event)
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the text, and the focus frame over it."""
        super().paintEvent(event)
        if not self._keyboard_focus:
            return
        painter = QPainter(self.viewport())
        painter.setPen(QPen(theme.color("accent"), _FOCUS_PX))
        painter.drawRect(self.viewport().rect().adjusted(1, 1, -1, -1))

    def _on_anchor_clicked(self, url: QUrl) -> None:
        if url.scheme() != "do":
            return
        action, _, rest = url.path().partition("/")
        key, _, number = rest.partition("/")
        self.acted.emit(action, key, int(number) if number else -1)


def _coloured_spans(frame: QTextFrame, colours: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return the stretches of `frame` on one of these grounds, joined where they touch."""
    wanted = {QColor(colour).rgb() for colour in colours}
    spans: list[tuple[int, int]] = []
    block = frame.document().findBlock(frame.firstPosition())
    while block.isValid() and block.position() <= frame.lastPosition():
        step = block.begin()
        while not step.atEnd():
            fragment = step.fragment()
            look = fragment.charFormat()
            ground = look.background()
            if ground.style() != Qt.BrushStyle.NoBrush and ground.color().rgb() in wanted:
                start, end = fragment.position(), fragment.position() + fragment.length()
                if spans and spans[-1][1] == start:
                    spans[-1] = (spans[-1][0], end)
                else:
                    spans.append((start, end))
            step += 1
        block = block.next()
    return spans
