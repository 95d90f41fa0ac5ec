"""Hostile texts and queries for the search's property tests, made from a seed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

from tests.unit.search.oracle import Row, Session, Spec

CJK = "订阅电影服务漢字時々かなガギアーｱｶﾞ가나다한글서울ㄅㄆ𰀀𠮷桂漓江ไปก"
CJK += "\u1112\u1161\u11ab"  # 한, taken apart
CJK += "\uf900\ufa0e\U0002f800"  # compatibility ideographs; the second folds to no other
WORDS = ["a", "ab", "abc", "nginx", "Nginx", "deploy", "deployed", "C", "net", "x1", "42", "API"]
WORDS += ["café", "cafe\u0301", "naïve", "ＡＰＩ", "привет", "ΣΟΦΙΑ", "straße", "duong", "đường"]
WORDS += ["हिन्दी", "தமிழ்", "বাংলা"]
GLUE = [" ", " ", " ", "", "", ".", "-", "/", "_", "。", "、", "\n", "——", "'", "’", "  ", "😀"]
GLUE += ["->", "+", "#", "\u200b", "\x1b[31m", "：", "🤖", "🧪", "👍🏽", "🫡"]
NEUTRAL = [".", "-", "/", "_", ":", "@", "'", "\\", ".."]
LITERALS = ["C++", "C#", ".NET", "->", "😀", "a++", "#urgent", "$x1", "42%", "订阅😀", "🤖", "=>"]
LITERALS += ["🧪", "👍", "42🫡"]


def run(random: Random, at_most: int = 5) -> str:
    return "".join(random.choice(CJK) for _ in range(random.randint(1, at_most)))


def text(random: Random) -> str:
    parts: list[str] = []
    for _ in range(random.randint(0, 9)):
        kind = random.random()
        if kind < 0.42:
            parts.append(run(random))
        elif kind < 0.45:
            parts.append(random.choice(["ภาษาไทย", "ｶﾞｷﾞｸﾞ", "서울", "Ｃ＋＋"]))
        elif kind < 0.85:
            parts.append(random.choice(WORDS))
        else:
            parts.append(random.choice(LITERALS))
        parts.append(random.choice(GLUE))
    return "".join(parts)


def row(random: Random) -> Row:
    is_tool = random.random() < 0.3
    name = random.choice(["", "", "deploy", "web_lookup", "订阅工具"]) if is_tool else ""
    calls = ""
    if not is_tool and random.random() < 0.2:
        calls = text(random)
    return Row(text(random), name, calls, is_tool)


STATES = ["active"] * 12 + ["compacted", "off_branch", "rewound", "hidden"]
ORIGINS = ["", "", "", "injected", "synthetic"]
FIRST_DAY = datetime(2026, 1, 5, tzinfo=UTC)


def placed(random: Random, row: Row, sessions: list[Session]) -> Row:
    """Return the row with all that is known of a message beside its text, in a session."""
    owner = random.choice(sessions)
    shown = [owner]
    others = [s for s in sessions if s.sources == owner.sources and s is not owner]
    if others and random.random() < 0.12:
        shown.append(random.choice(others))
    minutes = random.randrange(60 * 24 * 60)
    at_ms = int((FIRST_DAY + timedelta(minutes=minutes)).timestamp() * 1000)
    content = row.content
    if row.is_tool and random.random() < 0.08:
        content = ". " * 4_200 + content  # more than the indexes hold of a tool row
    return replace(
        row,
        content=content,
        speaker="" if row.is_tool or row.tool_calls else random.choice(["", "assistant", "system"]),
        called=random.choice(["deploy", "web_lookup", "订阅", "a%b"]) if row.tool_calls else "",
        model=random.choice(["", "", "opus-4", "Sonnet 4.5"]),
        at_ms=None if random.random() < 0.15 else at_ms,
        state=random.choice(STATES),
        origin=random.choice(ORIGINS),
        sessions=tuple(shown),
    )


def title(random: Random) -> str:
    words = [random.choice([run(random, 3), *WORDS, *LITERALS]) for _ in range(3)]
    return " ".join(words[: random.choice([0, 1, 2, 3, 3])])


def moment(random: Random) -> tuple[str, int]:
    """Return a time as one types it, and the milliseconds it is."""
    at = FIRST_DAY + timedelta(minutes=random.randrange(60 * 24 * 60))
    kind = random.random()
    if kind < 0.5:  # a day here, wherever that is
        day = datetime(at.year, at.month, at.day)
        return str(day.date()), int(day.timestamp() * 1000)
    if kind < 0.9:
        at = at.replace(second=0)
        return f"{at:%Y-%m-%dT%H:%M}Z", int(at.timestamp() * 1000)
    return random.choice(["1h", "3d", "1mo"]), int(datetime(2026, 6, 1).timestamp() * 1000)


def word(random: Random, taken_from: str = "") -> str:
    """Return a run, a word, or several glued or joined by plain punctuation."""
    parts = []
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        if random.random() < 0.6:
            parts.append(run(random, 3))
        else:
            parts.append(random.choice(WORDS))
        parts.append(random.choice(["", *NEUTRAL]))
    return "".join(parts[:-1])


def term(random: Random, rows: list[Row]) -> Spec:
    """Return a term; half of them are cut from one of the rows, so that they hit."""
    kind = random.random()
    if kind < 0.15:
        return Spec(random.choice(LITERALS), is_literal=True)
    if kind < 0.25:
        return Spec(random.choice(["a", "de", "dep", "ngin", "ap", "x", "4"]), is_prefix=True)
    if kind < 0.6:
        return Spec(word(random))
    content = random.choice(rows).content
    at = random.randrange(len(content) or 1)
    piece = "".join(c for c in content[at : at + random.randint(1, 4)] if c in CJK)
    return Spec(piece or word(random))
