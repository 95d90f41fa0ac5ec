"""Compiling the CJK tokenizer with whatever C compiler the machine has."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from core.errors import TokenizerError

SOURCE_NAME = "fts5_cjk.c"
COMPILERS = ("cc", "gcc", "clang", "cl")
"""What is tried, in this order, after the command in CC."""

COMPILE_SECONDS = 120

_NO_SOURCE = (
    f"the tokenizer's source {SOURCE_NAME} is not part of this installation; "
    "install Backscroll from its wheel or its source"
)
_NO_HEADER = (
    "SQLite's header sqlite3ext.h is missing; install it (libsqlite3-dev on Debian and Ubuntu, "
    "sqlite-devel on Fedora, sqlite with Homebrew or conda) and try again"
)
_NO_COMPILER = (
    "no C compiler was found ($CC, cc, gcc, clang, cl); install one (build-essential on Debian "
    "and Ubuntu, the Command Line Tools on macOS, the Build Tools for Visual Studio on Windows) "
    "and try again, or name one in CC"
)


def find_source() -> Path:
    """Return the tokenizer's C source: the repository's, or the copy a wheel installs.

    Raises:
        TokenizerError: neither is there.
    """
    places = (
        Path(__file__).resolve().parents[2] / "native" / "fts5_cjk" / SOURCE_NAME,
        Path(sys.prefix, "share", "backscroll", "native", SOURCE_NAME),
    )
    for place in places:
        if place.is_file():
            return place
    raise TokenizerError(_NO_SOURCE)


def compile_library(source: Path, target: Path) -> None:
    """Compile ``source`` into the library ``target`` with the first compiler that can.

    Whatever else the compiler writes goes into the folder of ``target``.

    Raises:
        TokenizerError: no compiler or header is there, or all compilers failed; then with the
            first one's own words.
    """
    failures: list[str] = []
    for compiler in _compilers():
        failure = _run(_command(compiler, source, target), target.parent)
        if failure is None:
            return
        failures.append(f"{compiler[0]}: {failure}")
    if not failures:
        raise TokenizerError(_NO_COMPILER)
    if all("sqlite3ext.h" in failure for failure in failures):
        raise TokenizerError(_NO_HEADER)
    raise TokenizerError(f"the tokenizer does not compile; {failures[0]}")


def _run(command: list[str], folder: Path) -> str | None:
    """Run a compiler in ``folder``; return what it says when it fails."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own compiler, without a shell
            command,
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=COMPILE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else (done.stderr or done.stdout).strip()


def _compilers() -> Iterator[list[str]]:
    """Yield the commands of the compilers on this machine, the user's choice first."""
    chosen = shlex.split(os.environ.get("CC", ""))
    for words in (chosen, *([name] for name in COMPILERS)):
        if words and (program := shutil.which(words[0])):
            yield [str(Path(program).absolute()), *words[1:]]


def _command(compiler: list[str], source: Path, target: Path) -> list[str]:
    """Return the command line; headers of this Python's prefix stand in for missing ones."""
    spare = Path(sys.base_prefix, "include")
    if Path(compiler[0]).stem.lower() in ("cl", "clang-cl"):
        flags = ["/nologo", "/O2", "/LD", f"/I{spare}"]
        return [*compiler, *flags, str(source), f"/Fe{target}", "/link", "/Brepro"]
    flags = ["-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-g0"]
    return [*compiler, *flags, "-idirafter", str(spare), str(source), "-o", str(target)]
