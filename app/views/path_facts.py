"""What the path bar says about an answer: pure words, in a fixed order."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QT_TRANSLATE_NOOP

from app import formatting
from app.text_ranges import one_line
from app.views.path_looks import tr
from core.types import SearchRequest, SearchResult

WHY = "why"
SHOW_ALL = "show-all"
SHOW_DEFAULT = "show-default"
INCLUDE = "include"
INSIDE = "inside"
WHOLE_WORDS = "whole-words"
SCAN = "scan"
LEAVE_SCAN = "leave-scan"
SEARCH_ON = "search-on"
AGAIN = "again"
STOP = "stop"

QUERY_TIMEOUT = "query_timeout"
_READ_AS_CHARS = 40


@dataclass(frozen=True, slots=True)
class Fact:
    """`strong` is bold and comes first. With `link` the whole is something to press.

    Where the window is too narrow for all of them, a fact that `gives_way` is cut, and one that
    is `minor` is left out: Why? says it too.
    """

    text: str = ""
    strong: str = ""
    link: str = ""
    gives_way: bool = False
    ink: str = "text2"
    minor: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of an answer: to which request, how many of its hits, over how many sessions.

    `sessions` is None while not all hits are loaded. `is_stale` when there are newer
    messages, which a list of several pages does not take in by itself.
    """

    request: SearchRequest
    hits: int
    sessions: int | None = None
    is_stale: bool = False


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
    "tool_rows_inside_words": (
        QT_TRANSLATE_NOOP("path", "%1 tool output inside its words"),
        QT_TRANSLATE_NOOP("path", "%1 tool outputs inside their words"),
        "tool",
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


def result_facts(result: SearchResult, shown: Shown) -> tuple[Fact, ...]:
    """Return the facts of an answer in their order; what can be done about it comes last."""
    facts = [_hits_fact(result, shown)]
    if result.title_matches and not result.total_hits:
        count = len(result.title_matches)
        facts.append(Fact(formatting.counted(count, tr("%1 title"), tr("%1 titles"))))
    facts.append(Fact(formatting.elapsed(result.elapsed_ms), minor=True))
    if shown.request.everything:
        facts.append(Fact(tr("everything was read")) if result.complete else _partial(result))
    else:
        covered = coverage(result)
        words = tr("covers %1").replace("%1", formatting.percent(covered))
        facts.append(Fact(words, minor=covered == 1))
        facts.append(Fact(tr("complete"), minor=True) if result.complete else _partial(result))
    if shown.request.inside_words:
        facts.append(Fact(tr("inside words too")))
    if result.repairs:
        facts.append(Fact(_repaired(result), gives_way=True, ink="warn"))
    missing = left_out(result.not_searched)
    if missing:
        words = ", ".join(each.words for each in missing)
        facts.append(Fact(tr("not searched: %1").replace("%1", words), gives_way=True))
    if not result.legacy_complete:
        facts.append(Fact(tr("old history is not moved in completely"), gives_way=True, ink="warn"))
    return (*facts, *_links(result, shown), Fact(tr("Why?"), link=WHY))


def _links(result: SearchResult, shown: Shown) -> Iterator[Fact]:
    request = shown.request
    if shown.is_stale:
        yield Fact(tr("New messages: ask again"), link=AGAIN)
    if not result.complete and result.reason == QUERY_TIMEOUT:
        yield Fact(tr("Search on"), link=SEARCH_ON)
    if request.inside_words:
        yield Fact(tr("Whole words only"), link=WHOLE_WORDS)
    elif result.inside_words and not request.everything:
        words = tr("also inside words (%1)")
        yield Fact(words.replace("%1", formatting.number(result.inside_words)), link=INSIDE)
    if request.everything:
        yield Fact(tr("Ask the indexes"), link=LEAVE_SCAN)
    elif not result.total_hits:
        if any(each.include for each in left_out(result.not_searched)):
            yield Fact(tr("Include"), link=INCLUDE)
        yield Fact(tr("Scan everything"), link=SCAN)


def running_facts(request: SearchRequest, before: SearchResult | None) -> tuple[Fact, ...]:
    """Return what is said while a search runs; `before` is the answer on the screen, if any."""
    if not request.everything:
        words = tr("still looking for “%1”").replace("%1", one_line(request.query))
    elif before is not None and before.messages_searched:
        count = formatting.number(before.messages_searched)
        words = tr("reading everything: %1 messages and what was left out …").replace("%1", count)
    else:
        words = tr("reading everything …")
    return Fact(words, gives_way=True), Fact(tr("Stop"), link=STOP)


def import_facts(messages: int, fraction: float) -> tuple[Fact, ...]:
    """Return what can be searched while an import runs."""
    found = formatting.counted(messages, tr("%1 message"), tr("%1 messages"))
    covered = tr("covers %1 of what is being imported")
    return (
        Fact(tr("can be searched"), strong=found),
        Fact(covered.replace("%1", formatting.percent(fraction))),
    )


def _hits_fact(result: SearchResult, shown: Shown) -> Fact:
    total = result.total_hits
    if not total:
        messages = formatting.counted(
            result.messages_searched, tr("in %1 message"), tr("in %1 messages")
        )
        return Fact(messages, strong=tr("0 hits") if result.complete else tr("0 hits so far"))
    strong = formatting.counted(total, tr("%1 hit"), tr("%1 hits"))
    if not result.complete:
        strong = tr("%1 so far").replace("%1", strong)
    elif not result.total_is_exact:
        strong = tr("up to %1").replace("%1", strong)
    if shown.sessions is not None:
        return Fact(
            formatting.counted(shown.sessions, tr("in %1 session"), tr("in %1 sessions")),
            strong=strong,
        )
    return Fact(tr("first %1 shown").replace("%1", formatting.number(shown.hits)), strong)


def _partial(result: SearchResult) -> Fact:
    if result.reason == QUERY_TIMEOUT:
        return Fact(tr("partial: stopped at the time limit"), ink="warn")
    reason = (result.reason or "").replace("_", " ")
    return Fact(tr("partial: %1").replace("%1", reason), ink="warn")


def _repaired(result: SearchResult) -> str:
    """Return what had to be mended in the query, and where it is short, as what it was read."""
    repairs = "; ".join(one_line(each) for each in result.repairs)
    if not 0 < len(result.understood) <= _READ_AS_CHARS:
        return repairs
    read_as = tr("read as %1").replace("%1", one_line(result.understood))
    return f"{read_as}: {repairs}"
