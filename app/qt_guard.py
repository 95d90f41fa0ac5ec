"""Refuses the one pair of Python and Qt that crashes, before Qt is loaded.

PySide6 6.12 on Python 3.11 and older drops a reference to `None` or `True` on every call that
returns nothing: after some thousand calls the interpreter aborts. Short runs pass, so nothing
but a check at the start protects the user.
"""

import sys
from importlib import metadata

from core.errors import CoreError

_BROKEN = "6.12."
_FIRST_SAFE_PYTHON = (3, 12)
_PACKAGES = ("PySide6_Essentials", "PySide6")


class QtMissingError(CoreError):
    """The window's libraries are not installed; the commands work without them."""

    code = "qt-missing"


class QtUnsafeError(CoreError):
    """The installed PySide6 crashes with this Python."""

    code = "qt-unsafe"


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
