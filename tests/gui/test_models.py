from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from app.models.hits import HitGroup, HitsModel
from app.models.recent import RecentModel
from app.models.sessions import SessionsModel
from app.models.sources import SourcesModel
from app.view_state import RecentSearch
from core.types import FoundSource
from tests.gui.values import hit, session

TEXT = Qt.ItemDataRole.DisplayRole


def watched(model):
    """Qt's own checks of a model, which fail the test by a warning."""
    return QAbstractItemModelTester(
        model, QAbstractItemModelTester.FailureReportingMode.Warning, model
    )


def group(session_id, *snippets):
    hits = tuple(
        hit(10 * session_id + n, each, session_id=session_id) for n, each in enumerate(snippets)
    )
    return HitGroup(session_id, f"Title {session_id}", (), "codex", "infra", 0, hits)


def found(path, *, importable=True):
    return FoundSource("codex", path, "Codex", 3, 1000, importable, None if importable else "gone")


def test_sessions_are_listed_and_the_next_page_follows_below(qtbot):
    model = SessionsModel()
    watched(model)
    model.replace([session(1), session(2)], complete=False)

    with qtbot.waitSignal(model.more_wanted):
        model.fetchMore()
    model.append([session(3)], complete=True)

    assert [model.index(row).data(TEXT) for row in range(model.rowCount())] == [
        "Conversation 1",
        "Conversation 2",
        "Conversation 3",
    ]
    assert not model.canFetchMore()


def test_a_page_is_asked_for_once(qtbot):
    model = SessionsModel()
    model.replace([session(1)], complete=False)
    asked = []
    model.more_wanted.connect(lambda: asked.append(1))

    while model.canFetchMore():
        model.fetchMore()

    assert asked == [1]


def test_the_first_session_of_each_day_is_known(qapp):
    model = SessionsModel()
    days = (0, 0, 1, 1, 5)
    model.replace([session(n, days_ago=ago) for n, ago in enumerate(days)], complete=True)

    firsts = [model.index(row).data(SessionsModel.FirstOfDayRole) for row in range(5)]

    assert firsts == [True, False, True, False, True]


def test_control_and_bidi_characters_of_titles_are_shown_as_marks(qapp):
    model = SessionsModel()
    model.replace([session(1, title="a\u202eb\nc\x1bd")], complete=True)

    assert model.index(0).data(TEXT) == "a\ufffdb␊c␛d"


def test_a_session_is_spoken_with_source_project_count_and_time(qapp):
    model = SessionsModel()
    model.replace([session(1, pinned_at_ms=5)], complete=True)

    spoken = model.index(0).data(Qt.ItemDataRole.AccessibleTextRole)

    assert spoken.startswith("Conversation 1, Codex, feed-reader, 4 messages, ")
    assert spoken.endswith("pinned")


def test_what_one_reader_reads_of_several_programs_is_spoken_with_the_program(qapp):
    sessions = SessionsModel()
    sessions.replace([session(1, source="pi", program="Oh-My-Pi\u202e")], complete=True)

    spoken = sessions.data(sessions.index(0), Qt.ItemDataRole.AccessibleTextRole)
    assert "Oh-My-Pi" in spoken
    assert "\u202e" not in spoken


def test_hits_stand_below_the_row_of_their_session(qapp):
    model = HitsModel()
    watched(model)
    model.replace([group(1, "one", "two"), group(2, "three")], complete=True)

    shown = [model.index(row).data(TEXT) for row in range(model.rowCount())]

    assert shown == ["Title 1", "one", "two", "Title 2", "three"]


def test_folding_a_group_hides_its_hits_and_unfolding_shows_them_again(qapp):
    model = HitsModel()
    watched(model)
    model.replace([group(1, "one", "two"), group(2, "three")], complete=True)

    model.toggle(0)
    folded = [model.index(row).data(TEXT) for row in range(model.rowCount())]
    model.toggle(0)

    assert folded == ["Title 1", "Title 2", "three"]
    assert model.rowCount() == 5


def test_later_pages_of_hits_never_move_rows_that_are_shown(qapp):
    model = HitsModel()
    watched(model)
    model.replace([group(1, "one")], complete=False)
    before = [model.index(row).data(TEXT) for row in range(model.rowCount())]

    model.append([group(1, "later")], complete=True)

    assert [model.index(row).data(TEXT) for row in range(2)] == before
    assert model.index(3).data(TEXT) == "later"


def test_the_row_of_a_message_is_found(qapp):
    model = HitsModel()
    model.replace([group(1, "one", "two")], complete=True)

    assert (model.row_of(11), model.row_of(99)) == (2, -1)


def test_what_can_be_imported_is_chosen_and_can_be_left_out(qapp):
    model = SourcesModel()
    watched(model)
    model.replace([found("/a"), found("/b", importable=False)])
    first = model.chosen()

    model.toggle(0)
    model.toggle(1)

    assert (first, model.chosen()) == ([0], [])
    assert model.index(1).data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Unchecked


def test_a_place_added_twice_is_listed_once(qapp):
    model = SourcesModel()
    watched(model)
    model.replace([found("/a")])
    model.add([found("/a"), found("/c")])

    assert [row.found.path for row in model.rows()] == ["/a", "/c"]


def test_what_was_imported_is_read_again_only_when_nothing_else_is_chosen(qapp):
    model = SourcesModel()
    model.replace([found("/a"), found("/c")])
    model.update(0, state="imported")

    others_wait = model.chosen()
    model.update(1, state="imported")

    assert (others_wait, model.chosen()) == ([1], [0, 1])


def test_recent_searches_are_spoken_with_their_hits(qapp):
    model = RecentModel()
    watched(model)
    model.replace([RecentSearch("订阅", 212), RecentSearch("a\nb", 1)])

    spoken = [model.index(row).data(Qt.ItemDataRole.AccessibleTextRole) for row in range(2)]

    assert spoken == ["订阅, 212 hits", "a b, 1 hit"]
    assert model.row_of("订阅") == 0
