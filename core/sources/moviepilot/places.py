"""Where MoviePilot keeps what: its folder, its main database, the history store of each user.

A user's store lies in a folder named by the SHA-256 of the user's id. Chats in the main database
belong to the same instance as that store, whether there is one yet or not, so that a session is
one session wherever it is read from.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from core.sources import there
from core.sources.lines import without_surrogates
from core.sources.records import SourceIdentity

KIND = "moviepilot"
MAIN = "user.db"
STORE = "state.db"
USERS = Path("agent") / "runtime" / "history" / "users"

_INTERNAL_USER = "system"
_SHOWN = 8
_KEY = re.compile(r"[0-9a-f]{64}")


def identity_of_file(path: Path) -> SourceIdentity:
    """Return the instance a file belongs to: of a history store its folder, else the file."""
    place = path.resolve()
    if place.name != STORE:
        return SourceIdentity(KIND, str(place), "MoviePilot")
    key = place.parent.name
    shown = key[:_SHOWN] if _KEY.fullmatch(key) else key
    return SourceIdentity(KIND, str(place.parent), f"MoviePilot (user {without_surrogates(shown)})")


def identity_of_user(main: Path, user_id: str | None, username: str | None) -> SourceIdentity:
    """Return the instance of a user's chats in the main database."""
    shown = username or user_id
    name = f"MoviePilot ({shown})" if shown else "MoviePilot"
    folder = folder_of_user(main, user_id)
    if folder is not None:
        return SourceIdentity(KIND, str(folder), name)
    place = str(main.resolve())
    return SourceIdentity(KIND, f"{place}#{username}" if username else place, name)


def folder_of_user(main: Path, user_id: str | None) -> Path | None:
    """Return where a user's history store is or would be; the program's own tasks have none."""
    user = (user_id or "").strip()
    if not user or user.lower() == _INTERNAL_USER:
        return None
    key = hashlib.sha256(user.encode(errors="surrogatepass")).hexdigest()
    return main.resolve().parent / USERS / key


def stores(config: Path) -> Iterator[Path]:
    """Yield the history stores below a folder of configuration, by their keys."""
    yield from sorted(path for path in config.glob(f"{USERS}/*/{STORE}") if there.is_file(path))


def looks_like_config(folder: Path) -> bool:
    """Tell by names alone whether a folder is MoviePilot's configuration: nothing is opened."""
    if next(stores(folder), None) is not None:
        return True
    beside = (there.is_dir(folder / "agent"), there.is_file(folder / "app.env"))
    return there.is_file(folder / MAIN) and any((*beside, there.is_file(folder / "category.yaml")))
