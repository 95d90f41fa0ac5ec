"""The route of an answer in a sentence."""

from collections.abc import Iterator

from core.search.attempts import INSIDE, SOME, Attempt
from core.search.check import Texts
from core.search.route import Check, Indexes, Part
from core.store import damage
from core.store.indexes import CJK
from core.types import IndexName

_NAMES: dict[IndexName, str] = {
    "messages_fts": "the word index",
    "messages_fts_cjk": "the CJK index",
    "messages_fts_trigram": "the trigram index (any three characters in a row)",
}

_SHORT = {name: words.partition(" (")[0] for name, words in _NAMES.items()}


def why(
    attempt: Attempt,
    indexes: Indexes,
    *,
    is_title: bool,
    is_complete: bool,
    is_everything: bool = False,
) -> str:
    """Return why this path answered, in plain sentences.

    Args:
        attempt: what answered.
        indexes: what could be asked.
        is_title: no message was found, but a session's title or id matches.
        is_complete: there was time for all of it.
        is_everything: nothing was to be left out.
    """
    return " ".join(f"{each[0].upper()}{each[1:]}." for each in _sentences(
        attempt, indexes, is_title=is_title, is_complete=is_complete, is_everything=is_everything
    ))  # fmt: skip


def _sentences(
    attempt: Attempt,
    indexes: Indexes,
    *,
    is_title: bool,
    is_complete: bool,
    is_everything: bool,
) -> Iterator[str]:
    if is_title:
        none = "no message matches" if is_complete else "in time no message was found that matches"
        yield f"{none}, but a session's title or id does"
    if is_everything:
        if is_complete:
            yield "every message was read to its end, with its reasoning, whatever became of it"
        else:
            yield "messages were read to their ends, with their reasoning, not all of them in time"
        if not attempt.is_by_fields:
            yield "words are found inside longer ones too"
        return
    if attempt.is_by_fields:
        yield "the messages were picked by their fields alone, without an index"
        return
    if attempt.number == SOME:
        yield "no message has every word; these have some of them"
    if attempt.number == INSIDE:
        yield "these words stand inside longer ones"
    yield from _of_unusable(indexes)
    tallies = attempt.collector.tallies
    yield from _of_indexes([t.part for t in tallies if t.part.index is not None], indexes)
    yield from dict.fromkeys(_of_scan(t.part) for t in tallies if t.part.index is None)
    if attempt.collector.is_moved:
        yield "messages were written since the page before, and the order may have moved"


def _of_unusable(indexes: Indexes) -> Iterator[str]:
    """Say which indexes cannot be asked, or are filled again because they were damaged."""
    for name, index in indexes.items():
        reason = index.status.reason
        if not index.is_usable and (name == CJK or reason):
            yield f"{_SHORT[name]} cannot be asked: {reason or 'its tokenizer is not loaded'}"
        elif index.is_usable and not index.is_complete and reason in damage.REASONS:
            yield f"{_SHORT[name]} is not complete: {reason}"


def _of_indexes(parts: list[Part], indexes: Indexes) -> Iterator[str]:
    for check in dict.fromkeys(part.check for part in parts):
        asked = dict.fromkeys(p.index for p in parts if p.check is check and p.index is not None)
        *others, last = (_named(name, indexes) for name in asked)
        names = f"{', '.join(others)} and {last}" if others else last
        if check is Check.NONE:
            yield f"{names} {'answer' if others else 'answers'} this exactly"
        else:
            yield f"{names} found candidates, and each was read"


def _named(name: IndexName, indexes: Indexes) -> str:
    return _NAMES[name] + ("" if indexes[name].is_complete else " (as far as it is built)")


def _of_scan(part: Part) -> str:
    if part.tree is None:
        return "messages without CJK match without being read"
    if part.texts is Texts.WHOLE_TOOL_ROWS:
        return "long tool rows were read to their end"
    return "messages that no index answers for were read one by one"
