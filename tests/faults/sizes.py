"""How long each proof runs: seconds in `make test`, minutes in `make faults`, or far longer.

`BACKSCROLL_FAULTS` is `short` (the default), `minutes` or `long`.
"""

import os
import tempfile
from pathlib import Path

FORM = os.environ.get("BACKSCROLL_FAULTS", "short")
_FORMS = ("short", "minutes", "long")
assert FORM in _FORMS, f"BACKSCROLL_FAULTS is one of {', '.join(_FORMS)}"


def size(short: int, minutes: int, long: int) -> int:
    """Return the number for the form that runs."""
    return dict(zip(_FORMS, (short, minutes, long), strict=True))[FORM]


def scratch(prefix: str) -> Path:
    """Return a new folder in memory where there is one: thousands of stores are made there."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix=prefix, dir=memory if memory.is_dir() else None))
