"""Operations and sources in the window: what is shown, what can be asked, over a real store."""

import time

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from app.views.maintenance import operation_words, source_words
from app.views.maintenance.list_sheet import ListSheet
from app.views.maintenance.operations_card import SHOWN, OperationsCard
from core.upkeep import ledger, operations, schedule, trash
from core.upkeep_types import SourceState
from tests.gui.conftest import until
from tests.gui.keeping_values import bad_operations, jobs, operation
from tests.gui.talks import talk
from tests.gui.upkeep_values import NOW_MS

HOUR_MS = 3_600_000


@pytest.fixture
def card(themed):
    found = OperationsCard()
    found.resize(420, 420)
    found.show()
    yield found
    found.close()


def test_a_line_says_when_what_by_whom_and_the_outcome(card):
    done = operation(7, "trash.sessions", "succeeded", HOUR_MS, receipt={"sessions": 3})
    card.show_operations((done,), 7)
    line = card.lines[0]
    assert line.words.text() == "Move 3 sessions to the trash, by you"
    assert line.badge.word.text() == "succeeded"
    assert not line.link.isVisible()
    assert card.show_all.text() == "All 7"
    assert not card.lines[1].isVisible()


def test_only_what_is_open_can_be_looked_at_and_only_failures_explained(card):
    card.show_operations(bad_operations(), 6)
    links = {
        each.operation.state: each.link.text() for each in card.lines if each.operation is not None
    }
    assert links == {"running": "", "pending": "Verify", "failed": "Why?", "unknown": "Verify"}


def test_why_shows_the_reason_and_copies_the_receipt(card):
    broken = operation(
        5, "backup", "failed", HOUR_MS, outcome="the disk is full", receipt={"bytes": 12}
    )
    card.show_operations((broken,), 1)
    QTest.keyClick(card.lines[0].link, Qt.Key.Key_Space)
    notice = card.message.notice()
    assert notice.consequence == "The disk is full."
    card.message.copy.click()
    assert "Receipt: bytes = 12" in QGuiApplication.clipboard().text()


def test_what_was_done_is_not_cut_in_favour_of_by_whom(card):
    many = operation(
        7, "retention.apply", "failed", HOUR_MS, receipt={"sessions": 1_009, "names": ["a", "b"]}
    )
    few = operation(8, "compact", "succeeded", HOUR_MS)
    card.show_operations((many, few), 2)
    card.grab()  # lays out
    assert not card.lines[0].words.has_actor()
    assert "names = a, b" in operation_words.details(many)
    assert card.lines[1].words.has_actor()


def test_the_focus_stays_on_the_same_operation(card):
    first = operation(5, "compact", "unknown", HOUR_MS)
    card.show_operations((first,), 1)
    card.lines[0].link.setFocus()
    card.show_operations((operation(6, "backup", "succeeded", 0), first), 2)
    assert card.lines[1].link.hasFocus()


def test_the_foot_says_what_comes_next_and_what_failed(card):
    card.show_jobs(jobs(), NOW_MS)
    assert card.next_job.text() == "Next: Back up and prove, in 20 min"
    card.show_jobs(jobs(last_status="error"), NOW_MS)
    assert card.next_job.text().startswith("1 job failed · Next: ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("every:30m", "every 30 min"),
        ("every:1d", "every day"),
        ("every:2d", "every 2 days"),
        ("delay:10m", "after 10 min"),
        ("cron:0 3 * * *", "cron:0 3 * * *"),
        ("every:x", "every:x"),
    ],
)
def test_schedules_are_read_out(themed, text, words):
    assert operation_words.schedule(text) == words


def state(**changes) -> SourceState:
    values = {
        "kind": "codex",
        "name": "",
        "root": "/x",
        "last_run_at_ms": 1,
        "files": 3,
        "new": 1,
        "changed": 0,
        "skipped": 2,
        "failed": 0,
        "bad_records": 0,
    }
    return SourceState(**(values | changes))


def test_sources_say_what_failed_and_what_is_unknown_by_name(themed):
    shown = source_words.shown(
        (
            state(unknown_records={"a": 4, "b": 2}),
            state(kind="claude-ai", name="Claude export", failed=2, bad_records=1),
            state(kind="hermes", unknown_records={"c": 1}),
        ),
        (),
    )
    assert shown.troubles.startswith("Claude export: 2 files were not read and 1 record is broken.")
    assert shown.unknown.endswith("(Codex 6, Hermes 1)")
    assert [each.failed for each in shown.lines] == [0, 3, 0]
    assert {each.state for each in shown.lines} == {"once"}


# In the program


async def on_page(program) -> None:
    program.window.show_maintenance()
    await until(lambda: program.window.maintenance.sources.lines())


def unknown_operation(db) -> int:
    """Leave an operation behind as a program that was killed would."""
    found = operations.begin(db, "trash.sessions", {"sessions": [1]}, "you")
    db.execute("UPDATE operations SET state = 'unknown' WHERE id = ?", (found.id,))
    return found.id


def test_an_unknown_one_is_looked_at_by_keyboard(run, filled):
    card = filled.window.maintenance.operations

    async def scenario():
        number = await filled.store.write(unknown_operation)
        await on_page(filled)
        line = card.lines[0]
        await until(lambda: line.isVisible() and line.link.isVisible())
        QTest.keyClick(line.link, Qt.Key.Key_Space)
        await until(lambda: card.message.isVisible())
        found = await filled.store.read(ledger.get, number)
        assert found.verified_at_ms is not None
        assert (await filled.store.read(trash.contents)).total == 0

    run(scenario())


def many(db) -> None:
    for n in range(230):
        done = operations.begin(db, "backup", {"n": n}, "schedule")
        end = "failed" if n % 10 == 0 else "succeeded"
        operations.finish(db, done, end, "why not", {"n": n})


def test_the_whole_ledger_is_read_page_by_page_and_filtered(run, filled):
    card = filled.window.maintenance.operations

    async def scenario():
        await filled.store.write(many)
        await on_page(filled)
        await until(lambda: card.lines[SHOWN - 1].isVisible())
        card.show_all.click()
        sheet = filled.cards.ledger.sheet
        await until(lambda: sheet.table.rowCount() == 100)
        bar = sheet.table.verticalScrollBar()
        bar.setValue(bar.maximum())
        await until(lambda: sheet.table.rowCount() == 200)
        bar.setValue(bar.maximum())
        await until(lambda: sheet.table.rowCount() >= 230)
        sheet.table.selectAll()
        assert len(sheet.chosen()) == len(set(sheet.chosen())) == 230
        sheet.filter._toggle("failed", True)
        await until(lambda: sheet.table.rowCount() == 23)
        assert {each[3] for each in sheet.texts()} == {"failed"}
        sheet.table.selectRow(0)
        assert "why not" in sheet.details.toPlainText()
        assert not sheet.verify.isEnabled()
        sheet.close()

    run(scenario())


def test_jobs_are_paused_and_go_on(run, filled):
    card = filled.window.maintenance.operations

    async def scenario():
        await filled.store.write(schedule.ensure_defaults)
        await on_page(filled)
        await until(lambda: card.open_jobs.isVisible())
        card.open_jobs.click()
        sheet = filled.cards.jobs.sheet
        await until(lambda: sheet.table.rowCount() == len(schedule.DEFAULTS))
        assert not sheet.pause.isEnabled()
        sheet.table.selectRow(0)
        (chosen,) = sheet.chosen()
        sheet.pause.click()
        await until(sheet.resume.isEnabled)
        assert (await filled.store.read(schedule.get, chosen)).state == "paused"
        await until(lambda: card.next_job.text().startswith("1 paused"))
        sheet.resume.click()
        await until(sheet.pause.isEnabled)
        assert (await filled.store.read(schedule.get, chosen)).state == "scheduled"
        sheet.close()

    run(scenario())


def test_sources_follow_an_import_and_list_broken_records(run, filled, tmp_path):
    card = filled.window.maintenance.sources

    async def scenario():
        await on_page(filled)
        assert card.lines()[0].new == 8
        assert card.troubles.isHidden()
        path = talk(tmp_path / "more" / "e.jsonl", "more", "one")
        with path.open("a", encoding="utf-8") as file:
            file.write("{broken\n")
        filled.imports.import_paths([path])
        await until(lambda: filled.imports.running)
        await until(lambda: not filled.imports.running)
        filled.window.show_maintenance()
        await until(lambda: card.lines()[0].failed == 1)
        assert card.lines()[0].new == 1
        card.troubles.link.click()
        (sheet,) = filled.window.findChildren(ListSheet)
        assert sheet.texts()[0][0] == f"{path}:2"
        sheet.close()

    run(scenario())


def test_times_to_come_are_told_by_how_far_they_are(themed):
    now = int(time.mktime((2026, 11, 30, 12, 0, 0, 0, 0, -1))) * 1000
    assert operation_words.coming(now - 1, now) == "now"
    assert operation_words.coming(now + 12 * 60_000, now) == "in 12 min"
    assert operation_words.coming(now + 3 * HOUR_MS, now).startswith("today ")
    assert operation_words.coming(now + 15 * HOUR_MS, now).startswith("tomorrow ")
