"""The store serves the window's loop as it serves any other."""

import asyncio
import itertools
import time

import pytest
import qasync
from PySide6.QtCore import QTimer

from core.store.store import Store
from tests.unit.store.making import library
from tests.unit.store.test_store import cancelled, count, endless, put


def test_reading_cancelling_and_closing_never_block_the_window(qapp, tmp_path):
    loop = qasync.QEventLoop(qapp)
    beats: list[float] = []
    timer = QTimer(interval=5)
    timer.timeout.connect(lambda: beats.append(time.monotonic()))

    async def work() -> int:
        store = await Store.open(tmp_path / "profile", tokenizer=library())
        await store.write(put, "a")
        timer.start()
        for _ in range(20):
            task = asyncio.create_task(store.read(endless))
            await asyncio.sleep(0.02)
            await cancelled(task)
            assert await store.read(count) == 1
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await store.read(endless)
        timer.stop()
        found = await store.read(count)
        await store.close()
        return found

    with loop:
        assert loop.run_until_complete(asyncio.wait_for(work(), 60)) == 1
    gaps = [later - earlier for earlier, later in itertools.pairwise(beats)]
    assert len(gaps) > 20
    assert max(gaps) < 0.5  # a busy machine; an endless query in the loop's thread would be longer
