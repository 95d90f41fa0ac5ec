"""One message as items: its text, its thinking, its tool calls, each a table of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app import formatting
from app.render import blocks, gist, runs, safe_text, tool_line, words
from app.render.runs import Marker, Run
from app.render.sheet import Sheet
from app.render.style import GUTTER_PX, Style, icon, link
from app.render.tool_line import ToolUse, note
from app.render.words import translate
from core.types import Message, MessageState, Origin, Role

CHUNK_CHARS = 32_768
_ROLE_INK = {
    Role.USER: "role_user",
    Role.ASSISTANT: "role_assistant",
    Role.TOOL: "role_tool",
    Role.SYSTEM: "role_system",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One table of the document: what a row of the conversation is.

    `message_ids` are the messages it shows (a call and its result are two), `first` and
    `last` their numbers. `links` and `codes` are what its addresses stand for.
    """

    key: str
    html: str
    message_ids: tuple[int, ...] = ()
    first: int | None = None
    last: int | None = None
    matches: int = 0
    links: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """What one rendering has in common for all its messages.

    `choices` are what the reader did to items by key: `fold` (toggled against its own
    default), `open`, `whole`, `raw`, `anyway`, `formatted`.
    """

    style: Style
    marker: Marker = runs.no_marks
    anchor_id: int | None = None
    folder: str = ""
    model: str = ""
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def chose(self, key: str, choice: str) -> bool:
        """Tell whether the reader chose this for the item."""
        return choice in self.choices.get(key, ())


def items(scene: Scene, message: Message, results: Mapping[str, Message]) -> list[Item]:
    """Return the items of one message, in order.

    Args:
        scene: what all messages share.
        message: the message; a tool result here is one whose call is not loaded.
        results: loaded results by the id of the call they answer.
    """
    made: list[Item] = []
    if message.reasoning:
        made.append(_thinking(scene, message))
    if message.role is Role.TOOL:
        use = ToolUse(None, None, message)
        return [*made, _tool(scene, f"t{message.id}", use, message)]
    if _is_folded_kind(message):
        return [*made, _system(scene, message)]
    if message.content.strip() or message.media_refs or not (message.tool_calls or made):
        made.append(_spoken(scene, message))
        made.extend(_chunks(scene, message))
    for index, call in enumerate(message.tool_calls):
        use = ToolUse(call, message, results.get(call.id or ""))
        made.append(_tool(scene, f"t{message.id}.{index}", use, message))
    return made


def _is_folded_kind(message: Message) -> bool:
    return message.role is Role.SYSTEM or message.origin in (Origin.INJECTED, Origin.SYNTHETIC)


def _spoken(scene: Scene, message: Message) -> Item:
    """Return what a person or a model said, under its header line."""
    is_anchor = message.id == scene.anchor_id
    ground = is_anchor or message.role is Role.USER
    sheet = Sheet(f"m{message.id}", scene.style, scene.marker, on_ground=ground)
    text, left = message.content[:CHUNK_CHARS], _left(message)
    looks = scene.style.script(text)
    body = _body(scene, sheet, text)
    if left and len(message.content) <= CHUNK_CHARS:
        body += _rest_link(sheet, left)
    body += "".join(_picture(sheet, ref) for ref in message.media_refs)
    inner = _header(scene, sheet, message, is_anchor=is_anchor) + body
    html = band(scene.style, _role_icon(message.role), inner, _ground(scene, message), css=looks)
    return _item(sheet, html, message)


def _ground(scene: Scene, message: Message) -> str:
    if message.id == scene.anchor_id:
        return "anchor"
    return "sunken" if message.role is Role.USER else ""


def _left(message: Message) -> int:
    return max(0, message.content_length - len(message.content)) if message.truncated else 0


def _rest_link(sheet: Sheet, left: int) -> str:
    more = words.rest(min(left, CHUNK_CHARS), left)
    return note(sheet, link(sheet.act("rest"), more, sheet.style.tokens.accent), top=6)


def _chunks(scene: Scene, message: Message) -> list[Item]:
    """Return what was read on beyond the first 32,768 characters, plain, piece by piece."""
    made: list[Item] = []
    text = message.content
    for number, start in enumerate(range(CHUNK_CHARS, len(text), CHUNK_CHARS), 1):
        sheet = Sheet(f"m{message.id}.{number}", scene.style, scene.marker)
        inner = blocks.plain(sheet, text[start : start + CHUNK_CHARS], top=0)
        if start + CHUNK_CHARS >= len(text) and _left(message):
            left = _left(message)
            more = link(
                f"do:rest/m{message.id}",
                words.rest(min(left, CHUNK_CHARS), left),
                scene.style.tokens.accent,
            )
            inner += note(sheet, more, top=6)
        html = band(scene.style, "", inner, _ground(scene, message), joined=True)
        made.append(_item(sheet, html, message))
    return made


def _body(scene: Scene, sheet: Sheet, text: str) -> str:
    """Return the text formatted, or plain with the reason and the way to have it formatted."""
    from app.render import markdown  # loads markdown-it; the first paint does not wait for it

    anyway = scene.chose(sheet.key, "anyway")
    trial = Sheet(sheet.key, sheet.style, sheet.marker, sheet.on_ground)
    try:
        html = markdown.body(trial, text, patient=anyway)
    except markdown.TooHeavyError:
        reason = translate("viewer", "Shown as plain text: formatting it would take too long.")
        again = "" if anyway else translate("viewer", "render anyway")
        return _unformatted(sheet, text, reason, "anyway", again)
    if not trial.matches and not anyway and scene.marker(text):
        reason = translate("viewer", "Shown as written: the match is in what formatting hides.")
        again = translate("viewer", "show formatted")
        return _unformatted(sheet, text, reason, "anyway", again)
    sheet.matches, sheet.links, sheet.codes = trial.matches, trial.links, trial.codes
    return html


def _unformatted(sheet: Sheet, text: str, reason: str, action: str, again: str) -> str:
    tokens = sheet.style.tokens
    way = f"&nbsp; {link(sheet.act(action), again, tokens.accent)}" if again else ""
    return note(sheet, sheet.words(reason) + way, top=2) + blocks.plain(sheet, text, top=4)


def _picture(sheet: Sheet, ref: str) -> str:
    from app.render.markdown import place

    shown = safe_text.one_line(place(ref), 80)
    tokens = sheet.style.tokens
    css = f"background-color:{tokens.unkbg};color:{tokens.text2}"
    return blocks.paragraph(sheet, [Run(words.image_not_loaded(shown), css)], top=6)


def _header(scene: Scene, sheet: Sheet, message: Message, *, is_anchor: bool) -> str:
    """Return role, time, number and labels; the anchor also has its actions."""
    style, tokens = scene.style, scene.style.tokens
    ink = getattr(tokens, _ROLE_INK[message.role])
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
    left = "&nbsp;&nbsp;".join(facts)
    if not is_anchor:
        return f'<p style="margin:0;{style.caption()}">{left}</p>'
    actions = "&nbsp;&nbsp;".join(
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
    """Return what sets the message apart, each as a tinted word."""
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
    return [
        f'<span style="background-color:{tokens.unkbg};color:{tokens.unk}">'
        f"&nbsp;{said}&nbsp;</span>"
    ]


def band(
    style: Style, image: str, inner: str, ground: str, *, css: str = "", joined: bool = False
) -> str:
    """Return the table of one message: gutter with icon, then its content.

    `ground` is the colour token of a band across the whole width, or ''; `joined` leaves no
    space above, for what continues the message before it.
    """
    tokens = style.tokens
    top = 0 if joined else 8
    icon_top = 0 if joined else 10
    edges, left = "", f"padding:{icon_top}px 0 8px 24px"
    if ground == "anchor":
        edges = f"border-top:1px solid {tokens.line};border-bottom:1px solid {tokens.line};"
        left = f"border-left:4px solid {tokens.accent};padding:{icon_top}px 0 8px 20px"
    color = getattr(tokens, ground) if ground else ""
    look = f"background-color:{color};" if color else ""
    gap = 4 if ground and not joined else 0
    return (
        f'{blocks.TABLE} style="margin:{gap}px 0;{look}"><tr>'
        f'<td width="{GUTTER_PX}" valign="top" style="{edges}{left}">{image}</td>'
        f'<td style="{edges}padding:{top}px 24px 8px 0;{css}">{inner}</td></tr></table>'
    )


def role_sign(message: Message) -> tuple[str, str]:
    """Return the icon and its colour token for who really speaks in a message."""
    role = message.role
    if _is_folded_kind(message):
        role = Role.SYSTEM
    elif role is Role.ASSISTANT and message.tool_calls and not message.content.strip():
        role = Role.TOOL
    return f"role-{role.value}", _ROLE_INK[role]


def _role_icon(role: Role) -> str:
    return icon(f"role-{role.value}", _ROLE_INK[role])


def _thinking(scene: Scene, message: Message) -> Item:
    text = message.reasoning or ""
    sheet = Sheet(f"th{message.id}", scene.style, scene.marker)
    return _fold(
        scene,
        sheet,
        message,
        icon("thinking", "text3"),
        (translate("viewer", "Thinking"), words.characters(len(text)), "text3"),
        text,
    )


def _system(scene: Scene, message: Message) -> Item:
    sheet = Sheet(f"m{message.id}", scene.style, scene.marker)
    name = {
        Origin.INJECTED: translate("viewer", "Injected"),
        Origin.SYNTHETIC: translate("viewer", "Summary or note"),
    }.get(message.origin, words.role(Role.SYSTEM))
    if message.role is Role.SYSTEM:
        name = words.role(Role.SYSTEM)
    told = f"{gist.label(message.content)}, {words.characters(message.content_length)}"
    return _fold(
        scene, sheet, message, icon("role-system", "role_system"),
        (name, told, "role_system"), message.content,
    )  # fmt: skip


def _fold(
    scene: Scene, sheet: Sheet, message: Message, image: str, line: tuple[str, str, str], text: str
) -> Item:
    """Return a folded text; it opens by itself when it holds a match."""
    name, told, ink = line
    by_match = bool(scene.marker(text))
    is_open = by_match != scene.chose(sheet.key, "fold")
    row = tool_line.fold_row(sheet, image, name, told, ink, is_open=is_open, mono=False, right="")
    body = ""
    if is_open:
        body = blocks.plain(sheet, text[: tool_line.ALL_CHARS], top=0)
        if sheet.key.startswith("m") and _left(message):
            body += _rest_link(sheet, _left(message))
    is_anchor = message.id == scene.anchor_id and sheet.key.startswith("m")
    return _item(sheet, _line_table(scene, row, body, is_anchor=is_anchor), message)


def _tool(scene: Scene, key: str, use: ToolUse, message: Message) -> Item:
    ids = tuple(each.id for each in (use.asked, use.result) if each is not None)
    is_anchor = scene.anchor_id is not None and (
        (use.result is not None and use.result.id == scene.anchor_id)
        or (message.id == scene.anchor_id and key.endswith(".0") and not message.content.strip())
    )
    sheet = Sheet(key, scene.style, scene.marker, on_ground=is_anchor)
    by_match = tool_line.holds_match(use, scene.marker)
    is_open = by_match != scene.chose(key, "fold")
    row = tool_line.fold_row(
        sheet,
        icon("role-tool", "role_tool"),
        use.name or translate("viewer", "Tool result"),
        tool_line.told_by(use, scene.folder),
        "role_tool",
        is_open=is_open,
        mono=True,
        right=tool_line.outcome(scene.style, use),
    )
    body = ""
    if is_open:
        body = tool_line.inside(
            sheet,
            use,
            whole=scene.chose(key, "whole"),
            raw=scene.chose(key, "raw"),
            by_match=by_match and not scene.chose(key, "open"),
        )
        if use.result is not None and _left(use.result):
            more = words.rest(min(_left(use.result), CHUNK_CHARS), _left(use.result))
            href = f"do:rest/m{use.result.id}"
            body += note(sheet, link(href, more, scene.style.tokens.accent), top=6)
    html = _line_table(scene, row, body, is_anchor=is_anchor)
    last = use.result or message
    return _item(sheet, html, message, ids=ids, last=max(message.number, last.number))


def _line_table(scene: Scene, row: str, body: str, *, is_anchor: bool) -> str:
    """Return the table of a fold: its line, then what it holds."""
    tokens = scene.style.tokens
    look, gap = "", 0
    if is_anchor:
        look, gap = f"background-color:{tokens.anchor};", 4
        row = row.replace(
            "padding:7px 0 7px 24px",
            f"border-left:4px solid {tokens.accent};padding:7px 0 7px 20px",
        )
    below = ""
    if body:
        edge = f"border-left:4px solid {tokens.accent};" if is_anchor else ""
        below = (
            f'<tr><td width="{GUTTER_PX}" style="{edge}"></td>'
            f'<td colspan="2" style="padding:0 24px 10px 0">{body}</td></tr>'
        )
    return f'{blocks.TABLE} style="margin:{gap}px 0;{look}"><tr>{row}</tr>{below}</table>'


def _item(
    sheet: Sheet,
    html: str,
    message: Message,
    *,
    ids: tuple[int, ...] = (),
    last: int | None = None,
) -> Item:
    return Item(
        key=sheet.key,
        html=html,
        message_ids=ids or (message.id,),
        first=message.number,
        last=message.number if last is None else last,
        matches=sheet.matches,
        links=tuple(sheet.links),
        codes=tuple(sheet.codes),
    )
