"""What the path bar says about an answer: pure words, in a fixed order."""

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from app import formatting
from core.types import SearchResult

WHY = "why"
SHOW_ALL = "show-all"
SHOW_DEFAULT = "show-default"
INCLUDE = "include"
STOP = "stop"

_CONTEXT = "path"


@dataclass(frozen=True, slots=True)
class Fact:
    """`strong` is bold and comes first. With `link` the whole is something to press.

    A fact that `gives_way` is cut where the window is too narrow for all of them.
    """

    text: str = ""
    strong: str = ""
    link: str = ""
    gives_way: bool = False


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

# `not_searched` key → words for one, words for many, what to include to search it too.
_LEFT_OUT = {
    "rewound": (
        QT_TRANSLATE_NOOP("path", "%1 rewound message"),
        QT_TRANSLATE_NOOP("path", "%1 rewound messages"),
        "rewound",
    ),
    "hidden": (
        QT_TRANSLATE_NOOP("path", "%1 hidden message"),
        QT_TRANSLATE_NOOP("path", "%1 hidden messages"),
        "hidden",
    ),
    "trashed": (
        QT_TRANSLATE_NOOP("path", "%1 message in the trash"),
        QT_TRANSLATE_NOOP("path", "%1 messages in the trash"),
        "trash",
    ),
    "unindexed": (
        QT_TRANSLATE_NOOP("path", "%1 message not indexed yet"),
        QT_TRANSLATE_NOOP("path", "%1 messages not indexed yet"),
        "",
    ),
    "cut_tails": (
        QT_TRANSLATE_NOOP("path", "%1 very long message to its end"),
        QT_TRANSLATE_NOOP("path", "%1 very long messages to their ends"),
        "",
    ),
}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that was not searched. `include` is what asks for it, '' when nothing can.

    `words` say the whole of it, `noun` is `words` without the number.
    """

    key: str
    count: int
    words: str
    noun: str
    include: str


def tr(text: str) -> str:
    """Translate a text of this module."""
    return QCoreApplication.translate(_CONTEXT, text)


def look(path: str) -> PathLook:
    """Return how a search path is shown."""
    found = _LOOKS[path]
    return PathLook(found.icon, tr(found.word), found.kind, tr(found.phrase))


def left_out(not_searched: Mapping[str, int]) -> tuple[LeftOut, ...]:
    """Return in words what an answer left out; keys without words are shown as they are."""
    result = []
    for key, count in not_searched.items():
        if not count:
            continue
        plain = f"%1 {key.replace('_', ' ')}"
        one, many, include = _LEFT_OUT.get(key, (plain, plain, ""))
        template = tr(one) if count == 1 else tr(many)
        words = template.replace("%1", formatting.number(count))
        noun = " ".join(template.replace("%1", "").split())
        result.append(LeftOut(key, count, words, noun, include))
    return tuple(result)


def coverage(result: SearchResult) -> float:
    """Return how much of the store the index that answered covers, from 0 to 1."""
    names = {
        "cjk": ("messages_fts_cjk",),
        "fts5+cjk": ("messages_fts", "messages_fts_cjk"),
        "fts5": ("messages_fts",),
        "fts5_or": ("messages_fts",),
        "trigram": ("messages_fts_trigram",),
    }.get(result.search_path, ())
    found = [result.index_status[name].coverage for name in names if name in result.index_status]
    return min(found, default=1.0)


def result_facts(result: SearchResult, sessions: int | None) -> tuple[Fact, ...]:
    """Return the facts of an answer in their order.

    Args:
        result: the answer.
        sessions: how many sessions the hits are in, None while not all hits are loaded.
    """
    facts = [_hits_fact(result, sessions), Fact(formatting.elapsed(result.elapsed_ms))]
    facts.append(Fact(tr("covers %1").replace("%1", formatting.percent(coverage(result)))))
    facts.append(Fact(tr("complete") if result.complete else _partial(result)))
    missing = left_out(result.not_searched)
    if missing:
        words = ", ".join(each.words for each in missing)
        facts.append(Fact(tr("not searched: %1").replace("%1", words), gives_way=True))
        if any(each.include for each in missing) and not result.total_hits:
            facts.append(Fact(tr("Include"), link=INCLUDE))
    facts.append(Fact(tr("Why?"), link=WHY))
    return tuple(facts)


def import_facts(messages: int, fraction: float) -> tuple[Fact, ...]:
    """Return what can be searched while an import runs."""
    found = formatting.counted(messages, tr("%1 message"), tr("%1 messages"))
    covered = tr("covers %1 of what is being imported")
    return (
        Fact(tr("can be searched"), strong=found),
        Fact(covered.replace("%1", formatting.percent(fraction))),
    )


def _hits_fact(result: SearchResult, sessions: int | None) -> Fact:
    total = result.total_hits
    if not total:
        messages = formatting.counted(
            result.messages_searched, tr("in %1 message"), tr("in %1 messages")
        )
        return Fact(messages, strong=tr("0 hits"))
    strong = formatting.counted(total, tr("%1 hit"), tr("%1 hits"))
    if not result.total_is_exact:
        strong = tr("up to %1").replace("%1", strong)
    if sessions is not None:
        return Fact(
            formatting.counted(sessions, tr("in %1 session"), tr("in %1 sessions")), strong=strong
        )
    return Fact(tr("first %1 shown").replace("%1", formatting.number(len(result.hits))), strong)


def _partial(result: SearchResult) -> str:
    if result.reason == "query_timeout":
        return tr("partial: stopped at the time limit")
    return tr("partial: %1").replace("%1", (result.reason or "").replace("_", " "))
