"""Saved searches in the window: saved, opened, renamed, removed, put back; by keyboard too."""

import asyncio

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QApplication, QLineEdit

from core.history import saved_searches as searches
from core.history.saved_searches import SavedFilters
from core.types import Role
from tests.gui.conftest import search, until
from tests.gui.talks import hits

KEY = Qt.Key
NAME = QAccessible.Text.Name
CTRL = Qt.KeyboardModifier.ControlModifier


def names(program) -> list[str]:
    model = program.window.models.saved
    return [model.index(row).data() for row in range(model.rowCount())]


async def stored(program) -> list[searches.SavedSearch]:
    return list(await program.store.read(searches.saved))


async def save(program, query: str) -> None:
    """Ask a query and save it with the keyboard."""
    count = len(names(program))
    await search(program, query)
    QTest.keyClick(program.window, KEY.Key_S, CTRL)
    await until(lambda: len(names(program)) == count + 1)


def is_saved(program) -> bool:
    return "is saved" in program.window.search_bar.field.save.toolTip()


def test_the_bookmark_saves_the_query_with_its_filters_and_order(run, filled):
    bar = filled.window.search_bar

    async def press():
        bar.role.choose(("user", "tool"))
        bar.date.choose(("7d",))
        await search(filled, "osaka")
        filled.window.path_bar.sort_picked.emit("oldest")
        before = is_saved(filled)
        bar.field.save.trigger()
        await until(lambda: names(filled))
        return before, await stored(filled)

    before, (kept,) = run(press())

    assert (before, is_saved(filled)) == (False, True)
    assert (kept.name, kept.query, kept.sort) == ("osaka", "osaka", "oldest")
    assert kept.filters == SavedFilters((Role.USER, Role.TOOL), days=7)
    model = filled.window.models.saved
    assert model.index(0).data(model.SearchRole).narrowed == ("role user/tool, last 7 days, oldest")


def test_other_filters_are_another_search_and_it_gets_a_name_of_its_own(run, filled):
    async def twice():
        await save(filled, "osaka")
        filled.window.search_bar.role.choose(("user",))
        other = is_saved(filled)
        filled.window.search_bar.field.save.trigger()
        await until(lambda: len(names(filled)) == 2)
        return other

    assert run(twice()) is False
    assert names(filled) == ["osaka", "osaka (2)"]


def test_a_saved_search_is_opened_with_its_filters_and_order(run, filled):
    bar = filled.window.search_bar

    async def open_it():
        bar.project.choose(("mailer",))
        filled.search._set_sort("newest")
        await save(filled, "退订")
        bar.project.clear()
        filled.search._set_sort("relevance")
        bar.field.clear()
        bar.field.setFocus()
        QTest.keyClick(bar.field, KEY.Key_Down)
        chosen = filled.window.recent_view.saved.hasFocus()
        QTest.keyClick(filled.window.recent_view.saved, KEY.Key_Return)
        await until(lambda: hits(filled) == ["mail-0"])
        return chosen

    filled.window.activateWindow()
    assert run(open_it())
    assert bar.field.text() == "退订"
    assert bar.project.chosen_keys() == ("mailer",)
    assert filled.search._request.sort == "newest"
    assert filled.search._request.projects == ("mailer",)
    assert is_saved(filled)


def test_days_between_and_times_of_the_command_line_are_shown_and_saved_again(run, filled):
    bar = filled.window.search_bar

    async def through(filters):
        await filled.store.write(searches.save, "a", "osaka", filters, at_ms=1)
        await filled.saved._load()
        bar.field.clear()
        filled.window.recent_view.saved_chosen.emit(filled.saved._saved[0].id)
        await until(lambda: filled.search._request is not None)
        return bar.date.text(), filled.filters.as_saved(), filled.search._request

    days = SavedFilters(since="2026-11-20", until="2026-11-24")
    age = SavedFilters(since="2w")
    shown_days, saved_days, asked = run(through(days))
    shown_age, saved_age, _ = run(through(age))

    assert (saved_days, saved_age) == (days, age)
    assert {"20", "23"} <= set(shown_days.replace(",", " ").split())
    assert shown_age == "Date: 2w –"
    assert asked.until_ms - asked.since_ms == 4 * 86_400_000


def test_times_that_cannot_be_read_are_said_to_be_so_and_change_nothing(run, filled):
    async def open_it():
        spoiled = SavedFilters(since="soon")
        await filled.store.write(searches.save, "a", "osaka", spoiled, at_ms=1)
        await filled.saved._load()
        filled.window.recent_view.saved_chosen.emit(filled.saved._saved[0].id)

    run(open_it())

    assert "'soon' is not a time" in filled.window.message_bar.notice().details
    assert filled.window.search_bar.field.text() == ""


def test_removing_is_undone_by_the_bar_and_the_place_is_the_same(run, filled):
    window = filled.window
    window.activateWindow()

    async def remove():
        for query in ("osaka", "退订"):
            await save(filled, query)
        window.search_bar.field.clear()
        window.show_searches()
        QTest.keyClick(window.recent_view.saved, KEY.Key_Delete)
        await until(lambda: window.message_bar.notice().cause.startswith("Removed"))
        said = (window.message_bar.notice().cause, names(filled))
        window.message_bar.action.click()
        await until(lambda: len(names(filled)) == 2)
        return said

    assert run(remove()) == ("Removed the saved search “osaka”.", ["退订"])
    assert names(filled) == ["osaka", "退订"]
    assert window.message_bar.notice() is None


def test_two_removed_at_once_are_both_removed(run, filled):
    async def remove():
        for query in ("osaka", "退订", "train"):
            await save(filled, query)
        for row in (0, 1):
            filled.window.recent_view.saved_removed.emit(filled.saved._saved[row].id)
        await until(lambda: len(names(filled)) == 1)

    run(remove())

    assert names(filled) == ["train"]


def test_the_bookmark_of_a_saved_search_removes_it(run, filled):
    async def press():
        await save(filled, "osaka")
        filled.window.search_bar.field.save.trigger()
        await until(lambda: not names(filled))

    run(press())

    assert not is_saved(filled)


def test_a_name_is_typed_in_place(run, filled):
    window = filled.window
    window.activateWindow()

    async def rename():
        await save(filled, "osaka")
        window.message_bar.action.click()  # Rename
        editor = window.recent_view.saved.findChild(QLineEdit)
        name = editor.selectedText()
        QTest.keyClicks(editor, "the trip")
        QTest.keyClick(editor, KEY.Key_Return)
        await until(lambda: names(filled) == ["the trip"])
        return name, await stored(filled)

    name, (kept,) = run(rename())

    assert name == "osaka"
    assert (kept.name, kept.query) == ("the trip", "osaka")


def test_a_name_that_is_taken_is_refused_in_words_and_nothing_changes(run, filled):
    async def rename():
        for query in ("osaka", "train"):
            await save(filled, query)
        model = filled.window.models.saved
        model.setData(model.index(0), "train")
        await until(lambda: "Another search" in filled.window.message_bar.notice().cause)

    run(rename())

    assert names(filled) == ["osaka", "train"]


def test_saved_stand_above_recent_and_the_arrows_go_from_one_to_the_other(run, filled):
    window = filled.window
    window.activateWindow()
    view = window.recent_view

    async def walk():
        await save(filled, "osaka")
        window.search_bar.field.clear()
        window.search_bar.field.setFocus()
        QTest.keyClick(window.search_bar.field, KEY.Key_Down)
        seen = [QApplication.focusWidget()]
        QTest.keyClick(view.saved, KEY.Key_Down)
        seen.append(QApplication.focusWidget())
        QTest.keyClick(view.list, KEY.Key_Up)
        seen.append(QApplication.focusWidget())
        QTest.keyClick(view.saved, KEY.Key_Escape)
        seen.append(QApplication.focusWidget())
        return seen

    assert run(walk()) == [view.saved, view.list, view.saved, window.search_bar.field]
    assert view.saved.mapTo(view, view.saved.rect().topLeft()).y() < view.list.y()
    assert window.lists.currentWidget() is window.sessions_view


def test_moving_over_the_searches_asks_nothing(run, filled):
    window = filled.window

    async def walk():
        for query in ("osaka", "train"):
            await save(filled, query)
        window.search_bar.field.clear()
        window.show_searches()
        QTest.keyClick(window.recent_view.saved, KEY.Key_Down)
        await asyncio.sleep(0.2)

    run(walk())

    assert window.search_bar.field.text() == ""


def test_a_recent_search_can_be_forgotten_alone(run, filled):
    window = filled.window

    async def forget():
        for query in ("osaka", "退订"):
            await search(filled, query)
            filled.search.keep_query()
        window.search_bar.field.clear()
        window.show_searches()
        QTest.keyClick(window.recent_view.list, KEY.Key_Delete)

    run(forget())

    assert [each.query for each in filled.state.recent()] == ["osaka"]
    assert window.models.recent.rowCount() == 1


def test_the_row_behind_a_removed_one_is_stood_on(run, filled):
    window = filled.window
    window.activateWindow()
    view = window.recent_view

    async def remove():
        for query in ("osaka", "退订", "train"):
            await save(filled, query)
            filled.search.keep_query()
        window.search_bar.field.clear()
        window.show_searches()
        QTest.keyClick(view.saved, KEY.Key_Down)
        QTest.keyClick(view.saved, KEY.Key_Delete)
        await until(lambda: len(names(filled)) == 2)
        saved = view.saved.currentIndex().data()
        QTest.keyClick(view.saved, KEY.Key_Down)
        QTest.keyClick(view.list, KEY.Key_Down)
        QTest.keyClick(view.list, KEY.Key_Down)
        QTest.keyClick(view.list, KEY.Key_Delete)
        return saved, view.list.currentIndex().data()

    assert run(remove()) == ("train", "退订")
    assert [each.query for each in filled.state.recent()] == ["train", "退订"]
    assert QApplication.focusWidget() is view.list


def test_with_the_last_saved_search_removed_the_focus_is_on_a_search_not_on_clear(run, filled):
    window = filled.window
    window.activateWindow()
    view = window.recent_view

    async def remove():
        await save(filled, "osaka")
        filled.search.keep_query()
        window.search_bar.field.clear()
        window.show_searches()
        QTest.keyClick(view.saved, KEY.Key_Delete)
        await until(lambda: not names(filled))
        saved = (QApplication.focusWidget(), view.list.currentIndex().data())
        QTest.keyClick(view.list, KEY.Key_Delete)
        return saved

    assert run(remove()) == (view.list, "osaka")
    assert filled.state.recent() == ()
    assert QApplication.focusWidget() is window.search_bar.field


def test_with_nothing_searched_before_down_goes_to_the_list(run, filled):
    window = filled.window
    window.activateWindow()
    window.search_bar.field.setFocus()

    QTest.keyClick(window.search_bar.field, KEY.Key_Down)

    assert window.sessions_view.hasFocus()


def test_what_another_process_saved_appears(run, filled, profile, tokenizer_path):
    async def elsewhere():
        await filled.store.write(searches.save, "theirs", "osaka", at_ms=1)
        await until(lambda: names(filled) == ["theirs"])

    run(elsewhere())


def test_every_control_of_searching_without_hits_has_a_name(run, filled):
    async def show():
        await save(filled, "osaka")
        await search(filled, "zebra crossing")

    run(show())
    kinds = (QAbstractButton, QLineEdit, QAbstractItemView)
    controls = [
        each
        for kind in kinds
        for each in filled.window.findChildren(kind)
        if each.isVisible() and each.focusPolicy() != Qt.FocusPolicy.NoFocus
    ]
    names_of = [QAccessible.queryAccessibleInterface(each).text(NAME) for each in controls]

    assert {"Saved searches", "Recent searches", "Scan everything"} <= set(names_of)
    assert "" not in names_of


def test_a_query_too_long_to_be_saved_is_refused_in_words(run, filled):
    async def press():
        filled.window.search_bar.field.setText("x" * 2049)
        filled.window.search_bar.field.save.trigger()
        await until(lambda: filled.window.message_bar.notice())

    run(press())

    assert filled.window.message_bar.notice().cause == "This search is too long to be saved."
    assert names(filled) == []
