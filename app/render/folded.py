"""What stands folded to one line: thinking, system and injected text, tool calls.

A fold that holds a match opens by itself; the reader's choice turns that around.
"""

from app.render import blocks, cost, gist, safe_text, tool_inside, tool_line, words
from app.render.item import ROLE_INKS, Item, Scene, item
from app.render.runs import Run
from app.render.sheet import Sheet, Spot
from app.render.stretch import Piece, Text, left_line, pieces_of
from app.render.style import GUTTER_PX, SIDE_PX, Style, badge, gap, icon, link, pad
from app.render.tool_line import ToolUse
from app.render.words import translate
from core.types import Message, MessageState, Origin, Role, ToolCall

REASONING, CONTENT, CALL = "reasoning", "content", "call"  # as core.recall.message_texts
_BADGE_PX = 180
_SEARCHED_CHARS = 65_536  # of a folded text are looked through for matches


def is_folded_kind(message: Message) -> bool:
    """Tell whether a message is shown folded: what neither a person nor a model said."""
    return message.role is Role.SYSTEM or message.origin in (Origin.INJECTED, Origin.SYNTHETIC)


def text_key(message: Message, *, reasoning: bool = False) -> str:
    """Return the name of a message's text, by which more of it is asked for."""
    return f"{'th' if reasoning else 'm'}{message.id}"


def state_badge(style: Style, message: Message) -> str:
    """Return what sets a message apart from what its session shows, as tinted words; or ''."""
    tokens = style.tokens
    said = {
        MessageState.COMPACTED: translate("viewer", "compacted"),
        MessageState.REWOUND: translate("viewer", "rewound"),
        MessageState.OFF_BRANCH: translate("viewer", "other branch"),
        MessageState.HIDDEN: translate("viewer", "hidden"),
        MessageState.SUPERSEDED: translate("viewer", "replaced later"),
    }.get(message.state)
    every = [said, translate("viewer", "gone at the source") if message.gone else None]
    return gap().join(badge(each, tokens.unk, tokens.unkbg) for each in every if each)


def content_of(message: Message) -> Text:
    """Return what a message says, as a text that is shown in pieces."""
    return Text(
        message.id,
        CONTENT,
        text_key(message),
        message.content,
        message.content_length,
        is_code=message.role is Role.TOOL,
    )


def origin(scene: Scene, piece: Piece) -> Spot | None:
    """Return where a piece begins, if the spots of matches are to be known."""
    return piece.origin if scene.is_finding else None


def thinking(scene: Scene, message: Message) -> list[Item]:
    """Return a model's reasoning."""
    reasoning = message.reasoning or ""
    key = text_key(message, reasoning=True)
    length = words.characters(len(reasoning))
    line = (icon("thinking", "text3"), words.thinking(), length, "text3")
    text = Text(message.id, REASONING, key, reasoning, len(reasoning))
    return _text(scene, message, line, text)


def system(scene: Scene, message: Message) -> list[Item]:
    """Return a system message, injected text, a summary: labelled for what it is."""
    name = _added_name(message)
    length = words.characters(message.content_length)
    room = scene.style.width_px - GUTTER_PX - SIDE_PX - 24 - 8 * (len(name) + len(length))
    told = f"{safe_text.fit(gist.label(message.content), room, scene.style.px(12))}, {length}"
    ink = ROLE_INKS[Role.SYSTEM]
    line = (icon("role-system", ink), name, told, ink)
    return _text(scene, message, line, content_of(message))


def _added_name(message: Message) -> str:
    if message.role is Role.SYSTEM:
        return words.role(Role.SYSTEM)
    if gist.is_summary(message.content):
        return translate("viewer", "Summary")
    if message.origin is Origin.INJECTED:
        return translate("viewer", "Injected")
    return translate("viewer", "Added")


def _text(
    scene: Scene, message: Message, line: tuple[str, str, str, str], text: Text
) -> list[Item]:
    image, name, told, ink = line
    holds_match = bool(scene.marker(text.loaded[:_SEARCHED_CHARS]))
    is_open = holds_match != scene.chose(text.key, "fold")
    is_anchor = message.id == scene.anchor_id and text.part == CONTENT
    family = scene.style.cjk_family(text.loaded[: cost.PIECE_CHARS]) if is_open else ""
    quiet = f"{scene.style.read(14, 22)};color:{scene.style.tokens.text2}"
    made: list[Item] = []
    pieces = pieces_of(scene, text) if is_open else [Piece(text, 0, "")]
    for piece in pieces:
        sheet = scene.sheet(piece.key)
        row = ""
        if not made:
            row = _row(
                scene,
                sheet,
                image,
                (name, told, ink),
                is_open=is_open,
                is_anchor=is_anchor,
                label=state_badge(scene.style, message),
            )
        sheet.cjk_family = family
        body = ""
        if is_open:
            body = blocks.plain(sheet, piece.shown, top=0, css=quiet, origin=origin(scene, piece))
        goes_on = piece is not pieces[-1]
        html = _table(
            sheet, row, body, is_anchor=is_anchor, goes_on=goes_on or piece.left is not None
        )
        made.append(item(sheet, html, message, shows=piece.shows if is_open else None))
        made += _left(scene, piece, message, is_anchor=is_anchor, goes_on=goes_on)
    return made


def _left(
    scene: Scene, piece: Piece, message: Message, *, is_anchor: bool, goes_on: bool
) -> list[Item]:
    """Return the item that names what is left out behind a piece, if anything is."""
    if piece.left is None:
        return []
    sheet = scene.sheet(piece.left_key)
    line = left_line(sheet, piece)
    html = _table(sheet, "", line, is_anchor=is_anchor, goes_on=goes_on)
    return [item(sheet, html, message)]


def tool(scene: Scene, key: str, use: ToolUse, message: Message) -> list[Item]:
    """Return a tool call with its result; what is read on of the result follows."""
    ids = tuple(each.id for each in (use.asked, use.result) if each is not None)
    is_anchor = scene.anchor_id is not None and (
        (use.result is not None and use.result.id == scene.anchor_id)
        or (message.id == scene.anchor_id and key.endswith(".0") and not message.content.strip())
    )
    sheet = scene.sheet(key, on_ground=is_anchor)
    result = content_of(use.result) if use.result is not None else None
    by_match = tool_line.holds_match(scene, use)
    is_open = by_match != scene.chose(key, "fold")
    row = _row(
        scene,
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
        call=use.call,
        label=state_badge(scene.style, use.result or message),
    )
    last = max(each.number for each in (message, use.result or message))
    how = tool_inside.Shown(
        whole=scene.chose(key, "whole"),
        raw=scene.chose(key, "raw"),
        around_match=by_match and not scene.is_finding and not scene.chose(key, "open"),
    )
    body = ""
    pieces = pieces_of(scene, result) if result is not None and is_open else []
    if is_open and use.call is not None:
        body = tool_inside.arguments(scene, sheet, use.call, how)
    if scene.is_finding:  # what is marked so far is the call's
        part = f"{CALL}:{key.rpartition('.')[2]}"
        sheet.spots = [(message.id, part, at) for at in range(sheet.matches)]
    if pieces:
        body += tool_inside.result(scene, sheet, pieces[0], how)
    goes_on = len(pieces) > 1 or any(piece.left is not None for piece in pieces)
    html = _table(sheet, row, body, is_anchor=is_anchor, goes_on=goes_on)
    shows = pieces[0].shows if pieces else None
    made = [item(sheet, html, message, ids=ids, last=last, shows=shows)]
    owner = use.result or message
    for piece in pieces:
        if piece is not pieces[0]:
            sheet = scene.sheet(piece.key, on_ground=is_anchor)
            body = tool_inside.result(scene, sheet, piece, how)
            ends = piece is pieces[-1] and piece.left is None
            html = _table(sheet, "", body, is_anchor=is_anchor, goes_on=not ends)
            made.append(item(sheet, html, owner, shows=piece.shows))
        goes_on = piece is not pieces[-1]
        made += _left(scene, piece, owner, is_anchor=is_anchor, goes_on=goes_on)
    return made


def _row(
    scene: Scene,
    sheet: Sheet,
    image: str,
    line: tuple[str, str, str],
    *,
    is_open: bool,
    is_anchor: bool,
    right: str = "",
    call: ToolCall | None = None,
    label: str = "",
) -> str:
    """Return the cells of a fold's line: gutter, chevron with name and gist, outcome.

    `line` is untrusted name and gist and the name's colour token; with an outcome on its
    `right` (HTML) the line is a tool's and set in the code family. While a text is looked
    for, only the name of a `call` is marked: the gist is what the fold holds. `label` (HTML)
    stands behind the gist.
    """
    style, tokens = sheet.style, sheet.style.tokens
    name, told, ink = line
    mono = bool(right)
    name = safe_text.one_line(name, 60)
    room = style.width_px - GUTTER_PX - SIDE_PX - 24 - (_BADGE_PX if right else 0) - 8 * len(name)
    cut = safe_text.fit(told, room, style.px(12), mono=mono)
    chevron = icon("chevron-down" if is_open else "chevron-right", "text3", 12)
    space = " " if mono else "  "
    named = Run(name, f"font-weight:bold;color:{getattr(tokens, ink)}", sheet.act("fold"))
    gist_of = [Run(space), Run(cut, f"color:{tokens.text2}")]
    if not scene.is_finding:
        text = sheet.text([named, *gist_of])
    else:
        text = sheet.unmarked([named, *gist_of])
        if call is not None:
            text = sheet.text([named]) + sheet.unmarked(gist_of)
    text += f"{gap()}{label}" if label else ""
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


def _table(sheet: Sheet, row: str, body: str, *, is_anchor: bool, goes_on: bool = False) -> str:
    """Return the table of a fold: its line, then what it holds; `goes_on` in the next item."""
    tokens = sheet.style.tokens
    look, edge = "", ""
    if is_anchor:
        margin = f"{4 if row else 0}px 0 {0 if goes_on else 4}px 0"
        look = f' style="margin:{margin};background-color:{tokens.anchor}"'
        edge = f"border-left:4px solid {tokens.accent};"
    below = ""
    if body and not row:
        return (
            f'{blocks.TABLE}{look}><tr><td width="{GUTTER_PX}" style="{edge}"></td>'
            f'<td style="padding:0 {SIDE_PX}px 10px 0">{body}</td></tr></table>'
        )
    if body:
        below = (
            f'<tr><td width="{GUTTER_PX}" style="{edge}"></td>'
            f'<td colspan="2" style="padding:0 {SIDE_PX}px 10px 0">{body}</td></tr>'
        )
    return f"{blocks.TABLE}{look}><tr>{row}</tr>{below}</table>"
