"""What a file was seen to hold: its sessions, and where it was read before, its messages."""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from core.history.bodies import VISIBLE, clean
from core.sources.records import MessageRecord, SourceIdentity

LOT = 20_000
"""How many messages are compared with the store in one transaction, if no session has more."""


@dataclass(slots=True)
class Said:
    """What the messages of a session come to: their latest time, and how much they say.

    `is_shown` tells that lists and windows show one of them. Uids of aligned messages are given
    by the store.
    """

    last_ms: int | None = None
    chars: int = 0
    is_shown: bool = False
    is_aligned: bool = False


@dataclass(slots=True)
class Held:
    """Sessions by their source, and 8 bytes of each message's uid where `compares`.

    `said` has the sessions with messages.
    """

    compares: bool = False
    sessions: dict[SourceIdentity, set[str]] = field(default_factory=dict)
    said: dict[tuple[SourceIdentity, str], Said] = field(default_factory=dict)
    _uids: dict[tuple[SourceIdentity, str], "array[int]"] = field(default_factory=dict)
    _latest: tuple[SourceIdentity | None, str, Said] = field(default=(None, "", Said()))

    def session(self, source: SourceIdentity, native_id: str) -> None:
        """Take note of a session."""
        self.sessions.setdefault(source, set()).add(native_id)
        if self.compares:  # one that has nothing any more was emptied
            self._uids.setdefault((source, native_id), array("q"))

    def message(self, source: SourceIdentity, record: MessageRecord) -> None:
        """Take note of a message, and of its session."""
        of, name, said = self._latest  # most messages are of the session of the one before
        if source is not of or record.session != name:
            said = self._said_in(source, record.session)
        last_ms, at_ms = said.last_ms, record.created_at_ms
        said.last_ms = at_ms if last_ms is None else max(last_ms, at_ms or last_ms)
        said.chars += 1 + len(record.content)
        for call in record.tool_calls:
            said.chars += 1 + len(call.arguments) + len(call.result)
        said.is_shown = said.is_shown or record.state in VISIBLE
        said.is_aligned = said.is_aligned or record.aligned
        if self.compares:
            self._uids[source, record.session].append(hash(clean(record.uid)))

    def _said_in(self, source: SourceIdentity, name: str) -> Said:
        said = self.said.get((source, name))
        if said is None:
            said = self.said[source, name] = Said()
            self.session(source, name)
        self._latest = (source, name, said)
        return said

    def names(self) -> frozenset[tuple[SourceIdentity, str]]:
        """Return the sessions with their sources."""
        return frozenset(
            (source, name) for source, names in self.sessions.items() for name in names
        )

    def silent(self) -> Iterator[tuple[SourceIdentity, str]]:
        """Yield the sessions of which no message was told that lists and windows show."""
        for key in self.names():
            if key not in self.said or not self.said[key].is_shown:
                yield key

    def lots(self) -> Iterator["Lot"]:
        """Yield what was told of each session, some sessions at a time; the rest is forgotten.

        One whose messages are aligned is not compared.
        """
        told: dict[tuple[SourceIdentity, str], frozenset[int]] = {}
        size = 0
        for key in list(self._uids):
            uids = self._uids.pop(key)
            if key in self.said and self.said[key].is_aligned:
                continue
            told[key] = frozenset(uids)
            size += len(uids)
            if size >= LOT:
                yield Lot(told)
                told, size = {}, 0
        if told:
            yield Lot(told)


class Lot(NamedTuple):
    """The hashes of the uids that were told of some sessions."""

    told: Mapping[tuple[SourceIdentity, str], frozenset[int]]
