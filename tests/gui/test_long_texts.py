"""Any message to its last character: nothing lost, nothing twice, and the view stays put."""

import json
import re
from itertools import pairwise

import pytest
from PySide6.QtCore import QCoreApplication, QEvent

from app.models import long_texts
from core.graphemes import may_cut
from core.history.append import Batch, append
from core.history.sources import ensure_source
from core.sources.records import SessionRecord, SourceIdentity
from core.types import ToolCall, ToolStatus
from tests.gui.test_finding import TOOL, USER, Open, record

FAMILY = "👩\u200d👩\u200d👧"
TEXTS = {
    "lines": "".join(f"line {n} 漢字 e\u0301 {FAMILY} of a long text\n" for n in range(1_200)),
    "one line": "漢字e\u0301" + FAMILY + "仮名 x" * 1 + ("字e\u0301가" + FAMILY) * 1_500,
    "short lines": "".join(f"l{n}\n" for n in range(6_000)),
    "marks": "e\u0301\u0302" * 20_000,
}
KINDS = ("said", "result", "reasoning")


def fill(db):
    source = ensure_source(db, SourceIdentity("codex"), "/x", 1)
    sessions, records = [], []
    for name, text in TEXTS.items():
        for kind in KINDS:
            session = f"{name} {kind}"
            own = {"session": session}
            sessions.append(SessionRecord(session, title=session))
            records.append(record(1, "before", USER, uid=f"{session} 1", **own))
            if kind == "result":
                call = ToolCall("c", "Bash", json.dumps({"command": "cat"}))
                records.append(record(2, "", uid=f"{session} call", tool_calls=(call,), **own))
                records.append(
                    record(3, text, TOOL, uid=session, tool_call_id="c",
                           tool_status=ToolStatus.SUCCEEDED, **own)
                )  # fmt: skip
            elif kind == "reasoning":
                records.append(record(3, "said", uid=session, reasoning=text, **own))
            else:
                records.append(record(3, text, uid=session, **own))
            records.append(record(4, "behind", USER, uid=f"{session} 4", **own))
    append(db, Batch(source, sessions, records))
    ids = dict(db.execute("SELECT uid, id FROM messages"))
    return ids, dict(db.execute("SELECT native_id, id FROM sessions"))


@pytest.fixture
def talk(run, themed, opened, monkeypatch):
    monkeypatch.setattr(long_texts, "MOST_PIECES", 4)
    filled = run(opened.write(fill))

    async def build() -> Open:
        return Open(opened, *filled)

    made = run(build())
    yield made
    run(made.tasks.close())
    made.pane.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


async def act(talk, action, key, number=-1):
    talk.view.acted.emit(action, key, number)
    await talk.settled()


async def open_text(talk, name, kind):
    """Open the session, unfold its text; return the text's key."""
    session = f"{name} {kind}"
    await talk.read(session)
    row = talk.ids[session]
    if kind == "result":
        await act(talk, "fold", f"t{talk.ids[f'{session} call']}.0")
    if kind == "reasoning":
        await act(talk, "fold", f"th{row}")
    return f"th{row}" if kind == "reasoning" else f"m{row}"


def stretches(talk, key):
    return [item.shows for item in talk.view.items if item.shows and item.shows[0] == key]


def is_offered(talk, link):
    return any(f'"do:{link}"' in item.html for item in talk.view.items)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_read_to_its_last_character_and_no_pixel_moves(run, talk, name, kind):
    text = TEXTS[name]
    ends, moved = [0], []

    def look(key):
        """What is shown goes on from what was seen, and has one gap at most."""
        shown = stretches(talk, key)
        gaps = [(end, start) for (_, _, end), (_, start, _) in pairwise(shown) if start != end]
        assert shown[0][1] == 0
        assert len(gaps) <= 1
        assert all(end < start for end, start in gaps)
        assert shown[-1][1] <= ends[-1] < shown[-1][2]
        ends.append(shown[-1][2])

    async def read_on():
        key = await open_text(talk, name, kind)
        look(key)
        while ends[-1] < len(text) and len(ends) < 60:
            bar = talk.view.verticalScrollBar()
            bar.setValue(bar.maximum())
            first = talk.view._seen()[0].key
            before = talk.view.top_of(first)
            await act(talk, "rest", key, 1 if is_offered(talk, f"rest/{key}/1") else -1)
            moved.append(talk.view.top_of(first) - before)
            look(key)

    run(read_on())
    assert ends[-1] == len(text)
    assert len(ends) > 5  # so that the first pieces of what is far were dropped again
    assert all(may_cut(text, end) for end in ends)
    assert set(moved) == {0.0}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_shown_of_each_piece_is_what_is_stored(run, talk, kind):
    text = TEXTS["lines"]

    async def go():
        key = await open_text(talk, "lines", kind)
        for _ in range(3):
            await act(talk, "rest", key)
        return key

    key = run(go())
    end = stretches(talk, key)[-1][2]
    document = re.sub(r"\s+", "", talk.text_shown())
    assert re.sub(r"\s+", "", text[end - 1_900 : end]) in document
    assert re.sub(r"\s+", "", text[:1_900]) in document


@pytest.mark.parametrize("kind", KINDS)
def test_the_end_is_one_click_away_and_the_gap_closes_from_its_beginning(
    run, talk, kind, monkeypatch
):
    monkeypatch.setattr(long_texts, "MOST_PIECES", 24)
    text = TEXTS["lines"]

    async def go():
        key = await open_text(talk, "lines", kind)
        await act(talk, "end", key)
        shown = stretches(talk, key)
        assert len(shown) == 2
        assert shown[1][2] == len(text)
        assert is_offered(talk, f"rest/{key}")
        assert not is_offered(talk, f"rest/{key}/1")
        for _ in range(24):
            if not is_offered(talk, f"rest/{key}"):
                break
            await act(talk, "rest", key)
        return key

    shown = stretches(talk, run(go()))
    assert all(end == start for (_, _, end), (_, start, _) in pairwise(shown))
    assert (shown[0][1], shown[-1][2]) == (0, len(text))
