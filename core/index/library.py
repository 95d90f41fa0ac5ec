"""What a library's file tells before it is loaded: whether it may be, and if not, what to do."""

import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from core.index.machine import is_cut_short, machine_of, our_machine
from core.types import TokenizerState

INSTALL = "backscroll install cjk"
_PIN_BYTES = 64


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a library is not to be used, as state and in words, and what can be done."""

    state: TokenizerState
    reason: str
    next_step: str


def objection_to(path: Path) -> Objection | None:
    """Return why the file must not even be tried, None when it may be.

    Loading it would run what another user put there, fail, or end the process.
    """
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            return _unusable(f"{path} is a folder, not a library")
        if not stat.S_ISREG(found.st_mode):
            return _unusable(f"{path} is no regular file")
        with path.open("rb"):
            pass
        return _unsafe(path) or _made_otherwise(path) or _changed(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return Objection(
                "missing", f"there is no file {path}", f"Build it there or elsewhere: {INSTALL}"
            )
        return Objection(
            "refused",
            f"{path} cannot be read: {error.strerror}",
            f"Let this user read it, or build another one: {INSTALL}",
        )


def sha256_of(path: Path) -> str | None:
    """Return the SHA-256 of a file in hexadecimal digits, None where it cannot be read."""
    try:
        with path.open("rb") as library:
            return hashlib.file_digest(library, "sha256").hexdigest()
    except OSError:
        return None


def pin_of(path: Path) -> Path:
    """Return the file beside a library that holds the SHA-256 of the one that was verified."""
    return path.with_name(f"{path.name}.sha256")


def pin(path: Path) -> None:
    """Note that the library is right as it is now: one that changes later is not loaded.

    Raises:
        OSError: the note cannot be written.
    """
    digest = sha256_of(path)
    if digest is not None and _pinned(path) != digest:
        made = pin_of(path).with_suffix(f".new-{os.getpid()}")
        made.write_text(f"{digest}\n", encoding="ascii")
        made.replace(pin_of(path))


def _pinned(path: Path) -> str | None:
    try:
        with pin_of(path).open(encoding="ascii", errors="replace") as note:
            return note.read(_PIN_BYTES)
    except OSError:
        return None


def _unusable(reason: str) -> Objection:
    return Objection("unusable", reason, f"Build it again: {INSTALL}")


def _made_otherwise(path: Path) -> Objection | None:
    made_for, ours = machine_of(path), our_machine()
    if made_for is None:
        return _unusable(f"{path} is not a library")
    if is_cut_short(path):
        return _unusable(f"{path} is cut short, so it is not loaded")
    if ours is not None and made_for != ours:
        return Objection(
            "wrong_architecture",
            f"{path} is made for {made_for}, this program runs on {ours}",
            f"Build one for this machine: {INSTALL}",
        )
    return None


def _unsafe(path: Path) -> Objection | None:
    if os.name != "posix":
        return None
    for place in (path.resolve(), path.resolve().parent):
        found = place.stat()
        if found.st_uid not in (0, os.geteuid()):
            return Objection(
                "refused",
                f"{place} belongs to another user, so it is not loaded",
                f"Make it yours, or build another one in an environment of yours: {INSTALL}",
            )
        if found.st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
            return Objection(
                "refused",
                f"{place} can be written to by every user, so it is not loaded",
                f"Take that right away (chmod o-w), then build it again: {INSTALL}",
            )
    return None


def _changed(path: Path) -> Objection | None:
    """Object to a file that is not the one which was verified when it was put there."""
    pinned = _pinned(path)
    if pinned is None or pinned == sha256_of(path):
        return None
    return Objection(
        "wrong_hash",
        f"{path} has changed since it was built and verified, so it is not loaded",
        f"Find out what changed it; a new one is built by: {INSTALL}",
    )


def refusal_of(path: Path, words: str) -> Objection:
    """Return what the operating system's own words for not loading a library mean."""
    reason = f"the operating system refuses {path}: {words}"
    if is_on_noexec(path):
        return Objection(
            "refused",
            f"{reason} (it lies on a file system that is mounted noexec)",
            f"Put it on another file system: {INSTALL} --venv DIR; or mount this one with exec",
        )
    told = words.lower()
    if "permission denied" in told or "not permitted" in told or "selinux" in told:
        return Objection(
            "refused",
            reason,
            "A security policy forbids it (SELinux: look with ls -Z and ausearch, then"
            f" restorecon; AppArmor: its profile), or put it elsewhere: {INSTALL} --venv DIR",
        )
    return Objection(
        "refused", reason, f"Install what it misses, or build it for this system: {INSTALL}"
    )


def is_on_noexec(path: Path) -> bool:
    """Tell whether nothing can be run from the file system that holds `path`."""
    if not hasattr(os, "statvfs"):
        return False
    try:
        return bool(os.statvfs(path).f_flag & getattr(os, "ST_NOEXEC", 0))
    except OSError:
        return False
