"""Aider: `.aider.chat.history.md`, a Markdown log of every run in the folder it was started in.

Facts: aider's io.py, which writes `# aider chat started at …`, `#### ` before each line of a
prompt, `> ` before what the program says, and answers as they are. It ends prompts and its own
words with two spaces; answers may hold all of these marks too, so a mark counts only where one
can stand. A run is a session; its beginning is the only time there is.
"""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.sources import files as disk
from core.sources import found as places
from core.sources import there
from core.sources.headline import derived_title
from core.sources.instants import UNKNOWN, Instant, instant
from core.sources.lines import Line, lines, without_surrogates
from core.sources.loose import json_text
from core.sources.records import (
    MessageRecord,
    ReadTo,
    Record,
    SessionRecord,
    SourceIdentity,
)
from core.types import FoundSource, Origin, Role, TitleSource

KIND = "aider"
READER_VERSION = 1
REWRITES = True
"""What the program says grows line by line, and an early reading sees a part of it."""

SUFFIXES = frozenset({".md"})
CHOOSES = "file"
NAME = ".aider.chat.history.md"

_NEVER_WALKED = {".git", ".venv", "__pycache__", "node_modules"}
_RUN = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TOKENS = re.compile(r"Tokens: ([\d.,]+)(k|M)? sent.*?([\d.,]+)(k|M)? received")
_MODEL = re.compile(r"(?:Main model|Model): (\S+)")
_OWN_WORDS = ("> Tokens: ", "> Applied edit to ", "> Commit ")
_UNITS = {"": 1, "k": 1_000, "M": 1_000_000}
_BREAK = "  "


def identity(path: Path) -> SourceIdentity:
    """Every history is of one source: a session's id tells the folder, the time and the prompt."""
    del path
    return SourceIdentity(KIND, "", "Aider")


def recognises(path: Path) -> bool:
    """Whether the file has the name of a history; another Markdown file is not opened."""
    return path.name == NAME


def files(path: Path) -> Iterator[Path]:
    """Yield the file, or the histories below a folder."""
    if not there.is_dir(path):
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(set(folders) - _NEVER_WALKED)
        if NAME in names:
            yield Path(folder, NAME)


def is_home(folder: Path) -> bool:  # noqa: ARG001 (it has no folder of its own)
    """Return False: the program writes into the folders that it is started in."""
    return False


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the histories whose place is known: one that is named, one in the person's folder."""
    named = env.get("AIDER_CHAT_HISTORY_FILE")
    for path in dict.fromkeys([*([Path(named)] if named else ()), home / NAME]):
        if there.is_file(path):
            yield places.found(KIND, path, "Aider", size=path.stat().st_size)


@dataclass(slots=True)
class _Block:
    """Lines of one speaker, without their marks; `offset` is where they begin in the file."""

    role: Role
    offset: int
    end: int
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(slots=True)
class _Run:
    """One run of the program. `exact` tells that its marks end as the program ends them."""

    started: str
    blocks: list[_Block] = field(default_factory=list)
    fence: str = ""
    exact: bool = False
    number: int = 0
    is_broken_off: bool = False

    @property
    def speaker(self) -> Role | None:
        """Whose line was the last one."""
        return self.blocks[-1].role if self.blocks else None


def read(path: Path) -> Iterator[Record]:
    """Yield a session and its messages for each run in which something was said.

    Memory: one run. Bytes that are not UTF-8 are shown as U+FFFD.

    Raises:
        SourceError: the file cannot be read.
    """
    equals: Counter[str] = Counter()
    with disk.opened(path) as stream:
        total = disk.stamp_of(stream).size
        run = _Run("")
        for line in lines(disk.as_utf8(stream)):
            if not isinstance(line, Line):
                yield line
                continue
            text = line.raw.decode("utf-8", "replace").rstrip("\r")
            if header := _RUN.match(text):
                yield from _told(run, path, equals)
                run = _Run(header[1], number=line.number)
                yield ReadTo(min(line.offset, total), total)
            else:
                _take(run, line, text)
        yield from _told(run, path, equals)
        yield ReadTo(total, total)


def _take(run: _Run, line: Line, text: str) -> None:
    """Add a line to the block of its speaker, with the blank lines before it."""
    gap = line.number - run.number - 1
    run.number = line.number
    role, before = _speaker(run, text, gap), run.speaker
    run.is_broken_off = role == Role.TOOL and not text.endswith(_BREAK)
    if role == Role.USER:
        text = text[4:].removeprefix(" ").removesuffix(_BREAK)
    elif role == Role.TOOL:
        text = (text[1:].removeprefix(" ") if text.startswith(">") else text).removesuffix(_BREAK)
    end = line.offset + len(line.raw)
    if role == before and (role != Role.USER or not gap):
        block = run.blocks[-1]
        block.lines += [""] * gap + [text]
        block.end = end
    else:
        run.blocks.append(_Block(role, line.offset, end, [text]))


def _speaker(run: _Run, text: str, gap: int) -> Role:
    """Whose line it is: a mark counts where one can stand, and never within fenced code."""
    if run.fence and text.startswith(_OWN_WORDS):
        run.fence = ""  # a fence that was never closed
    fence = _FENCE.match(text)
    if run.fence:
        if fence and fence[1].startswith(run.fence):
            run.fence = ""
        return Role.ASSISTANT
    if text.startswith("####") and text[4:5] in ("", " ") and _is_prompt(run, text, gap):
        return Role.USER
    if text.startswith(">") and _is_own(run, text, gap):
        return Role.TOOL
    if run.exact and run.is_broken_off and not gap:
        return Role.TOOL  # of several lines only the first is marked, only the last ends so
    if fence:
        run.fence = fence[1]
    return Role.ASSISTANT


def _is_prompt(run: _Run, text: str, gap: int) -> bool:
    before = run.speaker
    if not any(block.role == Role.USER for block in run.blocks):
        run.exact = text.endswith(_BREAK)
    if run.exact:
        return text.endswith(_BREAK) and (gap > 0 or before in (None, Role.USER))
    if before == Role.USER:
        return not gap
    return before is None or (before == Role.TOOL and gap > 0)


def _is_own(run: _Run, text: str, gap: int) -> bool:
    """Whether the program says it, and not an answer that quotes."""
    if run.speaker != Role.ASSISTANT or text.startswith(_OWN_WORDS):
        return True
    return gap > 0 and (not run.exact or text.endswith(_BREAK))


def _told(run: _Run, path: Path, equals: Counter[str]) -> Iterator[Record]:
    """The session of a run and its messages; nothing where nobody said anything."""
    spoken = [block for block in run.blocks if block.role != Role.TOOL]
    if not spoken:
        return
    session = _session(run, path, equals)
    yield session
    moment = instant(run.started) if run.started else UNKNOWN
    firsts: Counter[tuple[Role, str]] = Counter()
    prompted = False
    for number, block in enumerate(run.blocks):
        key = (block.role, block.lines[0])
        firsts[key] += 1
        prompted = prompted or block.role != Role.TOOL
        if block.role == Role.USER and block.text.strip() in ("", "<blank>"):
            continue
        following = run.blocks[number + 1] if number + 1 < len(run.blocks) else None
        yield _message(session, block, f"{key!r}{firsts[key]}", moment, following, prompted)


def _message(
    session: SessionRecord,
    block: _Block,
    key: str,
    moment: Instant,
    following: _Block | None,
    prompted: bool,
) -> MessageRecord:
    """The message of a block, known by its first line: the program's own words grow."""
    role, origin = block.role, _ORIGINS[block.role]
    if role == Role.TOOL and not prompted:
        role, origin = Role.SYSTEM, Origin.SYNTHETIC  # what it says of itself as it starts
    usage = None
    if role == Role.ASSISTANT and following is not None and following.role == Role.TOOL:
        usage = _usage(following.text)
    return MessageRecord(
        session.native_id,
        _digest(session.native_id, key),
        role,
        block.text,
        origin,
        position=block.offset,
        created_at_ms=moment[0],
        time_quality=moment[1],
        model=session.model if role == Role.ASSISTANT else None,
        usage=usage,
        raw_ref=f"{block.offset}:{block.end - block.offset}",
    )


_ORIGINS = {Role.USER: Origin.HUMAN, Role.ASSISTANT: Origin.MODEL, Role.TOOL: Origin.TOOL}


def _session(run: _Run, path: Path, equals: Counter[str]) -> SessionRecord:
    """The session of a run: its id tells the folder's name, the time and the first words.

    So it stays the same when the file grows, is cut at its beginning, or moves with its folder.
    """
    said = [block for block in run.blocks if block.role != Role.TOOL]
    prompts = [block.text for block in said if block.role == Role.USER]
    folder = path.resolve().parent
    made = _digest(without_surrogates(folder.name), run.started, said[0].lines[0])
    equals[made] += 1
    native_id = f"{run.started.replace(' ', 'T')}-{made}".lstrip("-")
    if equals[made] > 1:
        native_id += f"#{equals[made]}"
    typed = [text for text in prompts if not text.startswith("/")]
    titles = map(derived_title, [*typed, *prompts, *(block.text for block in said)])
    title = next(filter(None, titles), None)
    model = next(filter(None, (_MODEL.search(block.text) for block in run.blocks[:1])), None)
    return SessionRecord(
        native_id,
        title=title,
        title_source=TitleSource.DERIVED if title else TitleSource.NONE,
        model=model[1] if model and run.blocks[0].role == Role.TOOL else None,
        cwd=without_surrogates(str(folder)),
        git_repo_root=without_surrogates(str(folder)) if there.exists(folder / ".git") else None,
        started_at_ms=instant(run.started)[0] if run.started else None,
    )


def _usage(told: str) -> str | None:
    """The tokens that the program counted for an answer, as rounded as it tells them."""
    found = _TOKENS.search(told)
    if found is None:
        return None
    sent, received = _count(found[1], found[2]), _count(found[3], found[4])
    if sent is None or received is None:
        return None
    return json_text({"input_tokens": sent, "output_tokens": received})


def _count(digits: str, unit: str | None) -> int | None:
    try:
        return round(float(digits.replace(",", "")) * _UNITS[unit or ""])
    except (OverflowError, ValueError):
        return None


def _digest(*parts: str) -> str:
    joined = "\0".join(parts).encode(errors="replace")
    return hashlib.blake2b(joined, digest_size=8).hexdigest()
