"""What a selection in the viewer says, character by character as it is stored."""

from PySide6.QtGui import QTextBlock, QTextCursor, QTextListFormat

from app.render import safe_text

_LINE_SEPARATOR = "\u2028"
_BULLETS = (
    QTextListFormat.Style.ListDisc,
    QTextListFormat.Style.ListCircle,
    QTextListFormat.Style.ListSquare,
)
_TEXT_ACTIONS = ("link", "fold", "anchor")  # links whose words are text; the rest are controls


def selected_text(cursor: QTextCursor) -> str:
    """Return the selection as plain text.

    Our own icons and break opportunities are left out, characters shown by name come back,
    no-break spaces stay what they are (Qt's own plain text makes spaces of them).
    """
    first, last = cursor.selectionStart(), cursor.selectionEnd()
    document = cursor.document()
    block = document.findBlock(first)
    lines: list[str] = []
    while block.isValid() and block.position() <= last:
        text = _block_text(block, first, last)
        if text:  # blank lines of a text are within its block
            lines.append(text)
        block = block.next()
    return "\n".join(lines)


def _block_text(block: QTextBlock, first: int, last: int) -> str:
    parts: list[str] = []
    listed = block.textList()
    if listed is not None and first <= block.position():
        sign = listed.itemText(block)
        parts.append("- " if listed.format().style() in _BULLETS else f"{sign} ")
    step = block.begin()
    while not step.atEnd():
        fragment = step.fragment()
        start = max(first, fragment.position())
        end = min(last, fragment.position() + fragment.length())
        look = fragment.charFormat()
        if start < end and not look.isImageFormat() and not _is_control(look.anchorHref()):
            restored = safe_text.original(look.toolTip()) if look.toolTip() else None
            if restored is None:
                at = fragment.position()
                utf16 = fragment.text().encode("utf-16-le", "surrogatepass")
                piece = utf16[2 * (start - at) : 2 * (end - at)]
                parts.append(piece.decode("utf-16-le", "replace").replace(_LINE_SEPARATOR, "\n"))
            elif look.toolTip() in (safe_text.BREAK, safe_text.GAP):
                parts.append(restored)
            else:
                # Equal neighbours are one fragment.
                shown, _ = safe_text.mark(restored)
                parts.append(restored * (len(fragment.text()) // len(shown)))
        step += 1
    return "".join(parts)


def _is_control(href: str) -> bool:
    return href.startswith("do:") and href[3:].partition("/")[0] not in _TEXT_ACTIONS
