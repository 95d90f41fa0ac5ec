"""Random deeds with the trash and imports between them, against a model made of sets."""

from dataclasses import dataclass, field
from random import Random

import pytest

from core.history.sessions import list_sessions
from core.index.health import check
from core.search.run import search
from core.store.connection import transaction
from core.types import SearchRequest, SessionFilter
from core.upkeep import trash
from tests.unit.store.making import message, store_at, store_messages, verify_indexes

SESSIONS = [f"s{n}" for n in range(6)]
UIDS = [f"m{n}" for n in range(12)]


@dataclass
class Model:
    """What a store should hold, by names alone. A message has the same text everywhere."""

    places: set[tuple[str, str]] = field(default_factory=set)  # (session, uid)
    sessions_away: dict[str, int] = field(default_factory=dict)  # in the trash, by operation
    messages_away: dict[str, int] = field(default_factory=dict)
    deleted_sessions: set[str] = field(default_factory=set)
    deleted_places: set[tuple[str, str]] = field(default_factory=set)
    deleted_bodies: set[str] = field(default_factory=set)

    def tell(self, session, uid):
        gone = session in self.deleted_sessions or (session, uid) in self.deleted_places
        if not gone and uid not in self.deleted_bodies:
            self.places.add((session, uid))

    def empty(self):
        for session in self.sessions_away:
            self.deleted_sessions.add(session)
            self.places = {place for place in self.places if place[0] != session}
        left = {uid for _, uid in self.places}
        for uid in self.messages_away:
            if uid in left:  # else it died with its sessions, and only they are known
                self.deleted_bodies.add(uid)
                self.deleted_places |= {place for place in self.places if place[1] == uid}
        self.places = {place for place in self.places if place[1] not in self.deleted_bodies}
        self.sessions_away, self.messages_away = {}, {}

    def there(self):
        """The sessions that have rows and are not in the trash."""
        return {session for session, _ in self.places} - set(self.sessions_away)

    def shown(self, *, with_trash=False):
        """The messages that a search finds."""
        return {
            uid
            for session, uid in self.places
            if with_trash or (session not in self.sessions_away and uid not in self.messages_away)
        }


@pytest.mark.parametrize("seed", range(6))
def test_counts_and_answers_are_those_of_the_model(tmp_path, seed):
    random, model = Random(seed), Model()
    db = store_at(tmp_path)
    db.pragma("synchronous", "OFF")
    for _ in range(60):
        DEEDS[random.choice(list(DEEDS))](db, model, random)
        agree(db, model)
    verify_indexes(db)
    assert all(finding.ok for finding in check(db))
    db.close()


def agree(db, model):
    for include, with_trash in ((frozenset(), False), (frozenset({"trash"}), True)):
        found = search(db, SearchRequest("kestrel", limit=100, include=include))
        assert {hit.message for hit in found.hits} == model.shown(with_trash=with_trash)
        assert found.messages_searched == len(model.shown(with_trash=with_trash))
    counts = {each.ref: each.message_count for each in list_sessions(db, SessionFilter()).sessions}
    expected = {
        session: sum(place[0] == session and place[1] not in model.messages_away
                     for place in model.places)
        for session in model.there()
    }  # fmt: skip
    assert counts == {session: count for session, count in expected.items() if count}
    held = trash.contents(db)
    away = {uid for uid in model.messages_away if any(uid == u for _, u in model.places)}
    assert held.total == len(model.sessions_away) + len(away)


def row(db, session):
    return db.execute("SELECT id FROM sessions WHERE native_id = ?", (session,)).get


def body(db, uid):
    return db.execute("SELECT id FROM messages WHERE uid = ?", (uid,)).get


def tell(db, model, random):
    """Import some messages of some sessions, as a source that grew would."""
    records = []
    for session in random.sample(SESSIONS, 2):
        for uid in random.sample(UIDS, 4):
            records.append(message(uid, f"kestrel {uid}", session=session))
            model.tell(session, uid)
    store_messages(db, *records)


def throw(db, model, random):
    there = sorted(model.there())
    chosen = random.sample(there, min(len(there), random.randint(1, 2)))
    if chosen:
        with transaction(db):
            done = trash.trash_sessions(db, [row(db, each) for each in chosen], "you")
        model.sessions_away |= dict.fromkeys(chosen, done.id)


def throw_message(db, model, random):
    left = sorted(model.shown(with_trash=True) - set(model.messages_away))
    if left:
        uid = random.choice(left)
        with transaction(db):
            model.messages_away[uid] = trash.trash_message(db, body(db, uid), "you").id


def undo(db, model, random):
    numbers = sorted({*model.sessions_away.values(), *model.messages_away.values()})
    if numbers:
        number = random.choice(numbers)
        with transaction(db):
            trash.undo(db, number, "you")
        for away in (model.sessions_away, model.messages_away):
            for name in [name for name, by in away.items() if by == number]:
                del away[name]


def restore(db, model, random):
    if model.sessions_away:
        session = random.choice(sorted(model.sessions_away))
        with transaction(db):
            trash.restore_sessions(db, [trash.session_in_trash(db, session)], "you")
        del model.sessions_away[session]


def empty(db, model, random):
    if random.random() < 0.4:
        for _ in trash.empty(db, "you"):
            pass
        model.empty()


DEEDS = {
    "tell": tell,
    "tell more": tell,
    "throw": throw,
    "throw a message": throw_message,
    "undo": undo,
    "restore": restore,
    "empty": empty,
}
