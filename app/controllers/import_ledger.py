"""An import of the window as one line of the ledger."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from core.errors import CoreError
from core.store.store import Store
from core.types import ImportReport
from core.upkeep import importing, operations
from core.upkeep_types import Operation, OperationState

_STOPPED = "stopped before its end; what it stored is kept"
_log = logging.getLogger(__name__)


@asynccontextmanager
async def recorded(
    store: Store,
    paths: Sequence[Path],
    kind: str | None,
    report: Callable[[], ImportReport],
    stopped: Callable[[], None],
) -> AsyncIterator[None]:
    """Claim an import, run the block, and write down how it ended, stopped or not.

    `stopped` is called as soon as it is cancelled; whoever cancelled it need not wait for the
    ledger.

    Raises:
        RunningError: another program imports the same; the block was not entered.
    """
    operation = await _begin(store, importing.arguments(paths, kind))
    try:
        yield
    except CoreError as error:
        await _end(store, operation, "failed", str(error), report())
        raise
    except BaseException:
        stopped()
        await _end(store, operation, "failed", _STOPPED, report())
        raise
    found = importing.ended(report())
    await _end(store, operation, found.state, found.outcome, report())


async def _begin(store: Store, arguments: Mapping[str, object]) -> Operation:
    """Claim it; a line begun for a task that is being cancelled meanwhile is ended again."""
    work = store.write(operations.begin, importing.KIND, arguments, "you")
    beginning = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(beginning)
    except asyncio.CancelledError:
        facts: dict[str, object] = {}
        operation = await beginning
        await store.write(operations.finish, operation, "failed", _STOPPED, facts)
        raise


async def _end(
    store: Store, operation: Operation, state: OperationState, outcome: str, report: ImportReport
) -> None:
    """Write how it ended, though the task is being cancelled.

    Where that fails, the error that ended the import is the one to be told; the next start
    finds the line open and looks what came of it.
    """
    facts = importing.receipt(report)
    try:
        await asyncio.shield(store.write(operations.finish, operation, state, outcome, facts))
    except CoreError as error:
        _log.warning("the end of operation %d is not written down: %s", operation.id, error)
