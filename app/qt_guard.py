"""Refuses what Qt would answer with an abort, before Qt is loaded.

Without a display, or a library that its plugin needs, Qt ends the process from within.

PySide6 6.12 on Python 3.11 and older drops a reference to `None` or `True` on every call that
returns nothing: after some thousand calls the interpreter aborts. Short runs pass, so nothing
but a check at the start protects the user.
"""

import ctypes
import os
import sys
from collections.abc import Mapping
from importlib import metadata

from core.errors import CoreError

_BROKEN = "6.12."
_FIRST_SAFE_PYTHON = (3, 12)
_PACKAGES = ("PySide6_Essentials", "PySide6")
_X11_LIBRARIES = {  # what Qt's xcb plugin needs and a server often lacks: file → Debian's package
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}


class QtMissingError(CoreError):
    """The window's libraries are not installed; the commands work without them."""

    code = "qt-missing"


class QtUnsafeError(CoreError):
    """The installed PySide6 crashes with this Python."""

    code = "qt-unsafe"


class NoDisplayError(CoreError):
    """There is no screen that the window could be shown on."""

    code = "no-display"


def check_display(environment: Mapping[str, str] = os.environ, system: str = sys.platform) -> None:
    """Return when Qt will find a screen here.

    Raises:
        NoDisplayError: there is no display server, or a library of Qt's X11 plugin is missing.
    """
    if system != "linux" or environment.get("QT_QPA_PLATFORM"):
        return
    if environment.get("WAYLAND_DISPLAY"):
        return
    if not environment.get("DISPLAY"):
        raise NoDisplayError(
            "there is no display, so there is no window here; the commands work: backscroll --help"
        )
    missing = [package for file, package in _X11_LIBRARIES.items() if not _loads(file)]
    if missing:
        raise NoDisplayError(
            "Qt's X11 plugin lacks libraries of the system. "
            f"On Debian: apt install {' '.join(missing)}"
        )


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def check_qt(version: str | None = None, python: tuple[int, int] | None = None) -> None:
    """Return when the window may be started.

    Args:
        version: the PySide6 version to judge; the installed one when None.
        python: major and minor version of Python; the running one when None.

    Raises:
        QtMissingError: PySide6 is not installed.
        QtUnsafeError: this PySide6 crashes on this Python.
    """
    found = version or _installed()
    running = python or sys.version_info[:2]
    if found.startswith(_BROKEN) and running < _FIRST_SAFE_PYTHON:
        name = ".".join(map(str, running))
        raise QtUnsafeError(
            f"PySide6 {found} crashes on Python {name}: it was not started. Install a version "
            f'below 6.12 (pip install "PySide6-Essentials<6.12"), or use Python 3.12 or later.'
        )


def _installed() -> str:
    for package in _PACKAGES:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    raise QtMissingError(
        "PySide6 is not installed, so there is no window: pip install PySide6-Essentials"
    )
