"""What conversation is open: title, where and when it was, what it continues; and its actions."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QVBoxLayout, QWidget

from app import formatting, theme
from app.models.sessions import program_name, source_icon
from app.text_ranges import one_line, visible
from app.views.parts import Dot, ElidedText, Icon, IconButton, Link, Text, YieldingText
from app.views.title_editor import TitleEditor
from core.types import Session

HEIGHT = 64
_CRUMB_CHARS = 22
_MENU_CHARS = 60


def plain_tooltip(text: str) -> str:
    """Return untrusted text as a tooltip that Qt cannot take for markup of its own."""
    return f"<p>{html.escape(visible(text))}</p>" if text else ""


def _for_button(text: str) -> str:
    return text.replace("&", "&&")


def _cut(text: str, limit: int) -> str:
    line = one_line(text).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


@dataclass(frozen=True, slots=True)
class HeaderState:
    """What the header shows. `prompts` is None while it is not known."""

    session: Session
    ancestors: tuple[Session, ...] = ()
    children: tuple[Session, ...] = ()
    prompts: int | None = None


class _Title(ElidedText):
    """The title on one line; the whole of it as a tooltip where it does not fit."""

    def __init__(self) -> None:
        super().__init__("", "title")

    def sizeHint(self) -> QSize:
        return QSize(120, super().sizeHint().height())

    def setToolTip(self, text: str) -> None:
        """Set the tooltip as plain text; called for every paint, with text or ''."""
        super().setToolTip(plain_tooltip(text))


class MatchCount(QWidget):
    """`match 4 of 9`, or any other words about the place."""

    def __init__(self) -> None:
        super().__init__()
        self._parts = [Text("", ink="text2"), Text("", bold=True), Text("", ink="text2")]
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for part in self._parts:
            row.addWidget(part)

    def show_words(self, text: str) -> None:
        """Show words."""
        self._show(text, "", "")

    def show_place(self, number: int, total: int) -> None:
        """Show which match of how many is the current one; 0 means none of them."""
        if not number:
            self._show(
                formatting.counted(total, self.tr("%1 match"), self.tr("%1 matches")), "", ""
            )
            return
        before, _, after = self.tr("match %1 of %2").partition("%1")
        after = after.replace("%2", formatting.number(total))
        self._show(before, formatting.number(number), after)

    def text(self) -> str:
        """Return the words shown."""
        return "".join(part.text() for part in self._parts)

    def _show(self, before: str, bold: str, after: str) -> None:
        for part, text in zip(self._parts, (before, bold, after), strict=True):
            part.setText(text)
            part.setVisible(bool(text))
        self.setAccessibleName(before + bold + after)


class ConversationHeader(QFrame):
    """Two lines, 64 px.

    Signals:
        session_asked: a crumb of the lineage was pressed; carries the session's row id.
        link_asked: the link of the open message or session is wanted on the clipboard.
        export_asked: the session is wanted as a file.
        previous_asked, next_asked: the match before or after the current one is wanted.
        title_entered: another title was typed; carries the session's row id and the text.
    """

    session_asked = Signal(int)
    link_asked = Signal()
    previous_asked = Signal()
    next_asked = Signal()
    title_entered = Signal(int, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("conversationheader")
        self.setFixedHeight(HEIGHT)
        self.title = _Title()
        self.title_editor = TitleEditor()
        self.title_editor.entered.connect(self.title_entered)
        self.title_editor.left.connect(self.title.show)
        self.place = MatchCount()
        self.previous = IconButton("chevron-up", self.tr("Previous match"))
        self.next = IconButton("chevron-down", self.tr("Next match"))
        self.copy_link = IconButton("link", self.tr("Copy the link"))
        self._source = Icon("chat", "text3", 14)
        self.pin = Icon("pin", "text2", 14)
        self.pin.setAccessibleName(self.tr("pinned"))
        self.pin.setToolTip(self.tr("Pinned: retention leaves it alone"))
        self._facts = ElidedText("", "caption", "text2")
        self._when = YieldingText("caption", "text2")
        self._count = YieldingText("caption", "text2")
        self._dots = [Dot(), Dot(), Dot()]
        self._crumbs = QWidget()
        self._crumb_row = QHBoxLayout(self._crumbs)
        self._crumb_row.setContentsMargins(0, 0, 0, 0)
        self._crumb_row.setSpacing(6)
        self._build()
        self.previous.clicked.connect(self.previous_asked)
        self.next.clicked.connect(self.next_asked)
        self.copy_link.clicked.connect(self.link_asked)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()
        self.clear()

    def _build(self) -> None:
        first = QHBoxLayout()
        first.setSpacing(0)
        first.addWidget(self.title, 1)
        first.addWidget(self.title_editor, 1)
        first.addSpacing(8)
        first.addWidget(self.pin)
        first.addSpacing(16)
        first.addWidget(self.place)
        first.addSpacing(8)
        first.addWidget(self.previous)
        first.addWidget(self.next)
        self._line = QFrame()
        self._line.setFixedSize(1, 20)
        first.addSpacing(8)
        first.addWidget(self._line)
        first.addSpacing(8)
        first.addWidget(self.copy_link)
        self._second = second = QHBoxLayout()
        second.setSpacing(8)
        second.addWidget(self._source)
        second.addWidget(self._facts)
        for dot, part in zip(self._dots, (self._when, self._count, self._crumbs), strict=True):
            second.addWidget(dot)
            second.addWidget(part)
        second.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 7, 16, 6)
        column.setSpacing(0)
        column.addLayout(first)
        column.addLayout(second)

    def clear(self) -> None:
        """Show that nothing is open."""
        self.title.setText("")
        self.show_matches(0, 0)
        for part in (self._source, self._facts, self._when, self._count, self._crumbs, self.pin):
            part.hide()
        for dot in self._dots:
            dot.hide()
        self.copy_link.setEnabled(False)

    def show_session(self, state: HeaderState) -> None:
        """Show a session's title, facts and lineage."""
        session = state.session
        self.title_editor.leave()
        title = visible(session.title) or self.tr("Untitled")
        self.title.setText(title)
        self.title.setAccessibleName(title)
        self._source.show_icon(source_icon(session.source), "text3")
        names = (
            program_name(session),
            session.channel or "",
            session.project,
            session.model or "",
            self.tr("gone at the source") if session.gone_at_ms is not None else "",
            self.tr("archived") if session.archived_at_ms is not None else "",
        )
        self._facts.setText(" · ".join(one_line(each) for each in names if each))
        self._when.setText(self._times(session))
        self._count.setText(self._counts(session, state.prompts))
        self._show_lineage(state)
        self._source.show()
        self._facts.show()
        parts = (self._when, self._count, self._crumbs)
        filled = (bool(self._when.text()), True, self._crumb_row.count() > 0)
        for dot, part, shown in zip(self._dots, parts, filled, strict=True):
            dot.setVisible(shown)
            part.setVisible(shown)
        self.copy_link.setEnabled(True)
        self.show_pinned(session.pinned_at_ms is not None)
        self._share_room()

    def edit_title(self, session: Session) -> None:
        """Let the title be typed where it stands."""
        self.title.hide()
        self.title_editor.edit(session)

    def show_pinned(self, pinned: bool) -> None:
        """Show whether the session is pinned."""
        self.pin.setVisible(pinned)

    def _share_room(self) -> None:
        """Cut the count, and then the times, where the line is too short even without names."""
        margins = self.layout().contentsMargins()
        room = self.width() - margins.left() - margins.right()
        for fact in (self._count, self._when):
            fact.give_way(gives_way=False)
        for fact in (self._count, self._when):
            self._second.invalidate()
            fact.give_way(gives_way=self._second.minimumSize().width() > room)
        self.layout().activate()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_room()

    def show_matches(self, number: int, total: int) -> None:
        """Show which match is the current one; without any match, no buttons."""
        if total:
            self.place.show_place(number, total)
        self.place.setVisible(total > 0)
        for part in (self.previous, self.next, self._line):
            part.setVisible(total > 0)

    def show_reading(self, text: str) -> None:
        """Show what part of the session is read instead of matches."""
        self.show_matches(0, 0)
        self.place.show_words(text)
        self.place.setVisible(bool(text))
        self._line.setVisible(bool(text))

    def _times(self, session: Session) -> str:
        start, end = session.started_at_ms, session.last_active_at_ms
        if start is None or end is None:
            known = start if end is None else end
            return "" if known is None else self._day_and_time(known)
        start, end = sorted((start, end))  # a source may date itself later than its last message
        if formatting.local(start).date() == formatting.local(end).date():
            if end - start < 60_000:
                return self._day_and_time(start)
            return f"{self._day_and_time(start)} – {formatting.clock(end)}"
        return f"{self._day_and_time(start)} – {self._day_and_time(end)}"

    def _day_and_time(self, at_ms: int) -> str:
        day, today = formatting.local(at_ms).date(), formatting.today()
        shown = self.tr("Today") if day == today else formatting.short_day(day, today)
        return f"{shown}, {formatting.clock(at_ms)}"

    def _counts(self, session: Session, prompts: int | None) -> str:
        text = formatting.counted(
            session.message_count, self.tr("%1 message"), self.tr("%1 messages")
        )
        if prompts is None:
            return text
        more = formatting.counted(prompts, self.tr("%1 prompt"), self.tr("%1 prompts"))
        return f"{text}, {more}"

    def _show_lineage(self, state: HeaderState) -> None:
        while (item := self._crumb_row.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        if not state.ancestors and not state.children:
            return
        self._crumb_row.addWidget(Icon("lineage", "text3", 14))
        if len(state.ancestors) > 1:
            self._add_menu(state.ancestors[:-1], self.tr("earlier"))
            self._add_words("›")
        if state.ancestors:
            self._add_crumb(state.ancestors[-1])
            self._add_words("›")
        self._add_words(self.tr("this"))
        if state.children:
            self._add_words("›")
            self._add_crumb(state.children[0])
        if len(state.children) > 1:
            rest = state.children[1:]
            self._add_menu(rest, self.tr("+%1").replace("%1", formatting.number(len(rest))))

    def _add_words(self, text: str) -> None:
        self._crumb_row.addWidget(Text(text, "caption", "text3"))

    def _add_crumb(self, session: Session) -> None:
        title = visible(session.title) or self.tr("Untitled")
        crumb = Link(_for_button(_cut(title, _CRUMB_CHARS)), "caption")
        crumb.setToolTip(plain_tooltip(title))
        crumb.setAccessibleName(self.tr("Open %1").replace("%1", title))
        crumb.clicked.connect(lambda: self.session_asked.emit(session.id))
        self._crumb_row.addWidget(crumb)

    def _add_menu(self, sessions: Sequence[Session], word: str) -> None:
        button = Link(_for_button(word), "caption")
        menu = QMenu(button)
        for each in sessions:
            title = visible(each.title) or self.tr("Untitled")
            action = menu.addAction(_for_button(_cut(title, _MENU_CHARS)))
            action.triggered.connect(
                lambda _=False, chosen=each.id: self.session_asked.emit(chosen)
            )
        button.clicked.connect(lambda: menu.popup(button.mapToGlobal(button.rect().bottomLeft())))
        self._crumb_row.addWidget(button)

    def _on_theme_changed(self) -> None:
        tokens = theme.current()
        self.setStyleSheet(
            f"QFrame#conversationheader {{ background: {tokens.base}; border: 0; "
            f"border-bottom: 1px solid {tokens.line}; }}"
        )
        self._line.setStyleSheet(f"background: {tokens.line}; border: 0;")
