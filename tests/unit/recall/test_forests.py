"""Recall over random families: circles, lost parents, copies, what was taken back.

What is expected comes from a reading of the rules over plain lists, not from the store.
"""

from dataclasses import dataclass, field
from random import Random

import pytest

from core.errors import CoreError
from core.recall.caps import ARGUMENT_CHARS, REASONING_CHARS, TOOL_CALLS
from core.recall.recall import recall
from core.recall.window import BOOKEND_CHARS, READ_CHARS, WINDOW_CHARS
from core.sources.records import SessionRecord
from core.types import (
    MessageState,
    RecallRequest,
    Relation,
    Role,
    SessionKind,
    TitleSource,
    ToolCall,
)
from tests.unit.store.making import message, store_messages

SECRET = "xyzzy"
FORESTS, MANY_FORESTS = 12, 400
VISIBLE = {MessageState.ACTIVE, MessageState.COMPACTED}
TAKEN_BACK = {MessageState.REWOUND, MessageState.HIDDEN}
ENDINGS = (None, None, "compression", "session_reset", "branched", "agent_close")
LEAVES_BEHIND = {"compression", "session_reset"}
HIDDEN = {SessionKind.SUBAGENT, SessionKind.TOOL, SessionKind.KANBAN}
KINDS = (*[SessionKind.INTERACTIVE] * 6, SessionKind.CRON, *HIDDEN)


@dataclass
class Told:
    """A message as the test made it; `sessions` are those that show it, its owner first."""

    uid: str
    text: str
    role: Role
    state: MessageState
    sessions: list[str]


@dataclass
class Forest:
    """Sessions by name, and everything that was said in them."""

    sessions: dict[str, SessionRecord]
    told: list[Told] = field(default_factory=list)

    def lineage(self, name: str) -> frozenset[str]:
        """All that hangs together by parents, but for what a reset parts."""
        found = {name}
        while True:
            more = {
                other
                for child, record in self.sessions.items()
                if record.parent_native_id in self.sessions
                and record.relation != Relation.RESET
                and {child, record.parent_native_id} & found
                for other in (child, record.parent_native_id)
            }
            if more <= found:
                return frozenset(found)
            found |= more

    def is_left_behind(self, name: str) -> bool:
        return self.sessions[name].end_reason in LEAVES_BEHIND or any(
            record.parent_native_id == name
            and record.relation in (Relation.CONTINUATION, Relation.RESET)
            for record in self.sessions.values()
        )

    def is_before(self, asks: str | None, told: Told) -> bool:
        """Whether the session that asks is taken to have the message before it."""
        owner = told.sessions[0]
        if asks is None or owner not in self.lineage(asks) or told.state == "compacted":
            return False
        if owner == asks or not self.is_left_behind(owner):
            return True
        return asks in told.sessions and told.state == "active"


def make_forest(db, random: Random) -> Forest:
    names = [f"s{n}" for n in range(random.randint(1, 12))]
    forest = Forest({name: make_session(random, name, names) for name in names})
    for n in range(random.randint(1, 60)):
        owner = random.choice(names)
        state = random.choice([*MessageState, *[MessageState.ACTIVE] * 8])
        words = [random.choice(["kestrel", "heron", "egret"]) for _ in range(random.randint(0, 3))]
        if state in TAKEN_BACK or state == MessageState.SUPERSEDED:
            words.append(SECRET)
        if random.random() < 0.1:
            words.append("long" * 3_000)
        role = random.choice([Role.USER, Role.ASSISTANT, Role.USER, Role.TOOL])
        copies = [each for each in names if each != owner and random.random() < 0.1]
        forest.told.append(Told(f"m{n}", " ".join(words), role, state, [owner, *copies]))
    for at, told in enumerate(forest.told):
        extra = SECRET if SECRET in told.text else "plain"
        call = ToolCall("c", extra, f"{extra} " * 400)
        for session in told.sessions:
            record = message(
                told.uid,
                told.text,
                session=session,
                role=told.role,
                state=told.state,
                position=at + 1,
                created_at_ms=None if at % 7 == 0 else 1_000_000 + at,
                reasoning=f"{extra} " * 300,
                tool_calls=(call,) * (12 if told.role == Role.ASSISTANT else 0),
            )
            store_messages(db, record, sessions=(forest.sessions[session],))
    for name in names:
        store_messages(db, sessions=(forest.sessions[name],))
    return forest


def make_session(random: Random, name: str, names: list[str]) -> SessionRecord:
    parent = random.choice([None, "lost", name, *names])
    relation = random.choice([None, *Relation]) if parent else None
    return SessionRecord(
        name,
        kind=random.choice(KINDS),
        parent_native_id=parent,
        relation=relation,
        title=random.choice([None, "Kestrel", "kestrel #2", "Egrets"]),
        title_source=TitleSource.MODEL,
        started_at_ms=random.choice([None, 900_000 + random.randint(0, 9)]),
        end_reason=random.choice(ENDINGS),
    )


@pytest.fixture(
    params=[
        *range(FORESTS),
        *(pytest.param(n, marks=pytest.mark.long) for n in range(FORESTS, MANY_FORESTS)),
    ]
)
def case(request, case_db):
    random = Random(request.param)
    return random, case_db, make_forest(case_db, random)


def check_any(answer):
    """What holds for every answer."""
    assert answer.complete
    assert SECRET not in repr(answer)
    for result in answer.results:
        shown = [*result.opening, *result.messages, *result.resolution]
        assert len({each.id for each in shown}) == len(shown)
        assert [each.seq for each in shown] == sorted(each.seq for each in shown)
        assert len(result.preview) <= 60
        for each in shown:
            assert each.state in VISIBLE or each.uid == result.link.rpartition("#")[2]
            assert each.truncated is (len(each.content) < each.content_length)
            assert len(each.reasoning or "") <= REASONING_CHARS
            assert len(each.tool_calls) <= TOOL_CALLS
            assert all(len(call.arguments) <= ARGUMENT_CHARS for call in each.tool_calls)
            if each.role == Role.ASSISTANT:
                assert each.more_tool_calls == 12 - TOOL_CALLS
                assert each.tool_calls[0].arguments_length == 400 * len("plain ")
                assert each.reasoning_length == 300 * len("plain ")


def check_view(forest, result):
    """The window and the ends of a result, by a walk over all that was told."""
    name, anchor = result.session.native_id, result.link.rpartition("#")[2]
    place = {told.uid: at for at, told in enumerate(forest.told)}
    visible = [told for told in forest.told if name in told.sessions and told.state in VISIBLE]
    spoken = [told.uid for told in visible if told.role != Role.TOOL]
    window = [
        *[uid for uid in spoken if place[uid] < place[anchor]][-5:],
        anchor,
        *[uid for uid in spoken if place[uid] > place[anchor]][:5],
    ]
    assert [each.uid for each in result.messages] == window
    said = [told.uid for told in visible if told.uid in spoken and told.text.strip()]
    opening = [uid for uid in said[:3] if place[uid] < place[window[0]]]
    assert [each.uid for each in result.opening] == opening
    resolution = [uid for uid in said[-3:] if place[uid] > place[window[-1]]]
    assert [each.uid for each in result.resolution] == resolution
    places = [place[told.uid] for told in visible]
    assert result.before == sum(each < place[window[0]] for each in places)
    assert result.after == sum(each > place[window[-1]] for each in places)
    for each in (*result.opening, *result.messages, *result.resolution):
        assert each.number == sum(at < place[each.uid] for at in places) + 1


def test_discover_tells_each_lineage_once_and_nothing_again(case):
    random, db, forest = case
    asks = random.choice([None, *forest.sessions])
    excluded = random.sample(sorted(forest.sessions), k=min(random.choice([0, 0, 1, 2]),
                                                            len(forest.sessions)))  # fmt: skip
    named = random.choice([(), (), ("subagent", "claude-code"), ("tool", "kanban", "claude-code")])
    request = RecallRequest(
        "kestrel",
        limit=10,
        detail="full",
        current_session=asks,
        exclude_sessions=tuple(excluded),
        sources=named,
    )
    answer = recall(db, request)
    check_any(answer)
    left_out = frozenset[str]().union(*map(forest.lineage, excluded))

    def is_shown(name):
        kind = forest.sessions[name].kind
        return name not in left_out and (kind not in HIDDEN or kind in named)

    by_text = {
        forest.lineage(told.sessions[0])
        for told in forest.told
        if "kestrel" in told.text and told.role != Role.TOOL
        if told.state in VISIBLE or told.state == MessageState.OFF_BRANCH
        if is_shown(told.sessions[0]) and not forest.is_before(asks, told)
    }
    by_title = {
        forest.lineage(name)
        for name, record in forest.sessions.items()
        if (record.title or "").lower().startswith("kestrel") and is_shown(name)
        if asks is None or name not in forest.lineage(asks)
        or (name != asks and forest.is_left_behind(name))
    }  # fmt: skip
    lineages = [forest.lineage(result.session.native_id) for result in answer.results]
    assert len(set(lineages)) == len(lineages)
    assert set(lineages) == by_text | by_title
    assert all(is_shown(result.session.native_id) for result in answer.results)
    told_by_uid = {told.uid: told for told in forest.told}
    is_cron = [result.session.kind == SessionKind.CRON for result in answer.results]
    assert is_cron == sorted(is_cron)
    for result in answer.results:
        assert forest.lineage(result.lineage) == forest.lineage(result.session.native_id)
        for each in (*result.opening, *result.resolution):
            assert len(each.content) <= BOOKEND_CHARS
            assert each.content.strip()
            assert each.role in (Role.USER, Role.ASSISTANT)
        assert all(len(each.content) <= WINDOW_CHARS for each in result.messages)
        if result.match.message is not None:
            check_view(forest, result)
        if result.match.role is not None:
            told = told_by_uid[result.match.message]
            assert "kestrel" in told.text
            assert not forest.is_before(asks, told)
            assert result.match.message in [each.uid for each in result.messages]


def conversation(forest: Forest, name: str) -> str:
    """Where a chain of continuations begins; of a circle the first name in it."""
    passed = [name]
    while True:
        record = forest.sessions[passed[-1]]
        parent = record.parent_native_id
        if record.relation != Relation.CONTINUATION or parent not in forest.sessions:
            return passed[-1]
        if parent in passed:
            return min(passed[passed.index(parent) :], key=list(forest.sessions).index)
        passed.append(parent)


def test_browse_shows_each_conversation_once(case):
    random, db, forest = case
    asks = random.choice([None, *forest.sessions])
    answer = recall(db, RecallRequest(limit=10, current_session=asks))
    check_any(answer)
    shown = [conversation(forest, result.session.native_id) for result in answer.results]
    assert len(set(shown)) == len(shown)
    assert all(result.session.message_count for result in answer.results)
    assert all(result.session.kind not in HIDDEN for result in answer.results)
    hidden = conversation(forest, asks) if asks else None
    assert hidden not in shown
    expected = {
        conversation(forest, name)
        for name, record in forest.sessions.items()
        if record.kind not in HIDDEN
        if any(name in told.sessions and told.state in VISIBLE for told in forest.told)
    } - {hidden}
    assert set(shown) <= expected
    assert len(shown) == min(10, len(expected))


def test_reading_shows_what_is_visible_and_nothing_else(case):
    random, db, forest = case
    name = random.choice(sorted(forest.sessions))
    answer = recall(db, RecallRequest(session=name))
    check_any(answer)
    (result,) = answer.results
    visible = [told.uid for told in forest.told if name in told.sessions and told.state in VISIBLE]
    shown = [each.uid for each in (*result.opening, *result.resolution)]
    assert shown == ([*visible[:20], *visible[20:][-10:]])
    assert result.after == len(visible) - len(shown)
    assert all(len(each.content) <= READ_CHARS for each in result.opening)


def scrolled(db, request):
    """The answer, or None and why there is none."""
    try:
        return recall(db, request), ""
    except CoreError as error:
        return None, str(error)


def test_scrolling_shows_an_anchor_of_the_lineage_or_refuses_in_words(case):
    random, db, forest = case
    asks = random.choice([None, *forest.sessions])
    for told in random.sample(forest.told, k=min(5, len(forest.told))):
        name = random.choice(sorted(forest.sessions))
        request = RecallRequest(session=name, around=told.uid, current_session=asks)
        answer, refusal = scrolled(db, request)
        is_shown = told.state in VISIBLE or told.state == MessageState.OFF_BRANCH
        is_near = bool(set(told.sessions) & forest.lineage(name))
        is_kin = asks is not None and forest.lineage(asks) == forest.lineage(name)
        if answer is None:
            assert SECRET not in refusal
            assert not is_shown or not is_near or is_kin, refusal
            continue
        assert is_shown
        assert is_near
        check_any(answer)
        (result,) = answer.results
        assert told.uid in [each.uid for each in result.messages]
        assert result.session.native_id in told.sessions
        assert bool(answer.warnings) is (result.session.native_id != name)
        assert len(result.messages) <= 11
        if is_kin and told.state == MessageState.ACTIVE:
            assert result.session.native_id != asks
            assert forest.is_left_behind(result.session.native_id)
            assert asks not in told.sessions
