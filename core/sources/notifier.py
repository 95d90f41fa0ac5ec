"""Being told that files changed: by the system, or by looking where it cannot tell.

The library watchfiles asks the system. It is asked for folders alone: a watched file that is
replaced by another of its name would be lost sight of. It could also look, but takes two writes
in one second for one, so `_Looking` does that.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.source_types import WatchWay

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

STEP_MS, GROUPED_MS = 100, 300
"""After a change, quiet of so long ends a group of them, and no group lasts longer."""

POLL_S = 1.0
"""How often a place is looked at that the system does not tell of; more seldom if it is large."""

POLL_SHARE = 5
"""Looking takes at most one part in so many of the time."""

_TIMEOUT_MS = 60_000
_MOUNTS = Path("/proc/self/mounts")
_FAR = frozenset(
    """
    9p afs afpfs beegfs ceph cifs coda davfs drvfs fuse.cephfs fuse.davfs2 fuse.glusterfs
    fuse.gvfsd-fuse fuse.rclone fuse.s3fs fuse.smbnetfs fuse.sshfs fuse.vmhgfs-fuse gfs2 glusterfs
    lustre ncpfs nfs nfs4 prl_fs smb smb2 smb3 smbfs vboxsf virtiofs vmhgfs
    """.split()  # noqa: SIM905 (a list of words is read as one)
)
"""Kinds of mounted places whose files others change behind this system's back."""

Told = Callable[[frozenset[str]], None]
_DRIVE_REMOTE = 4  # GetDriveTypeW, winbase.h


@dataclass(frozen=True, slots=True)
class Root:
    """A folder to be told of: all that is below it (`deep`), or what is in it alone."""

    path: Path
    deep: bool


class Notifier:
    """Tells of changes below some folders, from threads of its own, until it is closed."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self, roots: Iterable[Root]) -> dict[Root, tuple[WatchWay, str]]:
        """Be told of these from now on; a change after this returned is not missed.

        Returns:
            How each is watched, and why not as usual. A folder that is not there is `missing`.
        """
        found: dict[Root, tuple[WatchWay, str]] = {}
        native: dict[bool, list[Root]] = {}
        for root in dict.fromkeys(roots):
            reason = is_far(root.path)
            if not os.path.isdir(root.path):  # noqa: PTH112 (never raises)
                found[root] = ("missing", f"{root.path} is not there now")
            elif reason:
                found[root] = self._poll(root, reason)
            else:
                native.setdefault(root.deep, []).append(root)
        for deep, group in native.items():
            trouble = self._start([each.path for each in group], deep=deep)
            for root in group:
                found[root] = ("native", "") if not trouble else self._alone(root)
        return found

    def close(self) -> None:
        """End every thread; returns when none can tell of anything any more."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _alone(self, root: Root) -> tuple[WatchWay, str]:
        """Watch one folder of a group that could not be watched together."""
        trouble = self._start([root.path], deep=root.deep)
        return self._poll(root, trouble) if trouble else ("native", "")

    def _poll(self, root: Root, reason: str) -> tuple[WatchWay, str]:
        looking = _Looking(root)
        self._run(looking.run, self._stop, self._told)
        return "polling", f"{reason}; it is looked at every {looking.every_s:.0f} s"

    def _start(self, folders: list[Path], *, deep: bool) -> str:
        """Begin a thread; returns why that cannot be, '' where it can."""
        from watchfiles._rust_notify import RustNotify  # late: 10 ms, and few commands watch

        try:
            names = [str(each) for each in folders]
            watching = RustNotify(names, False, False, 0, deep, True)
        except (OSError, RuntimeError) as error:
            return _words(error)
        self._run(_listen, watching, self._stop, self._told)
        return ""

    def _run(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, name="watching", daemon=True)
        self._threads.append(thread)
        thread.start()


def _listen(watching: "RustNotify", stop: threading.Event, told: Told) -> None:
    with watching:
        while not stop.is_set():
            found = watching.watch(GROUPED_MS, STEP_MS, _TIMEOUT_MS, stop)
            if not isinstance(found, str) and not stop.is_set():
                told(frozenset(path for _, path in found))


class _Looking:
    """Finds what changed below a folder by looking at every file's size, time and number."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._took_s = 0.0
        self._seen = self._look()

    @property
    def every_s(self) -> float:
        """How long it waits between two looks."""
        return max(POLL_S, POLL_SHARE * self._took_s)

    def run(self, stop: threading.Event, told: Told) -> None:
        """Tell of changes until stopped."""
        while not stop.wait(self.every_s):
            before, self._seen = self._seen, self._look()
            changed = {path for path, stamp in self._seen.items() if before.get(path) != stamp}
            changed |= before.keys() - self._seen.keys()
            if changed and not stop.is_set():
                told(frozenset(changed))

    def _look(self) -> dict[str, tuple[int, int, int]]:
        began = time.monotonic()
        found: dict[str, tuple[int, int, int]] = {}
        todo = [str(self._root.path)]
        while todo:
            try:
                with os.scandir(todo.pop()) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            todo += [entry.path] if self._root.deep else []
                        else:
                            stat = entry.stat(follow_symlinks=True)
                            found[entry.path] = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
            except OSError:
                continue  # it went meanwhile, or may not be read: the next look tells
        self._took_s = time.monotonic() - began
        return found


def is_far(path: Path) -> str:
    """Return why the system cannot tell of changes there, '' where it can."""
    if sys.platform == "win32":
        return _is_far_on_windows(path)
    kind = _mounted(path)
    return f"{path} lies on a drive of the kind {kind}, where changes by others are not told" * (
        kind in _FAR
    )


def _is_far_on_windows(path: Path) -> str:
    import ctypes

    place = str(path.absolute())
    is_share = place.startswith("\\\\") and not place.startswith("\\\\?\\")
    kind = 0
    if sys.platform == "win32" and not is_share:
        kind = ctypes.windll.kernel32.GetDriveTypeW(path.absolute().anchor)
    told = f"{path} lies on a network drive, where changes by others are not told"
    return told if is_share or kind == _DRIVE_REMOTE else ""


def _mounted(path: Path) -> str:
    """Return the kind of the mount that a path lies on, '' where that is not known."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    place = os.path.realpath(path)
    best, kind = -1, ""
    for line in lines:
        _, _, rest = line.partition(" ")
        where, _, rest = rest.partition(" ")
        where = where.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        is_below = place == where or place.startswith(where.rstrip("/") + "/")
        if is_below and len(where) >= best:  # of two at one place the later one is seen
            best, kind = len(where), rest.partition(" ")[0]
    return kind


def _words(error: Exception) -> str:
    told = str(error)
    if "limit" in told.lower() or getattr(error, "errno", None) == 28:  # ENOSPC: inotify(7)
        return (
            "the system's limit of watched folders is reached"
            " (fs.inotify.max_user_watches, fs.inotify.max_user_instances)"
        )
    return f"the system cannot tell of changes there: {told}"
