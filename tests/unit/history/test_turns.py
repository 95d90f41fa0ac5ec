"""Prompts of the active segment: as a slow oracle counts them, whatever happens to the session."""

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.errors import NotFoundError
from core.history.sessions import kept_session
from core.sources.records import SessionRecord
from core.store.connection import transaction
from core.types import MessageState, Origin, Role
from core.upkeep import lifecycle, trash
from tests.unit.store.making import message, store_at, store_messages


@dataclass
class Said:
    """A message as the oracle knows it."""

    uid: str
    seq: int
    role: Role
    origin: Origin
    state: MessageState
    trashed_by: int | None = None


@dataclass
class Oracle:
    """One session, counted by looking at everything anew."""

    said: list[Said] = field(default_factory=list)
    own: int | None = None
    told: int = 0
    before_clear: dict[int, tuple[int | None, int]] = field(default_factory=dict)

    def counts(self) -> tuple[int, int, int]:
        shown = [
            each
            for each in self.said
            if each.trashed_by is None
            and each.state in (MessageState.ACTIVE, MessageState.COMPACTED)
        ]
        cutoff = max(self.told, self.own or 0)
        is_reset = self.own is not None or self.told != 0
        turns = [
            each
            for each in shown
            if each.role == Role.USER
            and each.origin == Origin.HUMAN
            and not (is_reset and each.seq <= cutoff)
        ]
        return len(shown), len(turns), cutoff


SPEAKERS = st.sampled_from(
    [
        (Role.USER, Origin.HUMAN),
        (Role.USER, Origin.HUMAN),
        (Role.USER, Origin.INJECTED),
        (Role.ASSISTANT, Origin.MODEL),
        (Role.TOOL, Origin.TOOL),
    ]
)
STATES = st.sampled_from([MessageState.ACTIVE, MessageState.COMPACTED, MessageState.REWOUND])
STEPS = st.one_of(
    st.tuples(st.just("append"), st.lists(st.tuples(SPEAKERS, STATES), max_size=4)),
    st.tuples(st.just("import again"), st.one_of(st.none(), st.integers(0, 12))),
    st.tuples(st.just("change"), st.tuples(st.integers(0, 30), STATES)),
    st.tuples(st.just("reset"), st.none()),
    st.tuples(st.just("clear"), st.none()),
    st.tuples(st.just("trash"), st.integers(0, 30)),
    st.tuples(st.just("undo"), st.integers(0, 30)),
    st.tuples(st.just("empty"), st.none()),
)


class World:
    """The store and the oracle, side by side."""

    def __init__(self, db, name: str) -> None:
        self.db, self.name, self.oracle = db, name, Oracle()
        self.operations: list[tuple[int, str, int | None]] = []
        self.deleted: set[str] = set()
        self.next = 0
        self._tell(())
        sql = "SELECT id FROM sessions WHERE native_id = ?"
        self.row = int(db.execute(sql, (name,)).get)

    def _tell(self, said, cutoff: int | None = None) -> None:
        records = [
            message(
                each.uid, f"text of {each.uid}", session=self.name, role=each.role,
                origin=each.origin, state=each.state, position=each.seq,
            )
            for each in said
        ]  # fmt: skip
        session = SessionRecord(self.name, reset_cutoff_seq=cutoff)
        store_messages(self.db, *records, sessions=(session,), rewrites=True)

    def append(self, speakers) -> None:
        new = []
        for (role, origin), state in speakers:
            new.append(Said(f"{self.name}-{self.next}", self.next, role, origin, state))
            self.next += 1
        self._tell(new)
        self.oracle.said += new

    def import_again(self, cutoff: int | None) -> None:
        self._tell(self.oracle.said, cutoff)
        if cutoff is not None:
            self.oracle.told = cutoff

    def change(self, which) -> None:
        number, state = which
        if self.oracle.said:
            each = self.oracle.said[number % len(self.oracle.said)]
            if each.uid not in self.deleted:
                each.state = state
            self._tell([each])

    def reset(self, _) -> None:
        self._do(lifecycle.reset, [self.row])
        if self.oracle.said and len(self.deleted) < len(self.oracle.said):
            seqs = [each.seq for each in self.oracle.said if each.uid not in self.deleted]
            before = self.oracle.own
            self.oracle.own = max(seqs)
            self.operations.append((self.last.id, "reset", before))

    def clear(self, _) -> None:
        self._do(lifecycle.clear, [self.row])
        oracle = self.oracle
        oracle.before_clear[self.last.id] = (oracle.own, oracle.told)
        for each in oracle.said:
            if each.trashed_by is None:
                each.trashed_by = self.last.id
        oracle.own, oracle.told = None, 0
        self.operations.append((self.last.id, "clear", None))

    def trash(self, number: int) -> None:
        there = [each for each in self.oracle.said if each.trashed_by is None]
        if there:
            each = there[number % len(there)]
            row = self.db.execute("SELECT id FROM messages WHERE uid = ?", (each.uid,)).get
            self._do(trash.trash_message, row)
            each.trashed_by = self.last.id
            self.operations.append((self.last.id, "trash", None))

    def undo(self, number: int) -> None:
        if not self.operations:
            return
        operation, kind, before = self.operations[number % len(self.operations)]
        oracle = self.oracle
        mine = [
            each
            for each in oracle.said
            if each.trashed_by == operation and each.uid not in self.deleted
        ]
        if kind == "reset":
            after = int(
                self.db.execute(
                    "SELECT receipt ->> '$.changed[0][2]' FROM operations WHERE id = ?",
                    (operation,),
                ).get
                or -1
            )
            changed = self.db.execute(
                "SELECT receipt ->> '$.sessions' FROM operations WHERE id = ?", (operation,)
            ).get
            if not int(changed) or oracle.own != max(after, 0):
                with pytest.raises(NotFoundError):
                    self._do(lifecycle.undo, operation)
                return
            oracle.own = before
        elif not mine:
            with pytest.raises(NotFoundError):
                self._do(lifecycle.undo, operation)
            return
        elif kind == "clear":
            own, told = oracle.before_clear[operation]
            oracle.own = own if oracle.own is None else oracle.own
            oracle.told = max(oracle.told, told)
        self._do(lifecycle.undo, operation)
        for each in mine:
            each.trashed_by = None

    def empty(self, _) -> None:
        list(trash.empty(self.db, "you"))
        self.deleted |= {each.uid for each in self.oracle.said if each.trashed_by is not None}

    def _do(self, work, *args) -> None:
        with transaction(self.db):
            self.last = work(self.db, *args, "you")

    def check(self) -> None:
        found = kept_session(self.db, self.row)
        told = (found.message_count, found.user_turn_count, found.reset_cutoff_seq)
        assert told == self.oracle.counts()


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    made = store_at(tmp_path_factory.mktemp("turns"), cjk=False)
    made.pragma("synchronous", "OFF")
    yield made
    made.close()


_names = iter(range(1_000_000))


def run(db, steps) -> None:
    world = World(db, f"s{next(_names)}")
    for name, value in steps:
        getattr(world, name.replace(" ", "_"))(value)
        world.check()
    with transaction(db):
        trash.trash_sessions(db, [world.row], "you")
    list(trash.empty(db, "you"))


SAID = [((Role.USER, Origin.HUMAN), MessageState.ACTIVE)] * 2
TOGETHER = [
    ("append", SAID), ("import again", 1), ("import again", 0), ("reset", None), ("append", SAID),
    ("change", (0, MessageState.REWOUND)), ("change", (3, MessageState.REWOUND)),
    ("import again", 1), ("trash", 0), ("trash", 2), ("import again", 3), ("append", SAID),
    ("import again", 0), ("undo", 1), ("clear", None), ("append", SAID), ("undo", 0), ("undo", 3),
    ("undo", 0),
]  # fmt: skip
"""A life in which each step changes what another one counted."""


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, min_size=3, max_size=20))
@example(steps=TOGETHER)
def test_prompts_are_counted_as_the_oracle_counts_them(db, steps):
    run(db, steps)


@pytest.mark.long
@settings(max_examples=1_500, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, max_size=40))
def test_prompts_are_counted_as_the_oracle_counts_them_for_long(db, steps):
    run(db, steps)
