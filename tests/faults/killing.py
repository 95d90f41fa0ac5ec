"""Starting a child process and killing it in the middle of what it does."""

import multiprocessing
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.faults.workers import READY
from tests.unit.store.making import library

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.faults.workers", "tests.faults.upkeep_workers"])
_LONGEST_S = 60.0


@dataclass(frozen=True)
class End:
    """How a child ended: what it acknowledged last, and whether it had come to its end."""

    acked: str
    is_through: bool


def start(work: Callable[..., None], path: Path, *args: Any) -> "Child":
    """Start `work` in a process of its own."""
    return Child(work, path, *args)


def killed(
    rng: random.Random, within_s: float, work: Callable[..., None], path: Path, *args: Any
) -> End:
    """Kill `work` at a random moment of its first `within_s`; one in ten while it opens."""
    child = Child(work, path, *args)
    if rng.random() > 0.1:
        child.wait_ready()
    time.sleep(rng.uniform(0.0, within_s))
    return child.kill()


class Child:
    """A process and the pipe on which it acknowledges."""

    def __init__(self, work: Callable[..., None], path: Path, *args: Any) -> None:
        self._acks, sending = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=work, args=(sending, path, library(), *args))
        self._process.start()
        sending.close()
        self._last = b""

    def wait_ready(self) -> None:
        """Wait until the child has opened the store."""
        assert self._acks.poll(_LONGEST_S), "the child does not come up"
        try:
            assert self._acks.recv_bytes() == READY
        except EOFError:
            self._process.join()
            raise AssertionError(f"the child ended: {self._process.exitcode}") from None

    def kill(self) -> End:
        """Kill it as `kill -9` does."""
        self._process.kill()
        return self.end()

    def end(self) -> End:
        """Wait for its end; an error in the child is one of the test."""
        last = _last_of(self._acks)
        self._process.join(_LONGEST_S)
        code = self._process.exitcode
        self._process.close()
        self._acks.close()
        assert code in (0, -9), f"the child ended with {code}"
        return End(last, is_through=code == 0)


def _last_of(acks: Connection) -> str:
    last = b""
    try:
        while True:
            told = acks.recv_bytes()
            last = last if told == READY else told
    except EOFError:
        return last.decode()
