"""The sessions that retention would move to the trash, as a sheet."""

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from app import formatting
from app.models.sessions import program_name
from app.text_ranges import one_line
from app.views.maintenance import retention_words
from app.views.maintenance.list_sheet import Column, ListSheet, Row
from core.types import Session
from core.upkeep_types import RetentionPreview


class GoingSheet(ListSheet):
    """The longest inactive first. Shows; never asks."""

    def __init__(
        self, preview: RetentionPreview, sessions: Sequence[Session], parent: QWidget
    ) -> None:
        columns = (
            Column(self.tr("Conversation")),
            Column(self.tr("Source"), 110),
            Column(self.tr("Messages"), 100, right=True),
            Column(self.tr("Last active"), 120, right=True),
        )
        super().__init__(self.tr("What would go to the trash"), columns, parent)
        words = "".join(text for text, _ in retention_words.going(preview))
        if preview.sessions > len(sessions):
            more = self.tr("The %1 longest inactive are listed.")
            words += ". " + more.replace("%1", formatting.number(len(sessions)))
        self.sentence.show_words(words)
        self.show_rows([Row(each.id, self._texts(each)) for each in sessions])

    def _texts(self, session: Session) -> tuple[str, ...]:
        last = session.last_active_at_ms
        return (
            one_line(session.title).strip() or self.tr("Untitled"),
            program_name(session),
            formatting.number(session.message_count),
            "–" if last is None else formatting.moment(last),
        )
