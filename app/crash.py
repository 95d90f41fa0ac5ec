"""Bugs: written to a file that holds no message text, and told to whoever wants to show them.

A `CoreError` that nobody handled is a bug too: somebody forgot to say it in words.
"""

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from core.errors import CoreError

Tell = Callable[[str, Path | None], None]
_KEPT = 20


class CrashLog:
    """Writes one file per bug into `folder` and calls `tell` with a summary and the file.

    A file holds the kinds of the exceptions and where they were raised. It never holds their
    messages, which may quote a conversation.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.tell: Tell | None = None
        self._previous = (sys.excepthook, threading.excepthook)

    def install(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Take over the hooks of the interpreter, of threads and of `loop`."""
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception
        if loop is not None:
            loop.set_exception_handler(self._on_loop_exception)

    def uninstall(self) -> None:
        """Give the hooks back."""
        sys.excepthook, threading.excepthook = self._previous

    def report(self, error: BaseException) -> Path | None:
        """Write the file for `error`; returns it, or None where the folder cannot be written."""
        at = datetime.now(UTC)
        text = f"{at.isoformat()}\nPython {sys.version.split()[0]} on {sys.platform}\n"
        text += "\n".join(_without_text(error)) + "\n"
        path = self._folder / f"crash-{at:%Y%m%dT%H%M%S%f}.txt"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
            for old in sorted(self._folder.glob("crash-*.txt"))[:-_KEPT]:
                old.unlink()
        except OSError:
            return None
        return path

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self._previous[0](kind, error, trace)
            return
        path = self.report(error)
        traceback.print_exception(kind, error, trace, file=sys.stderr)
        if self.tell is not None:
            self.tell(kind.__name__, path)

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self._on_exception(args.exc_type, args.exc_value, args.exc_traceback)

    def _on_loop_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            self._on_exception(type(error), error, error.__traceback__)
        else:
            loop.default_exception_handler(context)


def _without_text(error: BaseException) -> list[str]:
    """Return the chain of exceptions as kinds and places, outermost last."""
    lines: list[str] = []
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        lines += [*_without_text(cause), "-- which led to --"]
    for frame in traceback.extract_tb(error.__traceback__):
        lines.append(f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}')
    code = f" ({error.code})" if isinstance(error, CoreError) else ""
    lines.append(f"{type(error).__module__}.{type(error).__qualname__}{code}")
    return lines
