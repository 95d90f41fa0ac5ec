"""What each sample file holds, read by eye, and the comparison with what a reader yields.

The expectations are `tests/data/cases/expected_samples.jsonl`; no reader had a part in them.
How a test of one kind looks:

    @pytest.mark.parametrize("entry", expected.entries("codex"), ids=expected.name)
    def test_the_sample_holds_what_was_read_by_eye(entry):
        expected.assert_entry(entry, expected.observe(expected.readings(entry, codex)))

`high` entries hold as they stand, `medium` ones may meet any of their listed alternatives, and
a null is not compared. `low` entries say what is open; no test decides them.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol

from core.sources.records import (
    BadSourceRecord,
    MessageRecord,
    Record,
    SessionRecord,
    SourceIdentity,
    UnknownRecord,
)
from core.types import MessageState, Origin, Role, SessionKind, TitleSource, ToolStatus

TESTS = Path(__file__).resolve().parents[2]
SAMPLES = TESTS / "data" / "samples"
CASES = TESTS / "data" / "cases" / "expected_samples.jsonl"

# Sources whose conversations exist by their messages alone: a file without one is no conversation.
MESSAGES_MAKE_A_SESSION = {"claude_code", "codex", "jsonl"}
# Sources whose expectations count a body in each session that shows it ("inside a session").
COUNTED_PER_SESSION = {"hermes"}
ON_THE_PATH = {MessageState.ACTIVE, MessageState.COMPACTED}
SEARCHED_BY_DEFAULT = ON_THE_PATH | {MessageState.OFF_BRANCH}


Entry = dict[str, Any]
Reading = tuple[SourceIdentity, Sequence[Record]]


class Reader(Protocol):
    """The part of a reader module that the comparison needs."""

    def identity(self, path: Path) -> SourceIdentity: ...
    def files(self, path: Path) -> Iterator[Path]: ...
    def read(self, path: Path) -> Iterator[Record]: ...


def entries(kind: str, confidence: Sequence[str] = ("high", "medium")) -> list[Entry]:
    """The expectations for one kind, in file order."""
    with CASES.open(encoding="utf-8") as lines:
        everything = [json.loads(line) for line in lines]
    return [e for e in everything if e["kind"] == kind and e["confidence"] in confidence]


def name(entry: Entry) -> str:
    """The sample's path, as a test id."""
    return str(entry["path"])


def paths(entry: Entry) -> list[Path]:
    """The files or the folder of one entry; `{a,b}.jsonl` are two files imported together."""
    path = entry["path"]
    together = re.fullmatch(r"(.*)\{(.+)\}(.*)", path)
    if together is None:
        return [SAMPLES / path]
    before, names, after = together.groups()
    return [SAMPLES / f"{before}{each}{after}" for each in names.split(",")]


def readings(entry: Entry, reader: Reader) -> list[Reading]:
    """Everything the reader yields for an entry, file by file in the reader's order."""
    found: list[Reading] = []
    for path in paths(entry):
        assert path.exists(), f"the sample {path} is not in the tests' data"
        found += [(reader.identity(file), list(reader.read(file))) for file in reader.files(path)]
    return found


@dataclass
class Observed:
    """What the records of an import amount to: sessions by native id, bodies stored once."""

    sessions: dict[str, SessionRecord] = field(default_factory=dict)
    messages: list[MessageRecord] = field(default_factory=list)
    bad: list[BadSourceRecord] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)

    def of(self, session: str) -> "Observed":
        """The part of one session."""
        own = [m for m in self.messages if m.session == session]
        return Observed({session: self.sessions[session]}, own)


def observe(found: Sequence[Reading]) -> Observed:
    """Merge session records and fold messages that a store would keep once."""
    seen = Observed()
    bodies = set()
    for identity, records in found:
        for record in records:
            if isinstance(record, SessionRecord):
                before = seen.sessions.get(record.native_id)
                seen.sessions[record.native_id] = _merged(before, record) if before else record
            elif isinstance(record, MessageRecord):
                told = (record.content, record.reasoning, record.tool_calls, record.tool_name)
                place = record.session if identity.kind in COUNTED_PER_SESSION else None
                body = (identity, place, record.uid, record.role, told)
                if body not in bodies:
                    bodies.add(body)
                    seen.messages.append(record)
            elif isinstance(record, BadSourceRecord):
                seen.bad.append(record)
            elif isinstance(record, UnknownRecord):
                seen.unknown[record.type] += 1
    return seen


def _merged(before: SessionRecord, after: SessionRecord) -> SessionRecord:
    defaults = SessionRecord("")
    told = {
        f.name: getattr(after, f.name)
        for f in fields(after)
        if getattr(after, f.name) != getattr(defaults, f.name)
    }
    return replace(before, **told)


def visible(message: MessageRecord, kind: str, roles: Sequence[Role] = ()) -> bool:
    """Whether EXPECTED counts the record as shown: a real turn on the current path."""
    if message.state not in ON_THE_PATH or message.origin == Origin.INJECTED:
        return False
    if message.role not in (roles or (Role.USER, Role.ASSISTANT, Role.TOOL)):
        return False
    if message.role == Role.ASSISTANT and kind == "codex":
        return bool(message.content.strip())  # call items are counted as tool calls only
    # Claude Code writes the errors the user saw as assistant messages of its own.
    return message.origin != Origin.SYNTHETIC or (
        kind == "claude_code" and message.role == Role.ASSISTANT
    )


def assert_entry(entry: Entry, seen: Observed) -> None:
    """Hold every number and text of the entry that is not null against the records."""
    kind = entry["kind"]
    check = _Comparison(entry)
    check.number("sessions", len(_stored_sessions(kind, seen)))
    shown_roles = [Role(r) for r, n in (entry.get("visible_by_role") or {}).items() if n]
    shown = [m for m in seen.messages if visible(m, kind)]
    if Role.SYSTEM in shown_roles:
        shown += [m for m in seen.messages if visible(m, kind, [Role.SYSTEM])]
    check.number("visible_messages", len(shown), "visible_alternatives")
    check.number("bad_records", len(seen.bad))
    check.number("tool_calls", sum(len(m.tool_calls) for m in seen.messages))
    check.number("tool_calls_without_result", _calls_without_result(seen), "nores_alternatives")
    check.number("sessions_listed", len({m.session for m in shown}))
    for state in (MessageState.REWOUND, MessageState.OFF_BRANCH):
        turns = [m for m in seen.messages if m.state == state and m.role != Role.SYSTEM]
        check.number(f"{state}_messages", len(turns))
    _check_roles(entry, check, _counts_by_role(kind, seen), shown)
    _check_texts(entry, check, seen, shown)
    for title in entry["titles"]:
        titles = [(s.title, s.title_source) for s in seen.sessions.values()]
        check.true(any(_is_title(title, t, how) for t, how in titles), f"{title!r} in {titles}")
    for link in entry["lineage"]:
        _check_link(link, check, seen)
    _check_sessions(entry, check, seen)
    check.report()


class _Comparison:
    """Collects every difference of one entry, so that a failure shows them all at once."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.differences: list[str] = []

    def number(self, key: str, actual: int, alternatives: str | None = None) -> None:
        """Compare a number of the entry; a medium entry may meet an alternative."""
        wanted = self.entry.get(key)
        if wanted is None:
            return
        allowed = {wanted}
        if self.entry["confidence"] != "high":
            allowed.update(self.entry.get(alternatives or f"{key}_alternatives") or ())
        self.true(actual in allowed, f"{key}: {actual} instead of {sorted(allowed)}")

    def true(self, holds: bool, difference: str) -> None:
        """Note the difference unless the statement holds."""
        if not holds:
            self.differences.append(difference)

    def report(self) -> None:
        """Fail with every difference."""
        assert not self.differences, "\n".join([self.entry["note"], *self.differences])


def _stored_sessions(kind: str, seen: Observed) -> set[str]:
    if kind in MESSAGES_MAKE_A_SESSION:
        return {m.session for m in seen.messages}
    return set(seen.sessions)


def _calls_without_result(seen: Observed) -> int:
    answered = {(m.session, m.tool_call_id) for m in seen.messages if m.role == Role.TOOL}
    return sum(
        (m.session, call.id) not in answered
        and call.status not in (ToolStatus.SUCCEEDED, ToolStatus.FAILED)
        for m in seen.messages
        for call in m.tool_calls
    )


def _counts_by_role(kind: str, seen: Observed) -> Counter[str]:
    counts: Counter[str] = Counter()
    for message in seen.messages:
        if kind == "codex" and message.role == Role.ASSISTANT and not message.content.strip():
            continue  # EXPECTED counts a call item as a tool call, not as a message
        system = kind == "claude_code" and message.role == Role.SYSTEM
        if system and message.origin != Origin.SYNTHETIC:
            continue  # attachments and prompts never sent; EXPECTED counts the system lines
        counts[message.role] += 1
    return counts


def _check_roles(
    entry: Entry, check: _Comparison, counts: Counter[str], shown: list[MessageRecord]
) -> None:
    open_roles = entry.get("messages_alternatives") or {}
    for role, wanted in entry["messages"].items():
        if wanted is None:
            continue
        allowed = {wanted}
        if entry["confidence"] != "high":
            allowed.update(open_roles.get(role, ()))
        check.true(counts[role] in allowed, f"{role} records: {counts[role]}, not {allowed}")
    alternatives = entry.get("visible_alternatives") or []
    if entry["confidence"] == "high" or not alternatives:
        by_role = Counter(m.role.value for m in shown)
        for role, wanted in (entry.get("visible_by_role") or {}).items():
            check.true(by_role[role] == wanted, f"visible {role}: {by_role[role]}, not {wanted}")


def _check_texts(
    entry: Entry, check: _Comparison, seen: Observed, shown: list[MessageRecord]
) -> None:
    first, last = entry["first_user_text"], entry["last_text"]
    if first is not None:
        found = _ends([m for m in shown if m.role == Role.USER], seen, 0)
        allowed = [first, *entry.get("first_text_alternatives", ())]
        met = any(_starts(text, wanted) for text in found for wanted in allowed)
        check.true(met, f"first user text {first!r}, not {found}")
    if last is not None:
        pools = [shown] if entry["confidence"] == "high" else [shown, seen.messages]
        found = [text for pool in pools for text in _ends(pool, seen, -1)]
        check.true(any(_starts(t, last) for t in found), f"last text {last!r}, not {found}")
    # A call without a text is no shown message of its own, but what it asks is found.
    calls = [m for m in seen.messages if m.tool_calls and not visible(m, entry["kind"])]
    for query in entry["must_find"]:
        word = query["query"].casefold()
        count = sum(word in _searchable(m) for m in (*shown, *calls))
        check.true(count >= query["count_at_least"], f"{count} messages hold {query}")
    searched = [m for m in seen.messages if m.state in SEARCHED_BY_DEFAULT]
    _check_absent(check, entry["must_not_find"], searched)
    real = [m for m in searched if m.origin not in (Origin.INJECTED, Origin.SYNTHETIC)]
    _check_absent(check, entry.get("must_not_find_injected", ()), real)


def _check_absent(
    check: _Comparison, words: Sequence[str], messages: Sequence[MessageRecord]
) -> None:
    for word in words:
        hits = [m.uid for m in messages if word.casefold() in _searchable(m)]
        check.true(not hits, f"{word!r} must not be found, but is in {hits}")


def _ends(messages: Sequence[MessageRecord], seen: Observed, at: int) -> list[str]:
    """The first or last text of a person or a model: of all sessions, and of the main ones."""
    spoken = [
        m for m in messages if m.role in (Role.USER, Role.ASSISTANT) and _unwrapped(m.content)
    ]
    main = [m for m in spoken if seen.sessions[m.session].kind != SessionKind.SUBAGENT]
    return [some[at].content for some in (spoken, main) if some]


def _check_link(link: dict[str, str], check: _Comparison, seen: Observed) -> None:
    child = seen.sessions.get(link["child"])
    check.true(child is not None, f"no session {link['child']} in {list(seen.sessions)}")
    if child is None or link["child"] == link["parent"]:
        return  # the sample names a session as its own parent; a reader may know better
    actual = (child.parent_native_id, child.relation)
    wanted = (link["parent"], link["relation"])
    check.true(actual == wanted, f"{link['child']} hangs on {actual}, not {wanted}")


def _check_sessions(entry: Entry, check: _Comparison, seen: Observed) -> None:
    if entry["confidence"] != "high":
        return
    for wanted in entry.get("per_session", ()):
        matching = [s for s in seen.sessions if _is_id(wanted["id"], s)]
        check.true(len(matching) == 1, f"{wanted['id']}: {matching} of {list(seen.sessions)}")
        if len(matching) != 1:
            continue
        part = seen.of(matching[0])
        shown = [m for m in part.messages if visible(m, entry["kind"])]
        if (wanted.get("visible_by_role") or {}).get("system"):
            shown += [m for m in part.messages if visible(m, entry["kind"], [Role.SYSTEM])]
        if wanted.get("visible") is not None:
            count = len(shown)
            check.true(count == wanted["visible"], f"{wanted['id']}: visible {count}: {wanted}")
        counts = _counts_by_role(entry["kind"], part)
        for role in ("user", "assistant", "tool"):
            if wanted.get(role) is not None:
                told = f"{wanted['id']}: {role} {counts[role]}, not {wanted[role]}"
                check.true(counts[role] == wanted[role], told)


def _is_id(wanted: str, actual: str) -> bool:
    if "…" not in wanted:
        return wanted == actual
    start, end = wanted.split("…", 1)
    return actual.startswith(start) and actual.endswith(end)


WRAPPERS = re.compile(
    r"<(system-reminder|ide_[a-z_]+)>.*?</\1>"
    r"|^# Context from my IDE setup.*?## My request for Codex:",
    re.DOTALL,
)


def _unwrapped(text: str) -> str:
    return WRAPPERS.sub("", text).strip()


def _comparable(text: str) -> str:
    """The text up to the first damaged place, white space folded."""
    return " ".join(re.split("[\0\ufffd]", text, maxsplit=1)[0].split())


def _starts(text: str, wanted: str) -> bool:
    start = _comparable(wanted)
    return any(_comparable(t).startswith(start) for t in (text, _unwrapped(text)))


def _is_title(wanted: str, actual: str | None, source: TitleSource) -> bool:
    if actual is None:
        return False
    if source == TitleSource.DERIVED:
        return _starts(actual, wanted[:40]) or _starts(wanted, actual.rstrip("…"))
    return actual == wanted


# Content is verbatim; what stands between citation marks is no text of the answer.
CITATION = re.compile("\ue200[^\ue201]*\ue201")


def _searchable(message: MessageRecord) -> str:
    calls = [f"{c.name} {c.arguments} {c.result}" for c in message.tool_calls]
    return "\n".join([CITATION.sub("", message.content), *calls]).casefold()
