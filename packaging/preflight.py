"""Say in words what this machine lacks before anything is set up.

Runs with nothing but the system's Python. `--installed` runs inside the virtual environment
and checks that the window's libraries load; it only warns, since the command line works
without them.
"""

import argparse
import ctypes.util
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMPILERS = ("cc", "gcc", "clang")
WINDOW_LIBRARIES = {  # what Qt loads on any Linux, and on X11; Debian's package for each
    "EGL": "libegl1",
    "GL": "libgl1",
    "dbus-1": "libdbus-1-3",
    "fontconfig": "libfontconfig1",
    "xkbcommon": "libxkbcommon0",
    "xkbcommon-x11": "libxkbcommon-x11-0",
    "xcb-cursor": "libxcb-cursor0",
    "xcb-icccm": "libxcb-icccm4",
    "xcb-image": "libxcb-image0",
    "xcb-keysyms": "libxcb-keysyms1",
    "xcb-randr": "libxcb-randr0",
    "xcb-render-util": "libxcb-render-util0",
    "xcb-shape": "libxcb-shape0",
    "xcb-xkb": "libxcb-xkb1",
}


def compiler() -> str | None:
    """Return the C compiler that would be used, or None."""
    candidates = [os.environ["CC"]] if os.environ.get("CC") else []
    return next((c for c in (*candidates, *COMPILERS) if shutil.which(c.split()[0])), None)


def compiles(cc: str, source: str) -> bool:
    """Tell whether `cc` accepts a C file with this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "probe.c"
        path.write_text(source)
        command = [*cc.split(), "-c", str(path), "-o", str(path.with_suffix(".o"))]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def missing() -> list[str]:
    """Return one sentence for each thing that has to be installed first."""
    found = []
    if sys.version_info < (3, 11):  # noqa: UP036 - the point of this file
        found.append(
            f"Python 3.11 or later is needed, this is {sys.version.split()[0]}. "
            "Name another one with `make PYTHON=python3.12 …`."
        )
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        found.append("Python's venv module is missing. On Debian: apt install python3-venv")
    cc = compiler()
    if cc is None:
        found.append("No C compiler was found. On Debian: apt install gcc libc6-dev")
    elif not compiles(cc, "#include <stddef.h>\n#include <stdio.h>\n"):
        found.append(f"{cc} cannot compile a C file. On Debian: apt install libc6-dev")
    elif not compiles(cc, "#include <sqlite3ext.h>\n"):
        found.append("The SQLite headers are missing. On Debian: apt install libsqlite3-dev")
    return found


def window_problem() -> str | None:
    """Return why the window cannot start here, or None."""
    packages = [p for lib, p in WINDOW_LIBRARIES.items() if not ctypes.util.find_library(lib)]
    probe = [sys.executable, "-c", "import PySide6.QtWidgets, PySide6.QtSvg"]
    result = subprocess.run(probe, capture_output=True, text=True, check=False)
    if result.returncode == 0 and (not packages or not os.environ.get("DISPLAY")):
        return None
    reason = (result.stderr.strip().splitlines() or ["libraries of the system are missing"])[-1]
    advice = f" On Debian: apt install {' '.join(packages)}" if packages else ""
    return f"The window cannot start here ({reason}).{advice} The commands work without it."


def main() -> int:
    """Return 0 when everything needed is there, 1 after naming what is not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--installed", action="store_true")
    if parser.parse_args().installed:
        problem = window_problem()
        if problem:
            print(f"warning: {problem}", file=sys.stderr)
        return 0
    problems = missing()
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
