"""Work beside a thread that is stopped with Ctrl+C ends before its connection is used again."""

import os
import signal
import threading
from io import StringIO

import apsw
import pytest

from app.cli.output import Output
from app.cli.upkeep import report_of
from core.store import copying
from core.types import Progress
from core.upkeep.beside import beside

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def press_ctrl_c_after(seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_ctrl_c_while_waiting_ends_the_work_first():
    db = apsw.Connection(":memory:")
    timer = press_ctrl_c_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        for _ in beside(db, lambda db: db.execute(ENDLESS).get, "counting"):
            pass
    timer.join()
    assert db.execute("SELECT 1").get == 1  # not busy in another thread
    db.close()


def test_ctrl_c_in_the_last_step_of_a_copy_waits_for_it():
    class Slow:
        ended = False

        def step(self, _pages: int) -> None:
            threading.Event().wait(0.6)
            self.ended = True

    slow = Slow()
    timer = press_ctrl_c_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        for _ in copying._last_step(slow):  # type: ignore[arg-type]
            pass
    timer.join()
    assert slow.ended


def test_upkeep_has_ended_when_ctrl_c_comes_while_its_progress_is_shown():
    class Pressed(Output):
        def progress(self, text: str) -> None:
            raise KeyboardInterrupt

    ended = []

    def work():
        try:
            yield Progress(1, 2, "steps")
        finally:
            ended.append(True)

    steps = work()
    with pytest.raises(KeyboardInterrupt):
        report_of(steps, Pressed(False, False, StringIO(), StringIO()))
    assert ended == [True]
