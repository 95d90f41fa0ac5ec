"""Expected errors in the user's words: what happened, what it means, what can be done."""

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from core.errors import CoreError, SourceError

Kind = Literal["info", "ok", "warn", "err"]

_CONTEXT = "messages"
_UNKNOWN_CODE = "error"

# code → (kind, cause, consequence). The cause is followed by the error's own sentence.
_SENTENCES: dict[str, tuple[Kind, str, str]] = {
    "error": (
        "err",
        QT_TRANSLATE_NOOP("messages", "That did not work."),
        QT_TRANSLATE_NOOP("messages", "Nothing that is stored was changed."),
    ),
    "query": (
        "warn",
        QT_TRANSLATE_NOOP("messages", "This search cannot be answered as asked."),
        QT_TRANSLATE_NOOP("messages", "The results shown are those of the search before."),
    ),
    "not-found": (
        "warn",
        QT_TRANSLATE_NOOP("messages", "This conversation or message is not in the store."),
        QT_TRANSLATE_NOOP("messages", "It may have been deleted since the list was made."),
    ),
    "ambiguous": (
        "warn",
        QT_TRANSLATE_NOOP("messages", "This name fits more than one conversation."),
        QT_TRANSLATE_NOOP("messages", "Nothing was opened."),
    ),
    "setting": (
        "warn",
        QT_TRANSLATE_NOOP("messages", "A setting is outside of what it may be."),
        QT_TRANSLATE_NOOP("messages", "The setting was left as it was."),
    ),
    "running": (
        "info",
        QT_TRANSLATE_NOOP("messages", "This is being done already."),
        QT_TRANSLATE_NOOP("messages", "It was not started a second time."),
    ),
    "refused": (
        "warn",
        QT_TRANSLATE_NOOP("messages", "This was not done."),
        QT_TRANSLATE_NOOP("messages", "Nothing that is stored was changed."),
    ),
    "source": (
        "err",
        QT_TRANSLATE_NOOP("messages", "This cannot be imported."),
        QT_TRANSLATE_NOOP("messages", "What was imported before it is kept."),
    ),
    "store": (
        "err",
        QT_TRANSLATE_NOOP("messages", "The store does not answer as it should."),
        QT_TRANSLATE_NOOP("messages", "Nothing that is stored was changed."),
    ),
    "not-a-store": (
        "err",
        QT_TRANSLATE_NOOP("messages", "The file in the store's place is not a Backscroll store."),
        QT_TRANSLATE_NOOP(
            "messages", "It was left as it is. Move it away, or start with another --data-dir."
        ),
    ),
    "store-busy": (
        "warn",
        QT_TRANSLATE_NOOP("messages", "Another program is writing to the store."),
        QT_TRANSLATE_NOOP("messages", "This change was not made. Try again in a moment."),
    ),
    "store-full": (
        "err",
        QT_TRANSLATE_NOOP("messages", "The disk is full."),
        QT_TRANSLATE_NOOP(
            "messages", "What was being written is not stored; everything before it is."
        ),
    ),
    "store-read-only": (
        "warn",
        QT_TRANSLATE_NOOP("messages", "The store cannot be written to."),
        QT_TRANSLATE_NOOP("messages", "You can read and search; importing is not possible."),
    ),
    "store-moved": (
        "err",
        QT_TRANSLATE_NOOP("messages", "The store's file was moved or replaced while it was open."),
        QT_TRANSLATE_NOOP(
            "messages", "Nothing was written into the lost file. Start Backscroll again."
        ),
    ),
    "store-corrupt": (
        "err",
        QT_TRANSLATE_NOOP("messages", "The store's file is damaged."),
        QT_TRANSLATE_NOOP("messages", "It was left as it is, so that it can be rescued."),
    ),
    "index-damaged": (
        "warn",
        QT_TRANSLATE_NOOP("messages", "An index is damaged and is being filled again."),
        QT_TRANSLATE_NOOP(
            "messages", "No message is lost. Searches go other ways meanwhile, and say so."
        ),
    ),
    "schema-too-new": (
        "warn",
        QT_TRANSLATE_NOOP("messages", "The store was written by a later version of Backscroll."),
        QT_TRANSLATE_NOOP(
            "messages", "You can read and search; to import, install the later version."
        ),
    ),
    "tokenizer": (
        "warn",
        QT_TRANSLATE_NOOP("messages", "The CJK tokenizer is not there."),
        QT_TRANSLATE_NOOP(
            "messages",
            "Chinese, Japanese and Korean are searched by slower paths. "
            "Run: backscroll install cjk",
        ),
    ),
    "no-display": (
        "err",
        QT_TRANSLATE_NOOP("messages", "There is no screen for a window here."),
        QT_TRANSLATE_NOOP("messages", "The commands work without one."),
    ),
    "qt-missing": (
        "err",
        QT_TRANSLATE_NOOP("messages", "The window's libraries are not installed."),
        QT_TRANSLATE_NOOP("messages", "The commands work without them."),
    ),
    "qt-unsafe": (
        "err",
        QT_TRANSLATE_NOOP("messages", "The installed Qt crashes with this Python."),
        QT_TRANSLATE_NOOP("messages", "The window was not started."),
    ),
    "timeout": (
        "warn",
        QT_TRANSLATE_NOOP("messages", "That took too long and was stopped."),
        QT_TRANSLATE_NOOP("messages", "Nothing that is stored was changed."),
    ),
}


@dataclass(frozen=True, slots=True)
class Notice:
    """What a message bar shows. `details` is for copying: code and the core's own sentence."""

    kind: Kind
    cause: str
    consequence: str
    details: str


def known_codes() -> frozenset[str]:
    """Return every error code that has a sentence."""
    return frozenset(_SENTENCES)


def describe(error: CoreError | TimeoutError) -> Notice:
    """Return the words for an expected error, in the language of the window."""
    code = error.code if isinstance(error, CoreError) else "timeout"
    own = str(error)
    if isinstance(error, SourceError) and error.path:
        own += f"\n{error.path}" + (f":{error.line}" if error.line else "")
    return notice(code, own)


def notice(code: str, own: str = "") -> Notice:
    """Return the words for an error code; `own` is the core's own sentence, for the details."""
    kind, cause, consequence = _SENTENCES.get(code, _SENTENCES[_UNKNOWN_CODE])
    details = f"{code}: {own}" if own else code
    return Notice(
        kind,
        QCoreApplication.translate(_CONTEXT, cause),
        QCoreApplication.translate(_CONTEXT, consequence),
        details,
    )
