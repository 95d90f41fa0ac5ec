"""Makes a store of agent history as Claude Code leaves it, the same on every machine.

    python -m tests.bench.generator build/bench/100k --messages 100000 --seed 1

One line is one message. With the defaults 100,000 of them are 79 MB in 500 sessions, 30 % of
them with CJK, tool results a good half of the text: few prompts, many short steps, long outputs.
"""

import argparse
import json
import math
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from tests.bench import vocabulary
from tests.bench.vocabulary import Vocabulary

ENDS_S = 1_767_225_600  # 2026-01-01: times to come are no times to an import
SPAN_S = 2 * 365 * 86_400  # that all of a history lies in, however much of it there is
PROJECTS = ("backend", "webapp", "notes", "infra", "crawler", "媒体库", "docs", "ml")
CJK_SESSIONS = 0.53
# How often a message of a CJK session holds CJK: outputs of tools mostly do not.
CJK_SHARE = {"user": 0.97, "assistant": 0.93, "tool": 0.30}
TEXT_BYTES = {"user": 130, "assistant": 100, "tool": 255}  # medians
SPREAD = {"user": 0.9, "assistant": 0.8, "tool": 0.95}  # of the logarithm
LARGEST_BYTES = 60_000
TOOLS = ("Bash", "Read", "Edit", "Grep", "Write", "Glob", "Task")

Words = Callable[[Random, int], str]


@dataclass(frozen=True)
class Language:
    """How a language writes: its words, what stands between them, bytes a word takes."""

    vocabulary: Vocabulary
    between: str
    stops: str
    word_bytes: float

    def text(self, random: Random, size: float) -> str:
        """Return sentences of about `size` bytes."""
        words = self.vocabulary.draw(random, max(1, round(size / self.word_bytes)))
        start = 0
        while start < len(words):
            start += random.randint(5, 14)
            if start < len(words):
                words[start - 1] += random.choice(self.stops)
        return self.between.join(words)


def languages() -> dict[str, Language]:
    """The four languages by their code."""
    return {
        "en": Language(vocabulary.english(), " ", ".,.,:;", 7.0),
        "zh": Language(vocabulary.chinese(), "", "，。，。；：", 6.2),
        "ja": Language(vocabulary.japanese(), "", "、。、。", 6.0),
        "ko": Language(vocabulary.korean(), " ", ".,.,", 9.2),
    }


class Session:
    """One session's file: who said what, in lines as Claude Code 2.x writes them."""

    def __init__(self, random: Random, begins_s: int, known: dict[str, Language]) -> None:
        self._random = random
        self._english = known["en"]
        name = "en"
        if random.random() < CJK_SESSIONS:
            name = random.choices(("zh", "ja", "ko"), weights=(60, 22, 18))[0]
        self._own = known[name]
        self._is_cjk = name != "en"
        self.project = random.choice(PROJECTS)
        self.id = self._uuid()
        self._at_ms = begins_s * 1000 + random.randrange(40_000_000)
        self._last: str | None = None
        self._call: str | None = None

    def lines(self, count: int) -> Iterator[dict[str, Any]]:
        """Yield `count` messages: prompts, each with some steps of call and result."""
        left = count
        while left:
            yield self._prompt()
            left -= 1
            for _ in range(min(self._steps(), left // 2)):
                yield self._answer(with_call=True)
                yield self._result()
                left -= 2
            if left:
                yield self._answer(with_call=False)
                left -= 1

    def _steps(self) -> int:
        return min(60, int(self._random.lognormvariate(1.35, 0.9)))

    def _prompt(self) -> dict[str, Any]:
        return self._line("user", {"role": "user", "content": self._text("user")})

    def _answer(self, *, with_call: bool) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        if not with_call or self._random.random() < 0.7:
            content.append({"type": "text", "text": self._text("assistant")})
        if with_call:
            self._call = "toolu_" + self._hex(24)
            content.append(
                {"type": "tool_use", "id": self._call, "name": self._tool(), "input": self._input()}
            )
        message = {
            "id": "msg_" + self._hex(24),
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": content,
            "usage": {"input_tokens": self._random.randrange(9, 900), "output_tokens": 120},
        }
        return self._line("assistant", message)

    def _result(self) -> dict[str, Any]:
        result = {"tool_use_id": self._call, "type": "tool_result", "content": self._output()}
        return self._line("user", {"role": "user", "content": [result]})

    def _line(self, kind: str, message: dict[str, Any]) -> dict[str, Any]:
        parent, self._last = self._last, self._uuid()
        self._at_ms += self._random.randrange(800, 45_000)
        seconds, ms = divmod(self._at_ms, 1000)
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": f"/home/dev/{self.project}",
            "sessionId": self.id,
            "version": "2.0.14",
            "gitBranch": "main",
            "type": kind,
            "message": message,
            "uuid": self._last,
            "timestamp": f"{_iso(seconds)}.{ms:03}Z",
        }

    # Texts

    def _size(self, role: str) -> float:
        size = TEXT_BYTES[role] * math.exp(self._random.gauss(0, SPREAD[role]))
        return min(size, LARGEST_BYTES)

    def _text(self, role: str) -> str:
        cjk = self._is_cjk and self._random.random() < CJK_SHARE[role]
        size = self._size(role)
        if not cjk:
            return self._english.text(self._random, size)
        # Talk about code mixes: a tenth of it is Latin.
        return f"{self._own.text(self._random, size * 0.9)} {self._name()}"

    def _output(self) -> str:
        size = self._size("tool")
        if self._is_cjk and self._random.random() < CJK_SHARE["tool"]:
            return self._own.text(self._random, size)
        lines: list[str] = []
        while size > 0:
            place = f"{self._path()}:{self._random.randrange(1, 900)}"
            words = " ".join(self._english.vocabulary.draw(self._random, 6))
            lines.append(self._random.choice((f"{place}: {words}", f"    {words}", words)))
            size -= len(lines[-1]) + 1
        return "\n".join(lines)

    def _input(self) -> dict[str, str]:
        command = f"grep -rn '{self._name()}' {self._path()}"
        return {"command": command, "description": self._english.text(self._random, 24)}

    def _name(self) -> str:
        return "_".join(self._english.vocabulary.draw(self._random, 2))

    def _path(self) -> str:
        folder, name = self._english.vocabulary.draw(self._random, 2)
        return f"src/{folder}/{name}.py"

    def _tool(self) -> str:
        return self._random.choice(TOOLS)

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _hex(self, length: int) -> str:
        return f"{self._random.getrandbits(4 * length):0{length}x}"


def _iso(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def write(folder: Path, *, messages: int, sessions: int, seed: int) -> int:
    """Write the files below `folder` and return their bytes."""
    random = Random(seed)
    known = languages()
    shares = [random.lognormvariate(0, 0.8) for _ in range(sessions)]
    left, total = messages, 0
    for number, share in enumerate(shares):
        count = round(messages * share / sum(shares)) if number < sessions - 1 else left
        count = min(max(count, 1), left)
        if not count:
            break
        left -= count
        begins_s = ENDS_S - SPAN_S + SPAN_S * number // sessions
        session = Session(random, begins_s, known)
        path = folder / f"-home-dev-{session.project}" / f"{session.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        text = "".join(f"{dumps(line)}\n" for line in session.lines(count))
        total += path.write_bytes(text.encode())
    return total


def main() -> None:
    """Write a store as the arguments say, and tell its size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    total = write(args.folder, messages=args.messages, sessions=args.sessions, seed=args.seed)
    print(f"{args.messages} messages, {total / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
