"""Taking one safeguard out of the program at a time: some test must fail for each.

A mutant is made in a copy of the program, which is the only one its tests can import.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_COPIED = ("core", "app", "tests", "native", "resources", "pyproject.toml")
_HOOK = """
import sys
# An editable install would find the program where it was installed from.
ours = [each for each in sys.meta_path if not type(each).__name__.startswith("ScikitBuild")]
sys.meta_path[:] = ours
"""
_LONGEST_S = 300
_FAILED = re.compile(r"^\d+ failed", re.MULTILINE)  # how pytest ends; Qt may crash after it


@dataclass(frozen=True)
class Mutant:
    """A safeguard: the text that makes it, the text without it, and the tests that see it go."""

    name: str
    file: str
    text: str
    without: str
    tests: tuple[str, ...]


_UNIT = "tests/unit"
_VIEW = "tests/gui/test_transcript_view.py"
_ERASING = "tests/faults/test_erasing.py"
MUTANTS = (
    Mutant(
        "the docsize gate of deletions",
        "core/store/indexes.py",
        'AFTER DELETE ON messages WHEN {is_indexed}"\n        f" BEGIN {delete_sql',
        'AFTER DELETE ON messages"\n        f" BEGIN {delete_sql',
        (
            f"{_UNIT}/store/test_triggers.py::test_rows_that_were_never_indexed_can_be_deleted",
            "tests/faults/test_model.py",
        ),
    ),
    Mutant(
        "BEGIN IMMEDIATE",
        "core/store/recipe.py",
        'db.execute("BEGIN IMMEDIATE")',
        'db.execute("BEGIN")',
        ("tests/faults/test_writers.py",),
    ),
    Mutant(
        "secure_delete",
        "core/store/recipe.py",
        'Pragma("secure_delete", "ON", 1)',
        'Pragma("secure_delete", "OFF", 0)',
        (_ERASING, f"{_UNIT}/store/test_connection.py"),
    ),
    Mutant(
        "cutting the log to nothing",
        "core/upkeep/purge.py",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "PRAGMA wal_checkpoint(PASSIVE)",
        (f"{_ERASING}::test_a_purge_leaves_nothing_in_the_log_though_others_have_the_store_open",),
    ),
    Mutant(
        "the blank picture",
        "app/views/transcript_view.py",
        "            return self._blank\n",
        "            return None\n",
        (f"{_VIEW}::test_every_resource_but_our_icons_is_one_blank_pixel",),
    ),
    Mutant(
        "waiting for the disk",
        "core/store/recipe.py",
        'Pragma("synchronous", "FULL", 2)',
        'Pragma("synchronous", "OFF", 0)',
        ("tests/faults/test_power_cut.py",),
    ),
    Mutant(
        "recursive triggers",
        "core/store/recipe.py",
        'Pragma("recursive_triggers", "ON", 1)',
        'Pragma("recursive_triggers", "OFF", 0)',
        ("tests/faults/test_model.py",),
    ),
    Mutant(
        "writing the file anew",
        "core/upkeep/purge.py",
        'db.execute("VACUUM")',
        "pass",
        (f"{_ERASING}::test_a_purge_writes_the_file_anew",),
    ),
    Mutant(
        "filling only what is not there",
        "core/index/filling.py",
        " AND id <= ? AND id NOT IN (SELECT id FROM {index.docsize})",
        " AND id <= ?",
        ("tests/faults/test_model.py",),
    ),
    Mutant(
        "the cursor of the backfill",
        "core/index/filling.py",
        '"UPDATE index_state SET cursor = ? WHERE name = ?", (last,',
        '"UPDATE index_state SET cursor = ? + 1 WHERE name = ?", (last,',
        ("tests/faults/test_model.py", f"{_UNIT}/index/test_backfill.py"),
    ),
    Mutant(
        "one transaction for a migration",
        "core/store/connection.py",
        "        with recipe.immediate(db):\n            migrations.upgrade(db)",
        "        if True:\n            migrations.upgrade(db)",
        ("tests/faults/test_migration_faults.py",),
    ),
    Mutant(
        "messages that were stored already",
        "core/history/append.py",
        "        elif same is not None:\n            if _meet_again",
        "        elif same is not None and False:\n            if _meet_again",
        ("tests/faults/test_kills.py",),
    ),
    Mutant(
        "words for a full disk",
        "core/store/errors.py",
        "case apsw.FullError():",
        "case apsw.FullError() if False:",
        ("tests/faults/test_full_disk.py",),
    ),
    Mutant(
        "the refusal of an SQLite that loses commits",
        "core/store/recipe.py",
        "numbers < (3, 51, 3)",
        "numbers < (3, 7, 0)",
        ("tests/faults/test_safe_ground.py",),
    ),
    Mutant(
        "private files",
        "core/paths.py",
        "    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))",
        "    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))",
        ("tests/faults/test_safe_ground.py",),
    ),
)


def copy_program(folder: Path) -> Path:
    """Copy what the tests need into `folder`; return the folder of the copy."""
    for name in _COPIED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(_HOOK)
    found = _python(folder, "-c", "import core, app; print(core.__file__, app.__file__)")
    told = found.stdout + found.stderr
    assert told.count(str(folder)) == 2, f"another program is imported: {told}"
    return folder


def mutate(copy: Path, mutant: Mutant) -> None:
    """Take the safeguard out of the copy.

    Raises:
        AssertionError: its text does not stand there just once: the mutant is out of date.
    """
    path = copy / mutant.file
    whole = path.read_text(encoding="utf-8")
    assert whole.count(mutant.text) == 1, f"{mutant.name}: look at {mutant.file} again"
    path.write_text(whole.replace(mutant.text, mutant.without), encoding="utf-8")


def outcome_of(copy: Path, tests: tuple[str, ...]) -> tuple[int, str]:
    """Run some tests in the copy; return pytest's exit code and what it printed."""
    ran = _python(copy, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests)
    return ran.returncode, ran.stdout + ran.stderr


def is_caught(told: str) -> bool:
    """Tell whether tests ran and failed; an error of pytest itself is none."""
    return _FAILED.search(told) is not None


def _python(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join((str(folder / "hook"), str(folder))),
        "BACKSCROLL_FAULTS": "short",
        "QT_QPA_PLATFORM": "offscreen",
    }
    for name in ("BACKSCROLL_FAULTS_FIGURES", "PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST"):
        environment.pop(name, None)
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_LONGEST_S,
    )
