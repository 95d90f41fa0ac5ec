import json
import re

import pytest

from app.render import folded, gist, tool_inside, tool_line
from app.render.item import Scene
from app.render.runs import literal_marker
from app.render.style import Style
from app.render.tool_line import ToolUse
from app.tokens import LIGHT
from core.recall.message_texts import call_texts
from core.types import Origin, Role, TimeQuality, ToolCall, ToolStatus
from tests.unit.render.reading import read

T0 = 1_764_252_000_000


def call(name, arguments, status=ToolStatus.UNKNOWN) -> ToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall("c1", name, text, status)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"command": "pytest -q", "description": "run"}, "pytest -q"),
        ({"file_path": "/srv/app/a.py", "limit": 10}, "a.py"),
        ({"pattern": "订阅", "path": "/srv/app"}, "订阅"),
        ({"command": ["bash", "-lc", "ls -la"]}, "ls -la"),
        ({"command": ["git", "status"]}, "git status"),
        ({"todos": [1, 2], "note": "x"}, "x"),
        ({}, ""),
        ("*** Begin Patch\n*** Update File: a/b.py\n+x\n*** End Patch", "a/b.py"),
        ("not json", "not json"),
        ("[" * 100_000, "[" * 199 + "…"),
        ("{" + '"a":{' * 50_000, None),
    ],
)
def test_the_argument_that_tells_most_is_shown(arguments, told):
    found = gist.main_argument(call("T", arguments), "/srv/app")

    assert found == told if told is not None else len(found) <= 200


def test_an_edit_says_how_many_lines_it_changes():
    old, new = "a\nb\nc", "a\nx\ny\nc"
    asked = call("Edit", {"file_path": "s.py", "old_string": old, "new_string": new})

    assert tool_line.told_by(ToolUse(asked, None, None), "") == "s.py +2 −1"


def test_the_result_knows_better_than_the_call_how_it_ended(said):
    asked = call("Bash", {"command": "x"}, ToolStatus.PENDING)
    result = said(2, Role.TOOL, "boom", tool_status=ToolStatus.FAILED)
    unknown = said(2, Role.TOOL, "boom", tool_status=ToolStatus.UNKNOWN)

    assert ToolUse(asked, None, result).status is ToolStatus.FAILED
    assert ToolUse(asked, None, unknown).status is ToolStatus.PENDING
    assert ToolUse(None, None, unknown).status is ToolStatus.UNKNOWN


@pytest.mark.parametrize(
    ("after_ms", "quality", "elapsed"),
    [
        (2_100, TimeQuality.EXACT, 2_100),
        (0, TimeQuality.EXACT, None),
        (-5, TimeQuality.EXACT, None),
        (2_100, TimeQuality.SESSION, None),
        (90_000_000, TimeQuality.EXACT, None),
    ],
)
def test_a_duration_is_told_only_where_both_times_are_exact(said, after_ms, quality, elapsed):
    asked = said(1, Role.ASSISTANT, "", created_at_ms=T0)
    result = said(2, Role.TOOL, "", created_at_ms=T0 + after_ms, time_quality=quality)

    assert ToolUse(None, asked, result).elapsed_ms == elapsed


def use(said, content="ok\n", arguments=None, status=ToolStatus.SUCCEEDED) -> ToolUse:
    asked = said(1, Role.ASSISTANT, "")
    result = said(2, Role.TOOL, content, tool_status=status)
    return ToolUse(call("Bash", arguments or {"command": "make"}), asked, result)


def item(said, scene, **fields):
    made = use(said, **fields)
    return folded.tool(scene, "t1.0", made, made.asked)[0]


def test_a_call_is_one_line_with_name_argument_and_outcome_in_words(said, scene):
    made = item(said, scene)

    seen = read(made.html)
    assert seen.wrong == []
    words = seen.text.replace("\u00a0", " ").split()
    assert words == ["Bash", "make1.0", "s", "succeeded"]  # cells stand side by side
    assert made.message_ids == (1, 2)
    assert (made.first, made.last) == (1, 2)


def test_unfolding_shows_arguments_and_result(said, style):
    scene = Scene(style, choices={"t1.0": frozenset({"fold"})})
    text = read(item(said, scene, content="line one\nline two").html).text

    assert "command: make" in text
    assert "result · 2 lines" in text
    assert "line one\nline two" in text


def test_a_match_inside_opens_the_fold_and_the_reader_can_close_it(said, style):
    found = Scene(style, literal_marker("needle"))
    closed = Scene(style, literal_marker("needle"), choices={"t1.0": frozenset({"fold"})})

    assert item(said, found, content="a needle").matches == 1
    assert "needle" in read(item(said, found, content="a needle").html).marked
    assert item(said, closed, content="a needle").matches == 0


def test_a_long_result_that_opened_itself_is_shown_around_its_match(said, style):
    lines = [f"line {n}" for n in range(200)]
    lines[120] = "the needle"
    scene = Scene(style, literal_marker("needle"))
    wanted = Scene(style, literal_marker("needle"), choices={"t1.0": frozenset({"open"})})

    near = read(item(said, scene, content="\n".join(lines)).html).text
    whole = read(item(said, wanted, content="\n".join(lines)).html).text

    assert "line 118" in near
    assert "line 128" in near
    assert "line 3\n" not in near
    assert "show the whole result" in near
    assert "line 3\n" in whole


def test_terminal_codes_go_and_the_raw_text_is_one_click_away(said, style):
    content = "\x1b[32mPASS\x1b[0m"
    opened = Scene(style, choices={"t1.0": frozenset({"fold"})})
    raw = Scene(style, choices={"t1.0": frozenset({"fold", "raw"})})

    assert "\x1b" not in read(item(said, opened, content=content).html).text
    assert "\x1b[32mPASS" in read(item(said, raw, content=content).html).text
    assert "do:raw/t1.0" in read(item(said, opened, content=content).html).links


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ('{"output":"a\\nb\\n","exit_code":1,"error":null}', "a\nb\nexit_code: 1\nerror: null"),
        ('{"exit_code":1}', '{"exit_code":1}'),
        ('{"output":', '{"output":'),
        ("{" * 50_000 + "}", None),
        ("[1]", "[1]"),
    ],
)
def test_the_output_in_a_json_result_is_shown_as_text(content, shown):
    assert tool_inside.readable(content) == (content if shown is None else shown)


def test_a_long_argument_is_cut_and_can_be_shown(said, style):
    scene = Scene(style, choices={"t1.0": frozenset({"fold"})})
    whole = Scene(style, choices={"t1.0": frozenset({"fold", "whole"})})
    arguments = {"command": "make\n" * 2_000}

    cut = item(said, scene, arguments=arguments)
    longer = item(said, whole, arguments=arguments)

    assert "do:whole/t1.0" in read(cut.html).links
    assert len(read(cut.html).text) < 5_000 < len(read(longer.html).text)


def test_an_edit_is_shown_as_a_diff(said, style):
    scene = Scene(style, choices={"t1.0": frozenset({"fold"})})
    arguments = {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}
    html = item(said, scene, arguments=arguments).html

    assert f'color:{LIGHT.err}">-x = 1' in html
    assert f'color:{LIGHT.ok}">+x = 2' in html


def test_hostile_names_and_arguments_stay_text(said, style):
    evil = '</td><img src="file:///etc/passwd">\u202e'
    asked = said(1, Role.ASSISTANT, "")
    scene = Scene(style, choices={"t1.0": frozenset({"fold", "raw"})})
    made, *_ = folded.tool(
        scene, "t1.0",
        ToolUse(call(evil, {evil: evil, "x": [evil]}), asked, said(2, Role.TOOL, evil)), asked,
    )  # fmt: skip

    assert read(made.html).wrong == []


@pytest.mark.parametrize(
    ("content", "label"),
    [
        ("<project_instructions>\nx", "project instructions"),
        ("# AGENTS.md instructions for /srv\n\nx", "AGENTS.md instructions for /srv"),
        ("You are helpful.", "You are helpful."),
    ],
)
def test_injected_text_is_folded_under_a_name_for_what_it_is(said, scene, content, label):
    message = said(1, Role.USER, content, origin=Origin.INJECTED)
    text = read(folded.system(scene, message)[0].html).text

    assert "Injected" in text
    assert label in text
    assert f"{len(content)} characters" in text


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted", "Summary"),
        ("This session is being continued from a previous conversation that ran out", "Summary"),
        ("<task-notification>done</task-notification>", "Added"),
    ],
)
def test_a_summary_is_called_one(said, scene, content, name):
    message = said(1, Role.USER, content, origin=Origin.SYNTHETIC)

    assert read(folded.system(scene, message)[0].html).text.strip("\u00a0").startswith(name)


def test_the_length_of_a_folded_text_is_never_cut_off(said, scene):
    message = said(1, Role.SYSTEM, "订阅" * 200 + "\n")

    assert read(folded.system(scene, message)[0].html).text.endswith("…, 401 characters")


def test_thinking_is_folded_with_its_length(said):
    message = said(1, Role.ASSISTANT, "done", reasoning="hm " * 1_000)
    folded_text = read(folded.thinking(Scene(Style(LIGHT)), message)[0].html).text
    found = folded.thinking(Scene(Style(LIGHT), literal_marker("hm")), message)[0]

    assert folded_text.replace("\u00a0", " ").split() == ["Thinking", "3,000", "characters"]
    assert found.matches == 1_000


def test_a_result_kept_with_its_call_is_shown_with_it(said, style):
    call = ToolCall("c", "bash", '{"command": "make"}', result="a\nneedle")
    message = said(1, Role.ASSISTANT, "", tool_calls=(call,))
    unfolded = Scene(style, choices={"t1.0": frozenset({"fold"})})
    found = Scene(style, literal_marker("needle"))
    use_of = ToolUse(call, message, None)
    text = read(folded.tool(unfolded, "t1.0", use_of, message)[0].html).text
    assert "command: make" in text
    assert "a\nneedle" in text
    (opened,) = folded.tool(found, "t1.0", use_of, message)
    assert "needle" in read(opened.html).marked


STEPS = (
    ("Read the log", "completed"),
    ("Fix <the> parser", "in_progress"),
    ("Write tests", "pending"),
    ("Ask for access", "blocked"),
    ("Rename it", "cancelled"),
)


def planned(steps=STEPS, **others):
    todos = [{"content": text, "status": status} for text, status in steps]
    return call("TodoWrite", {"todos": todos, **others})


def test_a_plan_is_told_by_how_far_it_is():
    assert gist.main_argument(planned()) == "1 of 5 done · Fix <the> parser"
    assert gist.main_argument(planned([("all", "completed")])) == "1 of 1 done"


def test_a_plan_is_a_list_of_steps_with_signs_and_words(scene):
    sheet = scene.sheet("t1.0")

    html = tool_inside.arguments(scene, sheet, planned(note="why"), tool_inside.Shown())

    seen = read(html)
    words = ("done", "in progress", "to do", "blocked", "canceled")
    for (text, _), word in zip(STEPS, words, strict=True):
        assert text in seen.text
        assert word in seen.text
    for sign in ("ok", "play", "pending", "warning", "close"):
        assert f"icon:{sign}/" in html
    assert "note: why" in seen.text
    assert "todos" not in seen.text
    assert sheet.codes[-1] == (
        "[x] Read the log\n[>] Fix <the> parser\n[ ] Write tests\n[!] Ask for access\n[-] Rename it"
    )


def test_a_long_plan_says_how_many_steps_are_left_out(scene):
    long = planned([(f"step {n} {'x' * 80}", "pending") for n in range(100)])
    sheet = scene.sheet("t1.0")

    html = tool_inside.arguments(scene, sheet, long, tool_inside.Shown())

    seen = read(html).text
    assert "step 36 " in seen  # some 108 characters each, 4,000 in all
    assert "step 40 " not in seen
    assert re.search(r"6\d more steps", seen)
    assert "do:whole/t1.0" in html
    whole = tool_inside.arguments(scene, sheet, long, tool_inside.Shown(whole=True))
    assert "step 99 " in read(whole).text


@pytest.mark.parametrize(("word", "matches"), [("parser", 1), ("completed", 1), ("TodoWrite", 0)])
def test_what_is_looked_for_in_a_plan_is_marked_wherever_it_is(style, word, matches):
    """The steps are marked in the list; what the list does not show, in the plain arguments."""
    scene = Scene(style, literal_marker(word), call_texts=call_texts)
    sheet = scene.sheet("t1.0")

    html = tool_inside.arguments(scene, sheet, planned(), tool_inside.Shown())

    assert sheet.matches == matches
    assert ("icon:play/" in html) == (word != "completed")
