"""Finds the loose files the program ships with: icons, style sheets, translations."""

import sys
from functools import cache
from pathlib import Path

_MARK = Path("style", "window.qss")


@cache
def root() -> Path:
    """Return the folder that holds `icons/`, `style/` and `i18n/`.

    The folder of a checkout wins over the installed one, so that a change is seen at once.

    Raises:
        FileNotFoundError: neither place holds them; the installation is incomplete.
    """
    places = (
        Path(__file__).resolve().parents[1] / "resources",
        Path(sys.prefix, "share", "backscroll", "resources"),
        Path(getattr(sys, "_MEIPASS", sys.prefix), "resources"),
    )
    for place in places:
        if (place / _MARK).is_file():
            return place
    looked = ", ".join(str(place) for place in places)
    raise FileNotFoundError(f"the resources folder is missing; looked in {looked}")


@cache
def text(*parts: str) -> str:
    """Return the text of the resource at `parts` below the root; read once per process."""
    return root().joinpath(*parts).read_text(encoding="utf-8")
