"""Where everything of ours lies, and with which modes. Nothing else names a folder."""

import getpass
import hashlib
import os
import stat
from pathlib import Path

import platformdirs

from core.errors import StoreError

DATA_DIR_VARIABLE = "BACKSCROLL_DATA_DIR"
STORE_NAME = "state.db"
TOMBSTONE_KEY_NAME = "tombstone.key"


def data_dir(override: Path | None = None) -> Path:
    """Return the absolute data folder: `override`, else the variable, else the platform's."""
    if override is not None:
        return override.expanduser().absolute()
    named = os.environ.get(DATA_DIR_VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    return Path(platformdirs.user_data_dir("Backscroll", appauthor=False))


def profile_dir(data: Path, profile: str | None = None) -> Path:
    """Return the folder of one profile below `data`; nothing is created.

    Args:
        data: the data folder.
        profile: a stable identity; the operating system's user when None. The folder's name is
            16 hexadecimal digits of its hash, so it does not give the identity away.
    """
    identity = _os_user() if profile is None else profile
    key = hashlib.blake2b(identity.encode(), digest_size=8, person=b"backscroll").hexdigest()
    return data / "profiles" / key


def store_path(profile: Path) -> Path:
    """Return the path of the store within a profile folder."""
    return profile / STORE_NAME


def ensure_private_dir(path: Path) -> None:
    """Make `path` a folder that only its owner can enter, and create it where it is missing.

    Missing parents are created with the same mode; existing parents are left as they are, and
    so is a folder that its owner may not write to.

    Raises:
        StoreError: it is no folder, is a link, is another user's, or others may write to it.
            What such a folder holds may have been planted, so it is not repaired.
    """
    missing = [p for p in (path, *path.parents) if not os.path.lexists(p)]
    try:
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise StoreError(f"{path} cannot be created: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode):
        raise StoreError(f"{path} is not a folder")
    _refuse_foreign(path, found)
    if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o077:
        path.chmod(stat.S_IMODE(found.st_mode) & 0o700)


def create_private_file(path: Path) -> None:
    """Create an empty file that only its owner can read.

    Raises:
        FileExistsError: there is something of this name already.
    """
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def write_private_file(path: Path, content: bytes) -> None:
    """Have a file that only its owner can read hold `content`, wholly or as it was before.

    Raises:
        OSError: the folder cannot be written to, or is full.
    """
    new = path.with_name(f"{path.name}.new-{os.getpid()}")
    new.unlink(missing_ok=True)
    file = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def require_private_file(path: Path) -> None:
    """Make an existing file readable by its owner alone, without opening it.

    Raises:
        StoreError: it is no regular file, is another user's, or others may write to it.
        FileNotFoundError: there is none.
    """
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{path} is not a regular file")
    _refuse_foreign(path, found)
    if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o077:
        path.chmod(stat.S_IMODE(found.st_mode) & 0o600)


def give_name(made: Path, path: Path) -> None:
    """Give a finished file its name, unless another process was first; `made` may stay."""
    try:
        os.link(made, path)
    except FileExistsError:
        return
    except OSError:  # a file system without links, like FAT
        if not path.exists():
            made.rename(path)


def sync_folder(path: Path) -> None:
    """Have the names in a folder survive a power cut; nothing to do where folders cannot be."""
    if os.name != "posix":
        return
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _refuse_foreign(path: Path, found: os.stat_result) -> None:
    if os.name != "posix":
        return
    if found.st_uid != os.geteuid():
        raise StoreError(f"{path} belongs to another user")
    if stat.S_IMODE(found.st_mode) & 0o022:
        raise StoreError(f"{path} can be written to by other users")


def _os_user() -> str:
    if os.name == "posix":
        return f"uid:{os.getuid()}"
    return f"user:{getpass.getuser()}"
