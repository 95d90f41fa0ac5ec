"""What the cards of indexes, tokenizer and store show, for values made by hand."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QLocale, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.messages import Notice
from app.views.maintenance import index_words, store_words
from app.views.maintenance.card import Facts
from app.views.maintenance.index_words import IndexShown, Verified
from app.views.maintenance.page import MaintenancePage
from app.views.maintenance.split_tiles import Split, SplitToken, tiles
from core.upkeep_types import Erasure, OpenElsewhere
from tests import shots_maintenance
from tests.gui import upkeep_values
from tests.gui.upkeep_values import NOW_MS, building, index


@pytest.fixture(autouse=True)
def english():
    before = QLocale()
    QLocale.setDefault(QLocale("en_GB"))
    yield
    QLocale.setDefault(before)


@pytest.fixture
def page(themed):
    """A page of its own, 1440 px wide."""
    made = MaintenancePage()
    made.resize(1440, 788)
    made.show()
    yield made
    made.close()
    made.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def text(runs):
    return "".join(words for words, _ in runs)


# Words of an index


@pytest.mark.parametrize(
    ("shown", "word", "kind", "bar"),
    [
        (IndexShown(index(), NOW_MS), "ready", "ok", "whole"),
        (IndexShown(building(), NOW_MS), "backfill 61 %", "info", "part"),
        (IndexShown(building(paused=True), NOW_MS), "paused at 61 %", "unk", "halted"),
        (IndexShown(building(stuck=True), NOW_MS), "stuck at 61 %", "warn", "halted"),
        (IndexShown(index(state="settling"), NOW_MS), "settling", "info", "part"),
        (IndexShown(index(state="stale", todo=9), NOW_MS), "out of date", "warn", "off"),
        (IndexShown(index(state="detached"), NOW_MS), "detached", "warn", "off"),
        (
            IndexShown(index(), NOW_MS, Verified(NOW_MS, False, 1.0, "holds 3 rows too many")),
            "damaged",
            "err",
            "off",
        ),
    ],
)
def test_every_state_has_its_word_its_tint_and_its_bar(shown, word, kind, bar):
    found = index_words.look(shown)

    assert (found.word, found.kind, found.bar) == (word, kind, bar)


def test_the_facts_of_a_running_backfill_are_those_of_the_mock():
    shown = IndexShown(building(), NOW_MS)

    assert text(index_words.facts(shown)) == (
        "112,175 of 180,928 rows · 285 rows/s · about 4 min left · moved 1 s ago"
    )
    assert [words for words, bold in index_words.facts(shown) if bold] == [
        "112,175 of 180,928 rows",
        "about 4 min left",
    ]


def test_what_is_stuck_promises_no_time(page):
    shown = IndexShown(building(stuck=True, last_moved_at_ms=NOW_MS - 420_000), NOW_MS)

    assert text(index_words.facts(shown)) == "112,175 of 180,928 rows · moved 7 min ago"
    assert "nothing moves" in text(index_words.reason(shown))


def test_a_paused_index_that_is_complete_says_what_waits():
    shown = IndexShown(index(state="settling", paused=True), NOW_MS)

    assert text(index_words.reason(shown)) == (
        "It answers for every row; its segments are merged when you resume it."
    )


def test_a_detached_index_says_why_and_what_waits():
    status = index(state="detached", reason="a program without it wrote", queued=1_204)

    assert text(index_words.reason(IndexShown(status, NOW_MS))) == (
        "A program without it wrote. Searches go other ways and say so; "
        "1,204 changed rows wait in its queue."
    )


def test_a_detached_index_that_nothing_waits_for_counts_nothing():
    status = index(state="detached", reason="a program without it wrote", queued=0)

    assert text(index_words.reason(IndexShown(status, NOW_MS))) == (
        "A program without it wrote. Searches go other ways and say so."
    )


def test_a_detached_index_that_is_caught_up_with_says_how_far_and_how_fast():
    status = building(state="detached", reason="a program without it wrote", queued=68_753)
    shown = IndexShown(status, NOW_MS, is_running=True)

    assert index_words.look(shown).word == "catching up 61 %"
    assert "285 rows/s" in text(index_words.facts(shown))
    assert text(index_words.reason(shown)) == (
        "It is being brought up to date; searches go other ways until then. "
        "68,753 changed rows wait in its queue."
    )


@pytest.mark.parametrize(
    ("shown", "icon", "words"),
    [
        ((IndexShown(index(), NOW_MS),), "ok", "every index is whole"),
        (
            (
                IndexShown(building(), NOW_MS),
                IndexShown(index(state="detached"), NOW_MS),
                IndexShown(index(), NOW_MS),
            ),
            "warning",
            "1 index building, 1 detached",
        ),
        (
            (
                IndexShown(index(), NOW_MS, Verified(NOW_MS, False, None, "bad")),
                IndexShown(index("b"), NOW_MS, Verified(NOW_MS, False, None, "bad")),
                IndexShown(building(paused=True), NOW_MS),
            ),
            "fail",
            "2 indexes damaged, 1 paused",
        ),
    ],
)
def test_the_bar_of_the_page_sums_up(shown, icon, words):
    found = index_words.summary(shown)

    assert (found[0], found[2]) == (icon, words)


# The Indexes card


def test_only_what_can_be_done_is_offered(page):
    shots_maintenance.fill(page)
    offered = {
        name: [button.text().strip() for button in row.buttons() if not button.isHidden()]
        for name, row in page.indexes.rows.items()
    }

    assert offered == {
        "messages_fts": ["Verify"],
        "messages_fts_cjk": ["Pause", "Now", "Verify"],
        "messages_fts_trigram": ["Verify"],
    }


def test_where_this_program_cannot_fill_an_index_it_offers_neither_pause_nor_now(page):
    page.indexes.show_indexes((IndexShown(building(), NOW_MS, can_work=False),))
    row = page.indexes.rows["messages_fts_cjk"]

    assert row.pause.isHidden()
    assert row.now.isHidden()
    assert not row.verify.isHidden()


def test_buttons_tell_which_index_and_what(page):
    shots_maintenance.fill(page)
    row = page.indexes.rows["messages_fts_cjk"]
    heard = []
    page.indexes.pause_asked.connect(lambda name, pause: heard.append((name, pause)))
    page.indexes.now_asked.connect(lambda name: heard.append((name, "now")))
    page.indexes.verify_asked.connect(lambda name: heard.append((name, "verify")))
    for button in (row.pause, row.now, row.verify):
        button.setFocus()
        QTest.keyClick(button, Qt.Key.Key_Space)
    page.indexes.show_indexes((IndexShown(building(paused=True), NOW_MS),))
    row.pause.click()

    name = "messages_fts_cjk"
    assert heard == [(name, True), (name, "now"), (name, "verify"), (name, False)]
    assert row.pause.accessibleName() == "Resume: messages_fts_cjk"


def test_a_button_that_goes_leaves_its_focus_to_the_next(page):
    page.activateWindow()
    page.indexes.show_indexes((IndexShown(building(), NOW_MS),))
    row = page.indexes.rows["messages_fts_cjk"]
    row.now.setFocus()
    page.indexes.show_indexes((IndexShown(index("messages_fts_cjk"), NOW_MS),))

    assert row.now.isHidden()
    assert row.verify.hasFocus()


def test_the_plot_is_there_while_an_index_is_filled(page):
    shots_maintenance.fill(page)
    row = page.indexes.rows["messages_fts_cjk"]
    seen = row.plot.isHidden()
    page.indexes.show_indexes(
        (IndexShown(index("messages_fts_cjk"), NOW_MS, rates=upkeep_values.RATES),)
    )

    assert not seen
    assert "at most" in row.plot.accessibleName()
    assert row.plot.isHidden()


def test_words_of_other_programs_are_plain_text_without_hidden_signs(page):
    evil = "<img src='file:///etc/passwd'>\u202eevil\x07"
    status = index(state="detached", reason=evil)
    page.indexes.show_indexes((IndexShown(status, NOW_MS),))
    page.store.show_store(
        replace(upkeep_values.good_store(), elsewhere=(OpenElsewhere(7, evil, True),))
    )
    shown = page.indexes.rows["messages_fts"].reason.text() + page.store.foot.text()

    assert shown.count("<img src='file:///etc/passwd'>") == 2
    assert "\u202e" not in shown
    assert "\x07" not in shown


# The tokenizer card


def test_a_tokenizer_that_works_is_shown_with_its_proofs(page):
    card = page.tokenizer
    card.show_tokenizer(upkeep_values.tokenizer())

    assert card.badge.word.text() == "check passed"
    assert card.built_for.text() == "x86-64, 64 bit, SQLite 3.54.1"
    assert card.digest.text() == "9f3c 41d7 … a08e e21a"
    assert card.load.text() == "loaded in 0.6 ms, switched off again"
    assert card.acceptance.text() == "电影订阅成功 answers 订阅"
    assert "libfts5_cjk.so" in card.found.toolTip()
    assert not card.build.isVisible()


def test_without_a_compiler_the_card_says_which_command_gets_one(page):
    card = page.tokenizer
    card.show_tokenizer(upkeep_values.no_tokenizer())
    card.copy.click()

    assert card.badge.word.text() == "missing"
    assert "No C compiler was found" in card.reason.text()
    assert QGuiApplication.clipboard().text().startswith("sudo apt install build-essential")
    assert card.build.isVisible()


@pytest.mark.parametrize(
    "state", ["found", "missing", "wrong_architecture", "wrong_hash", "unusable", "refused"]
)
def test_every_state_but_verified_says_what_to_do(page, state):
    shown = upkeep_values.tokenizer(state=state, reason="it is so", next_step="build it anew")
    page.tokenizer.show_tokenizer(shown)

    assert "Build it anew." in page.tokenizer.reason.text()
    assert page.tokenizer.build.isVisible()


def test_letters_of_a_run_are_tiles_and_a_word_is_one():
    tokens = (SplitToken(0, 5, "nginx"), SplitToken(5, 7, "服务"), SplitToken(6, 7, "务"))
    split = Split("nginx服务 。", tokens)

    assert tiles(split) == ((0, 5), (5, 6), (6, 7), (8, 9))


@pytest.mark.parametrize("text", ["", " ", "语" * 200, "word " * 40, "a\u0301🎬é服"])
def test_any_text_can_be_shown(page, text):
    page.tokenizer.show_split(Split(text, ()))
    page.tokenizer.show_split(Split(text, (SplitToken(0, len(text), text),) if text else ()))

    assert not page.tokenizer.tiles.grab().isNull()


# The store card


def test_the_parts_of_the_bar_are_all_of_the_file():
    shown = upkeep_values.bad_store()
    parts = store_words.parts(shown)
    sizes = shown.sizes

    assert sum(each.bytes for each in parts) == (
        sum(sizes.parts.values()) + sizes.free_pages_bytes + sizes.wal_bytes + sizes.damaged_bytes
    )
    assert [each.name for each in parts] == [
        "messages",
        "messages_fts_trigram",
        "messages_fts_cjk",
        "messages_fts",
        "other tables",
        "set aside, damaged",
        "free pages",
        "-wal",
    ]
    assert {each.name for each in parts if each.ink == "hatched"} == {
        "messages_fts_trigram",
        "set aside, damaged",
    }


def test_what_waits_to_be_erased_is_counted_with_why_and_a_way(page):
    page.store.show_store(replace(upkeep_values.bad_store(), running=None))
    asked = []
    page.store.asked.connect(asked.append)
    page.store.erase.click()

    assert page.store.waiting.text() == (
        "412 deleted messages wait to be erased, 31 MB, since 27 Nov. "
        "Erase pending: another program reads the store"
    )
    assert asked == ["erase"]
    page.store.show_store(replace(upkeep_values.good_store(), erasure=Erasure(0, 0, None)))
    assert not page.store.erase.isVisible()


def test_who_else_has_it_open_is_said_or_that_nobody_knows():
    us = OpenElsewhere(1, "backscroll", True, is_us=True)
    other = OpenElsewhere(4121, "hermes", False)

    assert store_words.others((us, other)) == "Also open in 1 program (hermes, pid 4121, reading)."
    assert store_words.others((us,)) == "Open in no other program."
    assert "cannot be told" in store_words.others(None)


def test_while_something_runs_nothing_else_can_be_begun(page):
    page.store.show_store(upkeep_values.bad_store())
    cancelled = []
    page.store.cancel_asked.connect(lambda: cancelled.append(1))
    page.store.running.cancel.click()

    assert [name for name, button in page.store.buttons.items() if button.isEnabled()] == []
    assert page.store.running.what.text() == "Full check: comparing a private copy · 43 %"
    assert page.store.running.bar.value() == 430
    assert cancelled == [1]


def test_a_damaged_file_can_be_checked_and_salvaged_alone(page):
    page.store.show_store(replace(upkeep_values.good_store(), damage="it is damaged (page 7)"))

    offered = [name for name, button in page.store.buttons.items() if button.isVisible()]
    assert offered == ["check", "salvage"]
    assert page.store.damage.text() == "it is damaged (page 7)"


# The page


@pytest.mark.parametrize(("width", "columns"), [(1440, 3), (960, 2), (700, 1)])
def test_cards_stand_beside_each_other_as_far_as_there_is_room(page, width, columns):
    shots_maintenance.fill(page)
    page.resize(width, 600)
    QTest.qWait(20)
    tops = {card.mapTo(page.widget(), card.rect().topLeft()).y() for card in page.cards()}

    assert len(tops) == 6 // columns
    assert page.widget().width() <= page.viewport().width()


def test_a_message_line_makes_room_for_itself_and_copies_its_details(page):
    page.store.message.show_notice(Notice("err", "No.", "Nothing was changed.", "refused: why"))
    page.store.message.copy.click()
    seen = page.store.message.isVisible()
    page.store.message.close_button.click()

    assert seen
    assert QGuiApplication.clipboard().text() == "refused: why"
    assert page.store.message.notice() is None


def test_words_that_wrap_are_as_high_as_their_lines(themed):
    holder = QWidget()
    column = QVBoxLayout(holder)
    facts = Facts(pitch=17)
    column.addWidget(facts)
    column.addStretch(1)
    holder.resize(200, 400)
    holder.show()
    facts.show_words("one")
    one = facts.height()
    facts.show_words("several words that do not fit into the width of one line " * 3)
    many = facts.height()
    holder.resize(900, 400)
    QTest.qWait(10)
    wide = facts.height()
    holder.close()
    holder.deleteLater()

    assert one == 17
    assert many >= 4 * 17
    assert 17 <= wide < many


# Where the focus goes


def test_the_focus_stays_in_the_card_while_upkeep_runs_and_after(page):
    page.activateWindow()
    free = upkeep_values.good_store()
    page.store.show_store(free)
    page.store.buttons["check"].setFocus()

    page.store.show_store(replace(free, running=upkeep_values.bad_store().running))
    assert page.store.running.cancel.hasFocus()

    page.store.show_store(free)
    assert page.store.buttons["check"].hasFocus()


# A text that is longer than the card is wide


def test_letters_that_are_not_drawn_are_counted(page):
    text_of_60 = "电影" * 30
    tokens = tuple(SplitToken(n, n + 2, text_of_60[n : n + 2]) for n in range(59))

    page.tokenizer.show_split(Split(text_of_60, tokens))
    shown, letters = page.tokenizer.tiles.drawn()

    assert letters == 60
    assert f"Drawn are the first {shown} of 60 characters." in page.tokenizer.tokens.text()
    page.tokenizer.show_split(Split("电影", (SplitToken(0, 2, "电影"),)))
    assert "Drawn" not in page.tokenizer.tokens.text()
