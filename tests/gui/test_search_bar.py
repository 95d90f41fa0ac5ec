import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QInputMethodEvent
from PySide6.QtWidgets import QApplication

from app.views.filter_chip import Choice, FilterChip
from app.views.search_bar import SearchBar


@pytest.fixture
def bar(qtbot, themed):
    made = SearchBar()
    qtbot.addWidget(made)
    made.resize(1200, 56)
    made.show()
    return made


def edits(bar):
    seen = []
    bar.query_edited.connect(seen.append)
    return seen


def test_typing_says_each_text(qtbot, bar):
    seen = edits(bar)

    qtbot.keyClicks(bar.field, "ab")

    assert seen == ["a", "ab"]


def test_while_an_input_method_composes_nothing_is_said(bar):
    seen = edits(bar)

    QApplication.sendEvent(bar.field, QInputMethodEvent("dingyue", []))
    composing = list(seen)
    committed = QInputMethodEvent("", [])
    committed.setCommitString("订阅")
    QApplication.sendEvent(bar.field, committed)

    assert composing == []
    assert seen == ["订阅"]


def test_enter_says_the_text_at_once(qtbot, bar):
    bar.field.setText("订阅")

    with qtbot.waitSignal(bar.query_entered) as entered:
        qtbot.keyClick(bar.field, Qt.Key.Key_Return)

    assert entered.args == ["订阅"]


def test_esc_clears_and_then_leaves(qtbot, bar):
    bar.field.setText("x")
    qtbot.keyClick(bar.field, Qt.Key.Key_Escape)
    cleared = bar.field.text()

    with qtbot.waitSignal(bar.field.left):
        qtbot.keyClick(bar.field, Qt.Key.Key_Escape)

    assert cleared == ""


def test_down_asks_for_the_list_and_on_an_empty_field_for_the_searches(qtbot, bar):
    with qtbot.waitSignal(bar.field.searches_wanted):
        qtbot.keyClick(bar.field, Qt.Key.Key_Down)
    bar.field.setText("x")
    with qtbot.waitSignal(bar.field.list_wanted):
        qtbot.keyClick(bar.field, Qt.Key.Key_Down)


def test_back_and_forward_are_off_until_they_lead_somewhere(bar):
    before = (bar.back.isEnabled(), bar.forward.isEnabled())

    bar.show_history(can_back=True, can_forward=False)

    assert before == (False, False)
    assert (bar.back.isEnabled(), bar.forward.isEnabled()) == (True, False)


@pytest.fixture
def chip(qtbot, themed):
    made = FilterChip("Role")
    qtbot.addWidget(made)
    made.offer([Choice(key, key) for key in ("user", "assistant", "tool")])
    made.show()
    return made


def test_what_is_chosen_is_said_in_the_chip(chip):
    chip.choose(("user", "assistant"))

    assert chip.text() == "Role: user, assistant"
    assert chip.isChecked()
    assert "Delete" in QAccessible.queryAccessibleInterface(chip).text(QAccessible.Text.Description)


def test_more_than_two_are_counted(chip):
    chip.choose(("user", "assistant", "tool"))

    assert chip.text() == "Role: user, assistant +1"


def test_delete_clears_a_chip_with_the_focus(qtbot, chip):
    chip.choose(("tool",))

    with qtbot.waitSignal(chip.chosen) as chosen:
        qtbot.keyClick(chip, Qt.Key.Key_Delete)

    assert chosen.args == [()]


def test_the_cross_clears_and_the_rest_of_the_chip_opens_the_menu(qtbot, chip):
    chip.choose(("tool",))
    chip.adjustSize()
    cross = chip.rect().center()
    cross.setX(chip.width() - 8)

    qtbot.mouseClick(chip, Qt.MouseButton.LeftButton, pos=cross)

    assert chip.chosen_keys() == ()


def test_ticking_in_the_menu_chooses_and_the_menu_stays_open(qtbot, chip):
    chip.click()
    menu = QApplication.activePopupWidget()
    actions = {action.data(): action for action in menu.actions() if action.data()}

    menu.setActiveAction(actions["user"])
    qtbot.keyClick(menu, Qt.Key.Key_Space)
    menu.setActiveAction(actions["tool"])
    qtbot.keyClick(menu, Qt.Key.Key_Space)

    assert chip.chosen_keys() == ("user", "tool")
    assert menu.isVisible()
    menu.close()


def test_an_exclusive_chip_keeps_one(qtbot, themed):
    chip = FilterChip("Date", exclusive=True)
    qtbot.addWidget(chip)
    chip.offer([Choice("7d", "last 7 days"), Choice("30d", "last 30 days")])
    chip.choose(("7d",))
    chip.show()
    chip.click()
    menu = QApplication.activePopupWidget()

    next(action for action in menu.actions() if action.data() == "30d").trigger()
    menu.close()

    assert chip.chosen_keys() == ("30d",)


def test_a_name_with_an_ampersand_is_shown_whole(qtbot, themed):
    chip = FilterChip("Project")
    qtbot.addWidget(chip)
    chip.offer([Choice("a&b", "a&b", 3)])
    chip.show()
    chip.click()
    menu = QApplication.activePopupWidget()

    assert menu.actions()[0].text() == "a&&b\t3"
    menu.close()
