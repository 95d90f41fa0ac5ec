"""One message as items: its text, its thinking, its tool calls, each a table of its own."""

from collections.abc import Mapping

from app import formatting
from app.render import blocks, folded, media, safe_text, words
from app.render.blocks import note
from app.render.item import ROLE_INKS, Item, Scene, item
from app.render.runs import Run, no_marks
from app.render.sheet import Sheet
from app.render.stretch import Piece, left_line, pieces_of
from app.render.style import GUTTER_PX, SIDE_PX, Style, gap, icon, link, pad
from app.render.tool_line import ToolUse
from app.render.words import translate
from core.types import Message, Role


def items(scene: Scene, message: Message, results: Mapping[str, Message]) -> list[Item]:
    """Return the items of one message, in order.

    Args:
        scene: what all messages share.
        message: the message; a tool result here is one whose call is not loaded.
        results: loaded results by the id of the call they answer.
    """
    made: list[Item] = []
    if message.reasoning:
        made += folded.thinking(scene, message)
    if message.role is Role.TOOL:
        return [*made, *folded.tool(scene, f"t{message.id}", ToolUse(None, None, message), message)]
    if folded.is_folded_kind(message):
        return [*made, *folded.system(scene, message)]
    if message.content.strip() or message.media_refs or not (message.tool_calls or made):
        made.extend(_spoken(scene, message))
    for index, call in enumerate(message.tool_calls):
        use = ToolUse(call, message, results.get(call.id or ""))
        made += folded.tool(scene, f"t{message.id}.{index}", use, message)
    return made


def role_sign(message: Message) -> tuple[str, str]:
    """Return the icon and its colour token for who really speaks in a message."""
    role = message.role
    if folded.is_folded_kind(message):
        role = Role.SYSTEM
    elif role is Role.ASSISTANT and message.tool_calls and not message.content.strip():
        role = Role.TOOL
    elif message.reasoning and not message.content.strip():
        return "thinking", "text3"
    return f"role-{role.value}", ROLE_INKS[role]


def _spoken(scene: Scene, message: Message) -> list[Item]:
    """Return what a person or a model said: under its header, then what was read on, plain."""
    pieces = pieces_of(scene, folded.content_of(message))
    is_anchor = message.id == scene.anchor_id
    on_ground = is_anchor or message.role is Role.USER
    family = scene.style.cjk_family(pieces[0].shown)
    ground = _ground(scene, message)
    made: list[Item] = []
    for piece in pieces:
        sheet = scene.sheet(piece.key, on_ground=on_ground, family=family)
        if made:
            inner = blocks.plain(sheet, piece.shown, top=0, origin=folded.origin(scene, piece))
        else:
            inner = _header(scene, sheet, message, is_anchor=is_anchor)
            inner += _body(scene, sheet, piece)
        pictures = "".join(_picture(sheet, ref) for ref in message.media_refs)
        is_end = piece.left is None and piece is pieces[-1]
        inner += pictures if is_end else ""
        image = "" if made else icon(f"role-{message.role.value}", ROLE_INKS[message.role])
        look = _band(scene.style, image, inner, ground, joined=bool(made), goes_on=not is_end)
        made.append(item(sheet, look, message, shows=piece.shows))
        if piece.left is not None:
            sheet = scene.sheet(piece.left_key)
            inner = left_line(sheet, piece) + (pictures if piece is pieces[-1] else "")
            is_end = piece is pieces[-1]
            look = _band(scene.style, "", inner, ground, joined=True, goes_on=not is_end)
            made.append(item(sheet, look, message))
    return made


def _ground(scene: Scene, message: Message) -> str:
    if message.id == scene.anchor_id:
        return "anchor"
    return "sunken" if message.role is Role.USER else ""


def _body(scene: Scene, sheet: Sheet, piece: Piece) -> str:
    """Return the text formatted, or plain with the reason and the way to have it formatted.

    While a text is looked for, plain is also what shows other matches when it is formatted.
    """
    from app.render import markdown  # loads markdown-it; the first paint does not wait for it

    text, anyway = piece.shown, scene.chose(sheet.key, "anyway")
    trial = scene.sheet(sheet.key, on_ground=sheet.on_ground, family=sheet.cjk_family)
    found = list(scene.marker(text)) if scene.is_finding else []
    if scene.is_finding and not found:
        trial.marker = no_marks
    try:
        html = markdown.body(trial, text, patient=anyway)
    except markdown.TooHeavyError:
        reason = translate("viewer", "Shown as plain text: formatting it would take too long.")
        return _unformatted(scene, sheet, piece, reason, "" if anyway else words.render_anyway())
    if scene.is_finding:
        hides = trial.found != len(found)
    else:
        hides = not trial.matches and bool(scene.marker(text))
    if hides and not anyway:
        reason = translate("viewer", "Shown as written: the match is in what formatting hides.")
        return _unformatted(scene, sheet, piece, reason, translate("viewer", "show formatted"))
    sheet.matches, sheet.links, sheet.codes = trial.matches, trial.links, trial.codes
    if scene.is_finding:
        message_id, part, _ = piece.origin
        sheet.spots = [(message_id, part, start) for start, _ in found][: trial.matches]
    return html


def _unformatted(scene: Scene, sheet: Sheet, piece: Piece, reason: str, again: str) -> str:
    way = f"{gap()}{link(sheet.act('anyway'), again, sheet.style.tokens.accent)}" if again else ""
    return note(sheet, sheet.words(reason) + way, top=2) + blocks.plain(
        sheet, piece.shown, top=4, origin=folded.origin(scene, piece)
    )


def _picture(sheet: Sheet, ref: str) -> str:
    tokens = sheet.style.tokens
    css = f"background-color:{tokens.unkbg};color:{tokens.text2}"
    text = Run(media.not_loaded(ref), css, is_ours=True)
    return blocks.paragraph(sheet, [text], top=6)


def _header(scene: Scene, sheet: Sheet, message: Message, *, is_anchor: bool) -> str:
    """Return role, time, number and labels; the anchor also has its actions."""
    style, tokens = scene.style, scene.style.tokens
    ink = getattr(tokens, ROLE_INKS[message.role])
    number = f"#{formatting.number(message.number)}"
    facts = [f'<b style="color:{ink}">{words.role(message.role)}</b>']
    if message.created_at_ms is not None:
        facts.append(sheet.words(formatting.clock(message.created_at_ms)))
    facts.append(number if is_anchor else link(sheet.act("anchor"), number, tokens.text3))
    if is_anchor:
        facts.append(f'<b style="color:{tokens.accent}">{translate("viewer", "anchor")}</b>')
    if message.model and scene.model and message.model != scene.model:
        facts.append(sheet.words(safe_text.one_line(message.model, 60)))
    facts.append(folded.state_badge(style, message))
    left = gap().join(fact for fact in facts if fact)
    if not is_anchor:
        return f'<p style="margin:0;{style.caption()}">{left}</p>'
    actions = pad(count=2).join(
        link(sheet.act(action), word, tokens.accent)
        for action, word in (
            ("copy", translate("viewer", "copy")),
            ("cite", translate("viewer", "cite")),
            ("ref", translate("viewer", "link")),
        )
    )
    return (
        f'{blocks.TABLE}><tr><td style="{style.caption()}">{left}</td>'
        f'<td align="right" style="{style.caption()}">{actions}</td></tr></table>'
    )


def _band(
    style: Style,
    image: str,
    inner: str,
    ground: str,
    *,
    joined: bool = False,
    goes_on: bool = False,
) -> str:
    """Return the table of one message: gutter with icon, then its content.

    `ground` is the colour token of a band across the whole width, or ''. `joined` leaves
    nothing above, for what continues the message before it, `goes_on` nothing below.
    """
    tokens = style.tokens
    top, icon_top, bottom = 0 if joined else 8, 0 if joined else 10, 0 if goes_on else 8
    edges, left = "", f"padding:{icon_top}px 0 {bottom}px {SIDE_PX}px"
    if ground == "anchor":
        edges = "" if joined else f"border-top:1px solid {tokens.line};"
        edges += "" if goes_on else f"border-bottom:1px solid {tokens.line};"
        left = (
            f"border-left:4px solid {tokens.accent};"
            f"padding:{icon_top}px 0 {bottom}px {SIDE_PX - 4}px"
        )
    look = f"background-color:{getattr(tokens, ground)};" if ground else ""
    above, below = 0 if joined or not ground else 4, 0 if goes_on or not ground else 4
    return (
        f'{blocks.TABLE} style="margin:{above}px 0 {below}px 0;{look}"><tr>'
        f'<td width="{GUTTER_PX}" valign="top" style="{edges}{left}">{image}</td>'
        f'<td style="{edges}padding:{top}px {SIDE_PX}px {bottom}px 0">{inner}</td></tr></table>'
    )
