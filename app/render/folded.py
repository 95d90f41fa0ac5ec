"""What stands folded to one line: thinking, system and injected text, tool calls.

A fold that holds a match opens by itself; the reader's choice turns that around.
"""

from dataclasses import dataclass

from app.render import blocks, cost, gist, safe_text, tool_inside, tool_line, words
from app.render.item import ROLE_INKS, Item, Scene, item
from app.render.runs import Run
from app.render.sheet import Sheet
from app.render.style import GUTTER_PX, SIDE_PX, icon, link, pad
from app.render.tool_line import ToolUse
from app.render.words import translate
from core.types import Message, Origin, Role

_BADGE_PX = 180
_SEARCHED_CHARS = 65_536  # of a folded text are looked through for matches


def is_folded_kind(message: Message) -> bool:
    """Tell whether a message is shown folded: what neither a person nor a model said."""
    return message.role is Role.SYSTEM or message.origin in (Origin.INJECTED, Origin.SYNTHETIC)


def text_key(message: Message, *, reasoning: bool = False) -> str:
    """Return the name of a message's text, by which more of it is asked for."""
    return f"{'th' if reasoning else 'm'}{message.id}"


def rest_link(sheet: Sheet, key: str, shown: str, total: int, ahead: str) -> str:
    """Return the line that shows more of a text; '' when all of it is shown.

    Args:
        sheet: what the line is written on.
        key: the text's `text_key`.
        shown: what is shown of it.
        total: how many characters it has.
        ahead: the next piece where it is loaded, else ''.
    """
    left = total - len(shown)
    if left <= 0:
        return ""
    more = words.rest(min(left, len(ahead) or cost.PIECE_CHARS), left)
    return blocks.note(sheet, link(f"do:rest/{key}", more, sheet.style.tokens.accent), top=6)


def cut(scene: Scene, key: str, text: str) -> tuple[list[str], str]:
    """Return the pieces of a text that are shown, and the next one if it is loaded."""
    count = scene.shown_of(key)
    pieces = cost.pieces(text, count + 1)
    return pieces[:count], pieces[count] if count < len(pieces) else ""


def thinking(scene: Scene, message: Message) -> Item:
    """Return a model's reasoning."""
    text = message.reasoning or ""
    sheet = Sheet(f"th{message.id}", scene.style, scene.marker)
    key = text_key(message, reasoning=True)
    line = (icon("thinking", "text3"), words.thinking(), words.characters(len(text)), "text3")
    return _text(scene, sheet, message, line, _Text(key, text, len(text)))


def system(scene: Scene, message: Message) -> Item:
    """Return a system message, injected text, a summary: labelled for what it is."""
    sheet = Sheet(f"m{message.id}", scene.style, scene.marker)
    name = _added_name(message)
    length = words.characters(message.content_length)
    room = scene.style.width_px - GUTTER_PX - SIDE_PX - 24 - 8 * (len(name) + len(length))
    told = f"{safe_text.fit(gist.label(message.content), room, scene.style.px(12))}, {length}"
    ink = ROLE_INKS[Role.SYSTEM]
    line = (icon("role-system", ink), name, told, ink)
    text = _Text(text_key(message), message.content, message.content_length)
    return _text(scene, sheet, message, line, text)


def _added_name(message: Message) -> str:
    if message.role is Role.SYSTEM:
        return words.role(Role.SYSTEM)
    if gist.is_summary(message.content):
        return translate("viewer", "Summary")
    if message.origin is Origin.INJECTED:
        return translate("viewer", "Injected")
    return translate("viewer", "Added")


@dataclass(frozen=True, slots=True)
class _Text:
    """A text by its key, as far as it is loaded, and its whole length."""

    key: str
    loaded: str
    length: int


def _text(
    scene: Scene, sheet: Sheet, message: Message, line: tuple[str, str, str, str], text: _Text
) -> Item:
    image, name, told, ink = line
    is_open = bool(scene.marker(text.loaded[:_SEARCHED_CHARS])) != scene.chose(sheet.key, "fold")
    is_anchor = message.id == scene.anchor_id and sheet.key.startswith("m")
    body = ""
    if is_open:
        sheet.cjk_family = scene.style.cjk_family(text.loaded[: cost.PIECE_CHARS])
        quiet = f"{scene.style.read(14, 22)};color:{scene.style.tokens.text2}"
        shown, ahead = cut(scene, text.key, text.loaded)
        body = "".join(blocks.plain(sheet, piece, top=0, css=quiet) for piece in shown)
        body += rest_link(sheet, text.key, "".join(shown), text.length, ahead)
    row = _row(sheet, image, (name, told, ink), is_open=is_open, is_anchor=is_anchor)
    return item(sheet, _table(sheet, row, body, is_anchor=is_anchor), message)


def tool(scene: Scene, key: str, use: ToolUse, message: Message) -> Item:
    """Return a tool call with its result."""
    ids = tuple(each.id for each in (use.asked, use.result) if each is not None)
    is_anchor = scene.anchor_id is not None and (
        (use.result is not None and use.result.id == scene.anchor_id)
        or (message.id == scene.anchor_id and key.endswith(".0") and not message.content.strip())
    )
    sheet = Sheet(key, scene.style, scene.marker, on_ground=is_anchor)
    by_match = tool_line.holds_match(use, scene.marker)
    is_open = by_match != scene.chose(key, "fold")
    row = _row(
        sheet,
        icon("role-tool", ROLE_INKS[Role.TOOL]),
        (
            use.name or translate("viewer", "Tool result"),
            tool_line.told_by(use, scene.folder),
            ROLE_INKS[Role.TOOL],
        ),
        is_open=is_open,
        is_anchor=is_anchor,
        right=tool_line.outcome(scene.style, use),
    )
    body = ""
    if is_open:
        how = tool_inside.Shown(
            whole=scene.chose(key, "whole"),
            raw=scene.chose(key, "raw"),
            around_match=by_match and not scene.chose(key, "open"),
        )
        if use.call is not None:
            body = tool_inside.arguments(sheet, use.call, how)
        if use.result is not None:
            body += _result(scene, sheet, use.result, how)
    last = max(each.number for each in (message, use.result or message))
    return item(sheet, _table(sheet, row, body, is_anchor=is_anchor), message, ids=ids, last=last)


def _result(scene: Scene, sheet: Sheet, result: Message, how: tool_inside.Shown) -> str:
    key = text_key(result)
    shown, ahead = cut(scene, key, result.content)
    html = tool_inside.result(sheet, shown, how)
    return html + rest_link(sheet, key, "".join(shown), result.content_length, ahead)


def _row(
    sheet: Sheet,
    image: str,
    line: tuple[str, str, str],
    *,
    is_open: bool,
    is_anchor: bool,
    right: str = "",
) -> str:
    """Return the cells of a fold's line: gutter, chevron with name and gist, outcome.

    `line` is untrusted name and gist and the name's colour token; with an outcome on its
    `right` (HTML) the line is a tool's and set in the code family.
    """
    style, tokens = sheet.style, sheet.style.tokens
    name, told, ink = line
    mono = bool(right)
    name = safe_text.one_line(name, 60)
    room = style.width_px - GUTTER_PX - SIDE_PX - 24 - (_BADGE_PX if right else 0) - 8 * len(name)
    cut = safe_text.fit(told, room, style.px(12), mono=mono)
    chevron = icon("chevron-down" if is_open else "chevron-right", "text3", 12)
    space = " " if mono else "  "
    text = sheet.text(
        [
            Run(name, f"font-weight:bold;color:{getattr(tokens, ink)}", sheet.act("fold")),
            Run(space),
            Run(cut, f"color:{tokens.text2}"),
        ]
    )
    fold = link(sheet.act("fold"), chevron, tokens.text3) + pad(count=1 if mono else 2)
    look = style.code(12, 18) if mono else f"{style.caption()};white-space:pre-wrap"
    edge = f"border-left:4px solid {tokens.accent};" if is_anchor else ""
    left = SIDE_PX - 4 if is_anchor else SIDE_PX
    return (
        f'<td width="{GUTTER_PX}" valign="middle" style="{edge}padding:7px 0 7px {left}px">'
        f"{image}</td>"
        f'<td valign="middle" style="padding:7px 0;{look}">{fold}{text}</td>'
        f'<td align="right" valign="middle" style="padding:7px {SIDE_PX}px 7px 0;'
        f'{style.caption()}">{right}</td>'
    )


def _table(sheet: Sheet, row: str, body: str, *, is_anchor: bool) -> str:
    """Return the table of a fold: its line, then what it holds."""
    tokens = sheet.style.tokens
    look, edge = "", ""
    if is_anchor:
        look = f' style="margin:4px 0;background-color:{tokens.anchor}"'
        edge = f"border-left:4px solid {tokens.accent};"
    below = ""
    if body:
        below = (
            f'<tr><td width="{GUTTER_PX}" style="{edge}"></td>'
            f'<td colspan="2" style="padding:0 {SIDE_PX}px 10px 0">{body}</td></tr>'
        )
    return f"{blocks.TABLE}{look}><tr>{row}</tr>{below}</table>"
