"""The maintenance page in the program: real store, real upkeep, used by keyboard and buttons."""

import asyncio
import shutil
import time

import apsw
import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit, QWidget

from app.controllers import tokenizer as tokenizer_controller
from core.index import backfill, health
from core.index.pace import Pace
from core.sources import ingest
from core.store import connection
from core.types import Progress
from core.upkeep import ledger
from core.upkeep_types import Report
from tests.gui.conftest import search, until
from tests.gui.talks import hits, talk

KEY = Qt.Key
CTRL, ALT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier
CJK = "messages_fts_cjk"


@pytest.fixture(autouse=True)
def active(program):
    """The window has the keys of the keyboard."""
    program.window.activateWindow()


def page(program):
    return program.window.maintenance


def row(program, name="messages_fts"):
    return page(program).indexes.rows[name]


async def shown(program):
    """Show the page, with every index asked once."""
    program.window.actions_by_name["maintenance"].trigger()
    await until(lambda: "verified" in row(program).facts.text() if rows(program) else False)
    await until(lambda: not program.tasks.running("index-verify"))


def rows(program):
    return page(program).indexes.rows


def press(program, key, modifier=Qt.KeyboardModifier.NoModifier):
    focus = QApplication.focusWidget()
    QTest.keyClick(focus if focus is not None else program.window, key, modifier)


async def finished(program):
    """Return when the upkeep that a button began has ended."""
    await until(lambda: program.tasks.running("upkeep"))
    await until(lambda: not program.tasks.running("upkeep"))
    await until(lambda: page(program).store.running.isHidden())


# The way in and out


BACK = ((KEY.Key_Escape, Qt.KeyboardModifier.NoModifier), (KEY.Key_Left, ALT), (KEY.Key_M, CTRL))


def test_the_page_comes_by_ctrl_m_and_every_way_back_leads_to_where_one_was(run, filled):
    window = filled.window

    async def there_and_back(key, modifier):
        window.sessions_view.setFocus()
        press(filled, KEY.Key_M, CTRL)
        await until(window.on_maintenance)
        assert page(filled).bar.isVisible()
        assert not window.path_bar.isVisible()
        assert window.status_bar.maintenance.isChecked()
        assert page(filled).bar.back.hasFocus()
        press(filled, key, modifier)
        await until(window.on_conversations)
        assert not page(filled).bar.isVisible()
        assert window.path_bar.isVisible()
        assert not window.status_bar.maintenance.isChecked()
        assert window.sessions_view.hasFocus()

    for key, modifier in BACK:
        run(there_and_back(key, modifier))


def test_the_foot_of_the_window_leads_there_and_a_link_back(run, filled):
    filled.window.status_bar.maintenance.click()
    there = filled.window.on_maintenance()
    page(filled).bar.back.click()

    assert there
    assert filled.window.on_conversations()


def test_from_the_page_of_sources_one_comes_back_to_it(run, filled):
    filled.imports.show_sources()
    filled.window.actions_by_name["maintenance"].trigger()
    filled.window.leave_maintenance()

    assert filled.window.on_sources()


def test_nothing_on_the_page_is_a_window_of_its_own_for_a_moment(run, filled, qapp):
    seen = []

    class Watch(QObject):
        def eventFilter(self, each, event):
            if event.type() == QEvent.Type.Show and isinstance(each, QWidget) and each.isWindow():
                seen.append(type(each).__name__)
            return False

    watch = Watch()
    qapp.installEventFilter(watch)
    run(shown(filled))
    qapp.removeEventFilter(watch)

    assert seen == []


def test_a_search_leaves_the_page(run, filled):
    async def ask():
        await shown(filled)
        press(filled, KEY.Key_K, CTRL)
        await search(filled, "Osaka")
        await until(filled.window.on_conversations)

    run(ask())

    assert sorted(hits(filled)) == ["osaka-0", "plan-0"]


def test_every_control_is_reached_by_tab_and_has_a_name(run, filled):
    run(shown(filled))
    card_page = page(filled)
    wanted = {
        each
        for root in (card_page.bar, *card_page.cards())
        for each in root.findChildren(QWidget)
        if isinstance(each, QAbstractButton | QLineEdit)
        and each.isVisible()
        and each.isEnabled()
        and each.focusPolicy() & Qt.FocusPolicy.TabFocus
    }
    card_page.bar.back.setFocus()
    met = set()
    for _ in range(200):
        met.add(QApplication.focusWidget())
        press(filled, KEY.Key_Tab)

    assert wanted
    assert {each.objectName() or each.accessibleName() for each in wanted - met} == set()
    assert all(each.accessibleName() or each.text() for each in wanted)


def test_f6_goes_through_the_cards(run, filled):
    run(shown(filled))
    cards = page(filled).cards()
    filled.window.search_bar.field.setFocus()
    met = []
    for _ in range(9):
        press(filled, KEY.Key_F6)
        focus = QApplication.focusWidget()
        met += [n for n, card in enumerate(cards) if card.isAncestorOf(focus)]

    assert met[:3] == [0, 1, 2]


def test_a_change_by_another_program_is_shown_and_moves_nothing(
    run, filled, profile, tokenizer_path, tmp_path
):
    more = talk(tmp_path / "more" / "e.jsonl", "more", "one more in Osaka")

    async def change():
        await search(filled, "Osaka")
        await shown(filled)
        page(filled).tokenizer.field.setFocus()
        before = row(filled).facts.text()
        db = connection.open_store(profile / "state.db", tokenizer_path)
        for _ in ingest.run_sync(db, ingest.Import([more.parent])):
            pass
        db.close()
        await until(lambda: "9 of 9 rows" in row(filled).facts.text())
        return before

    before = run(change())

    assert before.startswith("8 of 8 rows")
    assert page(filled).tokenizer.field.hasFocus()
    assert filled.window.on_maintenance()


# Indexes


def test_verify_really_asks_and_the_store_remembers_it(run, filled):
    async def verify():
        await shown(filled)
        first = await filled.store.read(health.last_checks)
        row(filled).verify.setFocus()
        press(filled, KEY.Key_Return)
        await until(lambda: filled.tasks.running("index-verify"))
        await until(lambda: not filled.tasks.running("index-verify"))
        return first, await filled.store.read(health.last_checks)

    first, then = run(verify())

    assert then["messages_fts"].at_ms > first["messages_fts"].at_ms
    assert then["messages_fts"].match_ms is not None
    assert then[CJK].at_ms == first[CJK].at_ms
    assert "by a real MATCH" in row(filled).facts.text()
    assert row(filled).verify.hasFocus()


@pytest.fixture
def behind(profile, talks, tmp_path):
    """A store whose CJK index lacks 900 rows, because a program without tokenizer wrote them."""
    talk(talks / "long.jsonl", "long", *(f"第 {n} 行 很多" for n in range(900)))
    db = connection.open_store(profile / "state.db", None)
    for _ in ingest.run_sync(db, ingest.Import([talks])):
        pass
    db.close()
    return profile


def cjk_rows(program):
    db = apsw.Connection(str(program.store.path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return db.execute("SELECT count(*) FROM messages_fts_cjk_docsize").get
    finally:
        db.close()


def test_a_paused_index_stays_as_it_is_until_it_is_resumed(run, program, behind, tokenizer_path):
    db = connection.open_store(behind / "state.db", tokenizer_path)
    backfill.set_paused(db, True, CJK)
    db.close()

    async def resume():
        assert await program.start()
        program.window.actions_by_name["maintenance"].trigger()
        await until(lambda: CJK in rows(program))
        await asyncio.sleep(0.5)
        before = cjk_rows(program), row(program, CJK).badge.word.text()
        offered = row(program, CJK).pause.text().strip()
        row(program, CJK).pause.click()
        await until(lambda: row(program, CJK).badge.word.text() == "ready")
        return before, offered

    (held, badge), offered = run(resume())

    assert held == 0
    assert badge == "paused at 0 %"
    assert offered == "Resume"
    assert cjk_rows(program) == 908


def test_pause_really_stops_the_filling(run, program, behind, tokenizer_path, monkeypatch):
    step = backfill.step

    def slow(*args):
        time.sleep(0.05)
        return step(*args)

    monkeypatch.setattr(backfill, "step", slow)
    monkeypatch.setattr(backfill, "Pace", lambda: Pace(text_bytes=400))

    async def pause():
        assert await program.start()
        program.window.actions_by_name["maintenance"].trigger()
        await until(lambda: CJK in rows(program) and not row(program, CJK).pause.isHidden())
        row(program, CJK).pause.click()
        await until(lambda: row(program, CJK).badge.word.text().startswith("paused"))
        await until(lambda: not program.tasks.running("backfill"))
        before = cjk_rows(program)
        await asyncio.sleep(0.4)
        return before, await program.store.read(backfill.is_paused, CJK)

    before, is_paused = run(pause())

    assert is_paused
    assert before == cjk_rows(program)
    assert row(program, CJK).pause.text().strip() == "Resume"


class Slow(Pace):
    """Rests for ever after each of many small batches."""

    def __init__(self):
        super().__init__(text_bytes=400)

    def pause_s(self, *, now=False, **_):
        return 0.0 if now else 3600.0


def test_now_does_an_index_without_pauses(run, program, behind, monkeypatch):
    monkeypatch.setattr(backfill, "Pace", Slow)

    async def hurry():
        assert await program.start()
        program.window.actions_by_name["maintenance"].trigger()
        await until(lambda: CJK in rows(program) and not row(program, CJK).now.isHidden())
        await until(lambda: cjk_rows(program))
        held = cjk_rows(program)
        row(program, CJK).now.click()
        await until(lambda: row(program, CJK).badge.word.text() == "ready")
        return held

    assert 0 < run(hurry()) < 908

    assert cjk_rows(program) == 908
    assert row(program, CJK).now.isHidden()


def test_closing_while_an_index_is_filled_says_when_it_goes_on_and_loses_nothing(
    run, program, behind, tokenizer_path, monkeypatch
):
    monkeypatch.setattr(backfill, "Pace", Slow)

    async def close():
        assert await program.start()
        await until(lambda: cjk_rows(program))
        program.window.close()
        said = program.window.message_bar.notice()
        await until(program.closed.is_set)
        return said

    said = run(close())
    db = connection.open_store(behind / "state.db", tokenizer_path)
    held = db.execute("SELECT count(*) FROM messages_fts_cjk_docsize").get
    for _ in backfill.run_sync(db, "next", now=True):
        pass
    after = db.execute("SELECT count(*) FROM messages_fts_cjk_docsize").get
    finding = health.verify_index(db, CJK)
    db.close()

    assert "next start" in said.consequence
    assert 0 < held < 908
    assert after == 908
    assert finding.ok


@pytest.fixture
def damaged(imported, profile, tokenizer_path):
    """A store whose index of words has lost its postings."""
    shutil.copytree(imported, profile, dirs_exist_ok=True)
    db = apsw.Connection(str(profile / "state.db"))
    db.execute("UPDATE messages_fts_data SET block = x'00' WHERE id > 10")
    db.close()
    return profile


def test_a_damaged_index_is_shown_and_repaired(run, program, damaged):
    async def repair():
        assert await program.start(), program.window.message_bar.notice()
        program.window.actions_by_name["maintenance"].trigger()
        await until(lambda: rows(program) and row(program).badge.word.text() == "damaged")
        seen = row(program).reason.text(), page(program).bar.state.text()
        offered = row(program).repair.isVisible()
        row(program).repair.click()
        await finished(program)
        await until(lambda: row(program).badge.word.text() == "ready")
        await until(lambda: "verified" in row(program).facts.text())
        await search(program, "Osaka")
        return seen, offered

    (reason, state), offered = run(repair())

    assert "no message is lost" in reason
    assert str(damaged) not in reason
    assert "corrupt" not in reason
    assert "1 index damaged" in state
    assert offered
    assert page(program).store.message.notice().kind == "ok"
    assert sorted(hits(program)) == ["osaka-0", "plan-0"]


def test_damage_met_by_a_search_is_said_and_stands_in_the_ledger(run, program, damaged):
    async def meet():
        assert await program.start(), program.window.message_bar.notice()
        await search(program, "Osaka")
        await until(lambda: program.window.message_bar.notice() is not None)
        said = program.window.message_bar.notice()
        program.window.actions_by_name["maintenance"].trigger()
        kept = await program.store.read(ledger.listing)
        return said, kept

    said, kept = run(meet())

    assert said.kind == "warn"
    assert "index is damaged" in said.cause
    assert "messages_fts" in said.details
    assert "self-check" in {each.actor for each in kept}
    assert sorted(hits(program)) == ["osaka-0", "plan-0"]


# The store


def test_a_backup_is_made_and_proved_and_the_card_says_so(run, filled):
    async def back_up():
        await shown(filled)
        page(filled).store.buttons["backup"].click()
        await finished(filled)
        await until(lambda: "backup proven" in page(filled).store.summary.text())

    run(back_up())

    (made,) = (filled.store.path.parent / "snapshots").glob("*.db")
    notice = page(filled).store.message.notice()
    assert notice.kind == "ok"
    assert f"backscroll restore {made.name}" in notice.consequence
    assert page(filled).store.prove.isVisible()


def test_compact_asks_with_numbers_and_does_nothing_when_declined(run, filled):
    filled.dialogs.agrees = False

    async def compact():
        await shown(filled)
        page(filled).store.buttons["compact"].click()
        await until(lambda: filled.dialogs.asked)
        await until(lambda: not filled.tasks.running("upkeep"))
        return await filled.store.read(ledger.listing)

    listed = run(compact())

    assert "free" in " ".join(filled.dialogs.asked[0].facts)
    assert filled.dialogs.asked[0].action == "Compact"
    assert [each for each in listed if each.kind == "compact"] == []


def test_what_cannot_be_done_is_said_in_the_card_with_details(run, filled, monkeypatch):
    def refuse(_path, needed):
        raise ledger_error(needed)

    from core.errors import StoreFullError

    def ledger_error(needed):
        return StoreFullError(f"it needs {needed:,} bytes, 3 are free")

    monkeypatch.setattr("core.store.copying.require_room", refuse)

    async def compact():
        await shown(filled)
        page(filled).store.buttons["compact"].click()
        await until(lambda: page(filled).store.message.notice())

    run(compact())
    page(filled).store.message.copy.click()

    notice = page(filled).store.message.notice()
    assert notice.kind == "err"
    assert "3 are free" in notice.consequence
    assert QGuiApplication.clipboard().text().startswith("store-full")


@pytest.fixture
def endless(monkeypatch):
    """A full check that goes on until it is stopped; what it was told of its end."""
    told = []

    def full(db, actor, *, tokenizer=None):
        done = 0
        try:
            while True:
                done += 1
                yield Progress(done, None, "steps", "looking")
        finally:
            told.append(done)

    monkeypatch.setattr("core.upkeep.health.full", full)
    return told


def test_what_runs_is_stopped_by_its_button(run, filled, endless):
    async def cancel():
        await shown(filled)
        page(filled).store.buttons["check"].click()
        await until(lambda: "looking" in page(filled).store.running.what.text())
        disabled = not page(filled).store.buttons["compact"].isEnabled()
        page(filled).store.running.cancel.click()
        await until(lambda: not filled.tasks.running("upkeep") and endless)
        await until(lambda: page(filled).store.running.isHidden())
        return disabled

    assert run(cancel())
    assert page(filled).store.message.notice().cause == "Stopped at a safe point."
    assert page(filled).store.buttons["compact"].isEnabled()


def test_closing_during_upkeep_stops_it_safely_and_says_so(run, filled, endless):
    async def close():
        await shown(filled)
        page(filled).store.buttons["check"].click()
        await until(lambda: "looking" in page(filled).store.running.what.text())
        note = page(filled).store.running.note.text()
        began = time.monotonic()
        filled.window.close()
        at_once = time.monotonic() - began
        said = filled.window.message_bar.notice()
        await until(filled.closed.is_set)
        return note, at_once, said

    note, at_once, said = run(close())

    assert "close the window" in note
    assert at_once < 0.1
    assert "safe point" in said.consequence
    assert endless
    db = connection.open_store(filled.store.path, None)
    assert db.pragma("integrity_check") == "ok"
    db.close()


# The tokenizer


def test_any_text_is_cut_by_the_real_tokenizer(run, filled):
    card = page(filled).tokenizer

    async def type_text():
        await shown(filled)
        await until(lambda: card.tiles.accessibleName())
        probe = card.tiles.accessibleName()
        card.field.setText("nginx服务")
        await until(lambda: "nginx" in card.tiles.accessibleName())
        return probe

    probe = run(type_text())

    assert probe == "电影, 影订, 订阅, 阅成, 成功, 功"
    assert card.tiles.accessibleName() == "nginx, 服务, 务"
    assert card.tokens.text().startswith("3 tokens.")
    assert card.acceptance.text() == "电影订阅成功 answers 订阅"
    assert card.badge.word.text() == "check passed"


def test_without_a_tokenizer_the_card_says_what_to_do_and_shows_the_log_of_a_build(
    run, program, talks, monkeypatch
):
    monkeypatch.setenv("BACKSCROLL_FTS5_CJK", str(talks / "none.so"))

    def install(db, prefix, actor):
        yield Progress(1, None, "steps", "cc -O2 fts5_cjk.c")
        yield Progress(2, None, "steps", "")
        yield Progress(3, None, "steps", "it works")
        yield Report("it works")

    monkeypatch.setattr(tokenizer_controller.tokenizing, "install", install)
    card = page(program).tokenizer

    async def build():
        assert await program.start()
        program.window.actions_by_name["maintenance"].trigger()
        await until(lambda: card.badge.word.text() == "missing")
        await until(card.tokens.text)
        seen = card.build.isVisible(), card.reason.text(), card.tokens.text()
        card.build.click()
        await until(lambda: "it works" in card.log.toPlainText())
        await until(lambda: card.build.isEnabled())
        return seen

    offered, reason, tokens = run(build())

    assert offered
    assert "slower paths" in reason
    assert tokens.startswith("Without the tokenizer")
    assert card.log.toPlainText().splitlines() == ["cc -O2 fts5_cjk.c", "it works"]


# The report


def test_the_report_tells_of_every_card_and_holds_no_text_of_messages(run, filled):
    async def report():
        await shown(filled)
        await until(lambda: page(filled).store.parts)
        page(filled).bar.report.click()

    run(report())
    told = QGuiApplication.clipboard().text()

    assert str(filled.store.path) in told
    assert "messages_fts_trigram: ready" in told
    assert "cjk_unicode61: verified" in told
    assert "Osaka" not in told
    assert "电影" not in told
