"""What a tool call holds when unfolded: its arguments, its result."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from app.render import blocks, checklist, cost, gist, safe_text, words
from app.render.blocks import note
from app.render.item import Scene
from app.render.runs import Marker
from app.render.sheet import Sheet
from app.render.stretch import Piece
from app.render.style import link, pad
from app.render.tool_line import difference
from app.render.words import translate
from core.plans import read_plan
from core.types import ToolCall

SHOWN_CHARS = 4_000
ALL_CHARS = 16_384
_SMALL_CHARS = 120
_NEAR_CHARS = 400  # before and behind a match in a long argument
_EDIT_ARGUMENTS = 3  # file_path, old_string, new_string
_AROUND = (3, 8)  # lines before and after a match in a block that opened itself
_OUTPUTS = ("output", "stdout", "content", "result", "text")
_LANGUAGES = {"command": "bash", "cmd": "bash", "code": "python"}


@dataclass(frozen=True, slots=True)
class Shown:
    """How much of a call is shown.

    `whole`: up to 16,384 characters of each argument instead of 4,000. `raw`: the result with
    its terminal codes made visible. `around_match`: a long result only around its first match,
    because it opened by itself.
    """

    whole: bool = False
    raw: bool = False
    around_match: bool = False


def arguments(scene: Scene, sheet: Sheet, call: ToolCall, how: Shown) -> str:
    """Return a call's arguments: short ones together, long ones and edits each in a block.

    Behind them stands what came of it, where its source keeps that with the call.

    While a text is looked for, the values stand as they are wherever that way of showing them
    would show other matches than they hold; long ones then only around the matches.
    """
    if scene.call_texts is None:
        return "".join(_inside(sheet, call, whole=how.whole))
    values = scene.call_texts(call)[1:]
    expected = sum(len(scene.marker(value)) for value in values)
    trial = scene.sheet(sheet.key, on_ground=sheet.on_ground)
    html = "".join(_inside(trial, call, whole=how.whole))
    if trial.found != expected:
        trial = scene.sheet(sheet.key, on_ground=sheet.on_ground)
        title = translate("viewer", "arguments")
        shown = (excerpt(value, trial.marker) for value in values if value)
        html = "".join(blocks.code(trial, text, "", title=title, top=4) for text in shown)
    sheet.matches += trial.matches
    sheet.codes += trial.codes
    return html


def _inside(sheet: Sheet, call: ToolCall, *, whole: bool) -> list[str]:
    parts = _arguments(sheet, call, whole=whole)
    if call.result:
        clean = safe_text.without_terminal_codes(readable(call.result))
        parts.append(_cut_block(sheet, clean, "", translate("viewer", "result"), whole=whole))
    return parts


def excerpt(text: str, marker: Marker) -> str:
    """Return a long text only around its matches, whole lines where they are short."""
    if len(text) <= SHOWN_CHARS:
        return text
    kept: list[tuple[int, int]] = []
    for start, end in sorted(marker(text)):
        first = max(text.rfind("\n", 0, start) + 1, start - _NEAR_CHARS)
        line_end = text.find("\n", end)
        last = min(len(text) if line_end < 0 else line_end, end + _NEAR_CHARS)
        if kept and first <= kept[-1][1] + 1:
            kept[-1] = (kept[-1][0], last)
        else:
            kept.append((first, last))
    if not kept:
        return text[:SHOWN_CHARS]
    parts = ["…"] if kept[0][0] else []
    parts.append("\n…\n".join(text[first:last] for first, last in kept))
    return "\n".join([*parts, "…"] if kept[-1][1] < len(text) else parts)[:ALL_CHARS]


def _arguments(sheet: Sheet, call: ToolCall, *, whole: bool) -> list[str]:
    named = gist.arguments(call)
    title = translate("viewer", "arguments")
    if named is None:
        if not call.arguments.strip():
            return []
        language = "diff" if call.arguments.startswith("*** Begin Patch") else ""
        return [_cut_block(sheet, call.arguments, language, title, whole=whole)]
    plan = read_plan(call)
    if plan is not None:
        cap, more = ALL_CHARS, ""
        if not whole:
            show = link(sheet.act("whole"), translate("viewer", "show"), sheet.style.tokens.accent)
            cap, more = SHOWN_CHARS, pad(count=2) + show
        others = _by_name(sheet, plan.others, title, whole=whole)
        return [*others, checklist.checklist(sheet, plan, cap=cap, more=more)]
    old, new = named.get("old_string"), named.get("new_string")
    diff = None
    if isinstance(old, str) and isinstance(new, str):
        diff = "\n".join(difference(old, new))
        path = named.get("file_path")
        if len(named) == _EDIT_ARGUMENTS and isinstance(path, str):  # the path is its title
            return [_cut_block(sheet, diff, "diff", path, whole=whole, is_label=True)]
        named = {k: v for k, v in named.items() if k not in ("old_string", "new_string")}
    parts = _by_name(sheet, named, title, whole=whole)
    if diff is not None:
        parts.append(_cut_block(sheet, diff, "diff", translate("viewer", "change"), whole=whole))
    return parts


def _by_name(sheet: Sheet, named: Mapping[str, object], title: str, *, whole: bool) -> list[str]:
    """Return arguments by their names: short ones together, long ones each in a block."""
    small: list[str] = []
    parts: list[str] = []
    for name, value in named.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if "\n" in text or len(text) > _SMALL_CHARS:
            language = _LANGUAGES.get(name, "")
            parts.append(_cut_block(sheet, text, language, name, whole=whole))
        else:
            small.append(f"{name}: {text}")
    if small:
        parts.insert(0, _cut_block(sheet, "\n".join(small), "", title, whole=whole))
    return parts


def _cut_block(
    sheet: Sheet, text: str, language: str, title: str, *, whole: bool, is_label: bool = False
) -> str:
    cap = ALL_CHARS if whole else SHOWN_CHARS
    shown = cost.pieces(text[:cap], 1)[0]
    label = title if is_label else ""
    html = blocks.code(sheet, shown, language, title=title, top=4, label=label)
    left = len(text) - len(shown)
    if left <= 0:
        return html
    if whole:
        more = translate("viewer", "%1 not shown").replace("%1", words.characters(left))
        return html + note(sheet, more)
    more = words.rest(min(left, ALL_CHARS - len(shown)), left)
    return html + note(sheet, link(sheet.act("whole"), more, sheet.style.tokens.accent))


def result(scene: Scene, sheet: Sheet, piece: Piece, how: Shown) -> str:
    """Return a piece of a call's result; terminal codes are left out or named.

    While a text is looked for, it is shown as it is stored wherever the clean text would show
    other matches.
    """
    content = piece.shown
    if not content:
        return note(sheet, translate("viewer", "The result is empty."))
    clean = safe_text.without_terminal_codes(readable(content))
    found = scene.marker(content) if scene.is_finding else ()
    as_stored = scene.is_finding and len(scene.marker(clean)) != len(found)
    text = content if how.raw or as_stored else clean
    title = f"{translate('viewer', 'result')} · {words.lines(text.count(chr(10)) + 1)}"
    if piece.start:
        title = words.span(piece.start + 1, piece.start + len(content))
    more = ""
    if clean != content and not as_stored:
        word = translate("viewer", "clean") if how.raw else translate("viewer", "raw")
        more = link(sheet.act("raw"), word, sheet.style.tokens.accent) + pad(count=2)
    if how.around_match:
        near = around_match(text, sheet.marker)
        if near is not text:
            word = translate("viewer", "show the whole result")
            more = link(sheet.act("open"), word, sheet.style.tokens.accent) + pad(count=2)
            return blocks.code(sheet, near, "", title=title, top=4, more=more)
    first = sheet.matches
    html = blocks.code(sheet, text, "", title=title, top=4, more=more)
    if scene.is_finding:
        message_id, part, at = piece.origin
        spots = [(message_id, part, at + start) for start, _ in found]
        sheet.spots += spots[: sheet.matches - first]
    return html


def readable(content: str) -> str:
    """Return a result as people read it: the output of a JSON object first, its facts below.

    Anything that is not such an object is returned as it is; the raw text is one click away.
    """
    if not content.startswith("{") or not content.rstrip().endswith("}"):
        return content
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return content
    name = next((each for each in _OUTPUTS if isinstance(value.get(each), str)), "")
    if not name:
        return content
    facts = [f"{key}: {_short(each)}" for key, each in value.items() if key != name]
    return "\n".join([value[name].rstrip("\n"), *facts])


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def around_match(text: str, marker: Marker) -> str:
    """Return the lines around the first match of a long text, or `text` itself."""
    lines = text.split("\n")
    found = marker(text)
    if len(lines) <= sum(_AROUND) + 4 or not found:
        return text
    at = text.count("\n", 0, min(found)[0])
    first, last = max(0, at - _AROUND[0]), min(len(lines), at + _AROUND[1] + 1)
    shown = lines[first:last]
    return "\n".join((["…"] if first else []) + shown + (["…"] if last < len(lines) else []))
