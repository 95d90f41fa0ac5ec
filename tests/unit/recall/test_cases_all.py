"""Every recorded case of a kind that this program answers for is a test somewhere."""

import re
from types import ModuleType
from typing import Any

from tests.unit.recall import test_cases_tool, test_cases_view
from tests.unit.search import cases, test_cases, test_cases_language

MODULES = (test_cases, test_cases_language, test_cases_tool, test_cases_view)
KINDS = {"search", "sanitize", "relax", "tool", "view", "title", "id", "deadline"}

DIFFERENT = {
    # What differs on purpose is tested as it is here; the tests say why beside the case.
    "S26": test_cases.OTHERWISE,
    "H102": test_cases.HERMES_OTHERWISE,
    "H191": test_cases_view.test_a_missing_anchor_is_an_error_and_not_an_empty_view,
}

_ID = re.compile(r"[A-Z]\d{2,3}")
_IN_A_NAME = re.compile(r"test_([hs]\d{2,3})_")


def ids_run_by(module: ModuleType) -> set[str]:
    """The ids of the cases that a module's tests run: by their parameters, or by their name."""
    found: set[str] = set()
    for name, test in vars(module).items():
        if not name.startswith("test_"):
            continue
        if named := _IN_A_NAME.match(name):
            found.add(named[1].upper())
        for mark in getattr(test, "pytestmark", ()):
            if mark.name == "parametrize":
                found.update(each for value in mark.args[1] if (each := _id_of(value)))
    return found


def _id_of(value: Any) -> str | None:
    if isinstance(value, dict):
        return str(value["id"])
    if isinstance(value, tuple):
        return _id_of(value[0])
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def test_no_case_is_left_out():
    hermes = cases.read("hermes_cases.jsonl").values()
    public = cases.read("public_cases.jsonl").values()
    wanted = {case["id"] for case in hermes if case["kind"] in KINDS}
    wanted |= {case["id"] for case in public if case["id"].startswith("S")}
    assert len(wanted) > 200
    found = set[str]().union(*map(ids_run_by, MODULES))
    assert wanted - found == set()
    assert set(DIFFERENT) <= found
