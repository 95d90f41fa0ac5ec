"""Pairs the two tellings of one text: the model's (`response_item`) and the screen's (`event_msg`).

Either may come first, either may be missing, and their words may differ. Two tellings are one
text when they say the same within a turn, or when they stand beside each other.
"""

from collections import deque
from dataclasses import dataclass

from core.sources.codex.drafts import Draft
from core.types import Origin, Role

_TWINS = 8
_ALIKE_CHARS = 40
_NOT_SAID = (Origin.INJECTED, Origin.SYNTHETIC)


@dataclass(slots=True)
class Telling:
    """One telling of a text; `words` is the text without white space."""

    is_event: bool
    words: str
    draft: Draft


class Twins:
    """The tellings of the turn that have no twin yet, the last `_TWINS` of each role."""

    def __init__(self) -> None:
        self._lone: dict[Role, deque[Telling]] = {
            role: deque(maxlen=_TWINS) for role in (Role.USER, Role.ASSISTANT)
        }
        self._beside: Telling | None = None

    def add(self, telling: Telling) -> None:
        """Remember the telling of a draft that was just made; it stands beside the next one."""
        self._lone[telling.draft.role].append(telling)
        self._beside = telling

    def part(self) -> None:
        """Take note that something begins: nothing before it stands beside what comes."""
        self._beside = None

    def step_past(self, draft: Draft) -> None:
        """Take note that another message was told: nothing before it stands beside what comes.

        A prompt ends the answers before it, an answer ends the prompts.
        """
        self._beside = None
        if draft.is_prompt:
            self._lone[Role.ASSISTANT].clear()
        elif draft.role == Role.ASSISTANT and draft.content:
            self._lone[Role.USER].clear()

    def end_turn(self) -> None:
        """Forget all: no text has its twin in another turn."""
        self._beside = None
        for lone in self._lone.values():
            lone.clear()

    def take(self, role: Role, words: str, *, is_event: bool, injected: bool) -> Telling | None:
        """Return the other telling of this text, which has its twin then; None if there is none."""
        lone = self._lone[role]
        for telling in reversed(lone):
            if telling.is_event != is_event and telling.words == words:
                lone.remove(telling)
                return telling
        beside = self._beside
        if beside is None or beside.is_event == is_event or beside not in lone:
            return None
        if injected or beside.draft.origin in _NOT_SAID:
            return None
        if role == Role.ASSISTANT and not _alike(beside.words, words):
            return None
        lone.remove(beside)
        return beside


def _alike(one: str, other: str) -> bool:
    """Tell whether one of two tellings cites or cuts the other."""
    short = min(len(one), len(other), _ALIKE_CHARS)
    return one in other or other in one or (short > 0 and one[:short] == other[:short])
