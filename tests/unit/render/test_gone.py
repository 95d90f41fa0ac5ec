"""A message that its source no longer has says so, beside what else sets it apart."""

import pytest

from app.render import page as pages
from app.render.item import Scene
from app.render.page import Page
from app.render.style import Style
from app.tokens import DARK, LIGHT
from core.types import MessageState, Origin, Role
from tests.unit.render.reading import read

WORDS = "gone at the source"


def shown(items):
    return "\n".join(read(each.html).text for each in items)


@pytest.mark.parametrize("role", [Role.USER, Role.ASSISTANT, Role.TOOL, Role.SYSTEM])
@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_it_is_labelled_on_the_ground_of_the_other_states(said, role, tokens):
    scene = Scene(Style(tokens))
    call = {"tool_call_id": "c"} if role is Role.TOOL else {}
    items, _ = pages.build(Page(2, (said(1, role, "ochre", gone=True, **call),)), scene, {})
    others, _ = pages.build(Page(2, (said(1, role, "ochre", **call),)), scene, {})

    assert WORDS in shown(items)
    assert WORDS not in shown(others)
    html = "".join(each.html for each in items)
    look = f'<span style="background-color:{tokens.unkbg};color:{tokens.unk}">{WORDS}</span>'
    assert look in html


def test_a_state_stands_beside_it(said, scene):
    lost = said(1, Role.USER, "ochre", gone=True, state=MessageState.REWOUND)
    items, _ = pages.build(Page(2, (lost,)), scene, {})

    assert f"rewound {WORDS}" in " ".join(shown(items).split())


def test_injected_text_is_labelled_too(said, scene):
    lost = said(1, Role.USER, "ochre", gone=True, origin=Origin.INJECTED)
    items, _ = pages.build(Page(2, (lost,)), scene, {})

    assert WORDS in shown(items)
