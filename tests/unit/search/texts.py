"""Hostile texts and queries for the search's property tests, made from a seed."""

from __future__ import annotations

from random import Random

from tests.unit.search.oracle import Row, Spec

CJK = "订阅电影服务漢字時々かなガギアーｱｶﾞ가나다한글서울ㄅㄆ𰀀𠮷桂漓江ไปก"
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
        if kind < 0.45:
            parts.append(run(random))
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
