"""The route of an answer in a sentence."""

from core.search.attempts import Attempt
from core.search.collect import Tally
from core.search.route import Check, Indexes
from core.store.indexes import CJK

_NAMES = {
    "messages_fts": "the word index",
    "messages_fts_cjk": "the CJK index",
    "messages_fts_trigram": "the trigram index",
}


def why(attempt: Attempt, indexes: Indexes, *, is_title: bool) -> str:
    """Return why this path answered, in plain sentences.

    Args:
        attempt: what answered.
        indexes: what could be asked.
        is_title: no message matches, but a session's title or id does.
    """
    sentences = []
    if is_title:
        sentences.append("no message matches, but a session's title or id does")
    if attempt.name == "fts5_or":
        sentences.append("no message has every word; these have some of them")
    if attempt.note == "inside words":
        sentences.append("these words stand inside longer ones")
    if attempt.is_by_fields:
        return "The messages were picked by their fields alone, without an index."
    if not indexes[CJK].is_usable:
        reason = indexes[CJK].status.reason or "its tokenizer is not loaded"
        sentences.append(f"the CJK index cannot be asked: {reason}")
    sentences += dict.fromkeys(_of_part(tally, indexes) for tally in attempt.collector.tallies)
    return ". ".join(sentence[0].upper() + sentence[1:] for sentence in sentences) + "."


def _of_part(tally: Tally, indexes: Indexes) -> str:
    part = tally.part
    if part.index is None:
        if part.tree is None:
            return "rows without CJK match without being read"
        if part.whole:
            return "long tool rows were read to their end"
        return "rows that no index answers for were read"
    name = _NAMES[part.index]
    held = "" if indexes[part.index].is_complete else ", as far as it is built,"
    if part.check is Check.NONE:
        return f"{name}{held} answers this exactly"
    return f"{name}{held} found candidates, and each was read"
