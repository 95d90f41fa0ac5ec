"""The parts around the text: header, rail, outline, find bar, link bar."""

import itertools

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QColor, QGuiApplication, QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QToolTip, QWidget

from app import formatting, theme
from app.controllers import outline
from app.controllers.outline import Found
from app.models.outline import OutlineModel, OutlineRow, Row, heading
from app.render import runs
from app.render.page import Page
from app.views.conversation_header import ConversationHeader, HeaderState
from app.views.conversation_pane import ConversationPane
from app.views.find_bar import FindBar
from app.views.link_dialog import LinkBar, target_of
from app.views.outline_view import OutlineView
from app.views.rail import Rail, RailState
from core.history.outline import Prompt
from tests.gui.values import NOON_MS, session

LEFT = Qt.MouseButton.LeftButton
EVIL = '<img src="file:///etc/passwd"> \u202egpj.exe <b>x</b>'


@pytest.fixture
def show(themed, qtbot):
    """Shows a widget at a size; it is gone after the test."""

    def shown(widget, width: int, height: int):
        qtbot.addWidget(widget)
        widget.resize(width, height)
        widget.show()
        return widget

    return shown


# Header


def test_the_header_says_what_is_open_in_two_lines(show):
    header = show(ConversationHeader(), 776, 64)
    header.show_session(HeaderState(session(1, title="电影订阅"), prompts=2))

    assert header.height() == 64
    assert header.title.text() == "电影订阅"
    assert header._facts.text() == "Codex · feed-reader · gpt-5-codex"
    assert header._count.text() == "4 messages, 2 prompts"
    day = formatting.short_day(formatting.local(NOON_MS).date(), formatting.today())
    clock = formatting.clock(NOON_MS)
    assert header._when.text() == f"{day}, {formatting.clock(NOON_MS - 3_600_000)} – {clock}"


def test_a_session_is_named_by_the_program_it_was_held_with_and_its_times_by_the_clock(show):
    header = show(ConversationHeader(), 776, 64)
    late = NOON_MS + 3_600_000
    held = session(1, source="pi", program="OpenClaw", started_at_ms=late)
    header.show_session(HeaderState(held))

    assert header._facts.text() == "OpenClaw · feed-reader · gpt-5-codex"
    day = formatting.short_day(formatting.local(NOON_MS).date(), formatting.today())
    times = f"{formatting.clock(NOON_MS)} – {formatting.clock(late)}"
    assert header._when.text() == f"{day}, {times}"


def test_a_title_is_cut_only_where_it_must_and_its_tooltip_is_text(show):
    header = show(ConversationHeader(), 776, 64)
    header.show_session(HeaderState(session(1, title="short")))
    header.grab()
    assert header.title.toolTip() == ""

    header.show_session(HeaderState(session(1, title=EVIL * 6)))
    header.grab()
    assert header.title.toolTip().startswith("<p>&lt;img src=&quot;file:///etc/passwd&quot;&gt;")
    assert "\u202e" not in header.title.toolTip()
    assert "\u202e" not in header.title.text()
    assert header.title.textFormat() == Qt.TextFormat.PlainText


@pytest.mark.parametrize(
    ("width", "cut"),
    [
        (776, set()),
        (480, {"_facts"}),
        (390, {"_facts", "_count"}),
        (220, {"_facts", "_count", "_when"}),
    ],
)
def test_in_a_narrow_pane_names_give_way_before_the_count_and_then_the_times(show, width, cut):
    pane = show(QWidget(), 800, 64)
    header = ConversationHeader(pane)
    header.resize(width, 64)
    header.show()
    header.show_session(HeaderState(session(1, title="电影订阅"), prompts=2))
    header.grab()

    assert {
        name for name in ("_facts", "_count", "_when") if getattr(header, name).toolTip()
    } == cut


def test_the_lineage_leads_to_other_sessions(show):
    header = show(ConversationHeader(), 776, 64)
    family = [session(n, title=f"part {n} & more") for n in (2, 3, 4, 5)]
    header.show_session(HeaderState(session(1), (family[0], family[1]), (family[2], family[3])))
    asked = []
    header.session_asked.connect(asked.append)
    links = {each.text(): each for each in header.findChildren(QPushButton) if each.isVisible()}

    assert list(links) == ["earlier", "part 3 && more", "part 4 && more", "+1"]
    QTest.mouseClick(links["part 3 && more"], LEFT)
    QTest.keyClick(links["part 4 && more"], Qt.Key.Key_Space)
    assert asked == [3, 4]


def test_match_buttons_are_there_only_where_there_are_matches(show):
    header = show(ConversationHeader(), 776, 64)
    header.show_session(HeaderState(session(1)))
    header.show_matches(4, 9)
    assert header.place.text() == "match 4 of 9"
    assert header.next.isVisible()
    header.show_matches(0, 9)
    assert header.place.text() == "9 matches"
    header.show_reading("reading 1–20 and last 10")
    assert header.place.text() == "reading 1–20 and last 10"
    assert not header.next.isVisible()


# Rail


def test_the_rail_shows_what_is_loaded_the_hits_and_the_anchor(show):
    rail = show(Rail(), 24, 752)
    rail.show_state(RailState(190, ((1, 3), (54, 64), (188, 190)), (1, 97, 130), 59))
    rail.show_view(55.0, 63.0)
    image, tokens = rail.grab().toImage(), theme.current()

    def found(number: float, colour: str) -> bool:
        y = round(rail.height_of(number))
        return any(
            QColor(image.pixel(x, y + dy)) == QColor(colour)
            for x, dy in itertools.product(range(24), (-1, 0, 1))
        )

    assert found(97.5, tokens.markcur)
    assert found(130.5, tokens.markcur)
    assert not found(150.5, tokens.markcur)
    assert found(59.5, tokens.accent)
    assert found(56, tokens.bar)
    assert not found(150, tokens.bar)


def test_a_click_on_the_rail_goes_to_that_message_or_to_the_hit_under_it(show):
    rail = show(Rail(), 24, 752)
    rail.show_state(RailState(190, ((54, 64),), (97,), 59))
    asked = []
    rail.number_asked.connect(asked.append)
    QTest.mouseClick(rail, LEFT, pos=QPoint(12, 1))
    QTest.mouseClick(rail, LEFT, pos=QPoint(12, round(rail.height_of(97.5)) + 2))
    QTest.mouseClick(rail, LEFT, pos=QPoint(12, round(rail.height_of(150.5))))
    QTest.mouseClick(rail, LEFT, pos=QPoint(12, 751))

    assert asked == [1, 97, 150, 190]


@pytest.mark.parametrize("total", [0, 1, 2, 100_000])
def test_the_rail_can_be_painted_for_any_session(show, total):
    rail = show(Rail(), 24, 40)
    hits = tuple(range(1, min(total, 50) + 1))
    rail.show_state(RailState(total, ((1, total),) if total else (), hits, 1 if total else None))
    rail.show_view(1.0, float(total))

    assert not rail.grab().isNull()
    assert 1 <= rail.number_at(20) <= max(1, total)


# Outline


def outline_rows() -> list[OutlineRow]:
    def entry(number: int, text: str, *bold: tuple[int, int]) -> OutlineRow:
        return OutlineRow(
            Row.ENTRY, text, number=number, message_id=number * 10, icon="role-user",
            ink="role_user", bold=bold,
        )  # fmt: skip

    return [
        heading("Opening", "1–2"),
        entry(1, "first"),
        entry(2, "second"),
        heading("Hits in this session", "2"),
        entry(2, "second 订阅", (7, 9)),
        entry(59, EVIL),
    ]


def test_the_outline_model_is_a_model(qtmodeltester):
    model = OutlineModel()
    model.replace(outline_rows())
    qtmodeltester.check(model, force_py=False)
    model.replace(outline_rows()[:3])
    qtmodeltester.check(model, force_py=False)


def test_headings_cannot_be_chosen_and_entries_say_who_and_where(themed):
    model = OutlineModel()
    model.replace(outline_rows())

    assert not model.flags(model.index(0)) & Qt.ItemFlag.ItemIsSelectable
    spoken = model.index(4).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "#2, second 订阅"
    assert "\u202e" not in model.index(5).data()


@pytest.mark.parametrize(("prompts", "told"), [(7, "7"), (500, "first 500")])
def test_the_outline_says_where_it_lists_only_the_first_prompts(qapp, prompts, told):
    found = Found(prompts=tuple(Prompt(n, n, f"prompt {n}") for n in range(1, prompts + 1)))
    found = outline.with_entries(found, runs.no_marks)
    rows = outline.rows(Page(reading=True), found, runs.no_marks, 0)
    assert (rows[0].text, rows[0].facts) == ("Prompts", told)


def test_a_row_of_the_outline_goes_to_its_message_by_mouse_and_by_keyboard(show):
    model = OutlineModel()
    view = show(OutlineView(model), 240, 400)
    model.replace(outline_rows())
    asked = []
    view.message_asked.connect(lambda *what: asked.append(what))
    QTest.mouseClick(view.viewport(), LEFT, pos=view.visualRect(model.index(0)).center())
    QTest.mouseClick(view.viewport(), LEFT, pos=view.visualRect(model.index(5)).center())
    view.setCurrentIndex(model.index(1))
    QTest.keyClick(view, Qt.Key.Key_Down)
    QTest.keyClick(view, Qt.Key.Key_Return)

    assert asked == [(590, 59), (20, 2)]
    assert view.visualRect(model.index(1)).height() == 28


def test_the_current_row_is_the_hit_rather_than_the_bookend(show):
    model = OutlineModel()
    view = show(OutlineView(model), 240, 400)
    model.replace([*outline_rows(), heading("Resolution", "60"), *outline_rows()[1:2]])
    view.show_current(2)
    assert view.currentIndex().row() == 4
    view.show_current(77)
    assert not view.currentIndex().isValid()


# Find bar


def test_the_find_bar_tells_its_text_once_typing_rests(show, qtbot):
    bar = FindBar()
    show(bar, 776, 40)
    with qtbot.waitSignal(bar.text_edited, timeout=2_000) as told:
        bar.open_bar()
        QTest.keyClicks(bar.field, "osaka")
    assert told.args == ["osaka"]


def test_an_unfinished_composition_finds_nothing(show, qtbot):
    """Case G06: letters of an input method are not yet a word to look for."""
    bar = show(FindBar(), 776, 40)
    bar.open_bar()
    told = []
    bar.text_edited.connect(told.append)
    QApplication.sendEvent(bar.field, QInputMethodEvent("toukyou", []))
    assert not bar._rest.isActive()
    done = QInputMethodEvent()
    done.setCommitString("東京")
    QApplication.sendEvent(bar.field, done)
    QTest.keyClick(bar.field, Qt.Key.Key_Return)

    assert told == ["東京"]


def test_enter_goes_on_and_escape_closes(show, qtbot):
    bar = show(FindBar(), 776, 40)
    bar.open_bar("x")
    bar._rest.stop()
    seen = []
    bar.next_asked.connect(lambda: seen.append("next"))
    bar.previous_asked.connect(lambda: seen.append("previous"))
    bar.closed.connect(lambda: seen.append("closed"))
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    QTest.keyClick(bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(bar.field, Qt.Key.Key_Escape)

    assert seen == ["next", "previous", "closed"]
    assert not bar.isVisible()


def test_the_count_says_what_is_still_being_counted_and_that_one_went_round_the_end(show):
    bar = show(FindBar(), 776, 40)
    bar.open_bar("x")
    bar.show_count(0, 0, whole=False)
    assert bar.count.text() == "counting…"
    assert not bar.next.isEnabled()
    bar.show_count(3, 17, whole=False)
    assert bar.count.text() == "3 of 17 so far"
    bar.show_count(1, 1_700, whole=True, note="from the beginning")
    assert bar.count.text() == "1 of 1,700"
    assert bar.note.text() == "from the beginning"
    assert bar.field.accessibleDescription() == "1 of 1,700 from the beginning"
    assert bar.next.isEnabled()
    bar.show_count(0, 0, whole=True)
    assert (bar.count.text(), bar.note.text()) == ("no match", "")


# Link bar


@pytest.mark.parametrize(
    ("target", "opened"),
    [
        ("https://example.com/a?b=1#c", True),
        ("HTTP://example.com", True),
        ("mailto:someone@example.com", True),
        ("file:///etc/passwd", False),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("//host/share", False),
        ("https:///nohost", False),
        ("ftp://example.com", False),
        ("backscroll://session/x", False),
        ("relative/path", False),
        ("https://exa mple.com", False),
        ("", False),
    ],
)
def test_only_web_and_mail_addresses_can_be_opened(target, opened):
    assert target_of(target).isValid() is opened


def test_a_link_is_opened_only_after_it_was_shown(show):
    opened = []
    bar = show(LinkBar(open_url=opened.append), 776, 60)
    bar.ask("https://exämple.com/a")

    assert opened == []
    assert bar.address.text() == "https://exämple.com/a"
    assert bar.host.text() == "xn--exmple-cua.com"
    QTest.mouseClick(bar.open_button, LEFT)
    assert opened == [QUrl("https://exämple.com/a")]
    assert not bar.isVisible()


def test_a_forbidden_link_shows_its_target_and_offers_no_opening(show):
    opened = []
    bar = show(LinkBar(open_url=opened.append), 776, 60)
    bar.ask("javascript:alert('\u202e')")

    assert not bar.open_button.isVisible()
    assert "\u202e" not in bar.address.text()
    assert bar.address.text().startswith("javascript:alert('")
    QTest.mouseClick(bar.copy_button, LEFT)
    assert QGuiApplication.clipboard().text() == "javascript:alert('\u202e')"
    bar.ask("file:///etc/passwd")
    QTest.keyClick(bar.close_button, Qt.Key.Key_Escape)
    assert (opened, bar.isVisible()) == ([], False)


# Pane


def test_the_outline_folds_to_the_rail_in_a_narrow_window(show):
    pane = show(ConversationPane(), 1_200, 700)
    assert pane.outline.isVisible()
    assert (pane.rail.width(), pane.outline.width()) == (24, 240)
    pane.resize(1_100, 700)
    assert not pane.outline.isVisible()
    assert pane.rail.isVisible()
    assert pane.focus_targets() == [pane.transcript]


def test_every_control_of_the_pane_has_a_name_and_a_place_in_the_tab_order(show):
    pane = show(ConversationPane(), 1_300, 700)
    pane.header.show_session(HeaderState(session(1), (session(2),)))
    pane.header.show_matches(1, 2)
    pane.find_bar.open_bar("x")
    pane.link_bar.ask("https://example.com")
    header, find = pane.header, pane.find_bar
    buttons = [each for each in pane.findChildren(QPushButton) if each.isVisible()]
    icons = [header.previous, header.next, header.copy_link, find.next, find.close_button]
    for widget in (*buttons, *icons, find.field, pane.transcript, pane.outline):
        assert widget.accessibleName() or widget.text()
        assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_what_was_done_is_said_for_a_moment(show, qtbot):
    pane = show(ConversationPane(), 1_300, 700)
    pane.tell("Copied.")
    assert pane._told.isVisible()
    pane._told_ends.timeout.emit()
    assert not pane._told.isVisible()
    QToolTip.hideText()
