"""What runs on a connection's own thread for the store: one call, one step, what it leaves."""

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import apsw

from core.errors import StoreMovedError
from core.store.connection import require_in_place, snapshot

if TYPE_CHECKING:
    from apsw import AsyncConnection  # exists for type checkers alone

T = TypeVar("T")

_REPEAT_S = 0.01


class End:
    """What a generator that is through gives instead of an item."""


@contextmanager
def bare(_db: apsw.Connection) -> Iterator[None]:
    """Run the block without a transaction around it."""
    yield


@contextmanager
def one_state(db: apsw.Connection) -> Iterator[None]:
    """Run the block over one state of the store, if it is still the store."""
    require_in_place(db)
    with snapshot(db):
        yield


def nothing(_db: apsw.Connection) -> None:
    """Write nothing: what every write transaction does by itself is enough."""


class Steps(Generic[T]):
    """A generator of `core` and the connection it was begun on, which is the only one it knows."""

    def __init__(
        self, db: apsw.Connection, work: Callable[..., Iterator[T]], *args: Any, **kwargs: Any
    ) -> None:
        self._db = db
        self._running = work(db, *args, **kwargs)

    def next(self, db: apsw.Connection) -> T | End:
        """Return what the generator yields next, `END` where it is through.

        Raises:
            StoreMovedError: `db` is another connection: the store was opened anew meanwhile.
        """
        if db is not self._db:
            raise StoreMovedError(f"{db.filename} was replaced while this was under way")
        return next(self._running, END)

    def close(self, db: apsw.Connection) -> None:
        """Close the generator, and with it whatever it holds.

        What it would still write has nowhere to go where its connection is closed already: the
        ledger of the lost file is lost with it.
        """
        if not isinstance(self._running, Generator):
            return
        expected = () if db is self._db else (apsw.ConnectionClosedError,)
        with suppress(*expected):
            self._running.close()


END = End()


def within(mode: Any, db: apsw.Connection, work: Any, args: Any, kwargs: Any) -> Any:
    """Return what `work` returns, within a context that is entered on its thread."""
    with mode(db):
        return work(db, *args, **kwargs)


async def reclaim(idle: "asyncio.Queue[AsyncConnection | None]", db: "AsyncConnection") -> None:
    """Interrupt what runs on `db` until its thread takes the next call, then lend it again."""
    stopped = asyncio.ensure_future(db.async_run(_leave_transaction, db))
    while not stopped.done():
        db.interrupt()
        await asyncio.wait([stopped], timeout=_REPEAT_S)
    stopped.result()
    idle.put_nowait(db)


def _leave_transaction(db: apsw.Connection) -> None:
    """Make sure that nothing of a cancelled call is left; an interrupt may meet this, too."""
    while db.in_transaction:
        try:
            db.execute("ROLLBACK")
        except apsw.InterruptError:
            continue
