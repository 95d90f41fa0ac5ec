"""The blocks of a message of Pi: texts, thoughts, calls, pictures."""

from dataclasses import dataclass, field

from core.sources.loose import identifier, items, json_text, mapping, number, text


@dataclass(slots=True)
class Said:
    """What the blocks of one message hold, in their order."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[tuple[str | None, str, str]] = field(default_factory=list)
    media: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def said(content: object, at: str) -> Said:
    """Sort the blocks of a content, which may be a text alone; `at` is where the line is."""
    found = Said()
    if isinstance(content, str):
        found.texts.append(content)
    for block in items(content):
        given = mapping(block)
        kind = given.get("type")
        if isinstance(block, str):
            found.texts.append(block)
        elif kind == "text":
            found.texts += filter(None, [text(given, "text")])
        elif kind == "thinking":
            found.thoughts += filter(None, [text(given, "thinking")])
        elif kind == "toolCall":
            name = text(given, "name") or "?"
            call = (identifier(given.get("id")), name, json_text(given.get("arguments")))
            found.calls.append(call)
        elif kind == "image":
            content_of = given.get("data")
            size = len(content_of) * 3 // 4 if isinstance(content_of, str) else 0
            found.media.append(f"{text(given, 'mimeType') or 'image'}; size={size}; at={at}")
        elif kind != "redactedThinking":
            found.unknown.append(f"block {kind if isinstance(kind, str) else type(block).__name__}")
    return found


def text_of(content: object) -> str:
    """Return the plain text of a content, one block below the other."""
    return "\n".join(said(content, "").texts)


def moment(value: object) -> object:
    """Return a time that the program wrote in milliseconds as `instant` wants it."""
    found = number(value)
    return found / 1000 if found is not None and found > 1e11 else value
