"""A plan as a list of steps, each with a sign and a word for how far it is."""

from app.render import safe_text, words
from app.render.blocks import TABLE, note
from app.render.runs import Run
from app.render.sheet import Sheet
from app.render.style import badge, icon, link
from core.plans import Plan
from core.types import PlanStatus, PlanStep

_BADGES = {
    PlanStatus.PENDING: ("pending", "unk", "unkbg"),
    PlanStatus.IN_PROGRESS: ("play", "info", "infobg"),
    PlanStatus.COMPLETED: ("ok", "ok", "okbg"),
    PlanStatus.BLOCKED: ("warning", "warn", "warnbg"),
    PlanStatus.CANCELLED: ("close", "unk", "unkbg"),
}
_SIGNS = {PlanStatus.COMPLETED: "x", PlanStatus.IN_PROGRESS: ">", PlanStatus.BLOCKED: "!"}
_STEP_CHARS = 20  # what a step costs beside its text


def checklist(sheet: Sheet, plan: Plan, *, cap: int, more: str = "") -> str:
    """Return a plan's steps, of up to `cap` characters; what is left out is named.

    `more` is HTML put behind that name: the link that shows the rest.
    """
    shown: list[PlanStep] = []
    for step in plan.steps:
        cap -= len(step.text) + _STEP_CHARS
        if shown and cap < 0:
            break
        shown.append(step)
    style, tokens = sheet.style, sheet.style.tokens
    ground = tokens.base if sheet.on_ground else tokens.sunken
    edge = f"1px solid {tokens.line}"
    head = sheet.words(words.steps_done(plan.done, len(plan.steps)))
    copy = link(sheet.code(as_text(plan)), words.copy(), tokens.accent)
    rows = "".join(_row(sheet, step, edge, is_last=step is shown[-1]) for step in shown)
    html = (
        f'{TABLE} style="margin-top:4px;background-color:{ground}"><tr>'
        f'<td style="border-left:{edge};border-top:{edge};border-bottom:{edge};'
        f'padding:3px 12px;{style.caption()}">{head}</td>'
        f'<td align="right" style="border-right:{edge};border-top:{edge};border-bottom:{edge};'
        f'padding:3px 10px;{style.caption()}">{copy}</td></tr>{rows}</table>'
    )
    if len(shown) == len(plan.steps):
        return html
    left = words.steps_not_shown(len(plan.steps) - len(shown))
    return html + note(sheet, sheet.words(left) + more)


def _row(sheet: Sheet, step: PlanStep, edge: str, *, is_last: bool) -> str:
    style, tokens = sheet.style, sheet.style.tokens
    image, ink, ground = _BADGES[step.status]
    color, tint = getattr(tokens, ink), getattr(tokens, ground)
    word = badge(words.plan_status(step.status), color, tint, icon(image, ink, 14))
    quiet = step.status in (PlanStatus.COMPLETED, PlanStatus.CANCELLED)
    look = f"{style.read(14, 22)};color:{tokens.text2 if quiet else tokens.text}"
    bold = "font-weight:bold" if step.status is PlanStatus.IN_PROGRESS else ""
    text = sheet.text([Run(step.text[:4_000], bold)])
    top, below = 4, 8 if is_last else 0
    foot = f"border-bottom:{edge};" if is_last else ""
    return (
        f'<tr><td valign="top" style="border-left:{edge};{foot}'
        f'padding:{top}px 12px {below}px 12px"><p style="margin:0;{look}">{text}</p></td>'
        f'<td align="right" valign="top" style="border-right:{edge};{foot}'
        f'padding:{top}px 10px {below}px 10px;{style.caption(22)}">{word}</td></tr>'
    )


def gist(plan: Plan) -> str:
    """Return a plan in a few words: how many steps are done, and what is next."""
    told = words.steps_done(plan.done, len(plan.steps))
    step = plan.current
    return safe_text.one_line(f"{told} · {step.text}" if step else told, 200)


def as_text(plan: Plan) -> str:
    """Return a plan as lines of text, `[x]` before what is done."""
    return "\n".join(f"[{_sign(step)}] {' '.join(step.text.split())}" for step in plan.steps)


def _sign(step: PlanStep) -> str:
    return "-" if step.status is PlanStatus.CANCELLED else _SIGNS.get(step.status, " ")
