"""The C source compiles without a warning, and holds under sanitizers and faults."""

import shutil
import subprocess
from pathlib import Path

import pytest

from core.index import tokenizer

NATIVE = Path(__file__).parents[2] / "native" / "fts5_cjk"
STRICT = [
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wpedantic",
    "-Werror",
]
HERE = [name for name in ("gcc", "clang") if shutil.which(name)]


@pytest.mark.parametrize("compiler", HERE)
def test_it_compiles_without_a_warning(compiler, tmp_path):
    done = subprocess.run(
        [compiler, *STRICT, "-O2", "-c", NATIVE / "fts5_cjk.c", "-o", tmp_path / "fts5_cjk.o"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_only_the_entry_point_is_exported(library):
    done = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    )
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["sqlite3_ftscjk_init"]


def test_two_builds_are_the_same_bytes(library, tmp_path):
    again = Path(tokenizer.build(tmp_path).path)
    assert again.read_bytes() == library.read_bytes()


def test_fuzzing_and_failing_allocations_find_nothing():
    """A moment of what `make fuzz` does for longer."""
    done = subprocess.run(
        [NATIVE / "fuzz" / "run.sh", "2"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "faults, no finding" in done.stdout
