"""Opens a conversation around a hit or from its start, reads on in it, finds in it."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

import apsw
from PySide6.QtCore import QObject, Signal

from app import theme
from app.controllers import outline
from app.controllers.citing import Clips
from app.controllers.drawing import Drawing, Wish
from app.controllers.loading import Loaded, load_hit, load_more, load_session
from app.controllers.outline import Found
from app.controllers.places import Places
from app.messages import describe
from app.models.transcript import MOST, Side, Transcript
from app.render import runs
from app.render.cost import PIECE_CHARS
from app.tasks import TaskScope
from app.views.conversation_pane import ConversationPane
from core.errors import CoreError
from core.history.lineage import Lineage
from core.history.messages import message_text
from core.history.outline import message_at
from core.search.language import parse
from core.search.snippet import find_marks
from core.store.store import Store
from core.types import Message, Session

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[Concatenate[apsw.Connection, P], T]

_CHOICES = frozenset({"fold", "open", "whole", "raw", "anyway"})


class ContextController(QObject):
    """Shows one conversation at a time; the latest question wins.

    Build it inside a running loop.

    Signals:
        anchor_moved: another message became the anchor from within the conversation;
            carries message id, session id and query, as `open_message` takes them.
    """

    anchor_moved = Signal(int, int, str)

    def __init__(self, store: Store, pane: ConversationPane, tasks: TaskScope) -> None:
        super().__init__(pane)
        self._store, self._pane, self._tasks = store, pane, tasks
        self._transcript = Transcript()
        self._session: Session | None = None
        self._family: Lineage | None = None
        self._found = Found()
        self._is_reading_hits, self._step_awaited = False, 0
        self._query = self._sought = ""
        self._marker: runs.Marker = runs.no_marks
        self._drawing = Drawing(self._transcript, pane.transcript, tasks, self._show_places)
        self._places = Places(pane, self._transcript)
        self._clips = Clips(store, pane, self._transcript, tasks)
        self._connect()
        tasks.start("context-warm", self._drawing.warm_up())

    def _connect(self) -> None:
        pane, view = self._pane, self._pane.transcript
        view.acted.connect(self._on_acted)
        view.more_wanted.connect(self._on_more_wanted)
        view.copy_asked.connect(self.copy_cited)
        view.moved.connect(lambda: self._places.follow(self._found))
        pane.rail.number_asked.connect(self._on_number_asked)
        pane.outline.message_asked.connect(self._on_message_asked)
        pane.header.previous_asked.connect(self.previous_match)
        pane.header.next_asked.connect(self.next_match)
        pane.header.link_asked.connect(self._clips.take_link)
        pane.find_bar.text_edited.connect(self.find)
        pane.find_bar.next_asked.connect(self.next_match)
        pane.find_bar.previous_asked.connect(self.previous_match)
        pane.find_bar.closed.connect(lambda: self.find(""))
        theme.changed.connect(self.theme_changed)

    # Opening

    def open_message(self, message_id: int, session_id: int, query: str = "") -> None:
        """Show a message in the middle of its context, what `query` matched marked."""
        self._tasks.start("context", self._open_message(message_id, session_id, query))

    def open_session(self, session_id: int) -> None:
        """Show a session to be read: its first 20 and its last 10 messages."""
        self._tasks.start("context", self._open_session(session_id))

    async def _open_message(self, message_id: int, session_id: int, query: str) -> None:
        loaded = await self._read(load_hit, message_id, session_id)
        if loaded is None or loaded.window is None:
            return
        self._begin(loaded, query)
        self._transcript.open_window(loaded.window, loaded.bookends)
        await self._show_opened()

    async def _open_session(self, session_id: int) -> None:
        loaded = await self._read(load_session, session_id)
        if loaded is None:
            return
        self._begin(loaded, "")
        self._transcript.open_reading(loaded.bookends)
        await self._show_opened()

    def _begin(self, loaded: Loaded, query: str) -> None:
        """Leave the conversation before: what was still being read for it is not wanted."""
        for name in ("context-more", "context-outline", "context-number", "context-rest"):
            self._tasks.cancel(name)
        if self._session is None or self._session.id != loaded.session.id or query != self._query:
            self._found = Found()
        self._session, self._family, self._query = loaded.session, loaded.family, query
        self._sought = ""
        self._step_awaited = 0
        self._clips.session = loaded.session
        self._marker = partial(find_marks, parse(query)) if query.strip() else runs.no_marks
        self._drawing.begin(loaded.session, self._marker)
        self._pane.find_bar.close_bar()
        self._pane.link_bar.close_bar()
        self._pane.message_bar.hide()

    async def _show_opened(self) -> None:
        await self._drawing.now(Wish(centre=self._transcript.page.anchor_id))
        if self._session is not None:
            self._is_reading_hits = True
            self._tasks.start("context-outline", self._fill_outline(self._session, self._query))

    async def _fill_outline(self, session: Session, query: str) -> None:
        found = await self._read(outline.find_in_session, session, query)
        if found is not None:
            self._found = await asyncio.to_thread(outline.with_entries, found, self._marker)
            self._show_places()
        step, self._is_reading_hits, self._step_awaited = self._step_awaited, False, 0
        if step:
            self._step(step)

    async def _read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Return what `work` reads; an expected error is shown, and None returned."""
        try:
            return await self._store.read(work, *args, **kwargs)
        except (CoreError, TimeoutError) as error:
            self._pane.message_bar.show_notice(describe(error))
            return None

    # Looks

    def set_scale(self, scale: float) -> None:
        """Enlarge message text and code by `scale`, one of `theme.TEXT_SCALES`."""
        theme.set_text_scale(scale)

    def theme_changed(self) -> None:
        """Draw everything in the colours and sizes of now."""
        self._pane.transcript.forget_icons()
        self._drawing.soon()

    # Reading on

    def _on_more_wanted(self, side: Side) -> None:
        if not self._tasks.running("context-more"):
            self._tasks.start("context-more", self._extend(side, whole=False))

    def show_all(self, side: Side) -> None:
        """Read on by steps of 20 until the gap is closed or 120 messages are loaded."""
        self._tasks.start("context-more", self._extend(side, whole=True))

    async def _extend(self, side: Side, *, whole: bool) -> None:
        transcript, view, session = self._transcript, self._pane.transcript, self._session
        while session is not None:
            edge = transcript.edge(side)
            if edge is None:
                return
            found = await self._read(load_more, session.id, side, edge)
            if not found:
                return
            first, last = view.numbers_in_view()
            transcript.extend(side, found, range(int(first), int(last) + 1))
            await self._drawing.now(Wish(hold=view.holding_key(side)))
            if not whole or len(transcript.page.messages) >= MOST:
                return

    # Matches

    def next_match(self) -> None:
        """Go to the next match shown; behind the last one, to the session's next hit."""
        self._step(1)

    def previous_match(self) -> None:
        """Go to the match before; before the first one, to the session's hit before."""
        self._step(-1)

    def _step(self, step: int) -> None:
        match = self._transcript.step(step, wrap=bool(self._sought))
        if match is not None:
            self._pane.transcript.show_match(*match)
            self._show_places()
        elif not self._sought and self._is_reading_hits:
            self._step_awaited = step
        elif not self._sought and self._found.hits and self._session is not None:
            hits = self._found.hits
            now = self._transcript.current_number(self._found.numbers)
            ahead = [each for each in hits if (each[0] - now) * step > 0]
            _, hit = (ahead or hits)[0 if step > 0 else -1]
            self._go_to(hit.message_id)

    def find(self, text: str) -> None:
        """Mark `text` instead of what the search found; '' marks that again."""
        if text == self._sought or self._session is None:
            return
        self._sought = text
        self._drawing.marker = runs.literal_marker(text) if text else self._marker
        self._transcript.match = None
        self._drawing.soon(Wish(seek=bool(text)))

    # Going elsewhere in the session

    def _go_to(self, message_id: int, hold: str = "") -> None:
        """Make a message the anchor, loaded or not; `hold` keeps an item where it is."""
        if self._session is None:
            return
        if self._transcript.is_loaded(message_id):
            self._transcript.set_anchor(message_id)
            self._transcript.match = None
            self._drawing.soon(Wish(hold=hold) if hold else Wish(centre=message_id))
        else:
            self.open_message(message_id, self._session.id, self._query)
        self.anchor_moved.emit(message_id, self._session.id, self._query)

    def _on_message_asked(self, message_id: int, _number: int) -> None:
        self._go_to(message_id)

    def _on_number_asked(self, number: int) -> None:
        loaded = self._transcript.numbered(number)
        if loaded is not None:
            self._pane.transcript.centre(self._transcript.key_of(loaded.id))
            return
        self._tasks.start("context-number", self._go_to_number(number))

    async def _go_to_number(self, number: int) -> None:
        if self._session is not None:
            message_id = await self._read(message_at, self._session.id, number)
            if message_id is not None:
                self._go_to(message_id)

    # What links do

    def _on_acted(self, action: str, key: str, number: int) -> None:
        message = self._transcript.message_of(key)
        if action in _CHOICES:
            self._transcript.choose(key, action)
            self._drawing.soon(Wish(hold=key))
        elif action == "more":
            self._on_more_wanted("before" if key == "before" else "after")
        elif action == "all":
            self.show_all("before" if key == "before" else "after")
        elif action == "rest":
            self._show_more(key)
        elif action == "link":
            self._pane.link_bar.ask(self._transcript.link(key, number))
        elif action == "code":
            self._clips.put(self._transcript.code(key, number))
        elif message is None or self._session is None:
            return
        elif action == "anchor":
            self._go_to(message.id, hold=key)
        elif action in ("copy", "cite", "ref"):
            self._clips.take(action, message)

    def copy_cited(self) -> None:
        """Copy the anchor, else the first message in view, as Markdown that says its source."""
        self._clips.take_cited()

    def _show_more(self, key: str) -> None:
        """Show the next piece of a long text; read it first where it is not loaded."""
        message = self._transcript.show_more(key)
        if message is None:
            self._drawing.soon()
        else:
            self._tasks.start("context-rest", self._read_on(message))

    async def _read_on(self, message: Message) -> None:
        read = await self._read(
            message_text, message.id, offset=len(message.content), chars=PIECE_CHARS
        )
        if read is not None and self._transcript.message(message.id) is not None:
            text, total = read
            self._transcript.put_text(message.id, message.content + text, total)
            self._drawing.soon()

    # What is said about the place

    def _show_places(self) -> None:
        if self._session is not None and self._family is not None:
            self._places.show(self._session, self._family, self._found, self._marker)
            self._places.show_find(self._sought)
