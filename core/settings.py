"""The settings of a store: each declared once, with its default, its unit and its range."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import apsw
import msgspec

from core.errors import SettingError

T = TypeVar("T", bool, int, tuple[str, ...])


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A setting: its key in the store, its default, and for numbers the least and the most."""

    key: str
    default: T
    least: int = 0
    most: int = 0

    def check(self, value: object) -> T:
        """Return `value` as this setting's type.

        Raises:
            SettingError: it is of another type, or out of range.
        """
        if isinstance(value, list):
            value = tuple(value)
        if type(value) is not type(self.default):
            raise SettingError(f"{self.key} cannot be {value!r}")
        if type(value) is int and not self.least <= value <= self.most:
            raise SettingError(f"{self.key} must be {self.least:,} to {self.most:,}, not {value:,}")
        if isinstance(value, tuple) and not all(isinstance(each, str) for each in value):
            raise SettingError(f"{self.key} cannot be {value!r}")
        return value


BACKFILL_PAUSED = Setting("backfill.paused", default=False)
BACKFILL_PAUSED_INDEXES: Setting[tuple[str, ...]] = Setting("backfill.paused_indexes", ())
"""Names of indexes that wait while the others are filled."""
RETENTION_DAYS = Setting("retention.days", 0, 0, 36_500)
"""Days without activity after which a session may go to the trash; 0: never."""
RETENTION_SOURCES: Setting[tuple[str, ...]] = Setting("retention.sources", ())
"""Kinds of sources that the rule is for; none named: all."""
TRASH_DAYS = Setting("trash.days", 7, 1, 365)
"""Days that something stays in the trash before it may be deleted."""
BACKUP_ON = Setting("backup.scheduled", default=True)

ALL = (
    BACKFILL_PAUSED,
    BACKFILL_PAUSED_INDEXES,
    RETENTION_DAYS,
    RETENTION_SOURCES,
    TRASH_DAYS,
    BACKUP_ON,
)


def read(db: apsw.Connection, setting: Setting[T]) -> T:
    """Return the value of a setting, its default where it was never set.

    Raises:
        SettingError: what is stored is none of its values.
    """
    stored = db.execute("SELECT value FROM settings WHERE key = ?", (setting.key,)).get
    if stored is None:
        return setting.default
    try:
        return setting.check(msgspec.json.decode(stored))
    except msgspec.DecodeError as error:
        raise SettingError(f"{setting.key} cannot be read: {error}") from error


def write(db: apsw.Connection, setting: Setting[T], value: T) -> None:
    """Set a setting in the caller's transaction.

    Raises:
        SettingError: the value is out of range; nothing was changed.
    """
    db.execute(
        "INSERT INTO settings(key, value) VALUES (?, ?)"
        " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (setting.key, msgspec.json.encode(setting.check(value)).decode()),
    )
