"""What a file was seen to hold: its sessions, and where it was read before, its messages."""

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from core.history.bodies import clean
from core.sources.records import MessageRecord, SourceIdentity

LOT = 20_000
"""How many messages are compared with the store in one transaction, if no session has more."""


@dataclass(slots=True)
class Held:
    """Sessions by their source, and 8 bytes of each message's uid where `compares`.

    `last_ms` is the latest time of the messages of each session that has any, `chars` how much
    they say.
    """

    compares: bool = False
    sessions: dict[SourceIdentity, set[str]] = field(default_factory=dict)
    last_ms: dict[tuple[SourceIdentity, str], int | None] = field(default_factory=dict)
    chars: Counter[tuple[SourceIdentity, str]] = field(default_factory=Counter)
    _uids: dict[tuple[SourceIdentity, str], "array[int]"] = field(default_factory=dict)
    _aligned: set[tuple[SourceIdentity, str]] = field(default_factory=set)

    def session(self, source: SourceIdentity, native_id: str) -> None:
        """Take note of a session."""
        self.sessions.setdefault(source, set()).add(native_id)
        if self.compares:  # one that has nothing any more was emptied
            self._uids.setdefault((source, native_id), array("q"))

    def message(self, source: SourceIdentity, record: MessageRecord) -> None:
        """Take note of a message, and of its session.

        Uids of aligned messages are given by the store: such a session is not compared.
        """
        key = (source, record.session)
        last_ms, at_ms = self.last_ms.get(key), record.created_at_ms
        self.last_ms[key] = at_ms if last_ms is None else max(last_ms, at_ms or last_ms)
        calls = sum(1 + len(call.arguments) + len(call.result) for call in record.tool_calls)
        self.chars[key] += 1 + len(record.content) + calls
        if record.aligned:
            self._aligned.add(key)
        uids = self._uids.get(key)
        if uids is None:
            self.session(source, record.session)
            uids = self._uids[key] = array("q")
        if self.compares:
            uids.append(hash(clean(record.uid)))

    def names(self) -> frozenset[tuple[SourceIdentity, str]]:
        """Return the sessions with their sources."""
        return frozenset(
            (source, name) for source, names in self.sessions.items() for name in names
        )

    def lots(self) -> Iterator["Lot"]:
        """Yield what was told of each session, some sessions at a time; the rest is forgotten."""
        told: dict[tuple[SourceIdentity, str], frozenset[int]] = {}
        size = 0
        for key in list(self._uids):
            uids = self._uids.pop(key)
            if key in self._aligned:
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
