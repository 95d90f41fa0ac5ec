"""How commands reach the store of the profile they were asked for."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from core import paths
from core.index import tokenizer
from core.store import connection, damage
from core.store.errors import translated


def store_path(args: argparse.Namespace) -> Path:
    """Return the file of the store that the options name."""
    return paths.store_path(paths.profile_dir(paths.data_dir(args.data_dir), args.profile))


@contextmanager
def reading(args: argparse.Namespace) -> Iterator[apsw.Connection]:
    """Give a connection on one snapshot of the store; a new store is made if there is none."""
    with _opened(args) as db:
        with connection.snapshot(db):
            yield db
        if damage.noted(db) and not db.readonly("main"):
            with connection.transaction(db):
                pass  # what every write does first: damaged indexes are set aside


@contextmanager
def writing(args: argparse.Namespace) -> Iterator[apsw.Connection]:
    """Give the connection that may write; the command begins its own transactions."""
    with _opened(args) as db:
        yield db


@contextmanager
def _opened(args: argparse.Namespace) -> Iterator[apsw.Connection]:
    with translated(store_path(args)):
        db = connection.open_store(store_path(args), tokenizer=tokenizer.locate())
        try:
            yield db
        finally:
            db.close()
