"""What lies at a path, asked so that a folder which may not be entered is an answer: no.

`Path.is_dir` and its like raise a `PermissionError` below such a folder, and one in a person's
home would be the end of a look over every program's place.
"""

import os
from pathlib import Path

from core.errors import SourceError


def is_dir(path: Path) -> bool:
    """Whether it is a folder, or a link to one, that can be seen."""
    return os.path.isdir(path)  # noqa: PTH112 (never raises)


def is_file(path: Path) -> bool:
    """Whether it is a regular file, or a link to one, that can be seen."""
    return os.path.isfile(path)  # noqa: PTH113 (never raises)


def exists(path: Path) -> bool:
    """Whether anything that can be seen is there; a link without its end is nothing."""
    return os.path.exists(path)  # noqa: PTH110 (never raises)


def require(path: Path) -> None:
    """Leave it at that where a file or folder is there that can be seen.

    Raises:
        SourceError: there is nothing, or the way there may not be gone; it says which.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise SourceError(f"{path} does not exist", path=str(path)) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SourceError(f"{path} cannot be read: {reason}", path=str(path)) from error
