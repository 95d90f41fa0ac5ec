"""The fields of a query in words: what each narrows, and how it is written."""

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

_CONTEXT = "fields"

# name → what it says, how it is written
_FIELDS = {
    "role": (QT_TRANSLATE_NOOP("fields", "who speaks"), "role:user,tool"),
    "source": (QT_TRANSLATE_NOOP("fields", "where it was said"), "source:codex"),
    "project": (QT_TRANSLATE_NOOP("fields", "in which project"), 'project:"my app"'),
    "session": (QT_TRANSLATE_NOOP("fields", "id of the conversation"), "session:0199"),
    "title": (QT_TRANSLATE_NOOP("fields", "title of the conversation"), "title:invoice*"),
    "tool": (QT_TRANSLATE_NOOP("fields", "tool that was called"), "tool:bash"),
    "model": (QT_TRANSLATE_NOOP("fields", "model that answered"), "model:opus"),
    "before": (QT_TRANSLATE_NOOP("fields", "before a day"), "before:2026-11-01"),
    "after": (QT_TRANSLATE_NOOP("fields", "from a day or age on"), "after:7d"),
}
FIELD_NAMES = " ".join(f"{name}:" for name in _FIELDS)


def field_words(name: str) -> str:
    """Return what a field narrows, '' for no field of ours."""
    words = _FIELDS.get(name)
    return "" if words is None else QCoreApplication.translate(_CONTEXT, words[0])


def fields() -> list[tuple[str, str]]:
    """Return every field: what it narrows, how it is written."""
    return [(field_words(name), example) for name, (_, example) in _FIELDS.items()]
