"""Aider: whose line is whose in a Markdown log, and ids that stay as it grows."""

import os
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.sources import aider, detect
from core.sources.ingest import Import, run_sync
from core.sources.ingest_plan import make_plan
from core.sources.records import MessageRecord, SessionRecord
from core.store.connection import open_store
from core.types import Origin, TimeQuality
from tests.unit.sources import expected

RUN = "\n# aider chat started at 2026-06-09 14:01:00\n\n"


@pytest.mark.parametrize("entry", expected.entries("aider"), ids=expected.name)
def test_the_sample_holds_what_was_read_by_eye(entry):
    expected.assert_entry(entry, expected.observe(expected.readings(entry, aider)))


@pytest.fixture
def history(tmp_path):
    """Write a history and return its path."""

    def write(text, folder="repo"):
        path = tmp_path / folder / aider.NAME
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


def told(path):
    return [r for r in aider.read(path) if isinstance(r, MessageRecord)]


def spoken(path):
    return [(m.role.value, m.content) for m in told(path)]


def sessions(path):
    return [r for r in aider.read(path) if isinstance(r, SessionRecord)]


def test_a_log_as_the_program_writes_it(history):
    path = history(
        RUN + "> Aider v0.86.1  \n> Main model: gpt-5 with diff edit format  \n\n"
        "#### fix the  \n#### second line  \n\nDone.\n\n> a quote of mine\n\n"
        "#### A heading\n\n```md\n#### code  \n\n> code  \n```\nend\n\n"
        "> Tokens: 12k sent, 1.5k received. Cost: $0.01 message, $0.02 session.  \n"
        "> Applied edit to a.py  \n\n#### next  \n\nok\n\n#### right after an answer  \n\nyes\n\n"
    )
    assert spoken(path) == [
        ("system", "Aider v0.86.1\nMain model: gpt-5 with diff edit format"),
        ("user", "fix the\nsecond line"),
        ("assistant", "Done.\n\n> a quote of mine\n\n#### A heading\n\n"
                      "```md\n#### code  \n\n> code  \n```\nend"),
        ("tool", "Tokens: 12k sent, 1.5k received. Cost: $0.01 message, $0.02 session.\n"
                 "Applied edit to a.py"),
        ("user", "next"),
        ("assistant", "ok"),
        ("user", "right after an answer"),
        ("assistant", "yes"),
    ]  # fmt: skip
    answer = told(path)[2]
    assert (answer.model, answer.usage) == ("gpt-5", '{"input_tokens":12000,"output_tokens":1500}')
    assert [m.origin for m in told(path)][:4] == [
        Origin.SYNTHETIC, Origin.HUMAN, Origin.MODEL, Origin.TOOL
    ]  # fmt: skip


def test_output_of_several_lines_is_marked_at_its_first_only(history):
    path = history(RUN + "#### go  \n\nok\n\n> first  \n> one\nof two  \n\n#### on  \n\nwell\n")
    assert spoken(path)[2] == ("tool", "first\none\nof two")


def test_an_open_fence_ends_where_the_program_speaks(history):
    path = history(
        RUN + "#### go\n\n```py\nx = 1\n\n> Tokens: 1k sent, 2 received.\n\n#### on\n\nok\n"
    )
    assert [role for role, _ in spoken(path)] == ["user", "assistant", "tool", "user", "assistant"]


def test_a_run_without_a_word_is_no_session(history):
    path = history(RUN + "> Aider v0.86.1  \n\n" + RUN.replace("14:01", "15:01") + "#### hi\n")
    assert [s.title for s in sessions(path)] == ["hi"]


def test_a_command_is_a_title_only_where_nothing_else_was_said(history):
    assert sessions(history(RUN + "#### /add a.py\n\n> Added\n\n#### why?\n"))[0].title == "why?"
    assert sessions(history(RUN + "#### /add a.py\n\n> Added\n"))[0].title == "/add a.py"


def test_times_are_local_and_of_the_run(history, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        (message,) = told(history(RUN + "#### hi\n"))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert message.created_at_ms == 1_780_981_260_000  # 05:01 UTC
    assert message.time_quality == TimeQuality.LOCAL_NAIVE


def test_what_stands_before_any_run_has_no_time(history):
    (message,) = told(history("#### hi\n"))
    assert (message.created_at_ms, message.time_quality) == (None, TimeQuality.NONE)


def test_ids_stay_when_the_file_grows_is_cut_or_moves(history):
    first = RUN + "#### one\n\nsame\n\n> Applied edit to a\n\n"
    again = RUN.replace("14:01", "15:01") + "#### two\n\nsame\n\n"
    both = told(history(first + again))
    assert [m.uid for m in told(history(first))] == [m.uid for m in both][:3]
    assert [m.uid for m in told(history(again))] == [m.uid for m in both][3:]
    grown = told(history(first.rstrip("\n") + "\n> Applied edit to b\n\n" + again))
    assert [m.uid for m in grown] == [m.uid for m in both]
    assert len({m.uid for m in both}) == 5
    twice = sessions(history(first + first))
    assert len({s.native_id for s in twice}) == 2
    assert told(history(first, "other"))[0].session != both[0].session


def test_windows_writes_other_ends(history):
    path = history("")
    path.write_bytes((RUN + "#### go  \n\nok\n").replace("\n", "\r\n").encode())
    assert spoken(path) == [("user", "go"), ("assistant", "ok")]


def test_no_other_markdown_is_opened(tmp_path, monkeypatch):
    (tmp_path / "README.md").write_text(RUN + "#### hi\n")
    opened = []
    monkeypatch.setattr(aider.disk, "opened", opened.append)
    assert detect.detect(tmp_path / "README.md") is None
    assert make_plan([tmp_path], None, {}).units == []
    assert opened == []


def test_histories_are_found_below_a_folder_and_at_home(tmp_path, history):
    path = history(RUN + "#### hi\n")
    history(RUN, "node_modules")
    assert list(aider.files(tmp_path)) == [path]
    assert [u.reader.KIND for u in make_plan([tmp_path], None, {}).units] == ["aider"]
    assert list(aider.found({}, tmp_path)) == []
    named = {"AIDER_CHAT_HISTORY_FILE": str(path)}
    assert [f.path for f in aider.found(named, tmp_path)] == [str(path)]


def test_a_store_follows_a_history_that_grows(tmp_path, history):
    db = open_store(tmp_path / "store" / "state.db", None)
    text = RUN + "#### one\n\nfine\n\n> Applied edit to a\n"
    imported(db, history(text))
    path = history(text + "> Applied edit to b\n\n#### two\n\nok\n")
    os.utime(path, (0, 0))
    imported(db, path)
    shown = "SELECT content FROM messages WHERE state = 'active' ORDER BY id"
    assert sorted(content for (content,) in db.execute(shown)) == [
        "Applied edit to a\nApplied edit to b", "fine", "ok", "one", "two"
    ]  # fmt: skip
    assert imported(db, path).new == 0
    db.close()


def imported(db, path):
    job = Import([path])
    for _ in run_sync(db, job):
        pass
    return job.report()


MARK = st.sampled_from(["#### ", "####", "> ", ">", "```", "~~~~", "", "  "])
WORDS = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=12)


@settings(max_examples=60)
@given(st.lists(st.tuples(MARK, WORDS, st.sampled_from(["", "  ", "\r"]))))
def test_whatever_the_lines_are_every_word_is_kept(tmp_path_factory, made):
    path = tmp_path_factory.getbasetemp() / aider.NAME
    log = [RUN + "#### begin", *("".join(parts) for parts in made)]
    path.write_text("\n".join(log), newline="")
    messages = told(path)
    kept = "\n".join(m.content for m in messages)
    assert all(words.strip() in kept for _, words, _ in made)
    assert len({m.uid for m in messages}) == len(messages)
