"""What tests of readers ask of a reading, and of an import of it."""

from core.sources import ingest
from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    SessionRecord,
    UnknownRecord,
)


class Reading:
    """The records of one reading, by type."""

    def __init__(self, records):
        self.records = list(records)
        self.messages = [r for r in self.records if isinstance(r, MessageRecord)]
        self.bad = [r for r in self.records if isinstance(r, BadSourceRecord)]
        self.unknown = [r.type for r in self.records if isinstance(r, UnknownRecord)]
        self.sessions = {r.native_id: r for r in self.records if isinstance(r, SessionRecord)}

    def only(self):
        (message,) = self.messages
        return message


def imported(db, *paths):
    """Import without a failure; return how many messages are new and changed."""
    job = ingest.Import(paths)
    for _ in ingest.run_sync(db, job):
        pass
    report = job.report()
    assert report.failed == 0
    return report.new, report.changed
