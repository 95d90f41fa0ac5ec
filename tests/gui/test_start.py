"""The window as a person starts it: a process of its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30


def start(data: Path, home: Path) -> subprocess.Popen[str]:
    environment = os.environ | {
        "QT_QPA_PLATFORM": "offscreen",
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.Popen(
        [sys.executable, "-W", "default", "-m", "app", "--data-dir", str(data)],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_second_start_leaves_the_window_to_the_first_and_a_signal_closes_it(tmp_path):
    data, home = tmp_path / "data", tmp_path / "home"
    home.mkdir()
    first = start(data, home)
    try:
        end = time.monotonic() + PATIENCE_S
        while not list(data.glob("profiles/*/state.db")) and time.monotonic() < end:
            time.sleep(0.05)
        second = start(data, home)
        second_code = second.wait(PATIENCE_S)
        second.communicate()
        first_runs = first.poll() is None
        first.send_signal(signal.SIGTERM)
        first_code = first.wait(PATIENCE_S)
    finally:
        first.kill()
    said = [
        line
        for line in first.communicate()[1].splitlines()
        if "This plugin does not support" not in line
    ]

    assert (second_code, first_runs, first_code) == (0, True, 0)
    assert said == []
    assert list(data.glob("profiles/*/window.ini"))
