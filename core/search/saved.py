"""A saved search as a question of now."""

from datetime import datetime, timedelta

from core.history.saved_searches import SavedFilters, SavedSearch
from core.search.times import midnight_ms, parse_time
from core.types import SearchRequest


def as_request(search: SavedSearch, now: datetime) -> SearchRequest:
    """Return what a saved search asks at the moment `now`, which has a zone.

    Raises:
        QueryError: its times cannot be read.
    """
    filters = search.filters
    since_ms, until_ms = period(filters, now)
    return SearchRequest(
        search.query,
        sort=search.sort,
        roles=filters.roles,
        sources=filters.sources,
        projects=filters.projects,
        since_ms=since_ms,
        until_ms=until_ms,
    )


def period(filters: SavedFilters, now: datetime) -> tuple[int | None, int | None]:
    """Return since (inclusive) and until (exclusive) in milliseconds, None where it is open.

    Days begin at midnight of the system's zone.
    """
    if filters.days is not None:
        first = now.astimezone().date() - timedelta(days=filters.days - 1)
        return midnight_ms(first), None
    return (
        parse_time(filters.since, now=now) if filters.since else None,
        parse_time(filters.until, now=now) if filters.until else None,
    )
