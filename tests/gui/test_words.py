"""What is said in words: numbers, dates, errors, the path of an answer."""

from datetime import date

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QLabel, QWidget

import app.qt_guard
from app import formatting
from app.controllers.import_words import report_notice, source_outcome
from app.messages import describe, known_codes
from app.qt_guard import QtUnsafeError, check_qt
from app.views.path_facts import Shown, coverage, left_out, result_facts
from app.views.why_popup import WhyPopup
from core.errors import CoreError, SchemaTooNewError, SourceError
from core.types import BadRecord, FileReport, ImportReport, IndexStatus, SearchRequest
from tests.gui.values import hit, result

TODAY = date(2026, 11, 29)


@pytest.fixture
def in_locale():
    """Switch the locale for one test."""
    before = QLocale()
    yield lambda name: QLocale.setDefault(QLocale(name))
    QLocale.setDefault(before)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("en_GB", "27 Nov"),
        ("en_US", "Nov 27"),
        ("zh_CN", "11月27日"),
        ("zh_TW", "11月27日"),
        ("ja_JP", "11月27日"),
        ("ko_KR", "11월 27일"),
        ("de_DE", "27. Nov."),
        ("fr_FR", "27 nov."),
    ],
)
def test_a_day_is_written_as_the_locale_writes_it_without_the_year(in_locale, name, expected):
    in_locale(name)

    assert formatting.day_month(date(2026, 11, 27)) == expected


def test_the_agenda_names_near_days_and_gives_far_ones_their_year(in_locale):
    in_locale("en_GB")

    days = [date(2026, 11, 29), date(2026, 11, 28), date(2026, 11, 27), date(2024, 2, 3)]

    assert [formatting.agenda_day(day, TODAY) for day in days] == [
        ("Today", "29 Nov"),
        ("Yesterday", "28 Nov"),
        ("Fri", "27 Nov"),
        ("3 Feb", "2024"),
    ]


def test_coverage_that_is_not_whole_is_never_rounded_up_to_100(in_locale):
    in_locale("en_GB")

    assert [formatting.percent(x) for x in (1.0, 0.9999, 0.29, 0.0)] == [
        "100 %",
        "99 %",
        "29 %",
        "0 %",
    ]


def test_times_and_sizes_carry_their_unit(in_locale):
    in_locale("en_GB")

    assert [formatting.elapsed(ms) for ms in (0.84, 120.4, 2100)] == ["0.8 ms", "120 ms", "2.1 s"]
    assert [formatting.size(n) for n in (900, 31_400_000, 4_200_000_000)] == [
        "900 bytes",
        "31 MB",
        "4.2 GB",
    ]
    assert [formatting.remaining(s) for s in (0.2, 11, 240, 7300)] == [
        "about 1 s",
        "about 11 s",
        "about 4 min",
        "about 2 h",
    ]


def error_classes(base=CoreError):
    for each in base.__subclasses__():
        yield each
        yield from error_classes(each)


def test_every_expected_error_has_a_sentence(qapp):
    assert app.qt_guard.QtMissingError in set(error_classes())
    codes = {each.code for each in error_classes()} | {CoreError.code, "timeout"}

    assert codes - known_codes() == set()


def test_an_error_is_said_with_cause_and_consequence_and_its_details_name_the_place(qapp):
    words = describe(SourceError("no JSON", path="/tmp/a.jsonl", line=7))

    assert words.kind == "err"
    assert words.cause == "This cannot be imported."
    assert words.details == "source: no JSON\n/tmp/a.jsonl:7"


def test_a_newer_store_is_said_to_be_readable(qapp):
    words = describe(SchemaTooNewError(9, 1))

    assert words.cause == "The store was written by a later version of Backscroll."
    assert "read and search" in words.consequence


def shown(hits, sessions=None, **request):
    return Shown(SearchRequest("电影退订", **request), hits, sessions)


def test_facts_come_in_their_order(in_locale, qapp):
    in_locale("en_GB")
    answer = result(
        total_hits=212, hits=(hit(1, "x"),), not_searched={"rewound": 6, "hidden": 0, "x_y": 2}
    )

    facts = [(fact.strong + " " + fact.text).strip() for fact in result_facts(answer, shown(1, 38))]

    assert facts == [
        "212 hits in 38 sessions",
        "1.4 ms",
        "covers 100 %",
        "complete",
        "not searched: 6 rewound messages, 2 x y",
        "Why?",
    ]


def test_while_not_all_hits_are_loaded_no_number_of_sessions_is_claimed(in_locale, qapp):
    in_locale("en_GB")
    answer = result(total_hits=1204, hits=(hit(1, "x"), hit(2, "y")), total_is_exact=False)

    first = result_facts(answer, shown(2))[0]

    assert (first.strong, first.text) == ("up to 1,204 hits", "first 2 shown")


def test_an_answer_cut_off_by_the_deadline_says_so(qapp):
    answer = result(complete=False, reason="query_timeout")

    assert "partial: stopped at the time limit" in [
        f.text for f in result_facts(answer, shown(0, 0))
    ]


def test_old_history_that_is_not_moved_in_completely_is_said_in_the_bar_and_behind_why(qapp):
    words = "old history is not moved in completely"
    pending = result(total_hits=1, hits=(hit(1, "x"),), legacy_complete=False)
    parent = QWidget()

    assert words in [f.text for f in result_facts(pending, shown(1))]
    assert words not in [f.text for f in result_facts(result(), shown(1))]
    for answer, is_told in ((pending, True), (result(), False)):
        popup = WhyPopup(answer, SearchRequest("x"), parent)
        told = [label.text() for label in popup.findChildren(QLabel)]
        assert any("still being moved in" in each for each in told) is is_told


def test_the_coverage_said_is_that_of_the_index_that_answered(qapp):
    half = IndexStatus("messages_fts_cjk", "building", 0.5, 1, 1, 0, None, "")
    answer = result(index_status={"messages_fts_cjk": half})

    assert coverage(answer) == 0.5


def test_what_can_be_included_says_what_to_include(qapp):
    found = left_out({"trashed": 1, "unindexed": 3})

    assert [(each.words, each.include) for each in found] == [
        ("1 message in the trash", "trash"),
        ("3 messages not indexed yet", ""),
    ]


def report(*files, new=0):
    failed = sum(file.outcome == "failed" for file in files)
    return ImportReport(new, 0, 0, failed, files)


def test_an_import_with_a_broken_record_is_a_warning_that_names_it(qapp):
    bad = FileReport("/a.jsonl", "new", 1, 2, None, (BadRecord("/a.jsonl", 3, "not JSON"),))
    words = report_notice(report(bad, new=2))

    assert (words.kind, words.cause) == ("warn", "Imported 2 new messages.")
    assert words.consequence == "1 broken record."
    assert words.details == "/a.jsonl:3: not JSON"


def test_a_place_of_which_nothing_could_be_read_has_failed(qapp):
    outcome = source_outcome(report(FileReport("/a", "failed", reason="no such format")), 0.1)

    assert (outcome["state"], outcome["note"]) == ("failed", "no such format")


@pytest.mark.parametrize("version", ["6.12.0", "6.12.1"])
def test_the_pair_that_crashes_is_refused_in_words(version):
    with pytest.raises(QtUnsafeError, match=rf"PySide6 {version} crashes on Python 3\.11"):
        check_qt(version, (3, 11))


@pytest.mark.parametrize(("version", "python"), [("6.11.3", (3, 11)), ("6.12.0", (3, 12))])
def test_pairs_that_work_are_let_through(version, python):
    check_qt(version, python)
