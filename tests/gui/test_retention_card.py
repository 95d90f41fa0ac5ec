"""Retention in the window: what is shown, and what it does to a real store."""

import shutil

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.views.maintenance import retention_words
from app.views.maintenance.retention_card import RetentionCard
from app.views.maintenance.retention_chart import RetentionChart, bars, top_of_scale
from core.store import connection
from core.upkeep import retention, trash
from core.upkeep_types import MonthOfSessions, RetentionRule
from tests.gui.conftest import until
from tests.gui.keeping_values import preview
from tests.gui.keeping_values import trash as held
from tests.gui.talks import sessions

MB = 1_000_000


@pytest.fixture
def card(themed):
    found = RetentionCard()
    found.resize(420, 380)
    found.show()
    yield found
    found.close()


def months(*counts: int) -> tuple[MonthOfSessions, ...]:
    return tuple(
        MonthOfSessions(2026, n, count, count * MB, 1, MB) for n, count in enumerate(counts, 1)
    )


def test_the_sentence_says_how_much_and_what_stays(card):
    card.show_preview(preview(sessions=71, kept_pinned=12, kept_running=1, kept_by_lineage=0))
    assert card.going.text() == "71 sessions, 9,310 messages, 64 MB would go to the trash"
    assert card.rest.text().endswith("; 12 pinned and 1 running stay")
    assert card.show_sessions.text() == "Show the 71 sessions"
    assert card.move_now.isEnabled()


def test_a_single_one_is_said_to_stay(card):
    card.show_preview(preview(kept_pinned=0, kept_running=1))
    assert card.rest.text().endswith("; 1 running stays")


def test_where_nothing_may_go_it_says_why_and_offers_no_move(card):
    card.show_preview(preview(refused="the clock jumped"))
    assert card.rest.text() == "the clock jumped"
    assert not card.move_now.isEnabled()
    assert card.trust.isVisible()


def test_days_take_whole_numbers_only(card, qtbot):
    edits = []
    card.days.value_changed.connect(edits.append)
    card.days.selectAll()
    QTest.keyClicks(card.days, "-1.5")
    assert card.days.value() == 15
    card.days.selectAll()
    QTest.keyClicks(card.days, "0")
    assert card.days.value() == 15
    QTest.keyClick(card.days, Qt.Key.Key_Up)
    assert card.days.value() == 16
    assert edits[-1] == 16
    card.days.selectAll()
    QTest.keyClick(card.days, Qt.Key.Key_Delete)
    card.activateWindow()
    card.days.setFocus()
    card.sources.setFocus()
    assert card.days.text() == "16"


def test_the_trash_line_offers_undo_only_where_it_works(card):
    card.show_trash(held())
    assert card.open_trash.text().startswith("Trash: 3 sessions until ")
    assert card.undo.isVisible()
    card.show_trash(held(0))
    assert card.no_trash.isVisible()
    assert not card.undo.isVisible()


def test_months_without_sessions_have_a_place(themed):
    found = bars((MonthOfSessions(2026, 1, 1, 5, 0, 0), MonthOfSessions(2026, 4, 0, 0, 2, 7)))
    assert [(each.first.month, each.going_bytes, each.staying_bytes) for each in found] == [
        (1, 5, 0),
        (2, 0, 0),
        (3, 0, 0),
        (4, 0, 7),
    ]


def test_a_long_time_is_told_by_quarters_and_then_by_years(themed):
    def ends(first, last):
        return (MonthOfSessions(first, 1, 1, 1, 0, 0), MonthOfSessions(last, 12, 0, 0, 1, 1))

    assert {each.months for each in bars(ends(2024, 2026))} == {1}
    assert {each.months for each in bars(ends(2020, 2026))} == {3}
    assert {each.months for each in bars(ends(2010, 2026))} == {12}
    assert sum(each.going_sessions for each in bars(ends(2010, 2026))) == 1


@pytest.mark.parametrize(
    ("largest", "top"), [(0, 2_000), (39 * MB, 40 * MB), (41 * MB, 60 * MB), (MB, MB)]
)
def test_the_scale_ends_at_a_round_number(largest, top):
    assert top_of_scale(largest) == top


def test_every_label_is_as_far_from_the_next(themed):
    chart = RetentionChart()
    chart.show_months(months(*range(30)), None)
    chart.resize(600, 140)
    assert chart.label_step() == 1
    chart.resize(300, 140)
    assert chart.label_step() == 2


def test_the_chart_is_read_by_keyboard_and_mouse(themed):
    chart = RetentionChart()
    chart.resize(400, 132)
    chart.show()
    chart.show_months(months(3, 0), None)
    told = []
    chart.reading_changed.connect(told.append)
    QTest.keyClick(chart, Qt.Key.Key_Right)
    assert told[-1] == "Jan 2026: 3 sessions (3 MB) would go, 1 session (1 MB) stays"
    QTest.keyClick(chart, Qt.Key.Key_Right)
    assert told[-1] == "Feb 2026: 1 session (1 MB) stays"
    QTest.keyClick(chart, Qt.Key.Key_Home)
    assert told[-1].startswith("Jan")
    QTest.mouseMove(chart, QPoint(390, 60))
    assert told[-1].startswith("Feb")
    assert "Feb 2026: 1 session (1 MB) stays" in chart.accessibleDescription()
    chart.close()


def test_listing_joins_with_and():
    assert retention_words.listed(["a"]) == "a"
    assert retention_words.listed(["a", "b", "c"]) == "a, b and c"


# In the program


@pytest.fixture
def kept(run, imported, profile, program, tokenizer_path):
    """The program on its maintenance page, over four conversations of long ago."""
    shutil.copytree(imported, profile, dirs_exist_ok=True)
    db = connection.open_store(profile / "state.db", tokenizer_path)
    with connection.transaction(db):
        db.execute("UPDATE sessions SET last_active_at_ms = last_active_at_ms - 86400000 * 100")
        db.execute("UPDATE sessions SET pinned_at_ms = 1 WHERE native_id = 'plan'")
    db.close()

    async def start():
        assert await program.start()
        await until(lambda: len(sessions(program)) == 4)
        program.window.show_maintenance()
        await until(lambda: program.window.maintenance.retention.preview is not None)

    run(start())
    return program


def test_the_preview_follows_the_fields_and_changes_nothing(run, kept):
    card = kept.window.maintenance.retention

    async def scenario():
        card.days.setFocus()
        card.days.selectAll()
        QTest.keyClicks(card.days, "30")
        await until(lambda: card.preview and card.preview.rule.days == 30)
        assert card.preview.sessions == 3
        assert card.rest.text().endswith("1 pinned stays")
        assert not card.switch.isChecked()
        assert (await kept.store.read(retention.rule)) == RetentionRule()
        assert (await kept.store.read(trash.contents)).total == 0

    run(scenario())


def test_the_switch_sets_the_rule_and_the_bar_takes_it_back(run, kept):
    window, card = kept.window, kept.window.maintenance.retention

    async def scenario():
        QTest.keyClick(card.switch, Qt.Key.Key_Space)
        await until(lambda: window.page_undo.isVisible())
        assert (await kept.store.read(retention.rule)).days == card.days.value()
        await until(lambda: card.state.text().startswith("on, "))
        window.actions_by_name["undo"].trigger()
        await until(lambda: card.state.text() == "off, preview only")
        assert (await kept.store.read(retention.rule)).days == 0

    run(scenario())


def test_days_being_typed_are_no_rule_until_they_are_meant(run, kept):
    window, card = kept.window, kept.window.maintenance.retention

    async def scenario():
        card.switch.click()
        await until(lambda: card.state.text().startswith("on, "))
        assert (await kept.store.read(retention.rule)).days == 180
        card.days.setFocus()
        card.days.selectAll()
        QTest.keyClicks(card.days, "1")
        await until(lambda: card.preview and card.preview.rule.days == 1)
        assert (await kept.store.read(retention.rule)).days == 180
        assert card.days.text() == "1"
        QTest.keyClicks(card.days, "5")
        QTest.keyClick(card.days, Qt.Key.Key_Return)
        await until(lambda: "15 days" in window.page_undo.words.text())
        assert (await kept.store.read(retention.rule)).days == 15
        window.actions_by_name["undo"].trigger()
        await until(lambda: card.days.value() == 180)
        assert card.days.text() == "180"
        assert (await kept.store.read(retention.rule)).days == 180

    run(scenario())


def test_moving_more_than_a_fifth_asks_with_numbers_and_can_be_undone(run, kept):
    window, card, dialogs = kept.window, kept.window.maintenance.retention, kept.dialogs

    async def scenario():
        card.days.show_value(30)
        card.rule_edited.emit()
        await until(lambda: card.preview and card.preview.sessions == 3)
        dialogs.agrees = False
        card.move_now.click()
        await until(lambda: len(dialogs.asked) == 1)
        assert dialogs.asked[0].facts[0].startswith("3 sessions, 6 messages")
        await until(lambda: not kept.tasks.running("retention-move"))
        assert (await kept.store.read(trash.contents)).total == 0
        dialogs.agrees = True
        card.move_now.click()
        await until(lambda: window.page_undo.isVisible())
        assert window.page_undo.words.text() == "3 sessions moved to the trash"
        await until(lambda: card.open_trash.isVisible())
        card.undo.click()
        await until(lambda: card.no_trash.isVisible())
        await until(lambda: len(sessions(kept)) == 4)

    run(scenario())


def test_the_trash_is_shown_restored_from_and_emptied_after_a_question(run, kept):
    window, card = kept.window, kept.window.maintenance.retention

    async def scenario():
        ids = [window.models.sessions.session(n).id for n in range(3)]
        await kept.store.write(trash.trash_sessions, ids, "you")
        await until(lambda: card.open_trash.isVisible())
        card.open_trash.click()
        await until(lambda: kept.cards.trash_can.panel is not None)
        panel = kept.cards.trash_can.panel
        await until(lambda: panel.table.rowCount() == 3)
        panel.table.selectRow(0)
        panel.restore.click()
        await until(lambda: panel.table.rowCount() == 2)
        await until(lambda: len(sessions(kept)) == 2)
        panel.empty.click()
        await until(lambda: panel.table.rowCount() == 0)
        question = kept.dialogs.asked[-1]
        assert question.facts[0].startswith("2 sessions, ")
        assert "next erase" in question.facts[-1]
        assert not panel.empty.isEnabled()
        panel.close()
        await until(lambda: kept.cards.trash_can.panel is None)

    run(scenario())


def test_the_sessions_that_would_go_are_listed(run, kept):
    window, card = kept.window, kept.window.maintenance.retention

    async def scenario():
        card.days.show_value(30)
        card.rule_edited.emit()
        await until(lambda: card.show_sessions.isVisible())
        card.show_sessions.click()
        from app.views.maintenance.going_sheet import GoingSheet

        await until(lambda: window.findChildren(GoingSheet))
        (sheet,) = window.findChildren(GoingSheet)
        assert len(sheet.texts()) == 3
        assert "电影订阅" in [each[0] for each in sheet.texts()]
        sheet.close()

    run(scenario())
