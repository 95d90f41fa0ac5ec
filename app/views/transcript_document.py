"""The document below the viewer: one table at the top level for each item."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor, QTextDocument, QTextFrame
from PySide6.QtWidgets import QTextEdit

from app import theme
from app.render.item import Item
from app.render.runs import twin

_INDENT_PX = 22


class TranscriptDocument:
    """Keeps a document and a list of items in step: item n is the document's child frame n."""

    def __init__(self, view: QTextEdit) -> None:
        self._view = view
        self._frames: list[QTextFrame] = []
        self._index: dict[str, int] = {}
        self.items: tuple[Item, ...] = ()
        self._prepare()

    @property
    def _document(self) -> QTextDocument:
        """The view's document, asked for each time: Qt owns it, and PySide may drop a wrapper."""
        return self._view.document()

    def _prepare(self) -> None:
        document = self._document
        document.setDocumentMargin(0)
        document.setIndentWidth(_INDENT_PX)
        document.setUndoRedoEnabled(False)
        document.setDefaultFont(theme.font("read"))

    def put(self, items: tuple[Item, ...]) -> None:
        """Hold exactly `items`, laid out; tables that did not change are not touched.

        Adding 20 messages to 40 takes some 10 ms, where setting all of them takes 40.
        """
        old = [(item.key, item.html) for item in self.items]
        new = [(item.key, item.html) for item in items]
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        staying = sum(block.size for block in matcher.get_matching_blocks())
        # Only a cleared document lets go of its formats: 160 kB for each window opened.
        if 2 * staying > len(old):
            self._replace(matcher, items)
        else:
            self._document.clear()
            self._prepare()
            self._view.setHtml("".join(item.html for item in items))
        self.items = items
        self._index = {item.key: index for index, item in enumerate(items)}
        self._frames = self._document.rootFrame().childFrames()
        self._document.documentLayout().documentSize()  # lays all out: heights are true now

    def _replace(self, matcher: "SequenceMatcher[Any]", items: tuple[Item, ...]) -> None:
        cursor = QTextCursor(self._document)
        # From the end, so that the positions of what is still to change stay true. Each change
        # is an edit block of its own: one for all would lay out anew what lies between them.
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

    # Places

    def rect(self, key: str) -> QRectF | None:
        """Return where an item lies in the document; None when it is not shown."""
        index = self._index.get(key)
        return None if index is None else self.rect_at(index)

    def rect_at(self, index: int) -> QRectF:
        """Return where item `index` lies in the document."""
        return self._document.documentLayout().frameBoundingRect(self._frames[index])

    def index_at(self, y: float) -> int:
        """Return the index of the item at document height `y`, by halving."""
        low, high = 0, len(self._frames) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.rect_at(middle).top() <= y:
                low = middle
            else:
                high = middle - 1
        return low

    def number_at(self, index: int, y: float) -> float:
        """Return the message number at height `y` of an item, with its fraction."""
        item = self.items[index]
        if item.first is None or item.last is None:
            return self._number_near(index)
        rect = self.rect_at(index)
        part = min(1.0, max(0.0, (y - rect.top()) / max(1.0, rect.height())))
        return item.first + part * (item.last + 1 - item.first)

    def _number_near(self, index: int) -> float:
        """Return the number next to a row without one (a label or a gap)."""
        for item in self.items[index:]:
            if item.first is not None:
                return float(item.first)
        for item in reversed(self.items[:index]):
            if item.last is not None:
                return float(item.last + 1)
        return 0.0

    # Matches

    def place_of_match(self, key: str, number: int) -> tuple[int, int] | None:
        """Return where match `number` of an item starts and ends in the document."""
        index = self._index.get(key)
        if index is None:
            return None
        tokens = theme.current()
        grounds = [
            colour for each in (tokens.mark, tokens.markcur) for colour in (each, twin(each))
        ]
        spans = _spans_on(self._document, self._frames[index], grounds)
        return spans[number] if number < len(spans) else None

    def paint_match(self, key: str, number: int, *, current: bool) -> int | None:
        """Colour a match as the current one or as any other; returns where it starts.

        The format is changed in place, so nothing moves: both grounds are as wide as the text.
        """
        place = self.place_of_match(key, number)
        if place is None:
            return None
        tokens = theme.current()
        cursor = QTextCursor(self._document)
        cursor.setPosition(place[0] + 1)
        before = cursor.charFormat().background().color().name().upper()
        ground = tokens.markcur if current else tokens.mark
        is_twin = before in (twin(tokens.mark), twin(tokens.markcur))
        look = QTextCharFormat()
        look.setBackground(QColor(twin(ground) if is_twin else ground))
        look.setForeground(QColor(tokens.markcurtext if current else tokens.marktext))
        cursor.setPosition(place[0])
        cursor.setPosition(place[1], QTextCursor.MoveMode.KeepAnchor)
        cursor.mergeCharFormat(look)
        return place[0]


def _spans_on(
    document: QTextDocument, frame: QTextFrame, colours: Sequence[str]
) -> list[tuple[int, int]]:
    """Return the stretches of `frame` on one of these grounds, joined where one goes on."""
    wanted = {QColor(colour).rgb() for colour in colours}
    spans: list[tuple[int, int]] = []
    last = 0
    block = document.findBlock(frame.firstPosition())
    while block.isValid() and block.position() <= frame.lastPosition():
        step = block.begin()
        while not step.atEnd():
            fragment = step.fragment()
            ground = fragment.charFormat().background()
            if ground.style() != Qt.BrushStyle.NoBrush and ground.color().rgb() in wanted:
                start, end = fragment.position(), fragment.position() + fragment.length()
                if spans and spans[-1][1] == start and ground.color().rgb() == last:
                    spans[-1] = (spans[-1][0], end)
                else:
                    spans.append((start, end))
                last = ground.color().rgb()
            step += 1
        block = block.next()
    return spans
