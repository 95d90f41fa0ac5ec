"""What goes to the clipboard: links, and messages as Markdown that says where they are from."""

from urllib.parse import quote

from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtGui import QGuiApplication

from app import formatting
from app.messages import describe
from app.models.sessions import program_name
from app.models.transcript import Transcript
from app.render import words
from app.tasks import TaskScope
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
    said.append(" · ".join(each for each in (program_name(session), session.project) if each))
    text = one_line(", ".join(each for each in said if each)).translate(_LINK_SIGNS)
    return f"{content.rstrip()}\n\n— [{text}]({link_to(session, message)})\n"


class Clips(QObject):
    """Puts texts of the conversation on the clipboard and says so.

    `session` is the open one.
    """

    def __init__(
        self, store: Store, pane: ConversationPane, transcript: Transcript, tasks: TaskScope
    ) -> None:
        super().__init__(pane)
        self._store, self._pane = store, pane
        self._transcript, self._tasks = transcript, tasks
        self.session: Session | None = None

    def put(self, text: str) -> None:
        """Copy a text; an empty one leaves the clipboard as it is."""
        if text:
            QGuiApplication.clipboard().setText(text)
            self._pane.tell(self.tr("Copied."))

    def take(self, what: str, message: Message) -> None:
        """Copy a message's text (`copy`), that with where it is from (`cite`), its link (`ref`)."""
        if self.session is None:
            return
        if what == "ref":
            self.put(link_to(self.session, message))
        else:
            self._tasks.start("context-copy", self._copy(self.session, message, what))

    def take_link(self) -> None:
        """Copy the link of the anchor, or of the session where there is none."""
        if self.session is not None:
            self.put(link_to(self.session, self._transcript.anchor()))

    def take_cited(self) -> None:
        """Copy the anchor, else the first message in view, as Markdown that says its source."""
        message = self._transcript.anchor()
        if message is None:
            first = int(self._pane.transcript.numbers_in_view()[0])
            message = self._transcript.numbered(first)
        if message is not None:
            self.take("cite", message)

    async def _copy(self, session: Session, message: Message, what: str) -> None:
        """Copy the whole of a message, as it is stored."""
        try:
            text, _ = await self._store.read(
                message_text, message.id, chars=max(1, message.content_length)
            )
        except CoreError as error:
            self._pane.message_bar.show_notice(describe(error))
            return
        self.put(cited(session, message, text) if what == "cite" else text)
