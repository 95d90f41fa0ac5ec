"""What stands folded to one line: thinking, system and injected text, tool calls.

A fold that holds a match opens by itself; the reader's choice turns that around.
"""

from app.render import blocks, gist, safe_text, tool_inside, tool_line, words
from app.render.item import ROLE_INKS, Item, Scene, item
from app.render.runs import Run
from app.render.sheet import Sheet
from app.render.style import GUTTER_PX, SIDE_PX, icon, link
from app.render.tool_line import ToolUse
from app.render.words import translate
from core.types import Message, Origin, Role

CHUNK_CHARS = 32_768
_BADGE_PX = 180


def is_folded_kind(message: Message) -> bool:
    """Tell whether a message is shown folded: what neither a person nor a model said."""
    return message.role is Role.SYSTEM or message.origin in (Origin.INJECTED, Origin.SYNTHETIC)


def left_of(message: Message) -> int:
    """Return how many characters of a message's content were not read."""
    return max(0, message.content_length - len(message.content)) if message.truncated else 0


def rest_link(sheet: Sheet, message: Message) -> str:
    """Return the line that reads on in a cut message; '' when it is whole."""
    left = left_of(message)
    if not left:
        return ""
    more = words.rest(min(left, CHUNK_CHARS), left)
    href = f"do:rest/m{message.id}"
    return blocks.note(sheet, link(href, more, sheet.style.tokens.accent), top=6)


def thinking(scene: Scene, message: Message) -> Item:
    """Return a model's reasoning."""
    text = message.reasoning or ""
    sheet = Sheet(f"th{message.id}", scene.style, scene.marker)
    name, told = translate("viewer", "Thinking"), words.characters(len(text))
    return _text(scene, sheet, message, (icon("thinking", "text3"), name, told, "text3"), text)


def system(scene: Scene, message: Message) -> Item:
    """Return a system message, injected text, a summary: labelled for what it is."""
    sheet = Sheet(f"m{message.id}", scene.style, scene.marker)
    name = words.role(Role.SYSTEM)
    if message.role is not Role.SYSTEM:
        injected = message.origin is Origin.INJECTED
        name = translate("viewer", "Injected") if injected else translate("viewer", "Added")
    told = f"{gist.label(message.content)}, {words.characters(message.content_length)}"
    ink = ROLE_INKS[Role.SYSTEM]
    line = (icon("role-system", ink), name, told, ink)
    return _text(scene, sheet, message, line, message.content)


def _text(
    scene: Scene, sheet: Sheet, message: Message, line: tuple[str, str, str, str], text: str
) -> Item:
    image, name, told, ink = line
    is_open = bool(scene.marker(text)) != scene.chose(sheet.key, "fold")
    is_anchor = message.id == scene.anchor_id and sheet.key.startswith("m")
    body = ""
    if is_open:
        body = blocks.plain(sheet, text[: tool_inside.ALL_CHARS], top=0)
        if sheet.key.startswith("m"):
            body += rest_link(sheet, message)
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
        shown = tool_inside.Shown(
            whole=scene.chose(key, "whole"),
            raw=scene.chose(key, "raw"),
            around_match=by_match and not scene.chose(key, "open"),
        )
        body = tool_inside.html(sheet, use, shown)
        if use.result is not None:
            body += rest_link(sheet, use.result)
    last = max(each.number for each in (message, use.result or message))
    return item(sheet, _table(sheet, row, body, is_anchor=is_anchor), message, ids=ids, last=last)


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
    gap = "\u00a0" if mono else "\u00a0\u00a0"
    text = sheet.text(
        [
            Run(name, f"font-weight:bold;color:{getattr(tokens, ink)}", sheet.act("fold")),
            Run(gap),
            Run(cut, f"color:{tokens.text2}"),
        ]
    )
    fold = link(sheet.act("fold"), chevron, tokens.text3) + ("&nbsp;" if mono else "&nbsp; ")
    look = style.code(12, 18) if mono else style.caption()
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
