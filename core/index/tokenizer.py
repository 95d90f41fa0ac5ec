"""The CJK tokenizer's library: where it is, whether it works, and how it is built.

It is never compiled while something is searched. A program without it works on, and says so.
"""

import contextlib
import ctypes
import os
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import apsw

from core import paths
from core.errors import TokenizerError
from core.index import compiling, library, reference
from core.index.library import INSTALL, Objection
from core.index.machine import machine_of
from core.store.recipe import load_tokenizer as load
from core.store.tokenizer_probe import ARGUMENTS, TOKENIZER, fingerprint
from core.types import TokenizerStatus
from core.unicode61 import tokenize_option

__all__ = [
    "build",
    "building",
    "fingerprint",
    "inspect",
    "installed_in",
    "load",
    "locate",
    "verify",
]

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
        if library.objection_to(place) is None:
            return place
    return None


def installed_in(prefix: Path) -> Path:
    """Return where `build` puts the library for an environment, whether it is there or not."""
    return prefix.absolute() / INSTALL_FOLDER / LIBRARY_NAME


def inspect(path: Path | None) -> TokenizerStatus:
    """Say what the file at ``path`` is, without loading it: at best it is `found`."""
    if path is None:
        return _failed(None, _why_none())
    objection = library.objection_to(path)
    if objection is None:
        objection = Objection("found", f"{path} is there; it has not been tried", "")
    return _failed(path, objection)


def verify(path: Path | None) -> TokenizerStatus:
    """Try the library at ``path`` on a connection of its own and say what was found.

    `reason` is always a sentence. `loads` with a wrong `fingerprint` is no failure here: the
    store compares fingerprints with the one that made its index.
    """
    found = inspect(path)
    if path is None or found.state != "found":
        return found
    db = apsw.Connection(":memory:")
    started = time.perf_counter()
    try:
        load(db, path)
        load_ms = (time.perf_counter() - started) * 1000
        return replace(_tried(db, path, found), load_ms=load_ms)
    except TokenizerError as error:
        return _failed(path, _why_not_loaded(path, error))
    finally:
        db.close()


def build(prefix: Path) -> TokenizerStatus:
    """Do as `building` to its end."""
    steps = building(prefix)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: TokenizerStatus = end.value
            return found


def building(prefix: Path) -> Generator[str, None, TokenizerStatus]:
    """Compile the library into ``<prefix>/lib/backscroll``, unless the right one is there.

    The new library takes its name only after it was loaded and cut the probe text as it
    should; until then, and on any failure, what was there stays. A process that has loaded the
    old one goes on with it until it ends. Takes about a second.

    Yields:
        The log: what is done and what compilers say, line by line; an empty line now and then
        while one of them works.

    Raises:
        TokenizerError: no source, compiler or header; the folder cannot be written; the
            result is not right. The sentence says what to do.
    """
    target = installed_in(prefix)
    found = verify(target)
    if found.state == "verified":
        yield f"{target} is right already"
        _pin(target)
        return found
    yield f"{found.reason}; building it"
    source = compiling.find_source()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=".build-", dir=target.parent, ignore_cleanup_errors=True
        ) as scratch:
            made = Path(scratch, LIBRARY_NAME)
            yield from compiling.compiling(source, made)
            status = verify(made)
            if status.state != "verified":
                raise TokenizerError(f"the compiled tokenizer is not right: {status.reason}")
            yield f"loaded in {status.load_ms:.1f} ms; cuts {_ACCEPTANCE_TEXT} as it should"
            library.pin_of(target).unlink(missing_ok=True)  # else the new one is a changed one
            made.replace(target)
            _pin(target)
            yield f"{target} works"
            return replace(status, path=str(target), reason=f"{target} works")
    except OSError as error:
        raise TokenizerError(
            f"{target.parent} cannot be written ({error.strerror});"
            " choose another place with --venv"
        ) from error


def _pin(target: Path) -> None:
    """Pin the library where its folder can be written; elsewhere nobody can change it either."""
    with contextlib.suppress(PermissionError):
        library.pin(target)


def _places() -> Iterator[Path]:
    named = os.environ.get(VARIABLE)
    if named is not None:
        yield Path(named).absolute()
        return
    yield Path(sys.prefix).absolute() / INSTALL_FOLDER / LIBRARY_NAME
    yield _PROGRAM / INSTALL_FOLDER / LIBRARY_NAME
    yield paths.data_dir() / "lib" / LIBRARY_NAME


def _failed(path: Path | None, objection: Objection, *, loads: bool = False) -> TokenizerStatus:
    is_file = path is not None and path.is_file()
    return TokenizerStatus(
        path=None if path is None else str(path),
        loads=loads,
        acceptance=False,
        fingerprint=None,
        version=None,
        reason=objection.reason,
        state=objection.state,
        next_step=objection.next_step,
        built_for=machine_of(path) if path is not None and is_file else None,
        sha256=library.sha256_of(path) if path is not None and is_file else None,
        sqlite_version=apsw.sqlite_lib_version(),
    )


def _why_none() -> Objection:
    named = os.environ.get(VARIABLE)
    if named is not None and not (named and Path(named).exists()):
        reason = f"{VARIABLE} names {named or 'nothing'}, which does not exist: run without it"
        return Objection("missing", reason, f"Let {VARIABLE} name a library, or unset it")
    for place in _places():
        objection = library.objection_to(place)
        if objection is not None and objection.state != "missing":
            return objection
    looked = ", ".join(str(place.parent) for place in _places())
    return Objection("missing", f"{LIBRARY_NAME} is in none of {looked}", f"Build it: {INSTALL}")


def _why_not_loaded(path: Path, error: TokenizerError) -> Objection:
    """Say in words why the operating system, or SQLite, would not take the library."""
    try:
        ctypes.CDLL(str(path))  # SQLite hides the system's own words
    except OSError as refusal:
        return library.refusal_of(path, str(refusal))
    return Objection(
        "unusable",
        f"{path} is a library, but not the CJK tokenizer: {error}",
        f"Build it again: {INSTALL}",
    )


def _tried(db: apsw.Connection, path: Path, found: TokenizerStatus) -> TokenizerStatus:
    """Return what a connection that has loaded the library makes of it."""
    replaced = f"Build this version's: {INSTALL}"
    try:
        version = db.execute("SELECT fts5_cjk_version()").get
        cut = fingerprint(db)
        accepted = _accepts(db)
    except apsw.Error as error:
        reason = f"{path} loads, but does not work: {error}"
        return _failed(path, Objection("unusable", reason, replaced), loads=True)
    if not accepted:
        reason = f"{path} loads, but an index of {_ACCEPTANCE_TEXT} misses {_ACCEPTANCE_QUERY}"
        verdict = Objection("unusable", reason, replaced)
    elif cut != reference.expected_fingerprint():
        reason = f"{path} works, but cuts texts otherwise than this version of the program expects"
        verdict = Objection("wrong_hash", reason, replaced)
    else:
        verdict = Objection("verified", f"{path} works", "")
    return replace(
        found,
        loads=True,
        acceptance=accepted,
        fingerprint=cut,
        version=str(version),
        reason=verdict.reason,
        state=verdict.state,
        next_step=verdict.next_step,
    )


def _accepts(db: apsw.Connection) -> bool:
    """Tell whether a word inside a run is found in an index made by this tokenizer."""
    tokenize = tokenize_option((TOKENIZER, *ARGUMENTS))
    db.execute(f"CREATE VIRTUAL TABLE temp.acceptance USING fts5(text, {tokenize})")
    db.execute("INSERT INTO acceptance VALUES (?)", (_ACCEPTANCE_TEXT,))
    found = db.execute("SELECT count(*) FROM acceptance WHERE text MATCH ?", (_ACCEPTANCE_QUERY,))
    return bool(found.get == 1)
