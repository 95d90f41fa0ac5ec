"""What goes to the clipboard: links, and messages as Markdown that says where they are from."""

from urllib.parse import quote

from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtGui import QGuiApplication

from app import formatting
from app.messages import describe
from app.models.sessions import source_name
from app.render import words
from app.text_ranges import one_line
from app.views.conversation_pane import ConversationPane
from core.errors import CoreError
from core.history.messages import message_text
from core.store.store import Store
from core.types import Message, Session

_KEPT_IN_LINKS = "/:@!$&'()*+,;=-._~"
_LINK_SIGNS = str.maketrans({"[": "\\[", "]": "\\]", "\\": "\\\\"})


def link_to(session: Session, message: Message | None = None) -> str:
    """Return the stable address of a session, or of a message in it."""
    address = f"backscroll://session/{quote(session.ref, safe=_KEPT_IN_LINKS)}"
    return address if message is None else f"{address}#{quote(message.uid, safe=_KEPT_IN_LINKS)}"


def cited(session: Session, message: Message, content: str) -> str:
    """Return a message as it was written, then who said it, where and when, as a link."""
    title = one_line(session.title).strip() or QCoreApplication.translate("citing", "Untitled")
    said = [words.role(message.role)]
    if message.created_at_ms is not None:
        said.append(formatting.full_time(message.created_at_ms))
    said.append(title)
    said.append(" · ".join(each for each in (source_name(session.source), session.project) if each))
    text = one_line(", ".join(each for each in said if each)).translate(_LINK_SIGNS)
    return f"{content.rstrip()}\n\n— [{text}]({link_to(session, message)})\n"


class Clips(QObject):
    """Puts texts of the conversation on the clipboard and says so."""

    def __init__(self, store: Store, pane: ConversationPane) -> None:
        super().__init__(pane)
        self._store, self._pane = store, pane

    def put(self, text: str) -> None:
        """Copy a text; an empty one leaves the clipboard as it is."""
        if text:
            QGuiApplication.clipboard().setText(text)
            self._pane.tell(self.tr("Copied."))

    async def copy(self, session: Session, message: Message, what: str) -> None:
        """Copy the whole of a message as it was written; with `cite` also where it is from."""
        try:
            text, _ = await self._store.read(
                message_text, message.id, chars=max(1, message.content_length)
            )
        except CoreError as error:
            self._pane.message_bar.show_notice(describe(error))
            return
        self.put(cited(session, message, text) if what == "cite" else text)
