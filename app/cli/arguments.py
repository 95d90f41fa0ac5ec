"""What may be typed after `backscroll`: the parser and its words."""

import argparse
import re
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from app.cli.output import Output
from core.errors import QueryError
from core.types import Role

Command = Callable[[argparse.Namespace, Output], int]

DONE, FAILED, BAD_USAGE, PARTIAL = 0, 1, 2, 3

WHOLE = re.compile("-?[0-9]{1,40}")
"""A whole number as people write it; `int` would also read `1_0`."""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, then where help is; exits with 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USAGE, f"usage: {message}\nTry: {self.prog} --help\n")


def global_options() -> argparse.ArgumentParser:
    """Return the options that every command takes, before or after its name."""
    options = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    options.add_argument("--data-dir", type=place, metavar="DIR", help="where the stores are kept")
    options.add_argument("--profile", metavar="NAME", help="whose store; default: the OS user's")
    options.add_argument("--json", action="store_true", help="one JSON document on stdout")
    options.add_argument("--quiet", action="store_true", help="no remarks and no progress")
    return options


def comma_list(text: str) -> list[str]:
    """Split `a,b` into its parts; empty parts are dropped, but one is needed.

    An empty variable of a script would otherwise widen what is asked for to everything.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise argparse.ArgumentTypeError("nothing is named")
    return parts


def given(text: str) -> str:
    """Read a text that is not blank."""
    if not text.strip():
        raise argparse.ArgumentTypeError("nothing is given")
    return text


def place(text: str) -> Path:
    """Read a path that is not blank; a blank one would be the folder that the user is in."""
    return Path(given(text))


def roles_named(names: Sequence[str]) -> tuple[Role, ...]:
    """Return the roles of these names.

    Raises:
        QueryError: one of them is none.
    """
    known = [role.value for role in Role]
    for name in names:
        if name not in known:
            raise QueryError(f"no role {name!r}: {', '.join(known)}")
    return tuple(Role(name) for name in names)


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    return _at_least(1, text)


def natural(text: str) -> int:
    """Read a whole number of at least 0."""
    return _at_least(0, text)


def _at_least(least: int, text: str) -> int:
    if WHOLE.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    value = int(text)
    if not least <= value < 2**31:
        raise argparse.ArgumentTypeError(f"{text} is out of range: {least} to {2**31 - 1:,}")
    return value


def seconds(text: str) -> float:
    """Read a number of seconds above 0 and up to an hour."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not 0 < value <= 3600:
        raise argparse.ArgumentTypeError(f"{text} is out of range: above 0, up to 3600 seconds")
    return value


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what was asked: the options, and `run`, the command to call, or None for the window.

    Exits with 2 after saying what was wrong.
    """
    from app.cli import (
        backfill,
        backup,
        check,
        compact,
        imports,
        install,
        jobs,
        mcp,
        operations,
        optimize,
        purge,
        recall,
        repair,
        restore,
        retention,
        search,
        searches,
        sessions,
        show,
        sources,
        status,
        trash,
    )

    shared = global_options()
    parser = _Parser(
        prog="backscroll",
        description="Look back through your own conversations with AI agents. "
        "Without a command the window opens.",
        parents=[shared],
    )
    parser.add_argument(
        "--version", action="version", version=f"backscroll {version('backscroll')}"
    )
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    for module in (
        sources,
        imports,
        search,
        searches,
        recall,
        show,
        sessions,
        retention,
        trash,
        purge,
        backup,
        restore,
        status,
        backfill,
        check,
        repair,
        optimize,
        compact,
        install,
        jobs,
        operations,
        mcp,
    ):
        module.add_to(commands, shared)
    result = parser.parse_args(arguments)
    for name, default in (("data_dir", None), ("profile", None), ("json", False), ("quiet", False)):
        if not hasattr(result, name):
            setattr(result, name, default)
    for name, value in vars(result).items():
        setattr(result, name, _encodable(value))
    return result


def _encodable(value: Any) -> Any:
    """Return a text or list of texts without what is no UTF-8; paths are left as they are."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return [_encodable(item) for item in value] if isinstance(value, list) else value
