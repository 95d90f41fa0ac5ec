"""Field completion: what the word at the cursor could become, while one types it."""

from PySide6.QtCore import QObject, QTimer

from app.messages import describe
from app.models.choices import Offer, counted
from app.tasks import TaskScope
from app.text_ranges import to_utf16
from app.views.completion_popup import CompletionPopup
from app.views.field_words import field_words
from app.views.main_window import MainWindow
from core.errors import CoreError
from core.search.completion import complete
from core.store.store import Store
from core.types import Choice, Completion

DEBOUNCE_MS = 60
_LEAST_LETTERS = 2  # of a field's name: one letter begins too many words


class CompletionController(QObject):
    """Asks for completions as one types, and puts the one taken into the field.

    Only typing asks: not a query that was opened, not a cursor that was moved, and not an input
    method while it composes. The latest text wins.
    """

    def __init__(self, store: Store, window: MainWindow, tasks: TaskScope) -> None:
        super().__init__(window)
        self._store, self._window, self._tasks = store, window, tasks
        self._field = window.search_bar.field
        self._popup: CompletionPopup = window.completion_popup
        self._offered: Completion | None = None
        self._offered_for = ("", 0)
        self._rest = QTimer(self, singleShot=True, interval=DEBOUNCE_MS)
        self._rest.timeout.connect(self._ask)
        self._field.textEdited.connect(self._rest.start)
        self._field.textChanged.connect(self._on_text_changed)
        self._field.cursorPositionChanged.connect(self._on_cursor_moved)
        self._field.entered.connect(self._stop)
        self._popup.taken.connect(self._on_taken)
        self._popup.closed.connect(self._forget)

    def _now(self) -> tuple[str, int]:
        """Return the text and the cursor in it, in characters."""
        text = self._field.text()
        units = self._field.cursorPosition()
        before = text.encode("utf-16-le", "surrogatepass")[: 2 * units]
        return text, len(before.decode("utf-16-le", "replace"))

    def _ask(self) -> None:
        if self._field.is_composing or not self._field.hasFocus():
            return
        self._tasks.start("completion", self._complete(*self._now()))

    async def _complete(self, text: str, cursor: int) -> None:
        try:
            found = await self._store.read(complete, text, cursor)
        except CoreError as error:
            self._window.message_bar.show_notice(describe(error))
            return
        if self._now() != (text, cursor) or self._field.is_composing or not self._field.hasFocus():
            return
        if found is None or not _is_wanted(found, text[found.start : cursor]):
            self._popup.close_list()
            return
        self._offered, self._offered_for = found, (text, cursor)
        (span,) = to_utf16(f"{text} ", [(found.start, max(found.end, found.start + 1))])
        self._popup.show_offers([_offer(item) for item in found.items], span[0])

    def _on_taken(self, offer: Offer) -> None:
        found = self._offered
        if found is None or self._now() != self._offered_for:
            return  # the list is of an earlier text; the one of now is on its way
        text, _ = self._offered_for
        start = _units(text[: found.start])
        self._popup.close_list()
        self._field.setSelection(start, _units(text[found.start : found.end]))
        self._field.insert(offer.text)

    def _on_text_changed(self) -> None:
        if not self._rest.isActive():  # not typed: a query was opened, or the field cleared
            self._stop()

    def _on_cursor_moved(self) -> None:
        if self._offered is not None and not self._rest.isActive():
            self._rest.start()

    def _stop(self) -> None:
        self._rest.stop()
        self._tasks.cancel("completion")
        self._popup.close_list()

    def _forget(self) -> None:
        self._offered = None
        self._rest.stop()
        self._tasks.cancel("completion")


def _is_wanted(found: Completion, typed: str) -> bool:
    """Tell whether it is worth a list: a name of which enough is typed, or a value."""
    if all(item.text.endswith(":") for item in found.items):
        return len(typed) >= _LEAST_LETTERS
    return True


def _offer(item: Choice) -> Offer:
    beside = field_words(item.text[:-1]) if item.text.endswith(":") else counted(item.count)
    return Offer(item.text, item.shown, beside)


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
