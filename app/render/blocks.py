"""The blocks of a message as tables and paragraphs that Qt draws as meant."""

from dataclasses import replace

from app.render.runs import Run
from app.render.sheet import Sheet, Spot
from app.render.style import link
from app.render.words import translate

BARE = 'cellspacing="0" cellpadding="0"'
TABLE = f'<table width="100%" {BARE}'


def paragraph(sheet: Sheet, runs: list[Run], *, top: int = 8, css: str = "") -> str:
    """Return a paragraph of message text."""
    look = css or sheet.style.read()
    return f'<p style="margin:{top}px 0 0 0;{look}">{sheet.text(runs)}</p>'


def plain(
    sheet: Sheet, text: str, *, top: int = 2, css: str = "", origin: Spot | None = None
) -> str:
    """Return text as it was written, unformatted; `origin` is where it begins."""
    look = css or sheet.style.read()
    return f'<p style="margin:{top}px 0 0 0;{look}">{sheet.text([Run(text)], origin=origin)}</p>'


def code(
    sheet: Sheet,
    text: str,
    language: str,
    *,
    title: str = "",
    top: int = 8,
    runs: list[Run] | None = None,
    more: str = "",
    label: str = "",
    origin: Spot | None = None,
) -> str:
    """Return a code block: header with language (or `title`) and copy link, wrapped code.

    `runs` are the coloured text where the caller knows better; `more` is HTML put beside
    the copy link; `label` is a title that belongs to the text; `origin` is where it begins.
    """
    from app.render import code as coloured  # Pygments loads at the first code block

    style, tokens = sheet.style, sheet.style.tokens
    ground = tokens.base if sheet.on_ground else tokens.sunken
    edge = f"1px solid {tokens.line}"
    parts = coloured.runs(text, language, tokens) if runs is None else runs
    named = sheet.text([Run(label)]) if label else ""
    body = sheet.text(parts, code=True, origin=origin)
    head = named or sheet.words(title or language or translate("viewer", "text"))
    copy = link(sheet.code(text), translate("viewer", "copy"), tokens.accent)
    return (
        f'{TABLE} style="margin-top:{top}px;background-color:{ground}"><tr>'
        f'<td style="border-left:{edge};border-top:{edge};border-bottom:{edge};'
        f'padding:3px 12px;{style.caption()}">{head}</td>'
        f'<td align="right" style="border-right:{edge};border-top:{edge};border-bottom:{edge};'
        f'padding:3px 10px;{style.caption()}">{more}{copy}</td></tr>'
        f'<tr><td colspan="2" style="border-left:{edge};border-right:{edge};'
        f'border-bottom:{edge};padding:7px 12px 8px 12px"><p dir="ltr" '
        f'style="margin:0;{style.code()}">{body}</p></td></tr></table>'
    )


def quote(sheet: Sheet, inner: str, *, top: int = 8) -> str:
    """Return HTML set off by a bar, as a quotation."""
    tokens = sheet.style.tokens
    return (
        f'{TABLE} style="margin-top:{top}px"><tr><td style="border-left:3px solid {tokens.line2};'
        f'padding:0 0 0 12px">{inner}</td></tr></table>'
    )


def rule(sheet: Sheet, *, top: int = 8) -> str:
    """Return a horizontal rule."""
    return (
        f'{TABLE} style="margin-top:{top}px"><tr><td style="border-top:1px solid '
        f'{sheet.style.tokens.line2};font-size:1px;line-height:8px">&nbsp;</td></tr></table>'
    )


def grid(sheet: Sheet, rows: list[list[tuple[list[Run], str]]], *, top: int = 8) -> str:
    """Return a table; the first row is its head, each cell has runs and an alignment."""
    style, tokens = sheet.style, sheet.style.tokens
    edge = f"1px solid {tokens.line}"
    look = style.read(14, 22)
    parts = [f'<table cellspacing="0" cellpadding="0" style="margin-top:{top}px">']
    for number, row in enumerate(rows):
        parts.append("<tr>")
        for column, (runs, align) in enumerate(row):
            borders = f"border-right:{edge};border-bottom:{edge};"
            borders += f"border-left:{edge};" if column == 0 else ""
            if number == 0:
                borders += f"border-top:{edge};background-color:{tokens.sunken};"
                runs = [replace(run, css=f"font-weight:bold;{run.css}") for run in runs]
            parts.append(
                f'<td align="{align}" style="{borders}padding:3px 12px">'
                f'<p align="{align}" style="margin:0;{look}">{sheet.text(runs)}</p></td>'
            )
        parts.append("</tr>")
    parts.append("</table>")
    return "".join(parts)


def note(sheet: Sheet, html: str, *, top: int = 4) -> str:
    """Return a caption line below a block; `html` is ours."""
    return f'<p style="margin:{top}px 0 0 0;{sheet.style.caption()}">{html}</p>'
