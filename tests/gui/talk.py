"""Messages for tests of the viewer, and the items a page of them is rendered to."""

from dataclasses import replace

from app import theme
from app.render import page as pages
from app.render import runs
from app.render.item import Item, Scene
from app.render.page import Page
from app.render.style import Style
from core.types import Message, MessageState, Origin, Role, TimeQuality

_ORIGINS = {
    Role.USER: Origin.HUMAN,
    Role.ASSISTANT: Origin.MODEL,
    Role.TOOL: Origin.TOOL,
    Role.SYSTEM: Origin.INJECTED,
}


def said(number: int, content: str, role: Role = Role.ASSISTANT, **fields) -> Message:
    """Return a message whose id is its number."""
    values = {
        "id": number,
        "uid": f"u{number}",
        "session_id": 1,
        "seq": number * 10,
        "number": number,
        "role": role,
        "origin": _ORIGINS[role],
        "state": MessageState.ACTIVE,
        "content": content,
        "content_length": len(content),
        "truncated": False,
        "created_at_ms": 1_764_252_000_000 + number * 60_000,
        "time_quality": TimeQuality.EXACT,
    }
    return Message(**(values | fields))


def mixed(number: int) -> Message:
    """Return a message of a kind and height that depend on its number."""
    texts = (
        f"message {number} is short",
        f"message {number} goes on " + "and on " * (number % 60),
        f"**{number}** 订阅の電影\n\n- one\n- two\n\n> quoted",
        f"```python\ndef f{number}():\n    return {number}\n```\nafter it",
        f"| a | b |\n|---|--:|\n| {number} | 2 |",
    )
    role = Role.USER if number % 3 == 0 else Role.ASSISTANT
    return said(number, texts[number % len(texts)], role)


def window(first: int, last: int, *, total: int = 190, anchor: int | None = None, **fields) -> Page:
    """Return a page of mixed messages with the bookends of its session."""
    return Page(
        total=total,
        messages=tuple(mixed(n) for n in range(first, last + 1)),
        opening=tuple(mixed(n) for n in range(1, 4)),
        resolution=tuple(mixed(n) for n in range(total - 2, total + 1)),
        anchor_id=anchor,
        **fields,
    )


def scene(marker: runs.Marker = runs.no_marks, width: int = 760) -> Scene:
    """Return the look of now."""
    style = Style(
        theme.current(),
        tuple(theme.code_families()),
        theme.families("JP")[-1],
        theme.families("KR")[-1],
        theme.text_scale(),
        width,
    )
    return Scene(style, marker)


def rendered(page: Page, marker: runs.Marker = runs.no_marks) -> tuple[Item, ...]:
    """Return the items of a page."""
    return pages.build(page, scene(marker), {})[0]


def one(
    content: str, role: Role = Role.ASSISTANT, marker=runs.no_marks, **fields
) -> tuple[Item, ...]:
    """Return the items of a session of one message."""
    message = said(1, content, role, **fields)
    return rendered(Page(total=1, messages=(message,)), marker)


def choosing(page: Page, **choices: str) -> Page:
    """Return the page with one choice made for each key (`t1_0` stands for `t1.0`)."""
    made = {key.replace("_", "."): frozenset({choice}) for key, choice in choices.items()}
    return replace(page, choices=made)
