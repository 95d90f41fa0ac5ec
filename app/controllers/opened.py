"""The conversation that is open, and the way to read from the store for it."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from app.messages import describe
from app.render import runs
from app.views.conversation_pane import ConversationPane
from core.errors import CoreError
from core.history.lineage import Lineage
from core.store.store import Store
from core.types import SearchRequest, Session

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[Concatenate[apsw.Connection, P], T]


class Opened:
    """What is known of the open conversation.

    `query` is what was searched for when it was opened and `asked` the whole question, where
    there was one. `marker` marks what the query matches.
    """

    def __init__(self, store: Store, pane: ConversationPane) -> None:
        self._store, self._pane = store, pane
        self.session: Session | None = None
        self.family: Lineage | None = None
        self.query = ""
        self.asked: SearchRequest | None = None
        self.marker: runs.Marker = runs.no_marks

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Return what `work` reads; an expected error is shown, and None returned."""
        try:
            return await self._store.read(work, *args, **kwargs)
        except (CoreError, TimeoutError) as error:
            self._pane.message_bar.show_notice(describe(error))
            return None
