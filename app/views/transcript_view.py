"""The conversation as QTextBrowser draws it: a window of messages, never the whole session."""

from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextCursor,
    QTextDocument,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QMenu, QTextBrowser, QToolTip, QWidget

from app import theme
from app.render.item import Item
from app.views.overlay_bar import OverlayBar
from app.views.transcript_document import TranscriptDocument
from app.views.transcript_text import selected_text

ICON_RATIO = 2.0
_FOCUS_PX = 2
_RESIZE_MS = 120
_IMAGE = QTextDocument.ResourceType.ImageResource.value
_SILENT_FOCUS = (
    Qt.FocusReason.MouseFocusReason,
    Qt.FocusReason.ActiveWindowFocusReason,
    Qt.FocusReason.PopupFocusReason,
)


class TranscriptView(QTextBrowser):
    """Shows items; opens nothing, loads nothing, asks nobody.

    Signals:
        acted: a link of ours was followed; carries action, item key and number (-1 if none).
        more_wanted: Page Up or Page Down at an edge; carries `before` or `after`.
        copy_asked: the anchor is wanted as Markdown with its citation.
        trash_asked: a message should go to the trash; carries the key of its item.
        width_changed: the viewer's width settled at another value, in pixels.
        moved: what is in view changed.
    """

    acted = Signal(str, str, int)
    more_wanted = Signal(str)
    copy_asked = Signal()
    trash_asked = Signal(str)
    width_changed = Signal(int)
    moved = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tables = TranscriptDocument(self)
        self._current: tuple[str, int] | None = None
        self._images: dict[str, QImage] = {}
        self._keyboard_focus = self._is_changing = False
        self._blank = QImage(1, 1, QImage.Format.Format_ARGB32)
        self._blank.fill(Qt.GlobalColor.transparent)
        self.setAccessibleName(self.tr("Conversation"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._bar = OverlayBar(self)
        self._resized = QTimer(self, singleShot=True, interval=_RESIZE_MS)
        self._resized.timeout.connect(lambda: self.width_changed.emit(self.viewport().width()))
        self.anchorClicked.connect(self._on_anchor_clicked)
        self.verticalScrollBar().valueChanged.connect(self._on_value_changed)

    # What is shown

    @property
    def items(self) -> tuple[Item, ...]:
        """The items shown, top to bottom."""
        return self._tables.items

    def show_items(
        self, items: tuple[Item, ...], *, hold: str = "", centre: str = "", anew: bool = False
    ) -> None:
        """Show `items`; tables that did not change stay as they are.

        Args:
            items: top to bottom.
            hold: the key of an item that keeps its place on the screen to the pixel; by
                default the topmost one in view that stays.
            centre: the key of an item to put in the middle of the view instead.
            anew: begin at the top instead, as another conversation does.
        """
        held = None if anew else self._held(items, hold)
        self._bar.let_go()
        self._is_changing = True
        self.setUpdatesEnabled(False)
        try:
            self._tables.put(items)
            if self._current is not None:
                self._tables.paint_match(*self._current, current=True)
            if centre:
                self.centre(centre)
            elif held is not None:
                self._restore(*held)
            else:
                self.verticalScrollBar().setValue(0)
        finally:
            self.setUpdatesEnabled(True)
            self._is_changing = False
        self.moved.emit()

    def _held(self, items: tuple[Item, ...], hold: str) -> tuple[str, float] | None:
        """Return the item that keeps its place, and its distance from the view's top."""
        staying = {item.key for item in items}
        if hold in staying and self._tables.rect(hold) is not None:
            return hold, self.top_of(hold)
        for item in self._seen():
            if item.key in staying and not item.key.startswith("gap-"):
                return item.key, self.top_of(item.key)
        return None

    def _restore(self, key: str, top: float) -> None:
        self._bar.reach(round(self.verticalScrollBar().value() + self.top_of(key) - top))

    # Places

    def top_of(self, key: str) -> float:
        """Return an item's top edge in pixels below the view's top; 0 when not shown."""
        rect = self._tables.rect(key)
        return 0.0 if rect is None else rect.top() - self.verticalScrollBar().value()

    def centre(self, key: str) -> None:
        """Put an item into the middle of the view; the top of one that is taller."""
        rect = self._tables.rect(key)
        if rect is not None:
            free = max(0.0, self.viewport().height() - rect.height())
            self.verticalScrollBar().setValue(round(rect.top() - free / 2))

    def holding_key(self, side: str) -> str:
        """Return the item to hold while messages are added at a side: one beyond the gap."""
        seen = self._seen()
        gaps = [n for n, item in enumerate(seen) if item.key == "gap-before"]
        if side == "before" and gaps:
            seen = seen[gaps[0] + 1 :]
        return next((item.key for item in seen if not item.key.startswith("gap-")), "")

    def _in_view(self) -> range:
        """Return the indexes of the items in view."""
        if not self.items:
            return range(0)
        top = self.verticalScrollBar().value()
        bottom = top + self.viewport().height() - 1
        return range(self._tables.index_at(top), self._tables.index_at(bottom) + 1)

    def _seen(self) -> tuple[Item, ...]:
        span = self._in_view()
        return self.items[span.start : span.stop]

    def numbers_in_view(self) -> tuple[float, float]:
        """Return the message numbers at the view's top and bottom, with fractions.

        Bookend rows count only where nothing else is in view: they are a look at elsewhere.
        """
        span = self._in_view()
        if not span:
            return 0.0, 0.0
        full = [n for n in span if self.items[n].is_full] or span
        top = self.verticalScrollBar().value()
        first = self._tables.number_at(full[0], top)
        return first, self._tables.number_at(full[-1], top + self.viewport().height())

    # Matches

    def show_match(self, key: str, number: int, *, reveal: bool = True) -> None:
        """Make match `number` of an item the current one; `reveal` brings it into view."""
        self.forget_match()
        self._current = (key, number)
        place = self._tables.paint_match(key, number, current=True)
        if place is None or not reveal:
            return
        cursor = QTextCursor(self.document())
        cursor.setPosition(place)
        rect = self.cursorRect(cursor)
        if rect.top() < 0 or rect.bottom() > self.viewport().height():
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + rect.center().y() - self.viewport().height() // 2)

    def forget_match(self) -> None:
        """Let no match be the current one."""
        if self._current is not None:
            self._tables.paint_match(*self._current, current=False)
        self._current = None

    def forget_icons(self) -> None:
        """Draw icons anew the next time: the colours changed."""
        self._images.clear()

    def _on_value_changed(self) -> None:
        if not self._is_changing:
            self.moved.emit()

    def _on_anchor_clicked(self, url: QUrl) -> None:
        if url.scheme() != "do":
            return
        action, _, rest = url.path().partition("/")
        key, _, number = rest.partition("/")
        self.acted.emit(action, key, int(number) if number else -1)

    # QTextBrowser

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Return one of our icons, else a blank picture: nothing is read, nothing fetched.

        Anything but a valid image would let Qt read the file itself.
        """
        address = name if isinstance(name, str) else name.toString()
        if kind != _IMAGE or not address.startswith("icon:"):
            return self._blank
        if address not in self._images:
            icon, ink, size = address.removeprefix("icon:").split("/")
            self._images[address] = theme.image(icon, ink, int(size), ICON_RATIO)
        return self._images[address]

    def viewportEvent(self, event: QEvent) -> bool:
        """Let only the names of odd characters be tooltips."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            name = self.cursorForPosition(event.pos()).charFormat().toolTip()
            if not name.startswith("U+"):
                QToolTip.hideText()
                return True
        return super().viewportEvent(event)

    def createMimeDataFromSelection(self) -> QMimeData:
        """Return the selection as plain text, verbatim."""
        mime = QMimeData()
        # The caller in C++ becomes the owner; a parent keeps Python from deleting it as well.
        mime.setParent(QCoreApplication.instance())
        mime.setText(selected_text(self.textCursor()))
        return mime

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Page at an edge asks for more; Home and End go to opening and resolution."""
        bar = self.verticalScrollBar()
        match Qt.Key(event.key()):
            case Qt.Key.Key_PageUp:
                self._page("before", bar.value() <= bar.minimum(), -bar.pageStep())
            case Qt.Key.Key_PageDown:
                self._page("after", bar.value() >= bar.maximum(), bar.pageStep())
            case Qt.Key.Key_Home:
                bar.setValue(bar.minimum())
            case Qt.Key.Key_End:
                bar.setValue(bar.maximum())
            case _:
                super().keyPressEvent(event)
                return
        event.accept()

    def _page(self, side: str, at_end: bool, step: int) -> None:
        if at_end or any(item.key == f"gap-{side}" for item in self._seen()):
            self.more_wanted.emit(side)
        else:
            self.verticalScrollBar().setValue(self.verticalScrollBar().value() + step)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll; with Ctrl Qt would enlarge only a part of the text, so nothing happens."""
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            event.accept()
        else:
            super().wheelEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep what is in view in view; tell the new width when it has settled."""
        seen = self._seen()
        held = (seen[0].key, self.top_of(seen[0].key)) if seen else None
        super().resizeEvent(event)
        if held is not None and event.oldSize().width() != event.size().width():
            self._restore(*held)
        self._bar.fit()
        self._resized.start()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be copied here."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = menu.addAction(self.tr("Copy"), self.copy)
        copy.setEnabled(self.textCursor().hasSelection())
        menu.addAction(self.tr("Copy message as Markdown with citation"), self.copy_asked.emit)
        menu.addAction(self.tr("Select all"), self.selectAll)
        key = self._key_at(event.pos().y())
        if key:
            menu.addSeparator()
            throw = menu.addAction(self.tr("Move this message to the trash"))
            throw.triggered.connect(lambda: self.trash_asked.emit(key))
        menu.popup(event.globalPos())

    def _key_at(self, y: int) -> str:
        """Return the key of the message at a height of the viewport; '' where there is none."""
        if not self.items:
            return ""
        item = self.items[self._tables.index_at(y + self.verticalScrollBar().value())]
        return item.key if item.message_ids else ""

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show a frame when the keyboard brought the focus here."""
        if event.reason() not in _SILENT_FOCUS:
            self._keyboard_focus = True
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
        if self._keyboard_focus:
            painter = QPainter(self.viewport())
            painter.setPen(QPen(theme.color("accent"), _FOCUS_PX))
            painter.drawRect(self.viewport().rect().adjusted(1, 1, -1, -1))
