"""Find in conversation and the search's hits, over all of a long session, on a real store."""

import asyncio
import json
import threading
import time

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest

from app.controllers import finding, matches
from app.controllers.context import ContextController
from app.render.steps import STEP_CHARS
from app.tasks import TaskScope
from app.views.conversation_pane import ConversationPane
from app.views.transcript_text import selected_text
from core.history.append import Batch, append
from core.history.sources import ensure_source
from core.recall.find import Found
from core.sources.records import MessageRecord, SessionRecord, SourceIdentity
from core.types import (
    MessageState,
    Origin,
    Role,
    SearchRequest,
    TimeQuality,
    ToolCall,
    ToolStatus,
)
from tests.gui.conftest import until

T0 = 1_764_252_000_000
USER, ASSISTANT, TOOL = Role.USER, Role.ASSISTANT, Role.TOOL
ORIGINS = {USER: Origin.HUMAN, ASSISTANT: Origin.MODEL, TOOL: Origin.TOOL}
HOLDING = tuple(range(37, 3_000, 75))  # 40 of 3,000 messages
LONG, TALL, WIDE = 2_960, 2_970, 2_980


def record(number: int, text: str, role: Role = ASSISTANT, **fields) -> MessageRecord:
    values = {
        "session": "long",
        "uid": f"u{number}",
        "role": role,
        "content": text,
        "origin": ORIGINS.get(role, Origin.SYNTHETIC),
        "position": number * 10,
        "created_at_ms": T0 + number * 60_000,
        "time_quality": TimeQuality.EXACT,
    }
    return MessageRecord(**(values | fields))


def long_talk() -> list[MessageRecord]:
    """3,000 messages; 针尖 twice in each of `HOLDING`, once of them over bold."""
    made = []
    for n in range(1, 3_001):
        text = f"message {n} " + "and on it goes " * (n * 7 % 40)
        made.append(record(n, text, USER if n % 3 == 1 else ASSISTANT))
    for n in HOLDING:
        made[n - 1] = record(
            n, f"message {n}: 先查**针**尖，再入队。\n\n`refresh()` 针尖 again", USER
        )
    return made


def others() -> list[MessageRecord]:
    """A session of everything a match can be hidden in."""
    arguments = json.dumps({"command": "make 线头", "note": "x\n" * 3_000 + "线头 far in"})
    long_text = "".join(f"line {n} 漢字 e\u0301 👩‍👩‍👧\n" for n in range(4_000))
    made = [
        record(1, "plain 线头 here", USER),
        record(2, "said", reasoning="long thought " * 40 + "线头"),
        record(3, "", tool_calls=(ToolCall("c1", "Bash", arguments),)),
        record(4, '{"output": "a\\nb 线头", "exit": 0}', TOOL, tool_call_id="c1",
               tool_status=ToolStatus.SUCCEEDED),
        record(5, "<injected>线头</injected>", USER, origin=Origin.INJECTED),
        record(6, long_text + "the 线头 at the end of it\nlast line"),
        record(7, "see [线头](https://example.org/线头) ok"),
        record(8, "nothing"),
    ]  # fmt: skip
    return [
        MessageRecord(**{f: getattr(each, f) for f in each.__slots__} | {
            "session": "others", "uid": each.uid.replace("u", "o")})
        for each in made
    ]  # fmt: skip


def aside() -> list[MessageRecord]:
    """A session in which messages were taken back, left, summed up."""
    states = {3: MessageState.REWOUND, 4: MessageState.REWOUND, 6: MessageState.OFF_BRANCH,
              8: MessageState.HIDDEN, 2: MessageState.COMPACTED}  # fmt: skip
    return [
        record(n, f"part {n} 绳结", session="aside", uid=f"a{n}", state=state)
        for n in range(1, 11)
        for state in [states.get(n, MessageState.ACTIVE)]
    ]


def fill(db) -> tuple[dict[str, int], dict[str, int]]:
    source = ensure_source(db, SourceIdentity("codex"), "/x", 1)
    sessions = [SessionRecord(name, title=name) for name in ("long", "others", "aside")]
    append(db, Batch(source, sessions, long_talk() + others() + aside()))
    ids = dict(db.execute("SELECT uid, id FROM messages"))
    return ids, dict(db.execute("SELECT native_id, id FROM sessions"))


class Open:
    """A pane and its controller over a filled store."""

    def __init__(self, store, ids, sessions) -> None:
        self.ids, self.sessions = ids, sessions
        self.pane = ConversationPane()
        self.pane.resize(1_300, 800)
        self.pane.show()
        self.view, self.bar = self.pane.transcript, self.pane.find_bar
        self.tasks = TaskScope()
        self.context = ContextController(store, self.pane, self.tasks)

    async def settled(self) -> None:
        await asyncio.sleep(0)
        names = ("context", "context-more", "context-draw", "context-outline", "context-rest",
                 "context-number", "context-find", "context-find-go",
                 "context-outline-rows")  # fmt: skip
        await until(lambda: not any(self.tasks.running(name) for name in names))

    async def hit(self, uid: str, session: str, query: str, asked=None) -> None:
        self.context.open_message(self.ids[uid], self.sessions[session], query, asked)
        await self.settled()

    async def read(self, session: str) -> None:
        self.context.open_session(self.sessions[session])
        await self.settled()

    async def find(self, text: str) -> None:
        self.pane.open_find()
        self.bar.field.setText(text)
        QTest.keyClick(self.bar.field, Qt.Key.Key_Return)
        await self.settled()

    async def step(self, step: int) -> None:
        shift = Qt.KeyboardModifier.ShiftModifier
        modifier = Qt.KeyboardModifier.NoModifier if step > 0 else shift
        QTest.keyClick(self.bar.field, Qt.Key.Key_Return, modifier)
        await self.settled()

    def text_shown(self) -> str:
        """All text of the document, as it is stored."""
        cursor = QTextCursor(self.view.document())
        cursor.select(QTextCursor.SelectionType.Document)
        return selected_text(cursor)

    def message_of_match(self) -> int:
        """The id of the message whose match is the current one."""
        key, number = self.view._current
        item = next(each for each in self.view.items if each.key == key)
        return item.spots[number][0] if item.spots else item.message_ids[0]

    def current_text(self) -> str:
        """What stands on the ground of the current match, and that it is seen."""
        start, end = self.view._tables.place_of_match(*self.view._current)
        cursor = QTextCursor(self.view.document())
        cursor.setPosition(start)
        rect = self.view.cursorRect(cursor)
        assert 0 <= rect.top() < self.view.viewport().height(), "the match is out of view"
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        return cursor.selectedText()


@pytest.fixture
def talk(run, themed, opened):
    filled = run(opened.write(fill))

    async def build() -> Open:
        return Open(opened, *filled)

    made = run(build())
    yield made
    run(made.tasks.close())
    made.pane.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


# Find in conversation


def test_f3_goes_through_all_matches_of_the_session_and_back_again(run, talk):
    seen, back = [], []

    async def walk():
        await talk.read("long")
        await talk.find("针尖")
        for _ in range(80):
            seen.append((talk.bar.count.text(), talk.message_of_match(), talk.current_text()))
            await talk.step(1)
        assert talk.bar.note.text() == "from the beginning"
        for _ in range(80):
            back.append((talk.bar.count.text(), talk.message_of_match(), talk.current_text()))
            await talk.step(-1)

    start = time.monotonic()
    talk_loop = asyncio.get_event_loop()
    talk_loop.run_until_complete(walk())
    assert time.monotonic() - start < 60
    expected = [talk.ids[f"u{n}"] for n in HOLDING for _ in range(2)]
    assert [count for count, _, _ in seen] == [f"{n} of 80" for n in range(1, 81)]
    assert [message for _, message, _ in seen] == expected
    assert {text for _, _, text in seen} == {"针尖"}
    assert back[0] == seen[0]
    assert back[1:] == seen[:0:-1]


def test_a_window_that_a_match_needs_has_the_message_in_its_middle(run, talk):
    async def go():
        await talk.read("long")
        await talk.find("针尖")
        for _ in range(20):
            await talk.step(1)
        return talk.view.top_of(f"m{talk.message_of_match()}")

    top = run(go())
    assert 0.2 < top / talk.view.viewport().height() < 0.7
    assert talk.pane.rail._state.hits == HOLDING


def test_a_step_within_what_is_loaded_moves_only_what_is_out_of_view(run, talk):
    async def go():
        await talk.hit("u37", "long", "")
        await talk.find("针尖")
        before = talk.view.verticalScrollBar().value()
        await talk.step(1)
        return before

    before = run(go())
    assert talk.bar.count.text() == "2 of 80"
    assert talk.view.verticalScrollBar().value() == before


def test_finding_begins_at_what_is_in_view_and_typing_on_stays_there(run, talk):
    async def go():
        await talk.hit("u1162", "long", "")
        await talk.find("针")
        first = talk.bar.count.text()
        await talk.find("针尖")
        return first

    assert run(go()) == "31 of 80"
    assert talk.bar.count.text() == "31 of 80"
    assert HOLDING[15] == 1_162


def changed(before, after) -> int:
    """How much HTML one drawing puts in."""
    old = {each.key: each.html for each in before}
    return sum(len(each.html) for each in after if old.get(each.key) != each.html)


async def read_120(talk) -> list[int]:
    """Load what the window holds at most; returns what grows with each drawing from then on."""
    await talk.read("long")
    for _ in range(6):
        talk.view.more_wanted.emit("after")
        await talk.settled()
    talk.view.centre(f"m{talk.ids['u60']}")
    seen, show = [], talk.view.show_items

    def show_items(items, **options):
        seen.append(changed(talk.view.items, items))
        show(items, **options)

    talk.view.show_items = show_items
    return seen


def test_a_letter_that_is_everywhere_is_marked_a_part_at_a_time(run, talk):
    async def go():
        seen = await read_120(talk)
        await talk.find("n")
        at, shown = talk.view.verticalScrollBar().value(), talk.current_text()
        await talk.step(1)
        return seen, shown, talk.view.verticalScrollBar().value() - at

    seen, shown, moved = run(go())
    assert sum(seen) > 2 * STEP_CHARS, "not enough was marked for this test"
    assert max(seen) <= STEP_CHARS
    assert (shown, moved) == ("n", 0)


def test_typing_on_while_a_letter_is_marked_leaves_what_was_typed_last(run, talk):
    async def go():
        seen = await read_120(talk)
        talk.pane.open_find()
        QTest.keyClicks(talk.bar.field, "n")
        QTest.keyClick(talk.bar.field, Qt.Key.Key_Return)
        await until(lambda: sum(seen))
        is_all = talk.view.items == talk.context._transcript.items
        await talk.find("message 6")
        return is_all

    assert not run(go())
    marked = [each for each in talk.view.items if each.matches]
    assert {number for each in marked for number in [each.first]} == {6, *range(60, 70)}
    for each in marked:
        assert talk.view._tables.place_of_match(each.key, 0) is not None
        assert talk.view._tables.place_of_match(each.key, 1) is None
    assert talk.text_shown().count("message 100 ") == 1


def test_escape_brings_the_marks_of_the_search_back(run, talk):
    async def go():
        await talk.hit("u37", "long", "针尖")
        hits = talk.pane.rail._state.hits
        await talk.find("goes")
        assert talk.pane.rail._state.hits != hits
        QTest.keyClick(talk.bar.field, Qt.Key.Key_Escape)
        await talk.settled()
        assert talk.pane.rail._state.hits == hits

    run(go())
    assert not talk.bar.isVisible()
    assert talk.view.hasFocus()
    assert talk.view._tables.place_of_match(f"m{talk.ids['u37']}", 1) is not None


def test_every_kind_of_text_is_counted_found_and_shown(run, talk):
    """Reasoning, calls, results, injected text, what is cut: folded or not, near or far."""
    seen = []

    async def walk():
        await talk.read("others")
        await talk.find("线头")
        total = int(talk.bar.count.text().split(" of ")[1])
        for _ in range(total):
            seen.append((talk.message_of_match(), talk.current_text()))
            await talk.step(1)
        return total

    total = run(walk())
    names = {row: uid for uid, row in talk.ids.items()}
    # o3 twice: its command, and far into its note; o7's link target is no text
    assert [names[message] for message, _ in seen] == [
        "o1", "o2", "o3", "o3", "o4", "o5", "o6", "o7",
    ]  # fmt: skip
    assert total == 8
    assert {text for _, text in seen} == {"线头"}


def test_a_fold_that_the_reader_closed_opens_for_a_match(run, talk):
    async def go():
        await talk.read("others")
        await talk.find("线头")
        key = f"th{talk.ids['o2']}"
        talk.view.acted.emit("fold", key, -1)
        await talk.settled()
        assert not any(item.matches for item in talk.view.items if item.key == key)
        await talk.step(1)

    run(go())
    assert talk.message_of_match() == talk.ids["o2"]
    assert talk.current_text() == "线头"


def test_what_is_not_there_is_said_and_the_selection_is_looked_for(run, talk):
    async def go():
        await talk.hit("u37", "long", "针尖")
        await talk.find("zebra")
        assert talk.bar.count.text() == "no match"
        talk.bar.close_bar()
        await talk.settled()
        cursor = talk.view.document().find("先查针尖，再入队")
        talk.view.setTextCursor(cursor)
        talk.pane.open_find()
        QTest.keyClick(talk.bar.field, Qt.Key.Key_Return)
        await talk.settled()

    run(go())
    assert talk.bar.field.text() == "先查针尖，再入队"
    assert talk.bar.count.text() == "1 of 40"


def test_a_step_asked_for_while_it_is_counted_is_taken_when_it_is_known(run, talk, monkeypatch):
    may_go_on, find = threading.Event(), finding.find

    def find_late(*args, **options):
        assert may_go_on.wait(10)
        return find(*args, **options)

    monkeypatch.setattr(finding, "find", find_late)

    async def go():
        await talk.read("long")
        talk.pane.open_find()
        talk.bar.field.setText("针尖")
        QTest.keyClick(talk.bar.field, Qt.Key.Key_Return)
        await asyncio.sleep(0.05)
        QTest.keyClick(talk.bar.field, Qt.Key.Key_Return)
        may_go_on.set()
        await talk.settled()

    run(go())
    assert talk.bar.count.text() == "2 of 80"


def test_a_count_that_takes_long_is_shown_as_it_grows_and_ends_exact(run, talk, monkeypatch):
    said, find = [], finding.find

    def find_a_little(*args, behind, **_):
        found = find(*args, behind=behind)
        part = tuple(each for each in found.messages if each.number <= behind + 900)
        return Found(part, min(3_000, behind + 900), is_whole=behind + 900 >= 3_000)

    monkeypatch.setattr(finding, "find", find_a_little)
    show = talk.bar.show_count
    monkeypatch.setattr(
        talk.bar, "show_count", lambda *a, **k: (show(*a, **k), said.append(talk.bar.count.text()))
    )

    async def go():
        await talk.read("long")
        await talk.find("针尖")

    run(go())
    assert "1 of 24 so far" in said
    assert said[-1] == "1 of 80"


def test_the_latest_words_win(run, talk):
    async def go():
        await talk.read("long")
        talk.pane.open_find()
        for text in ("m", "me", "message 2", "针尖"):
            talk.context.find(text)
        talk.bar.field.blockSignals(True)
        talk.bar.field.setText("针尖")
        await talk.settled()

    run(go())
    assert talk.bar.count.text() == "1 of 80"


# Hits of the search


def test_the_hits_of_a_search_are_all_there_and_gone_through(run, talk):
    """500 hits: more than the outline shows at a time."""
    asked = SearchRequest("goes", roles=(USER,))
    users = [n for n in range(1, 3_001) if n % 3 == 1 and n not in HOLDING and n * 7 % 40]
    seen = []

    async def walk():
        await talk.hit(f"u{users[0]}", "long", "goes", asked)
        assert talk.pane.header.place.text() == f"match 1 of {len(users):,}"
        assert talk.pane.rail._state.hits == tuple(users)
        await talk.hit(f"u{users[400]}", "long", "goes", asked)
        talk.context.next_match()
        for _ in range(60):
            await talk.settled()
            seen.append(talk.pane.header.place.text())
            talk.context.next_match()

    run(walk())
    numbers = [int(text.split()[1]) for text in seen]
    assert numbers[0] == 401
    assert set(numbers) == set(range(401, max(numbers) + 1))
    assert max(numbers) > 402
    assert numbers == sorted(numbers)
    rows = talk.pane.outline_model.rowCount()
    assert rows <= 215
    assert talk.pane.outline.currentIndex().isValid()


def test_a_field_of_the_query_narrows_the_hits(run, talk):
    run(talk.hit("u37", "long", "针尖 role:assistant"))
    assert talk.pane.header.place.text() == ""
    run(talk.hit("u37", "long", "针尖 role:user"))
    assert talk.pane.header.place.text() == "match 1 of 40"


def test_a_hit_far_into_a_long_message_is_shown_where_it_matches(run, talk):
    run(talk.hit("o6", "others", "线头"))
    assert talk.current_text() == "线头"
    assert f"m{talk.ids['o6']}." in talk.view._current[0]


def test_a_hit_behind_what_is_indexed_is_shown_where_everything_was_read(run, talk, monkeypatch):
    monkeypatch.setattr(matches, "INDEXED_CHARS", 20_000)
    run(talk.hit("o6", "others", "线头", SearchRequest("线头", everything=True)))
    assert talk.current_text() == "线头"


@pytest.mark.parametrize(
    ("uid", "include", "label"),
    [("a3", {"rewound"}, "rewound"), ("a6", set(), "other branch"), ("a8", {"hidden"}, "hidden"),
     ("a2", set(), "compacted")],
)  # fmt: skip
def test_a_hit_that_windows_do_not_show_is_shown_alone_with_its_label(
    run, talk, uid, include, label
):
    asked = SearchRequest("绳结", include=frozenset(include))
    run(talk.hit(uid, "aside", "绳结", asked))

    names = {row: each for each, row in talk.ids.items()}
    shown = {names[row] for item in talk.view.items for row in item.message_ids}
    visible = {"a1", "a2", "a5", "a7", "a9", "a10"}
    assert shown == visible | {uid}
    item = next(each for each in talk.view.items if each.key == f"m{talk.ids[uid]}")
    assert label in item.html
    hits = len(visible) + 1 + 2 * ("rewound" in include) + ("hidden" in include)
    text = talk.pane.header.place.text()
    assert text.endswith(f" of {hits}")
    assert talk.current_text() == "绳结"
