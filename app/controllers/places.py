"""Says where one is: header, rail, outline, and the counts of matches."""

from PySide6.QtCore import QObject

from app import formatting
from app.controllers import outline
from app.controllers.outline import Found
from app.models.transcript import Transcript
from app.render.runs import Marker
from app.views.conversation_header import HeaderState
from app.views.conversation_pane import ConversationPane
from app.views.rail import RailState
from core.history.lineage import Lineage
from core.types import Session


class Places(QObject):
    """Shows what is known of the open conversation around its text."""

    def __init__(self, pane: ConversationPane, transcript: Transcript) -> None:
        super().__init__(pane)
        self._pane, self._transcript = pane, transcript

    def show(self, session: Session, family: Lineage, found: Found, marker: Marker) -> None:
        """Show the session's facts, what of it is loaded, and where its hits are."""
        pane, page = self._pane, self._transcript.page
        prompts = (session.user_turn_count or None) if page.reading else None
        pane.header.show_session(HeaderState(session, family.ancestors, family.children, prompts))
        anchor = self._transcript.anchor()
        number = None if anchor is None else anchor.number
        loaded = self._transcript.loaded_ranges()
        pane.rail.show_state(RailState(page.total, loaded, found.numbers, number))
        current = outline.place_of(found.numbers, self._transcript.current_number(found.numbers))
        pane.outline_model.replace(outline.rows(page, found, marker, current))
        if found.hits:
            pane.header.show_matches(current, found.hits_total)
        else:
            pane.header.show_reading(self._reading())
        self.follow(found)

    def show_find(self, sought: str) -> None:
        """Show how many matches of `sought` there are in what is loaded."""
        if sought:
            transcript, page = self._transcript, self._transcript.page
            found = transcript.matches()
            at = found.index(transcript.match) + 1 if transcript.match in found else 0
            whole = not (page.hidden_before or page.hidden_after)
            self._pane.find_bar.show_count(at, len(found), whole=whole)

    def follow(self, found: Found) -> None:
        """Let the outline follow: the anchor's row, or while reading the prompt one is in."""
        number = self._transcript.current_number(found.numbers)
        if not number and found.prompts:
            top = int(self._pane.transcript.numbers_in_view()[0])
            behind = [each.number for each in found.prompts if each.number <= top]
            number = behind[-1] if behind else found.prompts[0].number
        self._pane.outline.show_current(number)

    def _reading(self) -> str:
        page = self._transcript.page
        if not page.reading or not page.messages or not page.hidden_after:
            return ""
        first, last = page.messages[0].number, page.messages[-1].number
        text = self.tr("reading %1–%2 and last %3") if page.tail else self.tr("reading %1–%2")
        text = text.replace("%1", formatting.number(first)).replace("%2", formatting.number(last))
        return text.replace("%3", formatting.number(len(page.tail)))
