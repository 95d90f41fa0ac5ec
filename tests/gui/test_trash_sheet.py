"""The sheet of the trash, for values made by hand."""

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.views.maintenance.trash_panel import TrashPanel
from core.upkeep_types import Trash, TrashItem

AT_MS = 1_795_000_000_000


@pytest.fixture
def panel(themed):
    parent = QWidget()
    found = TrashPanel(parent)
    found.show()
    found.activateWindow()
    yield found
    parent.deleteLater()


def trash(*sessions: str) -> Trash:
    items = tuple(
        TrashItem(each, each, "codex", None, 3, 1_000, AT_MS, AT_MS + 1, 7) for each in sessions
    )
    return Trash(items, len(items), 3 * len(items), 1_000 * len(items), AT_MS + 1, 7)


def test_after_a_row_was_restored_the_focus_is_in_the_list_not_on_the_button_that_empties(panel):
    panel.show_trash(trash("a", "b"))
    panel.table.selectRow(0)
    panel.restore.setFocus()

    panel.show_trash(trash("b"))

    assert panel.table.hasFocus()


def test_many_rows_come_in_turns_and_those_chosen_stay_chosen(panel):
    names = [f"s{n}" for n in range(450)]
    panel.show_trash(trash(*names))
    assert panel.table.rowCount() == 200
    while panel.table.rowCount() < 450:
        QTest.qWait(1)
    assert [texts[0] for texts in panel.texts()] == names
    panel.table.selectRow(440)

    panel.show_trash(trash(*names[1:]))
    while panel.table.rowCount() < 449:
        QTest.qWait(1)
    assert [each.session for each in panel.chosen()] == ["s440"]
    assert panel.table.currentRow() == 439


def test_what_is_being_deleted_cannot_be_asked_for(panel):
    panel.show_trash(trash("a", "b"))
    panel.table.selectRow(0)
    panel.empty.setFocus()

    panel.show_deleting(0.08)
    assert panel.sentence.text().startswith("Deleting: 8 %.")
    assert panel.chosen() == []
    assert not any(each.isEnabled() for each in (panel.table, panel.empty, panel.restore))
    assert panel.close_button.hasFocus()

    panel.show_failure("The disk is full.")
    assert panel.table.isEnabled()
    assert panel.empty.isEnabled()
