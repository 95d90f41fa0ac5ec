"""Says where one is: header, rail, outline, and the counts of matches."""

from PySide6.QtCore import QObject

from app import formatting
from app.controllers import outline
from app.controllers.finding import Finding
from app.controllers.matches import Matches
from app.controllers.opened import Opened
from app.controllers.outline import Found
from app.models.transcript import Transcript
from app.views.conversation_header import HeaderState
from app.views.conversation_pane import ConversationPane
from app.views.rail import RailState


class Places(QObject):
    """Shows what is known of the open conversation around its text."""

    def __init__(self, pane: ConversationPane, transcript: Transcript) -> None:
        super().__init__(pane)
        self._pane, self._transcript = pane, transcript

    def show(self, opened: Opened, matches: Matches, finding: Finding) -> None:
        """Show the session's facts, what of it is loaded, and where its hits are.

        While a text is looked for, the rail has its matches instead of the hits.
        """
        session, family, found = opened.session, opened.family, matches.found
        if session is None or family is None:
            return
        pane, page = self._pane, self._transcript.page
        prompts = (session.user_turn_count or None) if page.reading else None
        pane.header.show_session(HeaderState(session, family.ancestors, family.children, prompts))
        anchor = self._transcript.anchor()
        number = None if anchor is None else anchor.number
        loaded = self._transcript.loaded_ranges()
        ticks = finding.numbers if finding.is_on else found.numbers
        pane.rail.show_state(RailState(page.total, loaded, ticks, number))
        current = matches.current
        pane.outline_model.replace(outline.rows(page, found, opened.marker, current))
        if found.hits:
            pane.header.show_matches(current, found.hits_total)
        else:
            pane.header.show_reading(self._reading())
        self.follow(found)

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
