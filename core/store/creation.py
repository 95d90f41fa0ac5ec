"""Making a store: nothing, or the whole of it."""

import os
from pathlib import Path

import apsw

from core import paths
from core.errors import NotAStoreError, StoreError
from core.store import migrations, recipe, replacing


def prepare(path: Path) -> None:
    """Make sure of a private folder and a private file that is a whole store at `path`.

    A replacement of the store that was interrupted is brought to its end first.
    """
    paths.ensure_private_dir(path.parent)
    replacing.recover(path.parent)
    if not path.exists():
        _create(path)
    paths.require_private_file(path)
    if path.stat().st_size == 0:
        raise NotAStoreError(f"{path} is not a store: the file is empty")


def _create(path: Path) -> None:
    """Make a whole store under another name, then give it its own.

    So there is never half a store at `path`, whatever dies in between, and of two processes
    that create it at the same time the second finds the first one's.
    """
    made = path.with_name(f"{path.name}.new-{os.getpid()}")
    try:
        made.unlink(missing_ok=True)
        paths.create_private_file(made)
        _fill(made)
        paths.give_name(made, path)
    except OSError as error:
        raise StoreError(f"{path} cannot be created: {error.strerror}") from error
    finally:
        made.unlink(missing_ok=True)


def _fill(made: Path) -> None:
    db = recipe.connected(made, apsw.SQLITE_OPEN_READWRITE)
    recipe.configure(db, recipe.WRITER_CACHE, tokenizer=None, is_new=True)
    try:
        with recipe.immediate(db):
            db.pragma("application_id", recipe.APPLICATION_ID)
            migrations.upgrade(db)
    finally:
        db.close()
