"""The filters: what can be chosen, read from the store, and what is chosen, for every question."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

import apsw
from PySide6.QtCore import QDate, QObject, Signal

from app import formatting
from app.dialogs import Dialogs
from app.models.sessions import source_name
from app.tasks import TaskScope
from app.view_state import ViewState
from app.views.filter_chip import Choice, FilterChip
from app.views.search_bar import SearchBar
from core.errors import QueryError
from core.history import facets
from core.history.saved_searches import SavedFilters
from core.search.saved import period
from core.search.times import midnight_ms
from core.store.store import Store
from core.types import Role

_BETWEEN = "between"
_DAYS = {"1d": 1, "7d": 7, "30d": 30, "365d": 365}
_PROJECTS_OFFERED = 60
_OPEN = ".."  # between two times as they are typed, where a saved search has them


@dataclass(frozen=True, slots=True)
class Filters:
    """What is chosen. `since_ms` is inclusive, `until_ms` exclusive; empty narrows nothing."""

    sources: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None


class FilterController(QObject):
    """Fills the chips from the store and turns them into `Filters`.

    Signals:
        changed: something else is chosen.
    """

    changed = Signal()

    def __init__(
        self, store: Store, bar: SearchBar, dialogs: Dialogs, tasks: TaskScope, state: ViewState
    ) -> None:
        super().__init__(bar)
        self._store, self._bar, self._dialogs = store, bar, dialogs
        self._tasks, self._state = tasks, state
        self._is_showing = False
        bar.role.offer(self._roles())
        bar.date.offer(self._dates(""))
        for name, chip in self._chips().items():
            chip.choose(self._remembered(name))
            chip.chosen.connect(self._on_chosen)

    def current(self) -> Filters:
        """Return what is chosen now; days are days of the local calendar."""
        since, until = self._range()
        return Filters(
            self._bar.source.chosen_keys(),
            self._bar.project.chosen_keys(),
            tuple(Role(key) for key in self._bar.role.chosen_keys()),
            since,
            until,
        )

    def as_saved(self) -> SavedFilters:
        """Return what is chosen as it can be saved: days counted from today stay so."""
        since, until, days = "", "", None
        keys = self._bar.date.chosen_keys()
        if keys and keys[0] in _DAYS:
            days = _DAYS[keys[0]]
        elif keys and _is_range(keys[0]):
            first, last = keys[0].split("-")
            since, until = _iso(first, 0), _iso(last, 1)
        elif keys and _OPEN in keys[0]:
            since, until = keys[0].split(_OPEN)
        chosen = self.current()
        return SavedFilters(
            chosen.roles, chosen.sources, chosen.projects, days, since=since, until=until
        )

    def show(self, filters: SavedFilters) -> None:
        """Choose what was saved; `changed` is emitted once, if anything is other than before.

        Raises:
            QueryError: its times cannot be read. Nothing is changed.
        """
        period(filters, datetime.now().astimezone())
        key = _date_key(filters)
        self._bar.date.offer(self._dates("" if key in _DAYS else key))
        keys = {
            "project": filters.projects,
            "source": filters.sources,
            "role": tuple(role.value for role in filters.roles),
            "date": (key,) if key else (),
        }
        if keys == {name: chip.chosen_keys() for name, chip in self._chips().items()}:
            return
        self._is_showing = True
        for name, chip in self._chips().items():
            chip.choose(keys[name])
        self._is_showing = False
        self._on_chosen()

    def refresh(self) -> None:
        """Read anew what can be chosen."""
        self._tasks.start("filters", self._load())

    async def _load(self) -> None:
        sources, projects = await self._store.read(_facets)
        self._bar.source.offer([Choice(kind, source_name(kind), n) for kind, n in sources])
        offered = [Choice(name, name, n) for name, n in projects[:_PROJECTS_OFFERED]]
        self._bar.project.offer(offered)

    def _on_chosen(self) -> None:
        if self._is_showing:
            return
        if self._bar.date.chosen_keys() == (_BETWEEN,):
            self._tasks.start("days", self._choose_days())
            return
        for name, chip in self._chips().items():
            self._state.set_texts(f"filters/{name}", chip.chosen_keys())
        self.changed.emit()

    async def _choose_days(self) -> None:
        today = QDate.currentDate()
        days = await self._dialogs.choose_days(today.addDays(-30), today)
        key = (
            "" if days is None else f"{days[0].toString('yyyyMMdd')}-{days[1].toString('yyyyMMdd')}"
        )
        self._bar.date.offer(self._dates(key))
        self._bar.date.choose((key,) if key else ())

    def _remembered(self, name: str) -> tuple[str, ...]:
        """Return what was chosen at the last start, as far as it still means something."""
        keys = self._state.texts(f"filters/{name}")
        if name == "role":
            return tuple(key for key in keys if key in set(Role))
        if name == "date":
            keys = tuple(key for key in keys[:1] if key in _DAYS or _is_range(key) or _is_open(key))
            self._bar.date.offer(self._dates(keys[0] if keys and keys[0] not in _DAYS else ""))
        return keys

    def _range(self) -> tuple[int | None, int | None]:
        keys = self._bar.date.chosen_keys()
        if not keys or keys == (_BETWEEN,):
            return None, None
        if keys[0] in _DAYS:
            first = formatting.today() - timedelta(days=_DAYS[keys[0]] - 1)
            return _midnight_ms(first.strftime("%Y%m%d"), 0), None
        if _OPEN in keys[0]:
            since, until = keys[0].split(_OPEN)
            return period(SavedFilters(since=since, until=until), datetime.now().astimezone())
        first_day, last_day = keys[0].split("-")
        return _midnight_ms(first_day, 0), _midnight_ms(last_day, 1)

    def _roles(self) -> list[Choice]:
        words = (self.tr("user"), self.tr("assistant"), self.tr("tool"), self.tr("system"))
        return [Choice(role.value, word) for role, word in zip(Role, words, strict=True)]

    def _dates(self, chosen: str) -> list[Choice]:
        offered = [
            Choice("1d", self.tr("today")),
            Choice("7d", self.tr("last 7 days")),
            Choice("30d", self.tr("last 30 days")),
            Choice("365d", self.tr("last 365 days")),
        ]
        if chosen:
            offered.append(Choice(chosen, _range_words(chosen)))
        return [*offered, Choice(_BETWEEN, self.tr("Between two days…"))]

    def _chips(self) -> dict[str, FilterChip]:
        bar = self._bar
        return {"project": bar.project, "source": bar.source, "role": bar.role, "date": bar.date}


def _facets(
    db: apsw.Connection,
) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]:
    return facets.sources(db), facets.projects(db)


def _is_range(key: str) -> bool:
    """Tell whether `key` is two days: `20261101-20261129`."""
    days = key.split("-")
    return len(days) == 2 and all(QDate.fromString(day, "yyyyMMdd").isValid() for day in days)


def _is_open(key: str) -> bool:
    """Tell whether `key` is two times as they are typed, one of which may be missing."""
    since, found, until = key.partition(_OPEN)
    try:
        period(SavedFilters(since=since, until=until), datetime.now().astimezone())
    except QueryError:
        return False
    return bool(found)


def _midnight_ms(day: str, later: int) -> int:
    """Return the local start of a day written `yyyymmdd`, or of the day `later` after it."""
    at = datetime.strptime(day, "%Y%m%d").date() + timedelta(days=later)  # noqa: DTZ007 - a day
    return midnight_ms(at)


def _iso(day: str, later: int) -> str:
    """Return a day written `yyyymmdd`, or the one `later` after it, as `yyyy-mm-dd`."""
    found = datetime.strptime(day, "%Y%m%d").date() + timedelta(days=later)  # noqa: DTZ007 - a day
    return found.isoformat()


def _date_key(filters: SavedFilters) -> str:
    """Return the key of the date chip for saved times; two whole days are a range of days."""
    if filters.days is not None:
        return next((key for key, days in _DAYS.items() if days == filters.days), "")
    try:
        first, until = date.fromisoformat(filters.since), date.fromisoformat(filters.until)
        return f"{first:%Y%m%d}-{until - timedelta(days=1):%Y%m%d}"
    except (ValueError, OverflowError):
        return f"{filters.since}{_OPEN}{filters.until}" if filters.since or filters.until else ""


def _range_words(key: str) -> str:
    if _OPEN in key:
        since, until = key.split(_OPEN)
        return f"{since} – {until}".strip()
    first, last = (datetime.strptime(day, "%Y%m%d").date() for day in key.split("-"))  # noqa: DTZ007
    today = formatting.today()
    return f"{formatting.short_day(first, today)} – {formatting.short_day(last, today)}"
