"""The route of an answer in a sentence."""

from collections.abc import Iterator

from core.search.attempts import INSIDE, SOME, Attempt
from core.search.check import Texts
from core.search.found import Tally
from core.search.route import Check, Indexes
from core.store.indexes import CJK

_NAMES = {
    "messages_fts": "the word index",
    "messages_fts_cjk": "the CJK index",
    "messages_fts_trigram": "the trigram index (any three characters in a row)",
}


def why(attempt: Attempt, indexes: Indexes, *, is_title: bool, is_everything: bool = False) -> str:
    """Return why this path answered, in plain sentences.

    Args:
        attempt: what answered.
        indexes: what could be asked.
        is_title: no message matches, but a session's title or id does.
        is_everything: nothing was to be left out.
    """
    return " ".join(f"{each[0].upper()}{each[1:]}." for each in _sentences(
        attempt, indexes, is_title=is_title, is_everything=is_everything
    ))  # fmt: skip


def _sentences(
    attempt: Attempt, indexes: Indexes, *, is_title: bool, is_everything: bool
) -> Iterator[str]:
    if is_title:
        yield "no message matches, but a session's title or id does"
    if is_everything:
        yield "every message was read to its end, with its reasoning, whatever became of it"
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
    if not indexes[CJK].is_usable:
        reason = indexes[CJK].status.reason or "its tokenizer is not loaded"
        yield f"the CJK index cannot be asked: {reason}"
    yield from dict.fromkeys(_of_part(tally, indexes) for tally in attempt.collector.tallies)
    if attempt.collector.is_moved:
        yield "messages were written since the page before, and the order may have moved"


def _of_part(tally: Tally, indexes: Indexes) -> str:
    part = tally.part
    if part.index is None:
        if part.tree is None:
            return "messages without CJK match without being read"
        if part.texts is Texts.WHOLE_TOOL_ROWS:
            return "long tool rows were read to their end"
        return "messages that no index answers for were read one by one"
    name = _NAMES[part.index]
    held = "" if indexes[part.index].is_complete else ", as far as it is built,"
    if part.check is Check.NONE:
        return f"{name}{held} answers this exactly"
    return f"{name}{held} found candidates, and each was read"
