"""Which lines of a Claude Code transcript still count, and to which conversation they belong.

File order is the order of a conversation. The links between lines only tell where somebody went
back and typed another prompt in an earlier one's place; taken as a tree they would lose parallel
tool results, whole conversations behind a slash command, and every file without links.
"""

from core.sources.claude_code.facts import AGENT_PREFIX
from core.sources.claude_code.outline import Kind, Outline, Place
from core.sources.claude_code.texts import Turn


def settle(outline: Outline) -> None:
    """Make the outline final: ids that are none dropped, sidechains told apart, rewinds marked.

    Linear in the lines, without recursion: a link to a later line is no link, so that loops
    end in file order.
    """
    _drop_keyless(outline)
    if _is_agent(outline):
        _join_sidechains(outline)
    for root in _rewound_roots(outline.places):
        outline.places[root].rewound = True
    _inherit(outline.places, len(outline.sessions))


def _drop_keyless(outline: Outline) -> None:
    """Ids that stand on lines of different types name nothing, and links to them lead nowhere."""
    keyless = {index for index, place in enumerate(outline.places) if place.uuid in outline.keyless}
    for index in keyless:
        outline.places[index].uuid = None
    if keyless:
        for place in outline.places:
            if place.parent in keyless:
                place.parent = -1


def _is_agent(outline: Outline) -> bool:
    """Whether the file is a subagent's own: by its name, or by holding nothing else."""
    if outline.stem.startswith(AGENT_PREFIX):
        return True
    return outline.sessions[0].lines == 0 and any(s.lines for s in outline.sessions)


def _join_sidechains(outline: Outline) -> None:
    for place in outline.places:
        place.session = 0
    for facts in outline.sessions[1:]:
        outline.sessions[0].absorb(facts)
    last = max(outline.boundaries.values(), default=-1)
    outline.boundaries = {0: last} if last >= 0 else {}
    del outline.sessions[1:]
    outline.is_agent = True


def _rewound_roots(places: list[Place]) -> list[int]:
    """The lines that a later prompt took the place of.

    That is so where a line has several prompts or answers hanging on it and the last of them is
    a prompt. Results, attachments, events and commands neither open nor decide a branch.
    """
    branches: dict[int, list[int]] = {}
    for index, place in enumerate(places):
        if place.parent < 0 or place.session != places[place.parent].session:
            continue
        if place.kind == Kind.ASSISTANT or (place.turn == Turn.PROMPT and place.kind == Kind.USER):
            branches.setdefault(place.parent, []).append(index)
    return [
        index
        for children in branches.values()
        if len(children) > 1 and places[children[-1]].kind == Kind.USER
        for index in children[:-1]
    ]


def _inherit(places: list[Place], sessions: int) -> None:
    """What hangs on a rewound line is rewound; a line without links goes with the one before."""
    before = [False] * sessions
    for place in places:
        if place.parent >= 0:
            place.rewound = place.rewound or places[place.parent].rewound
        elif place.uuid is None:
            place.rewound = before[place.session]
        before[place.session] = place.rewound
