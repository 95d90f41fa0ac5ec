"""The CJK tokenizer's library: where it is, whether it works, and how it is built.

It is never compiled while something is searched. A program without it works on, and says so.
"""

import ctypes
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import apsw

from core import paths
from core.errors import TokenizerError
from core.index import compiling, reference
from core.index.machine import is_cut_short, machine_of, our_machine
from core.store.recipe import load_tokenizer as load
from core.store.tokenizer_probe import ARGUMENTS, TOKENIZER, fingerprint
from core.types import TokenizerStatus
from core.unicode61 import tokenize_option

__all__ = ["build", "fingerprint", "load", "locate", "verify"]

VARIABLE = "BACKSCROLL_FTS5_CJK"
"""The environment variable that names the library; one that does not exist means: without."""

LIBRARY_NAME = "libfts5_cjk" + {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
INSTALL_FOLDER = Path("lib", "backscroll")

_PROGRAM = Path(__file__).resolve().parents[2]
_ACCEPTANCE_TEXT = "电影订阅成功"
_ACCEPTANCE_QUERY = "订阅"


def locate() -> Path | None:
    """Return the absolute path of the library this process is to use, None for none.

    What `BACKSCROLL_FTS5_CJK` names goes before everything and alone. Else it is the first
    below `sys.prefix`, in the program's own folder, in the data folder. Passed over is what
    another user could have put there, what is made for another machine, and what is cut
    short: loading it would run what it holds, fail, or end the process.
    """
    for place in _places():
        if place.is_file() and _objection(place) is None:
            return place
    return None


def verify(path: Path | None) -> TokenizerStatus:
    """Try the library at ``path`` on a connection of its own and say what was found.

    `reason` is always a sentence. `loads` with a wrong `fingerprint` is no failure here: the
    store compares fingerprints with the one that made its index.
    """
    if path is None:
        return _failed(None, _why_none())
    if not path.is_file():
        return _failed(path, f"there is no file {path}")
    if (objection := _objection(path)) is not None:
        return _failed(path, objection)
    db = apsw.Connection(":memory:")
    try:
        load(db, path)
        return _tried(db, path)
    except TokenizerError as error:
        return _failed(path, _why_not_loaded(path, error))
    finally:
        db.close()


def build(prefix: Path) -> TokenizerStatus:
    """Compile the library into ``<prefix>/lib/backscroll``, unless the right one is there.

    The new library takes its name only after it was loaded and cut the probe text as it
    should; until then, and on any failure, what was there stays. A process that has loaded the
    old one goes on with it until it ends. Takes about a second.

    Raises:
        TokenizerError: no source, compiler or header; the folder cannot be written; the
            result is not right. The sentence says what to do.
    """
    folder = prefix.absolute() / INSTALL_FOLDER
    target = folder / LIBRARY_NAME
    expected = reference.expected_fingerprint()
    found = verify(target)
    if found.acceptance and found.fingerprint == expected:
        return found
    source = compiling.find_source()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=".build-", dir=folder, ignore_cleanup_errors=True
        ) as scratch:
            made = Path(scratch, LIBRARY_NAME)
            compiling.compile_library(source, made)
            status = verify(made)
            if not status.acceptance or status.fingerprint != expected:
                raise TokenizerError(f"the compiled tokenizer is not right: {status.reason}")
            made.replace(target)
            return replace(status, path=str(target), reason=f"{target} works")
    except OSError as error:
        raise TokenizerError(
            f"{folder} cannot be written ({error.strerror}); choose another place with --venv"
        ) from error


def _places() -> Iterator[Path]:
    named = os.environ.get(VARIABLE)
    if named is not None:
        yield Path(named).absolute()
        return
    yield Path(sys.prefix).absolute() / INSTALL_FOLDER / LIBRARY_NAME
    yield _PROGRAM / INSTALL_FOLDER / LIBRARY_NAME
    yield paths.data_dir() / "lib" / LIBRARY_NAME


def _objection(path: Path) -> str | None:
    """Return why the file must not even be tried, None when it may be."""
    made_for, ours = machine_of(path), our_machine()
    if made_for is None:
        return f"{path} is not a library"
    if is_cut_short(path):
        return f"{path} is cut short, so it is not loaded"
    if ours is not None and made_for != ours:
        return f"{path} is made for {made_for}, this program runs on {ours}"
    if os.name != "posix":
        return None
    for place in (path.resolve(), path.resolve().parent):
        found = place.stat()
        if found.st_uid not in (0, os.geteuid()):
            return f"{place} belongs to another user, so it is not loaded"
        if found.st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
            return f"{place} can be written to by every user, so it is not loaded"
    return None


def _failed(path: Path | None, reason: str, *, loads: bool = False) -> TokenizerStatus:
    return TokenizerStatus(
        path=None if path is None else str(path),
        loads=loads,
        acceptance=False,
        fingerprint=None,
        version=None,
        reason=reason,
    )


def _why_none() -> str:
    named = os.environ.get(VARIABLE)
    if named is not None and not Path(named).is_file():
        return f"{VARIABLE} names {named or 'nothing'}, which does not exist: run without it"
    for place in _places():
        if place.is_file() and (objection := _objection(place)) is not None:
            return objection
    looked = ", ".join(str(place.parent) for place in _places())
    return f"{LIBRARY_NAME} is in none of {looked}; `backscroll install cjk` builds it"


def _why_not_loaded(path: Path, error: TokenizerError) -> str:
    """Say in words why the operating system, or SQLite, would not take the library."""
    try:
        ctypes.CDLL(str(path))  # SQLite hides the system's own words
    except OSError as refusal:
        return f"the operating system refuses {path}: {refusal}"
    return f"{path} is a library, but not the CJK tokenizer: {error}"


def _tried(db: apsw.Connection, path: Path) -> TokenizerStatus:
    """Return what a connection that has loaded the library makes of it."""
    try:
        version = db.execute("SELECT fts5_cjk_version()").get
        cut = fingerprint(db)
        accepted = _accepts(db)
    except apsw.Error as error:
        return _failed(path, f"{path} loads, but does not work: {error}", loads=True)
    if not accepted:
        reason = f"{path} loads, but an index of {_ACCEPTANCE_TEXT} misses {_ACCEPTANCE_QUERY}"
    elif cut != reference.expected_fingerprint():
        reason = (
            f"{path} works, but cuts texts otherwise than this version of the program expects; "
            "`backscroll install cjk` replaces it"
        )
    else:
        reason = f"{path} works"
    return TokenizerStatus(
        path=str(path),
        loads=True,
        acceptance=accepted,
        fingerprint=cut,
        version=str(version),
        reason=reason,
    )


def _accepts(db: apsw.Connection) -> bool:
    """Tell whether a word inside a run is found in an index made by this tokenizer."""
    tokenize = tokenize_option((TOKENIZER, *ARGUMENTS))
    db.execute(f"CREATE VIRTUAL TABLE temp.acceptance USING fts5(text, {tokenize})")
    db.execute("INSERT INTO acceptance VALUES (?)", (_ACCEPTANCE_TEXT,))
    found = db.execute("SELECT count(*) FROM acceptance WHERE text MATCH ?", (_ACCEPTANCE_QUERY,))
    return bool(found.get == 1)
