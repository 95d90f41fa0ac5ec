"""Markdown of a message as HTML of the subset, with bounds on depth, size and time.

Raw HTML is never parsed, pictures become words, and no address reaches the HTML.
"""

import re
import time
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from app.render import blocks, cost, safe_text, words
from app.render.runs import Run
from app.render.sheet import Sheet
from app.render.style import family

_MAX_NESTING = 28
_MAX_DEPTH = 20
_QUOTES_DRAWN = 3
_DEADLINE_S = 0.25
_PATIENCE_S = 3.0
_ADDRESS = re.compile(r"https?://[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")
_TRAILING = ".,;:!?'\")]}*_"
_ALIGN = re.compile(r"text-align:\s*(left|right|center)")


class TooHeavyError(Exception):
    """Formatting this text would take too long, or would lose some of it."""


def _watch(state: StateBlock | StateInline, *_: object) -> bool:
    """Give up when this parse has had its time; as a rule it matches nothing.

    The time is the thread's own: a busy machine must not make plain text of a short message.
    """
    if time.thread_time() > state.env["ends_at"]:
        raise TooHeavyError
    return False


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    parser.disable(["reference", "html_block", "html_inline"])
    parser.block.ruler.before("code", "deadline", _watch)
    parser.inline.ruler.before("text", "deadline", _watch)
    # Every target may be a link: it is shown before it is opened, and most kinds never are.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


_PARSER = _parser()


def body(sheet: Sheet, text: str, *, patient: bool = False) -> str:
    """Return `text` as HTML blocks written on `sheet`.

    Raises:
        TooHeavyError: it is too deep, too large or too slow; with `patient` only what would
            be lost or takes seconds is refused.
    """
    ends_at = time.thread_time() + (_PATIENCE_S if patient else _DEADLINE_S)
    tokens = _PARSER.parse(text, {"ends_at": ends_at})
    if max((token.level for token in tokens), default=0) > _MAX_DEPTH:
        raise TooHeavyError
    if not patient and cost.of_text(text) + cost.of_tokens(tokens) > cost.FORMATTED_MS:
        raise TooHeavyError
    writer = _Writer(sheet, tokens)
    return writer.blocks("", quotes=0)


class _Writer:
    """Walks the flat tokens once, writing blocks on the sheet."""

    def __init__(self, sheet: Sheet, tokens: Sequence[Token]) -> None:
        self._sheet = sheet
        self._tokens = tokens
        self._at = 0
        self._first = True

    def _top(self, usual: int = 8) -> int:
        """Return the space above the next block; the first stands close to its header."""
        top = 2 if self._first else usual
        self._first = False
        return top

    def blocks(self, closing: str, quotes: int) -> str:
        """Return the blocks up to the token called `closing`, which is taken too."""
        parts: list[str] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.type == closing:
                break
            parts.append(self._block(token, quotes))
        return "".join(parts)

    def _block(self, token: Token, quotes: int) -> str:
        match token.type:
            case "paragraph_open":
                runs = self._inline_until("paragraph_close")
                return blocks.paragraph(self._sheet, runs, top=self._top())
            case "heading_open":
                return self._heading(token)
            case "fence" | "code_block":
                return self._code(token)
            case "bullet_list_open":
                return self._list("ul", "bullet_list_close", "", quotes)
            case "ordered_list_open":
                start = int(token.attrGet("start") or 1)
                return self._list("ol", "ordered_list_close", f' start="{start}"', quotes)
            case "blockquote_open":
                return self._quote(quotes)
            case "table_open":
                top = self._top()
                return blocks.grid(self._sheet, self._rows(), top=top)
            case "hr":
                return blocks.rule(self._sheet, top=self._top(10))
            case "inline":
                return blocks.paragraph(self._sheet, self._runs(token), top=self._top())
        return ""

    def _heading(self, token: Token) -> str:
        size, line = {"h1": (18, 26), "h2": (16, 24)}.get(token.tag, (15, 24))
        css = f"{self._sheet.style.read(size, line)};font-weight:bold"
        runs = self._inline_until("heading_close")
        return blocks.paragraph(self._sheet, runs, top=self._top(14), css=css)

    def _code(self, token: Token) -> str:
        label = token.info.strip()
        language = label.split(maxsplit=1)[0] if label else ""
        text = token.content.removesuffix("\n")
        return blocks.code(self._sheet, text, language, label=label, top=self._top())

    def _quote(self, quotes: int) -> str:
        top = self._top()
        if quotes >= _QUOTES_DRAWN:  # each table in a table doubles the work of the layout
            return self.blocks("blockquote_close", quotes + 1)
        self._first = True
        inner = self.blocks("blockquote_close", quotes + 1)
        self._first = False
        return blocks.quote(self._sheet, inner, top=top)

    def _list(self, tag: str, closing: str, attributes: str, quotes: int) -> str:
        parts = [f'<{tag}{attributes} style="margin:0">']
        above = self._top(6)
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.type == closing:
                break
            parts.append(self._item(above, quotes))
            above = 3
        parts.append(f"</{tag}>")
        return "".join(parts)

    def _item(self, above: int, quotes: int) -> str:
        """Return a list item: its first paragraph is the item's own line, the rest follow."""
        first = ""
        if self._tokens[self._at].type == "paragraph_open":
            self._at += 1
            first = self._sheet.text(self._inline_until("paragraph_close"))
        rest = self.blocks("list_item_close", quotes)
        return f'<li style="margin:{above}px 0 0 0;{self._sheet.style.read()}">{first}{rest}</li>'

    def _rows(self) -> list[list[tuple[list[Run], str]]]:
        rows: list[list[tuple[list[Run], str]]] = []
        align = "left"
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.type == "table_close":
                break
            if token.type == "tr_open":
                rows.append([])
            elif token.type in ("th_open", "td_open"):
                found = _ALIGN.search(str(token.attrGet("style") or ""))
                align = found[1] if found else "left"
            elif token.type == "inline":
                rows[-1].append((self._runs(token), align))
        return rows

    def _inline_until(self, closing: str) -> list[Run]:
        runs: list[Run] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.type == closing:
                break
            if token.type == "inline":
                runs = self._runs(token)
        return runs

    def _runs(self, token: Token) -> list[Run]:
        return _Inline(self._sheet).runs(token.children or [])


class _Inline:
    """Turns one inline token's children into runs."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._looks: list[str] = []
        self._href = ""

    def runs(self, children: Sequence[Token]) -> list[Run]:
        """Return the runs; line ends stay line ends, as they were written."""
        tokens = self._sheet.style.tokens
        result: list[Run] = []
        for child in children:
            match child.type:
                case "strong_open":
                    self._looks.append("font-weight:bold")
                case "em_open":
                    self._looks.append("font-style:italic")
                case "s_open":
                    self._looks.append("text-decoration:line-through")
                case "link_open":
                    self._href = self._sheet.link(str(child.attrGet("href") or ""))
                    self._looks.append(f"color:{tokens.accent}")
                case "strong_close" | "em_close" | "s_close" | "link_close":
                    self._looks.pop()
                    if child.type == "link_close":
                        self._href = ""
                case "softbreak" | "hardbreak":
                    result.append(Run("\n", self._css()))
                case "code_inline":
                    result.append(Run(child.content, self._css(self._code()), self._href))
                case "image":
                    result.extend(self._image(child))
                case _:
                    result.extend(self._text(child.content))
        return result

    def _css(self, more: str = "") -> str:
        return ";".join([*self._looks, more] if more else self._looks)

    def _code(self) -> str:
        style = self._sheet.style
        return (
            f"font-family:{family(style.code_families)};font-size:{style.px(14)}px;"
            f"background-color:{style.tokens.unkbg}"
        )

    def _text(self, text: str) -> list[Run]:
        """Return text with the web addresses in it made links."""
        if self._href or "://" not in text:
            return [Run(text, self._css(), self._href)]
        result: list[Run] = []
        at = 0
        for found in _ADDRESS.finditer(text):
            address = _without_punctuation(found[0])
            if address.endswith("://"):
                continue
            result.append(Run(text[at : found.start()], self._css()))
            look = self._css(f"color:{self._sheet.style.tokens.accent}")
            result.append(Run(address, look, self._sheet.link(address)))
            at = found.start() + len(address)
        result.append(Run(text[at:], self._css()))
        return [run for run in result if run.text]

    def _image(self, token: Token) -> list[Run]:
        tokens = self._sheet.style.tokens
        target = str(token.attrGet("src") or "")
        said = "".join(each.content for each in token.children or ()).strip()
        look = self._css(f"background-color:{tokens.unkbg};color:{tokens.text2}")
        href = self._href or (self._sheet.link(target) if target else "")
        before, _, behind = words.image_not_loaded("\0").partition("\0")
        place = safe_text.place(target)
        behind = (f", {place}" if said and place else place) + behind
        parts = [
            Run(before, look, href, is_ours=True),
            Run(said, look, href),
            Run(behind, look, href, is_ours=True),
        ]
        return [part for part in parts if part.text]


def _without_punctuation(address: str) -> str:
    """Return an address without the sentence's own punctuation after it."""
    while address and address[-1] in _TRAILING:
        if address[-1] == ")" and address.count("(") >= address.count(")"):
            break
        address = address[:-1]
    return address
