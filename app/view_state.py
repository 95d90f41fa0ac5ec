"""What the window remembers between starts: places, filters, recent searches. No stored text.

One INI file at an explicit path inside the profile folder, which only its owner can read.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

_RECENT_KEPT = 50


@dataclass(frozen=True, slots=True)
class RecentSearch:
    """A search that was made. `hits` is the total of its last answer."""

    query: str
    hits: int


class ViewState:
    """Reads and writes `window.ini`; every value has a default, none can stop the start."""

    def __init__(self, path: Path) -> None:
        self._settings = QSettings(str(path), QSettings.Format.IniFormat)

    def save(self) -> None:
        """Write what was set to the file now."""
        self._settings.sync()

    def bytes(self, key: str) -> QByteArray:
        """Return a geometry or splitter state; empty when there is none."""
        value = self._settings.value(key)
        return value if isinstance(value, QByteArray) else QByteArray()

    def set_bytes(self, key: str, value: QByteArray) -> None:
        """Remember a geometry or splitter state."""
        self._settings.setValue(key, value)

    def text(self, key: str, default: str = "") -> str:
        """Return a remembered text."""
        value = self._settings.value(key)
        return value if isinstance(value, str) else default

    def set_text(self, key: str, value: str) -> None:
        """Remember a text."""
        self._settings.setValue(key, value)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a remembered list of texts."""
        values = _json(self.text(key))
        return tuple(each for each in values if isinstance(each, str))

    def set_texts(self, key: str, values: tuple[str, ...]) -> None:
        """Remember a list of texts."""
        self.set_text(key, json.dumps(values))

    def number(self, key: str, default: float) -> float:
        """Return a remembered number."""
        try:
            return float(self.text(key))
        except ValueError:
            return default

    def set_number(self, key: str, value: float) -> None:
        """Remember a number."""
        self.set_text(key, repr(value))

    def recent(self) -> tuple[RecentSearch, ...]:
        """Return the recent searches, newest first."""
        return tuple(
            RecentSearch(str(each[0]), int(each[1]))
            for each in _json(self.text("search/recent"))
            if isinstance(each, list) and len(each) == 2 and isinstance(each[1], int)
        )

    def add_recent(self, search: RecentSearch, *, instead_of: str = "") -> None:
        """Put a search in front; the same query is listed once, at most 50 are kept.

        `instead_of` is a query to forget: what was typed on the way to this one.
        """
        gone = (search.query, instead_of)
        others = [each for each in self.recent() if each.query not in gone]
        self.set_recent((search, *others)[:_RECENT_KEPT])

    def set_recent(self, searches: tuple[RecentSearch, ...]) -> None:
        """Replace the recent searches."""
        values = [[each.query, each.hits] for each in searches]
        self.set_text("search/recent", json.dumps(values))


def _json(text: str) -> list[object]:
    """Return the list in `text`, or an empty one: a file edited by hand must not stop us."""
    try:
        value = json.loads(text) if text else []
    except ValueError:
        return []
    return value if isinstance(value, list) else []
