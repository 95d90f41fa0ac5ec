"""Which lines of a Claude Code transcript still count, and to which conversation they belong.

File order is the order of a conversation. The links between lines only tell where somebody went
back and typed another prompt in an earlier one's place; taken as a tree they would lose parallel
tool results, whole conversations behind a slash command, and every file without links.
"""

from core.sources.claude_code.facts import AGENT_PREFIX
from core.sources.claude_code.outline import Outline
from core.sources.claude_code.places import ASSISTANT, PROMPT, USER, Places
from core.sources.records import EarlierChangedError

_MOST_CHAINS = 2  # the conversation itself, and one


def settle(outline: Outline) -> None:
    """Make the outline final: ids that are none dropped, sidechains told apart, rewinds marked.

    Linear in the lines, without recursion: a link to a later line is no link, so that loops
    end in file order.
    """
    _drop_keyless(outline)
    if _is_agent(outline):
        _join_sidechains(outline)
    for root in _rewound_roots(outline):
        outline.places.rewound[root] = True
    outline.ends_rewound = [False] * len(outline.sessions)
    _inherit(outline, 0)


class Settled:
    """What of a settled outline new lines must leave as it is, if only they are to be read."""

    def __init__(self, outline: Outline) -> None:
        self.places = len(outline.places)
        self._keyless = len(outline.keyless)
        self._repeated = len(outline.repeated)
        self._boundaries = dict(outline.boundaries)
        outline.answered.clear()
        outline.changes_results = False

    def go_on(self, outline: Outline) -> set[int]:
        """Settle the lines that were added; return the earlier API messages that they change.

        Raises:
            EarlierChangedError: they change more than that: what is undone or summed up, what
                a line's id names, whose file it is.
        """
        if (
            len(outline.keyless) != self._keyless
            or len(outline.repeated) != self._repeated
            or outline.boundaries != self._boundaries
            or outline.changes_results
        ):
            raise EarlierChangedError
        self._place_new(outline)
        outline.ends_rewound += [False] * (len(outline.sessions) - len(outline.ends_rewound))
        _inherit(outline, self.places)
        changed = outline.answered | {
            group for group in outline.places.group[self.places :] if group >= 0
        }
        return {group for group in changed if outline.group_starts[group] < self.places}

    def _place_new(self, outline: Outline) -> None:
        places = outline.places
        if outline.is_agent:
            _join_new(outline, self.places)
        elif _is_agent(outline):
            raise EarlierChangedError
        keyless = _keyless(outline)
        for index in range(self.places, len(places)):
            if index in keyless:
                places.named[index] = False
            parent = places.parent[index]
            if parent >= 0 and not places.named[parent]:
                places.parent[index] = -1  # the id that names it is one that names nothing
            if decides(places, index):
                _hang(outline, index)


def _hang(outline: Outline, index: int) -> None:
    """Hang a new line on its parent, where that neither undoes nor restores earlier ones."""
    places = outline.places
    parent = places.parent[index]
    before = places.child[parent]
    if before >= 0:
        is_undone = parent in outline.branched and places.kind[before] == USER
        if places.kind[index] == USER or is_undone:
            raise EarlierChangedError
        outline.branched.add(parent)
    places.child[parent] = index


def _join_new(outline: Outline, start: int) -> None:
    """Let an agent's new lines be of its one conversation, as its earlier ones are."""
    if len(outline.sessions) > _MOST_CHAINS:
        raise EarlierChangedError
    for index in range(start, len(outline.places)):
        outline.places.session[index] = 0
    for facts in outline.sessions[1:]:
        outline.sessions[0].absorb(facts)
    del outline.sessions[1:]


def can_go_on(outline: Outline) -> bool:
    """Whether new lines would be taken for what they are when they are read alone.

    A file that is an agent's by its lines alone may turn out to be none, and where an agent's
    file holds several chains their API messages are told apart by the chain.
    """
    return not outline.is_agent or (
        outline.stem.startswith(AGENT_PREFIX) and outline.chains < _MOST_CHAINS
    )


def _drop_keyless(outline: Outline) -> None:
    """Ids that stand on lines of different types name nothing, and links to them lead nowhere."""
    keyless, places = _keyless(outline), outline.places
    for index in keyless:
        places.named[index] = False
    if keyless:
        for index, parent in enumerate(places.parent):
            if parent in keyless:
                places.parent[index] = -1


def _keyless(outline: Outline) -> set[int]:
    """The lines whose id stands on lines of another type as well."""
    return {index for uuid in outline.keyless for index in outline.repeats[uuid]}


def _is_agent(outline: Outline) -> bool:
    """Whether the file is a subagent's own: by its name, or by holding nothing else."""
    if outline.stem.startswith(AGENT_PREFIX):
        return True
    return outline.sessions[0].lines == 0 and any(s.lines for s in outline.sessions)


def _join_sidechains(outline: Outline) -> None:
    for index in range(len(outline.places)):
        outline.places.session[index] = 0
    for facts in outline.sessions[1:]:
        outline.sessions[0].absorb(facts)
    last = max(outline.boundaries.values(), default=-1)
    outline.boundaries = {0: last} if last >= 0 else {}
    outline.chains = len(outline.sessions) - 1
    del outline.sessions[1:]
    outline.is_agent = True


def _rewound_roots(outline: Outline) -> list[int]:
    """The lines that a later prompt took the place of.

    That is so where a line has several prompts or answers hanging on it and the last of them is
    a prompt. Results, attachments, events and commands neither open nor decide a branch.
    """
    places = outline.places
    for index, parent in enumerate(places.parent):
        if decides(places, index):
            if places.child[parent] >= 0:
                outline.branched.add(parent)
            places.child[parent] = index
    undone = {p for p in outline.branched if places.kind[places.child[p]] == USER}
    if not undone:
        return []
    return [
        index
        for index, parent in enumerate(places.parent)
        if parent in undone and index != places.child[parent] and decides(places, index)
    ]


def decides(places: Places, index: int) -> bool:
    """Whether a line is a prompt or an answer that hangs on another of its conversation."""
    parent = places.parent[index]
    if parent < 0 or places.session[index] != places.session[parent]:
        return False
    kind = places.kind[index]
    return kind == ASSISTANT or (kind == USER and places.turn[index] == PROMPT)


def _inherit(outline: Outline, start: int) -> None:
    """What hangs on a rewound line is rewound; a line without links goes with the one before."""
    places, before = outline.places, outline.ends_rewound
    for index in range(start, len(places)):
        parent, session = places.parent[index], places.session[index]
        if parent >= 0:
            places.rewound[index] |= places.rewound[parent]
        elif not places.named[index]:
            places.rewound[index] = before[session]
        before[session] = bool(places.rewound[index])
