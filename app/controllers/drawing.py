"""Turns what is loaded into what is seen: HTML off the GUI thread, then the viewer."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject

from app import theme
from app.models.transcript import Transcript
from app.render import page as pages
from app.render import runs
from app.render.item import Item, Scene
from app.render.steps import steps
from app.render.style import Style
from app.tasks import TaskScope
from app.views.transcript_view import TranscriptView
from core.types import Session, ToolCall

CallTexts = Callable[[ToolCall], list[str]]

_WIDTH_STEP = 20
_TASK = "context-draw"
_WARM_AFTER_S = 0.5


@dataclass(frozen=True, slots=True)
class Wish:
    """How the next drawing leaves the view.

    `hold` keeps an item where it is, `centre` puts a message in the middle; without it, `anew`
    begins at the top.
    """

    hold: str = ""
    centre: int | None = None
    anew: bool = False


class Drawing(QObject):
    """Draws the transcript of `session` with the matches that `marker` finds.

    `drawn` is called on the GUI thread after each drawing.
    """

    def __init__(
        self,
        transcript: Transcript,
        view: TranscriptView,
        tasks: TaskScope,
        drawn: Callable[[], None],
    ) -> None:
        super().__init__(view)
        self._transcript, self._view, self._tasks = transcript, view, tasks
        self._drawn = drawn
        self._wish = Wish()
        self._width = 0
        self._one_at_a_time = asyncio.Lock()
        self.session: Session | None = None
        self.marker: runs.Marker = runs.no_marks
        self.call_texts: CallTexts | None = None
        view.width_changed.connect(self._on_width_changed)

    async def warm_up(self) -> None:
        """Load the libraries of formatting when the first paint is over; it takes 0.2 s."""
        await asyncio.sleep(_WARM_AFTER_S)
        await asyncio.to_thread(_load_libraries)

    def begin(self, session: Session, marker: runs.Marker) -> None:
        """Draw another conversation from now on; what was wished for the last one is void."""
        self._tasks.cancel(_TASK)
        self.session = session
        self.mark(marker)
        self._wish = Wish(anew=True)
        self._view.forget_match()

    def mark(self, marker: runs.Marker, call_texts: CallTexts | None = None) -> None:
        """Mark something else from the next drawing on; `call_texts` as `Scene` has them."""
        self.marker, self.call_texts = marker, call_texts

    @property
    def is_busy(self) -> bool:
        """True while a drawing is under way or wished for."""
        return self._tasks.running(_TASK) or self._one_at_a_time.locked()

    async def settled(self) -> None:
        """Return when nothing is being drawn and what was wished for is seen."""
        if self.is_busy:
            await self.now()

    def tell(self) -> None:
        """Say that what is shown of the place has changed."""
        self._drawn()

    def soon(self, wish: Wish | None = None) -> None:
        """Draw again; what an earlier call wished for and this one does not, still holds."""
        self._add(wish or Wish())
        if self.session is not None:
            self._tasks.start(_TASK, self.now())

    async def now(self, wish: Wish | None = None) -> None:
        """Draw, and return when it is seen; of two calls the later waits for the earlier."""
        self._add(wish or Wish())
        async with self._one_at_a_time:
            transcript, wish = self._transcript, self._wish
            scene = self._scene()
            items, kept = await asyncio.to_thread(
                pages.build, transcript.page, scene, transcript.kept
            )
            transcript.rendered(items, kept)
            if transcript.match is None:
                self._view.forget_match()
            await self._lead_to(items, wish)
            self._show(wish)
            if self._wish is wish:  # else there is another drawing, that it is wished of
                self._wish = Wish()
        self._drawn()

    def _add(self, wish: Wish) -> None:
        before = self._wish
        self._wish = Wish(
            hold=wish.hold or before.hold,
            centre=before.centre if wish.centre is None else wish.centre,
            anew=wish.anew or before.anew,
        )

    async def _lead_to(self, items: tuple[Item, ...], wish: Wish) -> None:
        """Show what leads to `items` where that is much, a step in each turn of the loop.

        What is centred is shown at once: its place is not known before all is there.
        """
        view = self._view
        if wish.centre is None and not wish.anew:
            near = wish.hold or view.holding_key("after")
            for step in steps(view.items, items, near):
                if step is not items:
                    view.show_items(step, hold=wish.hold)
                    await asyncio.sleep(0)

    def _show(self, wish: Wish) -> None:
        transcript, view = self._transcript, self._view
        centre = "" if wish.centre is None else transcript.key_of(wish.centre)
        view.show_items(transcript.items, hold=wish.hold, centre=centre, anew=wish.anew)
        if transcript.match is None and wish.centre is not None:
            transcript.match = transcript.first_match_of(wish.centre)
        if transcript.match is None:
            view.forget_match()
        else:
            view.show_match(*transcript.match, reveal=bool(centre))

    def _scene(self) -> Scene:
        self._width = self._view.viewport().width() // _WIDTH_STEP * _WIDTH_STEP
        style = Style(
            theme.current(),
            tuple(theme.code_families()),
            theme.families("JP")[-1],
            theme.families("KR")[-1],
            scale=theme.text_scale(),
            width_px=self._width,
        )
        session = self.session
        folder = (session.cwd if session else None) or ""
        model = (session.model if session else None) or ""
        return Scene(style, self.marker, folder=folder, model=model, call_texts=self.call_texts)

    def _on_width_changed(self, width: int) -> None:
        if width // _WIDTH_STEP * _WIDTH_STEP != self._width:
            self.soon()


def _load_libraries() -> None:
    from app.render import code, markdown  # noqa: F401 - loading them is all that is wanted
