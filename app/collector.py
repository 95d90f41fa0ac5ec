"""Cyclic garbage is collected in the thread of the window, and nowhere else.

Python collects in whichever thread happens to allocate. A Qt object that dies in a thread of
the store takes its timers and children with it there, and the next timer event of the window
then meets a dead object: the process ends. So automatic collection is off while a window is
open, and a timer of the window's thread does the same work by the same thresholds.
"""

import gc

from PySide6.QtCore import QObject, QTimer

INTERVAL_MS = 1000


class Collector(QObject):
    """Collects once a second what has become due; begins with `start`, ends with `stop`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(collect_due)

    def start(self) -> None:
        """Turn automatic collection off and begin to collect here.

        What exists by now lives as long as the program and is not looked at again.
        """
        gc.collect()
        gc.freeze()
        gc.disable()
        self._timer.start()

    def stop(self) -> None:
        """Turn automatic collection on again."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()


def collect_due() -> int:
    """Collect the oldest generation that is due by its threshold; returns what was found."""
    counts, thresholds = gc.get_count(), gc.get_threshold()
    for generation in (2, 1, 0):
        if counts[generation] > thresholds[generation]:
            return gc.collect(generation)
    return 0
