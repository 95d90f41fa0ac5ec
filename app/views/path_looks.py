"""How a search path looks in the window: icon, word and tint."""

from dataclasses import dataclass

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

_CONTEXT = "path"


@dataclass(frozen=True, slots=True)
class PathLook:
    """Icon, word and tint of one search path."""

    icon: str
    word: str
    kind: str
    phrase: str = ""  # the word as the subject of a sentence


_LOOKS = {
    "cjk": PathLook(
        "path-cjk",
        QT_TRANSLATE_NOOP("path", "CJK index"),
        "info",
        QT_TRANSLATE_NOOP("path", "The CJK index"),
    ),
    "fts5+cjk": PathLook(
        "path-cjk",
        QT_TRANSLATE_NOOP("path", "CJK + word index"),
        "info",
        QT_TRANSLATE_NOOP("path", "CJK and word index together"),
    ),
    "fts5": PathLook(
        "path-fts5",
        QT_TRANSLATE_NOOP("path", "Word index"),
        "ok",
        QT_TRANSLATE_NOOP("path", "The word index"),
    ),
    "trigram": PathLook(
        "path-trigram",
        QT_TRANSLATE_NOOP("path", "Trigram index"),
        "trigram",
        QT_TRANSLATE_NOOP("path", "The trigram index"),
    ),
    "like": PathLook(
        "path-like",
        QT_TRANSLATE_NOOP("path", "LIKE scan"),
        "warn",
        QT_TRANSLATE_NOOP("path", "The scan"),
    ),
    "fts5_or": PathLook(
        "path-fts5",
        QT_TRANSLATE_NOOP("path", "Fewer words"),
        "warn",
        QT_TRANSLATE_NOOP("path", "The word index"),
    ),
    "title": PathLook(
        "path-browse",
        QT_TRANSLATE_NOOP("path", "Titles and ids"),
        "unk",
        QT_TRANSLATE_NOOP("path", "The search of titles"),
    ),
    "empty": PathLook(
        "path-browse",
        QT_TRANSLATE_NOOP("path", "Browse"),
        "unk",
        QT_TRANSLATE_NOOP("path", "The list"),
    ),
    "searching": PathLook(
        "hourglass",
        QT_TRANSLATE_NOOP("path", "Searching"),
        "unk",
        QT_TRANSLATE_NOOP("path", "The search"),
    ),
    "partial": PathLook(
        "partial",
        QT_TRANSLATE_NOOP("path", "Partial"),
        "partial",
        QT_TRANSLATE_NOOP("path", "The search"),
    ),
}


def tr(text: str) -> str:
    """Translate a text of this module."""
    return QCoreApplication.translate(_CONTEXT, text)


def look(path: str) -> PathLook:
    """Return how a search path is shown."""
    found = _LOOKS[path]
    return PathLook(found.icon, tr(found.word), found.kind, tr(found.phrase))
