"""One message as items: its text, its thinking, its tool calls, each a table of its own."""

from collections.abc import Mapping

from app import formatting
from app.render import blocks, folded, safe_text, words
from app.render.blocks import note
from app.render.item import ROLE_INKS, Item, Scene, item
from app.render.runs import Run
from app.render.sheet import Sheet
from app.render.style import GUTTER_PX, SIDE_PX, Style, badge, gap, icon, link, pad
from app.render.tool_line import ToolUse
from app.render.words import translate
from core.types import Message, MessageState, Role


def items(scene: Scene, message: Message, results: Mapping[str, Message]) -> list[Item]:
    """Return the items of one message, in order.

    Args:
        scene: what all messages share.
        message: the message; a tool result here is one whose call is not loaded.
        results: loaded results by the id of the call they answer.
    """
    made: list[Item] = []
    if message.reasoning:
        made.append(folded.thinking(scene, message))
    if message.role is Role.TOOL:
        use = ToolUse(None, None, message)
        return [*made, folded.tool(scene, f"t{message.id}", use, message)]
    if folded.is_folded_kind(message):
        return [*made, folded.system(scene, message)]
    if message.content.strip() or message.media_refs or not (message.tool_calls or made):
        made.extend(_spoken(scene, message))
    for index, call in enumerate(message.tool_calls):
        use = ToolUse(call, message, results.get(call.id or ""))
        made.append(folded.tool(scene, f"t{message.id}.{index}", use, message))
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
    key = folded.text_key(message)
    shown, ahead = folded.cut(scene, key, message.content)
    whole = "".join(shown)
    is_anchor = message.id == scene.anchor_id
    on_ground = is_anchor or message.role is Role.USER
    family = scene.style.cjk_family(shown[0])
    sheets = [
        Sheet(f"{key}.{n}" if n else key, scene.style, scene.marker, on_ground, family)
        for n in range(len(shown))
    ]
    inner = [_header(scene, sheets[0], message, is_anchor=is_anchor)]
    inner[0] += _body(scene, sheets[0], shown[0])
    inner += [blocks.plain(*pair, top=0) for pair in zip(sheets[1:], shown[1:], strict=True)]
    inner[-1] += folded.rest_link(sheets[-1], key, whole, message.content_length, ahead)
    inner[-1] += "".join(_picture(sheets[-1], ref) for ref in message.media_refs)
    image = icon(f"role-{message.role.value}", ROLE_INKS[message.role])
    ground = _ground(scene, message)
    return [
        item(
            sheet,
            _band(scene.style, "" if n else image, text, ground, joined=n > 0),
            message,
        )
        for n, (sheet, text) in enumerate(zip(sheets, inner, strict=True))
    ]


def _ground(scene: Scene, message: Message) -> str:
    if message.id == scene.anchor_id:
        return "anchor"
    return "sunken" if message.role is Role.USER else ""


def _body(scene: Scene, sheet: Sheet, text: str) -> str:
    """Return the text formatted, or plain with the reason and the way to have it formatted."""
    from app.render import markdown  # loads markdown-it; the first paint does not wait for it

    anyway = scene.chose(sheet.key, "anyway")
    trial = Sheet(sheet.key, sheet.style, sheet.marker, sheet.on_ground, sheet.cjk_family)
    try:
        html = markdown.body(trial, text, patient=anyway)
    except markdown.TooHeavyError:
        reason = translate("viewer", "Shown as plain text: formatting it would take too long.")
        return _unformatted(sheet, text, reason, "" if anyway else words.render_anyway())
    if not trial.matches and not anyway and scene.marker(text):
        reason = translate("viewer", "Shown as written: the match is in what formatting hides.")
        return _unformatted(sheet, text, reason, translate("viewer", "show formatted"))
    sheet.matches, sheet.links, sheet.codes = trial.matches, trial.links, trial.codes
    return html


def _unformatted(sheet: Sheet, text: str, reason: str, again: str) -> str:
    way = f"{gap()}{link(sheet.act('anyway'), again, sheet.style.tokens.accent)}" if again else ""
    return note(sheet, sheet.words(reason) + way, top=2) + blocks.plain(sheet, text, top=4)


def _picture(sheet: Sheet, ref: str) -> str:
    shown = safe_text.one_line(safe_text.place(ref), 80)
    tokens = sheet.style.tokens
    css = f"background-color:{tokens.unkbg};color:{tokens.text2}"
    return blocks.paragraph(sheet, [Run(words.image_not_loaded(shown), css)], top=6)


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
    facts.extend(_labels(sheet, message))
    left = gap().join(facts)
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


def _labels(sheet: Sheet, message: Message) -> list[str]:
    """Return what sets the message apart, as a tinted word."""
    said = {
        MessageState.COMPACTED: translate("viewer", "compacted"),
        MessageState.REWOUND: translate("viewer", "rewound"),
        MessageState.OFF_BRANCH: translate("viewer", "other branch"),
        MessageState.HIDDEN: translate("viewer", "hidden"),
        MessageState.SUPERSEDED: translate("viewer", "replaced later"),
    }.get(message.state)
    tokens = sheet.style.tokens
    if said is None:
        return []
    return [badge(said, tokens.unk, tokens.unkbg)]


def _band(style: Style, image: str, inner: str, ground: str, *, joined: bool = False) -> str:
    """Return the table of one message: gutter with icon, then its content.

    `ground` is the colour token of a band across the whole width, or ''; `joined` leaves no
    space above, for what continues the message before it.
    """
    tokens = style.tokens
    top, icon_top = (0, 0) if joined else (8, 10)
    edges, left = "", f"padding:{icon_top}px 0 8px {SIDE_PX}px"
    if ground == "anchor":
        edges = f"border-top:1px solid {tokens.line};border-bottom:1px solid {tokens.line};"
        left = f"border-left:4px solid {tokens.accent};padding:{icon_top}px 0 8px {SIDE_PX - 4}px"
    look = f"background-color:{getattr(tokens, ground)};" if ground else ""
    gap = 4 if ground and not joined else 0
    return (
        f'{blocks.TABLE} style="margin:{gap}px 0;{look}"><tr>'
        f'<td width="{GUTTER_PX}" valign="top" style="{edges}{left}">{image}</td>'
        f'<td style="{edges}padding:{top}px {SIDE_PX}px 8px 0">{inner}</td></tr></table>'
    )
