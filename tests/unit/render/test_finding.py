"""What is counted in a conversation is what is marked in it, whatever formatting makes of it."""

import json
from functools import partial
from random import Random

import pytest

from app.render import page as pages
from app.render.item import Scene
from app.render.page import Page
from core.recall.message_texts import call_texts
from core.recall.plain_text import count, find_ranges, sought
from core.text import project
from core.types import Origin, Role, ToolCall, ToolStatus
from tests.unit.render.reading import read

PIECES = (
    "alpha", "beta", "订阅", "電影", "**alpha**", "*beta*", "`alpha`", "~~beta~~", "**订**阅",
    "[alpha](https://example.org/alpha)", "![beta](x/alpha.png)", "https://example.org/beta",
    "\\*alpha\\*", "&amp;", "<b>alpha</b>", "# alpha\n", "- beta\n", "> 订阅\n", "1. alpha\n",
    "\n\n", "\n", " ", " ", " ", "```python\nalpha = 'beta'\n```\n", "```alpha\n订阅\n```\n",
    "| alpha | beta |\n|---|---|\n| 订阅 | alpha |\n", "alphabeta", "a*b", "_alpha_", "ａｌｐｈａ",
    "alp\u200bha", "---\n", "    alpha indented\n",
)  # fmt: skip
NEEDLES = (
    "alpha", "beta", "订阅", "alpha beta", "python", "a", "*", "**", "`", "[alpha]", "image",
    "example", "example.org/", "-", "#", "not loaded", "alpha = 'beta'", "amp",
)  # fmt: skip


@pytest.fixture
def finding(scene):
    def made(typed: str) -> Scene:
        marker = partial(find_ranges, sought(typed))
        return Scene(scene.style, marker, call_texts=call_texts)

    return made


def expected(message, typed):
    wanted = sought(typed)
    texts = [message.reasoning or "", message.content]
    for call in message.tool_calls:
        texts += call_texts(call)
    return sum(count(wanted, [project(text)]) for text in texts)


def shown(message, scene):
    items, _ = pages.build(Page(1, (message,)), scene, {})
    assert all(len(item.spots) == item.matches for item in items)
    marked = sum(item.matches for item in items)
    seen = [read(item.html) for item in items]
    stretches = [stretch for each in seen for stretch in each.marked]
    assert bool(stretches) == bool(marked)
    assert len("".join(stretches)) >= marked
    assert [wrong for each in seen for wrong in each.wrong] == []
    return marked, items


def test_every_match_of_formatted_text_is_marked_or_the_text_is_shown_as_written(said, finding):
    random = Random(11)
    formatted = found = 0
    for _ in range(400):
        text = "".join(random.choice(PIECES) for _ in range(random.randrange(1, 9)))
        for typed in random.sample(NEEDLES, 4):
            message = said(1, Role.ASSISTANT, text)
            marked, items = shown(message, finding(typed))
            assert marked == expected(message, typed), (text, typed)
            found += marked
            formatted += marked > 0 and "Shown as written" not in read(items[0].html).text
    assert found > 1_000
    assert formatted > 250


@pytest.mark.parametrize(
    ("text", "typed", "as_written"),
    [
        ("see **bold** text", "bold text", False),
        ("a [link](https://example.org) here", "link here", False),
        ("a [link](https://example.org/x) here", "example.org/x", True),
        ("**x** and ** alone", "**", True),
        ("```python\nx = 1\n```", "python", False),
        ("![a picture](https://example.org/p.png)", "image not loaded", False),
        ("one\n\ntwo", "one two", True),
        ("nothing [here](https://example.org/needle)", "needle", False),
    ],
)
def test_formatting_is_given_up_only_where_it_would_hide_a_match(
    said, finding, text, typed, as_written
):
    message = said(1, Role.ASSISTANT, text)
    marked, items = shown(message, finding(typed))

    assert ("Shown as written" in read(items[0].html).text) is as_written
    assert marked == expected(message, typed)


@pytest.mark.parametrize(
    "arguments",
    [
        json.dumps({"command": "grep alpha", "path": "/alpha/beta"}),
        json.dumps({"file_path": "x", "old_string": "alpha\nbeta\n", "new_string": "alpha\n"}),
        json.dumps({"list": ["alpha", {"deep": "alpha"}], "alpha": 1, "text": "alpha\n" * 40}),
        json.dumps({"file_path": "/alpha.x", "old_string": "alpha", "new_string": "beta"}),
        json.dumps({"file_path": "/alpha.x", "old_string": "a", "new_string": "b", "all": True}),
        "alpha, no JSON",
        json.dumps({"long": "x\n" * 9_000 + "alpha", "other": "y " * 9_000 + "alpha beta"}),
        json.dumps({"said": 'quoted "alpha" \u00e9'}),
        "",
    ],
)
def test_every_match_of_a_call_is_marked_in_it(said, finding, arguments):
    long = "alpha\n" + "x\n" * 9_000 + "alpha beta"
    calls = (
        ToolCall("c", "alphaTool", arguments, result='{"output": "alpha\\nbeta", "exit": 1}'),
        ToolCall("d", "Read", "{}", result=long),
    )
    message = said(1, Role.ASSISTANT, "alpha", tool_calls=calls, reasoning="alpha, alpha")
    for typed in ("alpha", "beta", "alphaTool", "zebra"):
        marked, items = shown(message, finding(typed))
        assert marked == expected(message, typed), typed
        order = [spot[1] for item in items for spot in item.spots]
        assert order == sorted(order, key=["reasoning", "content", "call:0", "call:1"].index)


@pytest.mark.parametrize(
    "content",
    ['{"output": "alpha\\nalpha", "exit": 0}', "\x1b[31mal\x1b[0mpha\ralpha", "alpha " * 30,
     '{"alpha": 1, "output": "x"}', "plain\r\nalpha"],
)  # fmt: skip
def test_every_match_of_a_result_is_marked_in_it(said, finding, content):
    asked = said(1, Role.ASSISTANT, "", tool_calls=(ToolCall("c", "Bash", "{}"),))
    result = said(2, Role.TOOL, content, tool_call_id="c", tool_status=ToolStatus.SUCCEEDED)
    items, _ = pages.build(Page(2, (asked, result)), finding("alpha"), {})

    spots = [spot for item in items for spot in item.spots]
    assert len(spots) == expected(result, "alpha")
    assert {spot[0] for spot in spots} == {2}


def test_matches_that_touch_are_marked_each_for_itself(said, finding):
    marked, items = shown(said(1, Role.USER, "哈哈哈 and aaaa"), finding("哈"))

    assert marked == 3
    assert [spot[2] for spot in items[0].spots] == [0, 1, 2]


def test_what_stands_for_a_message_elsewhere_is_not_marked_twice(said, finding):
    message = said(1, Role.USER, "<note>alpha</note>", origin=Origin.INJECTED)
    marked, _ = shown(message, finding("alpha"))

    assert marked == 1
