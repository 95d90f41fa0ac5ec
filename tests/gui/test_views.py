import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton

from app import theme
from app.messages import Notice
from app.models.hits import HitGroup, HitsModel
from app.models.sessions import SessionsModel
from app.views.empty_state import ZeroHitsView
from app.views.hits_view import HitsView
from app.views.message_bar import MessageBar
from app.views.parts import Text
from app.views.path_bar import PathBar
from app.views.path_facts import Fact
from app.views.sessions_view import SessionsView
from app.views.sheets import ShortcutSheet
from app.views.token_split import Pair
from core.types import SearchStep
from tests.gui.values import hit, result, session


def pixels(widget, color, area=None):
    """How many pixels of a widget have exactly this colour."""
    image = widget.grab(area or widget.rect()).toImage()
    wanted = QColor(color).rgb()
    return sum(
        image.pixel(x, y) == wanted for x in range(image.width()) for y in range(image.height())
    )


@pytest.fixture
def sessions(qtbot, themed):
    model = SessionsModel()
    view = SessionsView(model)
    qtbot.addWidget(view)
    view.resize(400, 300)
    view.show()
    model.replace([session(n, days_ago=n // 4) for n in range(40)], complete=True)
    return view


def test_rows_are_56_px_and_laid_out_uniformly(sessions):
    heights = {sessions.visualRect(sessions.model().index(row)).height() for row in range(4)}

    assert heights == {56}
    assert sessions.uniformItemSizes()


def test_the_top_visible_row_says_its_day_wherever_one_scrolls_to(sessions):
    gutter = QRect(16, 0, 60, 56)
    sessions.verticalScrollBar().setValue(2 * 56)  # the third row of a day

    assert pixels(sessions.viewport(), theme.current().text, gutter) > 20


def test_rows_below_the_first_of_a_day_leave_the_gutter_empty(sessions):
    assert pixels(sessions.viewport(), theme.current().text, QRect(16, 58, 60, 50)) == 0


def test_arrow_keys_open_what_they_come_to_rest_on_only(qtbot, sessions):
    opened = []
    sessions.session_opened.connect(opened.append)
    sessions.setFocus()

    for _ in range(3):
        qtbot.keyClick(sessions, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: opened != [])

    assert opened == [sessions.current_session().id]


def test_a_refresh_keeps_the_session_and_its_height(sessions):
    sessions.select_session(20)
    top = sessions.visualRect(sessions.currentIndex()).top()
    opened = []
    sessions.session_opened.connect(opened.append)

    newer = [session(100 + n) for n in range(5)]
    old = [session(n, days_ago=n // 4) for n in range(40)]
    sessions.model().replace([*newer, *old], complete=True)
    QTest.qWait(150)

    assert sessions.current_session().id == 20
    assert sessions.visualRect(sessions.currentIndex()).top() == top
    assert opened == []


@pytest.fixture
def hits(qtbot, themed):
    model = HitsModel()
    view = HitsView(model)
    qtbot.addWidget(view)
    view.resize(400, 400)
    view.show()
    first = HitGroup(
        1, "电影订阅", ((2, 4),), "codex", "hub", 0, (hit(1, "查订阅", (1, 3)), hit(2, "二"))
    )
    titled = HitGroup(2, "订阅", ((0, 2),), "codex", "", 0, ())
    model.replace([first, titled], complete=True)
    return view


def test_matches_are_marked_in_titles_and_snippets(hits):
    mark = theme.current().mark

    title = pixels(hits.viewport(), mark, hits.visualRect(hits.model().index(0)))
    snippet = pixels(hits.viewport(), mark, hits.visualRect(hits.model().index(1)))
    unmarked = pixels(hits.viewport(), mark, hits.visualRect(hits.model().index(2)))

    assert title > 100
    assert snippet > 100
    assert unmarked == 0


def test_a_click_on_a_hit_opens_it_and_on_a_title_folds(qtbot, hits):
    opened = []
    hits.hit_opened.connect(lambda *ids: opened.append(ids))

    for row in (1, 0):
        center = hits.visualRect(hits.model().index(row)).center()
        qtbot.mouseClick(hits.viewport(), Qt.MouseButton.LeftButton, pos=center)

    assert opened == [(1, 1)]
    assert hits.model().rowCount() == 2


def test_space_folds_and_unfolds_by_keyboard(qtbot, hits):
    hits.setFocus()
    hits.select_row(0)

    qtbot.keyClick(hits, Qt.Key.Key_Space)
    folded = hits.model().rowCount()
    qtbot.keyClick(hits, Qt.Key.Key_Right)

    assert (folded, hits.model().rowCount()) == (2, 4)


def test_a_session_found_by_its_title_is_opened_as_a_whole(qtbot, hits):
    with qtbot.waitSignal(hits.session_opened) as opened:
        center = hits.visualRect(hits.model().index(3)).center()
        qtbot.mouseClick(hits.viewport(), Qt.MouseButton.LeftButton, pos=center)

    assert opened.args == [2]


def test_stepping_through_hits_passes_over_titles(hits):
    hits.select_row(2)
    hits.step_hit(-1)
    hits.step_hit(-1)

    assert hits.currentIndex().row() == 1


def test_larger_text_makes_the_rows_of_hits_higher(hits):
    theme.set_text_scale(1.5)
    hits.executeDelayedItemsLayout()

    assert hits.visualRect(hits.model().index(1)).height() == 76


def test_the_path_bar_keeps_its_height_and_says_all_facts(qtbot, themed):
    bar = PathBar()
    qtbot.addWidget(bar)
    bar.resize(960, 36)
    bar.show()
    facts = [Fact("in 38 sessions", "212 hits"), Fact("1.4 ms"), Fact("Why?", link="why")]
    sorts = [("newest", "newest"), ("relevance", "relevance")]

    bar.show_path("cjk", facts, sorts, "relevance")

    assert (bar.height(), bar.chip.height()) == (36, 24)
    assert bar.accessibleDescription() == "CJK index, 212 hits in 38 sessions, 1.4 ms"
    with qtbot.waitSignal(bar.link_pressed) as pressed:
        bar.links["why"].click()
    assert pressed.args == ["why"]


def labels(widget):
    """Every word a widget shows, from top to bottom, left to right."""
    found = [
        each for each in widget.findChildren(QLabel) if each.isVisibleTo(widget) and each.text()
    ]
    spots = [
        (each.mapTo(widget, QPoint()).y() // 12, each.mapTo(widget, QPoint()).x(), each.text())
        for each in found
    ]
    return [text for _, _, text in sorted(spots)]


def test_where_there_is_little_room_minor_facts_go_and_what_one_can_press_stays_whole(
    qtbot, themed
):
    bar = PathBar()
    qtbot.addWidget(bar)
    bar.resize(960, 36)
    with qtbot.waitExposed(bar):
        bar.show()
    facts = [
        Fact("in 181,240 messages", strong="0 hits"),
        Fact("8.2 ms", minor=True),
        Fact("covers 100 %", minor=True),
        Fact("complete", minor=True),
        Fact("not searched: 2 rewound messages, 312 very long messages", gives_way=True),
        *(Fact(words, link=words) for words in ("Include", "Scan everything", "Why?")),
    ]

    sorts = [(each, each) for each in ("newest", "relevance", "oldest")]

    bar.show_path("fts5+cjk", facts, sorts, "newest")
    qtbot.waitUntil(lambda: bar.links["Why?"].width() >= bar.links["Why?"].sizeHint().width())
    narrow = [each.text() for each in bar.findChildren(Text) if each.isVisible()]
    whole = [each.width() >= each.sizeHint().width() for each in bar.links.values()]
    bar.resize(1440, 36)
    bar.grab()
    wide = [each.text() for each in bar.findChildren(Text) if each.isVisible()]

    assert not {"8.2 ms", "covers 100 %", "complete"} & set(narrow)
    assert whole == [True, True, True]
    assert {"8.2 ms", "covers 100 %", "complete"} <= set(wide)
    assert "covers 100 %" in bar.accessibleDescription()


def test_zero_hits_say_what_was_tried_and_what_was_left_out(qtbot, themed):
    view = ZeroHitsView()
    qtbot.addWidget(view)
    view.resize(1040, 800)
    view.show()
    steps = (
        SearchStep("cjk", "电影 影退 退订", 0, 0.6),
        SearchStep("like", "the CJK index answers for all", None, None, "not run"),
    )

    view.show_result(result(steps=steps, not_searched={"rewound": 6}))

    qtbot.waitUntil(lambda: "LIKE scan" in labels(view))
    words = labels(view)
    assert words[0] == "0 hits in 1,204 messages"
    assert "The CJK index covers every one of them" in words[1]
    assert {"CJK index", "电影 影退 退订", "0", "LIKE scan", "–", "6", "rewound messages"} <= set(
        words
    )
    with qtbot.waitSignal(view.include_asked) as asked:
        next(b for b in view.findChildren(QPushButton) if b.text() == "Include").click()
    assert asked.args == [("rewound",)]


def test_the_pair_that_never_occurs_is_red_and_the_rest_is_offered(qtbot, themed):
    view = ZeroHitsView()
    qtbot.addWidget(view)
    view.resize(1040, 800)
    view.show()
    view.show_result(result())

    pairs = [Pair("电影", 1902), Pair("影退", 0), Pair("退订", 17)]
    view.show_words("电影退订", pairs, "电影 退订", 11)

    assert view.advice.text() == (
        "电影 · 退订 occur, but 影退 never does: no message has them side by side."
    )
    assert pixels(view.split, theme.current().err) > 10
    with qtbot.waitSignal(view.query_offered) as offered:
        view.offer.click()
    assert offered.args == ["电影 退订"]


def test_a_message_says_cause_and_consequence_and_its_details_can_be_copied(qtbot, themed, qapp):
    bar = MessageBar()
    qtbot.addWidget(bar)
    bar.show_notice(Notice("err", "The disk is full.", "Nothing is lost.", "store-full: x"))
    bar.copy.click()

    assert bar.accessibleName() == "The disk is full. Nothing is lost."
    assert qapp.clipboard().text() == "store-full: x"
    bar.close_button.click()
    assert bar.notice() is None


def test_stored_text_in_a_label_is_never_markup(qtbot, themed):
    label = Text("<b>bold</b>")
    qtbot.addWidget(label)

    assert label.textFormat() == Qt.TextFormat.PlainText


def test_the_shortcut_sheet_lists_every_key(qtbot, themed):
    parent = QLabel()
    qtbot.addWidget(parent)
    sheet = ShortcutSheet(parent)
    sheet.show()

    words = labels(sheet)

    assert {"Ctrl+K", "F3", "Shift+F3", "F6", "Alt+Left", "Ctrl+Q", "F1"} <= set(words)


@pytest.mark.parametrize("dark", [False, True])
def test_every_colour_of_the_style_sheet_is_a_token(themed, dark):
    tokens = theme.DARK if dark else theme.LIGHT

    sheet = theme.style_sheet(tokens)

    assert "%(" not in sheet
    assert tokens.tint2 in sheet


def luminance(value):
    parts = [int(value[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("tokens", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_text_stands_out_from_every_ground_it_is_painted_on(tokens):
    pairs = [
        *[
            (ink, ground)
            for ink in ("text", "text2")
            for ground in ("window", "panel", "base", "sunken", "sel", "tint2", "anchor")
        ],
        *[("text3", ground) for ground in ("window", "panel", "base")],
        *[(name, f"{name}bg") for name in ("ok", "warn", "err", "info", "unk")],
        ("accent", "tint2"),
        ("accent", "infobg"),
        ("on", "fill"),
        ("marktext", "mark"),
        ("markcurtext", "markcur"),
        ("role_assistant", "unkbg"),
        *[
            (f"role_{role}", ground)
            for role in ("user", "assistant", "tool", "system")
            for ground in ("panel", "tint2")
        ],
    ]

    too_faint = {
        pair: contrast(getattr(tokens, pair[0]), getattr(tokens, pair[1]))
        for pair in pairs
        if contrast(getattr(tokens, pair[0]), getattr(tokens, pair[1])) < 4.5
    }

    assert too_faint == {}
