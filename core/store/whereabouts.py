"""Whether a store lies where its file is not safe: on a network, or where a program syncs it.

SQLite's log needs memory that all its users share and locks that hold; a network gives neither
(https://www.sqlite.org/wal.html, section 1), and a sync program replaces the file under our hands.
"""

import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mounts")
_NETWORK = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "ncpfs",
        "afs",
        "9p",
        "ceph",
        "glusterfs",
        "lustre",
        "davfs",
        "fuse.sshfs",
        "fuse.rclone",
        "fuse.davfs",
        "fuse.davfs2",
        "fuse.glusterfs",
        "fuse.s3fs",
        "fuse.gvfsd-fuse",
    }
)
_SYNCED = frozenset(
    {
        "dropbox",
        "onedrive",
        "nextcloud",
        "owncloud",
        "icloud",
        "iclouddrive",
        "googledrive",
        "mega",
        "pclouddrive",
        "syncthing",
    }
)
_OCTAL = re.compile(r"\\([0-7]{3})")


def warning(path: Path, mounts: Path = _MOUNTS) -> str:
    """Return why the place of a store is a risk and what to do, empty where it is none known.

    It is told and not refused: a store that is there already must stay readable.
    """
    place = path.absolute()
    kind = _file_system(place, mounts)
    if kind in _NETWORK:
        return (
            f"{place.parent} is on a network ({kind}): changes can be lost there. Move it to a"
            " local folder, or name one with --data-dir"
        )
    synced = next((part for part in place.parts if _plain(part) in _SYNCED), None)
    if synced is not None:
        return (
            f"{place.parent} is inside {synced}, which copies and replaces files while they are"
            " open: keep the store elsewhere, with --data-dir"
        )
    return ""


def _file_system(place: Path, mounts: Path) -> str:
    """Return the kind of the file system that holds a place, empty where that is not told."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    found = ("", "")
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        at = _OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[1])
        if place.is_relative_to(at) and len(at) >= len(found[0]):
            found = (at, fields[2])
    return found[1]


def _plain(part: str) -> str:
    """Return a folder's name without what differs: `Google Drive`, `OneDrive - Company`."""
    return re.sub(r"[^a-z]", "", part.lower().partition(" - ")[0])
