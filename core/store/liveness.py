"""Whether the process that took on some work is still there to do it.

A heartbeat cannot tell: a statement like VACUUM runs for minutes and lets nothing beat. So a
holder is written down as process, start and place, and looked for where it was.
"""

import hashlib
import os
from functools import cache
from pathlib import Path

_PROC = Path("/proc")
_START, _STATE = 19, 0  # fields of /proc/PID/stat behind the name: proc_pid_stat(5)
_GONE = frozenset("ZXx")  # a zombie works no more; only its parent has not looked yet
_UNKNOWN = "-"


def holder() -> str:
    """Return a name of this process that no other process has, now or later."""
    return f"{os.getpid()}.{_start_of(os.getpid()) or _UNKNOWN}.{_place()}"


def is_alive(name: str) -> bool | None:
    """Tell whether the process that `holder` named so still runs.

    Returns:
        None where that cannot be known: it runs elsewhere (another machine or container, or
        this one before it was started again), or this system does not tell.
    """
    pid, _, rest = name.partition(".")
    start, _, place = rest.partition(".")
    if not pid.isdigit() or start == _UNKNOWN or place == _UNKNOWN or place != _place():
        return None
    return _start_of(int(pid)) == start


def _start_of(pid: int) -> str | None:
    """Return when a process began, in ticks since the machine did; None if there is none."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may hold anything
    return None if fields[_STATE] in _GONE else fields[_START]


@cache
def _place() -> str:
    """Return what numbers processes here: this boot of the machine, and the container."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii")
        numbering = str((_PROC / "self/ns/pid").readlink())
    except OSError:
        return _UNKNOWN
    return hashlib.blake2b(f"{boot}{numbering}".encode(), digest_size=6).hexdigest()
