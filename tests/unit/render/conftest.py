"""Messages and looks that the tests of rendering share."""

from collections.abc import Callable

import pytest

from app.render.item import Scene
from app.render.sheet import Sheet
from app.render.style import Style
from app.tokens import LIGHT
from core.types import Message, MessageState, Origin, Role, TimeQuality

ORIGINS = {
    Role.USER: Origin.HUMAN,
    Role.ASSISTANT: Origin.MODEL,
    Role.TOOL: Origin.TOOL,
    Role.SYSTEM: Origin.INJECTED,
}


@pytest.fixture
def style() -> Style:
    return Style(LIGHT)


@pytest.fixture
def sheet(style: Style) -> Sheet:
    return Sheet("m1", style)


@pytest.fixture
def scene(style: Style) -> Scene:
    return Scene(style)


@pytest.fixture
def said() -> Callable[..., Message]:
    """Makes a message; its id is its number unless told otherwise."""

    def make(number: int, role: Role, content: str, **fields) -> Message:
        values = {
            "id": number,
            "uid": f"u{number}",
            "session_id": 1,
            "seq": number * 10,
            "number": number,
            "role": role,
            "origin": ORIGINS[role],
            "state": MessageState.ACTIVE,
            "content": content,
            "content_length": len(content),
            "truncated": False,
            "created_at_ms": 1_764_252_000_000 + number * 1_000,
            "time_quality": TimeQuality.EXACT,
        }
        return Message(**(values | fields))

    return make
