"""Opens a conversation around a hit or from its start, reads on in it, finds in it."""

from functools import partial

from PySide6.QtCore import QObject, Signal

from app import theme
from app.controllers.citing import Clips
from app.controllers.drawing import Drawing, Wish
from app.controllers.finding import Finding
from app.controllers.growing import Growing
from app.controllers.loading import Loaded, load_hit, load_more, load_session
from app.controllers.matches import Matches
from app.controllers.opened import Opened
from app.controllers.places import Places
from app.controllers.reading_on import ReadingOn
from app.models.transcript import MOST, Side, Transcript
from app.render import runs
from app.render.stretch import FAR_END
from app.tasks import TaskScope
from app.views.conversation_pane import ConversationPane
from core.history.outline import message_at
from core.search.language import parse
from core.search.snippet import find_marks
from core.store.store import Store
from core.types import Message, SearchRequest, Session

_CHOICES = frozenset({"fold", "open", "whole", "raw", "anyway"})
_GROWING = "context-growing"
_OF_ONE_CONVERSATION = ("context-more", "context-number", "context-rest", _GROWING)


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
        self._pane, self._tasks = pane, tasks
        self._opened = opened = Opened(store, pane)
        self._transcript = transcript = Transcript()
        self._drawing = Drawing(transcript, pane.transcript, tasks, self._show_places)
        shared = (opened, pane, transcript, self._drawing)
        self._reading_on = ReadingOn(opened, transcript, self._drawing)
        self._finding = Finding(*shared, self._reading_on, tasks, self._load_around)
        self._matches = Matches(*shared, self._reading_on, tasks, self._go_to)
        self._growing = Growing(opened, pane.transcript, transcript, self._drawing)
        self._is_stale = False
        self._places = Places(pane, transcript)
        self._clips = Clips(store, pane, transcript, tasks)
        self._connect()
        tasks.start("context-warm", self._drawing.warm_up())

    def _connect(self) -> None:
        pane, view = self._pane, self._pane.transcript
        view.acted.connect(self._on_acted)
        view.more_wanted.connect(self._on_more_wanted)
        view.copy_asked.connect(self.copy_cited)
        view.moved.connect(lambda: self._places.follow(self._matches.found))
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

    def open_message(
        self, message_id: int, session_id: int, query: str = "", asked: SearchRequest | None = None
    ) -> None:
        """Show a message in the middle of its context, what `query` matched marked.

        `asked` is the whole question where the query was one of several things asked for.
        """
        self._tasks.start("context", self._open_message(message_id, session_id, query, asked))

    def open_session(self, session_id: int) -> None:
        """Show a session to be read: its first 20 and its last 10 messages."""
        self._tasks.start("context", self._open_session(session_id))

    async def _open_message(
        self, message_id: int, session_id: int, query: str, asked: SearchRequest | None
    ) -> None:
        loaded = await self._opened.read(load_hit, message_id, session_id)
        if loaded is None or loaded.window is None:
            return
        self._begin(loaded, query, asked)
        self._transcript.open_window(loaded.window, loaded.bookends, loaded.reset_seq)
        await self._show_opened()
        message = self._transcript.message(message_id)
        if query and message is not None:
            await self._matches.uncover(message)

    async def _open_session(self, session_id: int) -> None:
        loaded = await self._opened.read(load_session, session_id)
        if loaded is None:
            return
        self._begin(loaded, "", None)
        self._transcript.open_reading(loaded.bookends, loaded.reset_seq)
        await self._show_opened()

    async def _load_around(self, message_id: int) -> bool:
        """Show the window around a message of the open session; what is looked for stays."""
        session = self._opened.session
        if session is None:
            return False
        self._cancel()
        loaded = await self._opened.read(load_hit, message_id, session.id)
        if loaded is None or loaded.window is None:
            return False
        self._transcript.open_window(loaded.window, loaded.bookends, loaded.reset_seq)
        await self._drawing.now(Wish(centre=message_id))
        self.anchor_moved.emit(message_id, session.id, self._opened.query)
        return True

    def _begin(self, loaded: Loaded, query: str, asked: SearchRequest | None) -> None:
        """Leave the conversation before: what was still being read for it is not wanted."""
        self._cancel()
        opened = self._opened
        is_same = opened.session is not None and opened.session.id == loaded.session.id
        is_same = is_same and (query, asked) == (opened.query, opened.asked)
        self._matches.begin(same=is_same)
        self._finding.forget()
        opened.session, opened.family = loaded.session, loaded.family
        opened.query, opened.asked = query, asked
        opened.marker = partial(find_marks, parse(query)) if query.strip() else runs.no_marks
        self._clips.session = loaded.session
        self._drawing.begin(loaded.session, opened.marker)
        self._pane.find_bar.close_bar()
        self._pane.link_bar.close_bar()
        self._pane.message_bar.hide()

    def _cancel(self) -> None:
        for name in _OF_ONE_CONVERSATION:
            self._tasks.cancel(name)

    async def _show_opened(self) -> None:
        await self._drawing.now(Wish(centre=self._transcript.page.anchor_id))
        self._matches.fill()

    # What is done with what is open

    @property
    def session(self) -> Session | None:
        """The session that was opened last."""
        return self._opened.session

    def message_to_act_on(self, key: str = "") -> Message | None:
        """Return the message of an item, else the anchor, else the first message in view."""
        message = self._transcript.message_of(key) if key else self._transcript.anchor()
        if message is None and not key:
            first = int(self._pane.transcript.numbers_in_view()[0])
            message = self._transcript.numbered(first)
        return message

    def neighbour_of(self, message: Message) -> Message | None:
        """Return the loaded message behind another one, else the one before it."""
        after = self._transcript.numbered(message.number + 1)
        return after or self._transcript.numbered(message.number - 1)

    def note_session(self, session: Session) -> None:
        """Show what is known of the open session by now; its text stays as it is."""
        if self._opened.session is not None and self._opened.session.id == session.id:
            self._opened.session = self._clips.session = session
            self._show_places()

    def read_again(self, message_id: int | None) -> None:
        """Read the open session anew around a message, which keeps its place on the screen."""
        session = self._opened.session
        if session is None:
            return
        if message_id is None:
            self.open_session(session.id)
        else:
            self._tasks.start("context", self._read_again(message_id, session.id))

    async def _read_again(self, message_id: int, session_id: int) -> None:
        self._cancel()
        loaded = await self._opened.read(load_hit, message_id, session_id)
        if loaded is not None and loaded.window is not None:
            self._transcript.open_window(loaded.window, loaded.bookends, loaded.reset_seq)
            await self._drawing.now(Wish(hold=self._transcript.key_of(message_id)))

    def follow(self) -> None:
        """Show what is new of the open session, which the store may have changed of."""
        self._is_stale = self._opened.session is not None
        if self._is_stale and not self._tasks.running(_GROWING):
            self._tasks.start(_GROWING, self._follow())

    async def _follow(self) -> None:
        while self._is_stale:
            self._is_stale = False
            await self._growing.take(self._matches)
            if self._opened.session is not None:
                self._clips.session = self._opened.session

    # Looks

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
        transcript, view, session = self._transcript, self._pane.transcript, self._opened.session
        while session is not None:
            edge = transcript.edge(side)
            if edge is None:
                return
            found = await self._opened.read(load_more, session.id, side, edge)
            if not found:
                return
            first, last = view.numbers_in_view()
            transcript.extend(side, found, range(int(first), int(last) + 1))
            await self._drawing.now(Wish(hold=view.holding_key(side)))
            if not whole or len(transcript.page.messages) >= MOST:
                return

    # Matches

    def next_match(self) -> None:
        """Go to the next match of what is looked for, else of the search."""
        self._step(1)

    def previous_match(self) -> None:
        """Go to the match before of what is looked for, else of the search."""
        self._step(-1)

    def _step(self, step: int) -> None:
        if self._finding.is_on:
            self._finding.step(step)
        else:
            self._matches.step(step)

    def find(self, text: str) -> None:
        """Mark `text` instead of what the search found; '' marks that again."""
        self._finding.find(text)

    # Going elsewhere in the session

    def _go_to(self, message_id: int, hold: str = "") -> None:
        """Make a message the anchor, loaded or not; `hold` keeps an item where it is."""
        session, query = self._opened.session, self._opened.query
        if session is None:
            return
        if self._transcript.is_loaded(message_id):
            self._transcript.set_anchor(message_id)
            self._transcript.match = None
            self._drawing.soon(Wish(hold=hold) if hold else Wish(centre=message_id))
        elif self._finding.is_on:
            self._tasks.start("context", self._look_around(message_id))
            return
        else:
            self.open_message(message_id, session.id, query, self._opened.asked)
        self.anchor_moved.emit(message_id, session.id, query)

    async def _look_around(self, message_id: int) -> None:
        await self._load_around(message_id)

    def _on_message_asked(self, message_id: int, _number: int) -> None:
        self._go_to(message_id)

    def _on_number_asked(self, number: int) -> None:
        loaded = self._transcript.numbered(number)
        if loaded is not None:
            self._pane.transcript.centre(self._transcript.key_of(loaded.id))
            return
        self._tasks.start("context-number", self._go_to_number(number))

    async def _go_to_number(self, number: int) -> None:
        if self._opened.session is not None:
            message_id = await self._opened.read(message_at, self._opened.session.id, number)
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
            far = number == FAR_END
            self._tasks.start("context-rest", self._reading_on.show_more(key, behind_far=far))
        elif action == "end":
            self._tasks.start("context-rest", self._reading_on.show_end(key))
        elif action == "link":
            self._pane.link_bar.ask(self._transcript.link(key, number))
        elif action == "code":
            self._clips.put(self._transcript.code(key, number))
        elif message is None:
            return
        elif action == "anchor":
            self._go_to(message.id, hold=key)
        elif action in ("copy", "cite", "ref"):
            self._clips.take(action, message)

    def copy_cited(self) -> None:
        """Copy the anchor, else the first message in view, as Markdown that says its source."""
        self._clips.take_cited()

    # What is said about the place

    def _show_places(self) -> None:
        opened = self._opened
        if opened.session is not None and opened.family is not None:
            self._places.show(opened, self._matches, self._finding)
            self._matches.follow()
