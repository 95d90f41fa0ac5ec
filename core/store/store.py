"""The only door between asyncio and the store, over connections with a thread each."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import apsw
import apsw.aio

from core import paths
from core.errors import CoreError, StoreBusyError, StoreError, StoreMovedError, StoreReadOnlyError
from core.store import creation, damage, moved, recipe
from core.store.calls import End, Steps, bare, nothing, one_state, reclaim, within
from core.store.connection import bring_up_to_date, refuse_newer, take_tokenizer, written
from core.store.errors import translated

if TYPE_CHECKING:
    from apsw import AsyncConnection  # exists for type checkers alone

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[Concatenate[apsw.Connection, P], T]

READERS = 2
PROGRESS_STEPS = 1_000  # how often APSW looks whether a call was cancelled; no cost measured

_log = logging.getLogger(__name__)


class Store:
    """An open store. Its methods are called from the event loop it was opened on.

    A file that another program put in the store's place is noticed before anything is read or
    written: the connections are opened anew then (`moved`).

    `read_only_reason` says why nothing can be written, where that is so.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_only_reason: str | None = None
        self._tokenizer: Path | None = None
        self._reopening, self._taking = asyncio.Lock(), asyncio.Lock()
        self._files: moved.Files | None = None
        self._lost: CoreError | None = None
        self.writes = 0
        """Transactions and steps that were asked of the writer so far, whatever became of them."""
        self._writers: asyncio.Queue[AsyncConnection | None] = asyncio.Queue()
        self._readers: asyncio.Queue[AsyncConnection | None] = asyncio.Queue()
        self._upkeep: asyncio.Queue[AsyncConnection | None] = asyncio.Queue()
        self._all: list[AsyncConnection] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closing = False

    @classmethod
    async def open(cls, profile: Path, *, tokenizer: Path | None) -> "Store":
        """Open the store of a profile folder; it is made where it is missing.

        Raises:
            NotAStoreError, StoreError: as `connection.open_store`.
        """
        store = cls(paths.store_path(profile))
        with translated(store.path):
            try:
                await store._open(tokenizer)
            except BaseException:
                await store._close_all()
                raise
        return store

    @property
    def read_only_reason(self) -> str | None:
        """Why nothing can be written, None where it can."""
        return self._read_only_reason or damage.broken(str(self.path))

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` on an idle reader, over one state of the store.

        Cancelling the task interrupts the query; the reader is lent again only when it has
        really stopped, so that no interrupt can meet somebody else's query.
        """
        result: T = await self._repeatable(self._readers, one_state, work, *args, **kwargs)
        if damage.is_noted(str(self.path)) and self.read_only_reason is None:
            self._later(self._set_aside())
        return result

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in one write transaction, after those that were asked for before.

        Cancelling the task rolls the transaction back, unless it was already committing: an
        error does not mean that nothing was stored, so what is written must be repeatable. It
        is repeated at once where an index turned out to be damaged.
        """
        self.writes += 1
        while True:
            try:
                result: T = await self._repeatable(
                    self._writers, bare, written, work, *args, **kwargs
                )
            except StoreBusyError:
                if self._upkeep.qsize():  # the lock is another program's
                    raise
            else:
                return result

    async def steps(
        self,
        work: Callable[Concatenate[apsw.Connection, P], Iterator[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> AsyncGenerator[T, None]:
        """Run a generator of `core` on a connection for upkeep, and yield what it yields.

        The generator begins its own transactions and has none open when it yields, so another
        may take its turn. Writes go on beside it, and wait as long as it takes where a step of
        it holds the lock. Cancelling the task interrupts the running statement;
        the generator is then closed, and with it whatever it holds.

        Raises:
            StoreMovedError: another file took the store's place in between.
        """
        running: Steps[T] = await self._run(self._upkeep, bare, Steps, work, *args, **kwargs)
        try:
            while True:
                self.writes += 1
                found: T | End = await self._run(self._upkeep, bare, running.next)
                if isinstance(found, End):
                    return
                yield found
        finally:
            await asyncio.shield(self._run(self._upkeep, bare, running.close))

    async def load_tokenizer(self, path: Path) -> None:
        """Use a tokenizer that was not there when the store was opened, from now on.

        The index that it is for is attached, or left to the backfill. Connections that have
        another one keep it: that takes a new start.

        Raises:
            TokenizerError: it cannot be loaded.
        """
        await self._to_its_end(self._load_tokenizer(path))
        self._tokenizer = path
        if self._read_only_reason is None:
            await self._run(self._writers, bare, bring_up_to_date)

    async def _load_tokenizer(self, path: Path) -> None:
        for idle, count in self._lendable():
            async with self._taking:
                taken = [await idle.get() for _ in range(count)]
            try:
                with translated(self.path):
                    for db in filter(None, taken):
                        await db.async_run(take_tokenizer, db, path)
            finally:
                for each in taken:
                    idle.put_nowait(each)

    @property
    def is_reading(self) -> bool:
        """Whether somebody reads at this moment."""
        return self._readers.qsize() < READERS

    async def close(self) -> None:
        """Let what runs come to its end, then close every connection; nothing can start."""
        self._is_closing = True
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._take_all()
        await self._close_all()

    async def _open(self, tokenizer: Path | None) -> None:
        self._tokenizer, self._read_only_reason = tokenizer, None
        creation.prepare(self.path)
        try:
            if not recipe.is_writable(self.path):
                raise StoreReadOnlyError(f"{self.path} or its folder is read-only")
            writer = await self._connect(apsw.SQLITE_OPEN_READWRITE, recipe.WRITER_CACHE, tokenizer)
            await writer.async_run(refuse_newer, writer)
            await writer.async_run(bring_up_to_date, writer)
            upkeep = await self._connect(apsw.SQLITE_OPEN_READWRITE, recipe.WRITER_CACHE, tokenizer)
        except StoreReadOnlyError as error:  # a newer schema is one
            self._read_only_reason = str(error)
            writer, upkeep = [await self._connect_reader(tokenizer) for _ in range(2)]
        self._writers.put_nowait(writer)
        self._upkeep.put_nowait(upkeep)
        for _ in range(READERS):
            self._readers.put_nowait(await self._connect_reader(tokenizer))
        self._files = moved.files_of(self.path)

    def _lendable(self) -> "tuple[tuple[asyncio.Queue[AsyncConnection | None], int], ...]":
        """Return where connections of each kind are lent from, and how many there are."""
        return (self._readers, READERS), (self._upkeep, 1), (self._writers, 1)

    async def _take_all(self) -> None:
        """Wait until nobody uses any connection; nobody is lent one from then on."""
        async with self._taking:  # two that each held a part would wait for each other for ever
            for idle, count in self._lendable():
                for _ in range(count):
                    await idle.get()

    async def _to_its_end(self, work: Coroutine[Any, Any, None]) -> None:
        """Do `work`, which goes on when whoever waits for it is cancelled: it holds connections."""
        await asyncio.shield(self._later(work))

    async def _repeatable(self, *args: Any, **kwargs: Any) -> Any:
        """Do as `_run`; where another file has taken the store's place, on that one."""
        try:
            return await self._run(*args, **kwargs)
        except StoreMovedError:
            await self._to_its_end(self._reopen())
        return await self._run(*args, **kwargs)

    async def _reopen(self) -> None:
        """Let every connection to the lost file go, then open the file that is there now.

        Raises:
            StoreMovedError: there is none, or others have the lost file open as well.
        """
        async with self._reopening:
            if self._files is not None and moved.is_in_place(self.path, self._files):
                return  # another call was first
            moved.require_successor(self.path, self._files)
            await self._take_all()
            await self._close_all()
            try:
                with translated(self.path):
                    moved.put_log_aside(self.path, self._files)
                    damage.mend(str(self.path))
                    await self._open(self._tokenizer)
            except CoreError as error:
                self._lost = error
                for idle, count in self._lendable():
                    for _ in range(count - idle.qsize()):
                        idle.put_nowait(None)
                raise

    async def _set_aside(self) -> None:
        """Have the damaged indexes set aside, as every write does by itself."""
        try:
            await self.write(nothing)
        except CoreError as error:
            _log.warning("%s", error)  # the next write tries again, and says so to whoever asks

    async def _connect_reader(self, tokenizer: Path | None) -> "AsyncConnection":
        flags = apsw.SQLITE_OPEN_READONLY
        return await self._connect(flags, recipe.READER_CACHE, tokenizer)

    async def _connect(
        self, flags: int, cache: recipe.Pragma, tokenizer: Path | None
    ) -> "AsyncConnection":
        token = apsw.aio.check_progress_steps.set(PROGRESS_STEPS)
        try:
            db = await apsw.Connection.as_async(*recipe.way_in(self.path, flags))
        finally:
            apsw.aio.check_progress_steps.reset(token)
        self._all.append(db)
        await db.async_run(recipe.set_up, db, cache, tokenizer=tokenizer)
        return db

    async def _run(
        self,
        idle: "asyncio.Queue[AsyncConnection | None]",
        mode: Any,
        work: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if self._is_closing:
            raise StoreError(f"{self.path} is being closed")
        db = await idle.get()
        if db is None:
            idle.put_nowait(None)
            raise self._lost or StoreError(f"{self.path} is lost")
        try:
            with translated(self.path):
                result = await db.async_run(within, mode, db, work, args, kwargs)
        except asyncio.CancelledError:
            self._reclaim_later(idle, db)
            raise
        except BaseException:
            idle.put_nowait(db)
            raise
        idle.put_nowait(db)
        return result

    def _reclaim_later(
        self, idle: "asyncio.Queue[AsyncConnection | None]", db: "AsyncConnection"
    ) -> None:
        self._later(reclaim(idle, db))

    def _later(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _close_all(self) -> None:
        while self._all:
            await self._all.pop().aclose()
