"""Compiling the CJK tokenizer with whatever C compiler the machine has."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

from core.errors import TokenizerError

SOURCE_NAME = "fts5_cjk.c"
COMPILERS = ("cc", "gcc", "clang", "cl")
"""What is tried, in this order, after the command in CC."""

COMPILE_SECONDS = 120
_TICK_S = 0.1
_MOST_SAID = 64 * 1024

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


def compiling(source: Path, target: Path) -> Iterator[str]:
    """Compile ``source`` into the library ``target`` with the first compiler that can.

    Whatever else the compiler writes goes into the folder of ``target``. Yields the log: each
    command, then what it says, line by line; while one works, an empty line every tenth of a
    second, so that whoever waits can do other things. Closing it ends the compiler.

    Raises:
        TokenizerError: no compiler or header is there, or all compilers failed; then with the
            first one's own words.
    """
    failures: list[str] = []
    for compiler in _compilers():
        command = _command(compiler, source, target)
        yield shlex.join(command)
        said: list[str] = []
        code = yield from _running(command, target.parent, said)
        yield from said
        if code == 0:
            return
        failures.append(f"{compiler[0]}: {' '.join(said).strip() or f'exit code {code}'}")
    if not failures:
        raise TokenizerError(_NO_COMPILER)
    if all("sqlite3ext.h" in failure for failure in failures):
        raise TokenizerError(_NO_HEADER)
    raise TokenizerError(f"the tokenizer does not compile; {failures[0]}")


def _running(command: list[str], folder: Path, said: list[str]) -> Generator[str, None, int | None]:
    """Run a compiler in ``folder``, yielding while it works; what it says goes to ``said``.

    Returns:
        Its exit code, None where it could not be started or did not end in time.
    """
    with tempfile.TemporaryFile(dir=folder) as output:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own compiler, without a shell
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        except OSError as error:
            said.append(str(error))
            return None
        try:
            for _ in range(round(COMPILE_SECONDS / _TICK_S)):
                try:
                    process.wait(_TICK_S)
                    break
                except subprocess.TimeoutExpired:
                    yield ""
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
                said.append(f"was ended after {COMPILE_SECONDS} seconds")
        output.seek(0)
        said += output.read(_MOST_SAID).decode(errors="replace").splitlines()
        return process.returncode


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
