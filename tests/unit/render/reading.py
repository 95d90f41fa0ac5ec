"""Reads rendered HTML back, and says what in it is not ours."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from app.render import safe_text

OUR_TAGS = {
    "table", "tr", "td", "p", "span", "a", "b", "br", "img", "ul", "ol", "li",
}  # fmt: skip
OUR_ATTRIBUTES = {
    "table": {"width", "cellspacing", "cellpadding", "style"},
    "td": {"width", "style", "valign", "align", "colspan"},
    "p": {"style", "dir", "align"},
    "span": {"style", "title"},
    "a": {"href", "style"},
    "img": {"src", "width", "height", "style"},
    "b": {"style"},
    "ul": {"style"},
    "ol": {"style", "start"},
    "li": {"style"},
}
_HREF = re.compile(r"do:[a-z]+/[a-z]+[0-9a-z.\-]*(/\d+)?\Z")
_ICON = re.compile(r"icon:[a-z\-]+/[a-z_0-9]+/\d+\Z")
_STYLE = re.compile(r"[a-zA-Z0-9 #:;,.'%()\-]*\Z")


@dataclass
class Seen:
    """What a reader of the HTML sees."""

    text: str = ""
    marked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen = Seen()
        self._open: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag, attrs) -> None:
        self._check(tag, attrs)
        values = dict(attrs)
        if tag == "br":
            self._add("\n")
        elif tag != "img":
            self._open.append((tag, values.get("title", ""), values.get("style", "")))
        if tag == "a":
            self.seen.links.append(values["href"])

    def handle_endtag(self, tag) -> None:
        if not self._open or self._open[-1][0] != tag:
            self.seen.wrong.append(f"</{tag}> closes nothing")
            return
        self._open.pop()

    def handle_data(self, data) -> None:
        title = self._open[-1][1] if self._open else ""
        restored = safe_text.original(title) if title else None
        self._add(data if restored is None else restored)

    def handle_comment(self, data) -> None:
        self.seen.wrong.append(f"comment {data}")

    def handle_decl(self, decl) -> None:
        self.seen.wrong.append(f"declaration {decl}")

    def close(self) -> None:
        super().close()
        self.seen.wrong += [f"<{tag}> stays open" for tag, _, _ in self._open]

    def _add(self, data: str) -> None:
        self.seen.text += data
        if any("background-color:#FFE27" in style for _, _, style in self._open):
            self.seen.marked.append(data)

    def _check(self, tag, attrs) -> None:
        if tag not in OUR_TAGS:
            self.seen.wrong.append(f"<{tag}>")
        for name, value in attrs:
            known = name in OUR_ATTRIBUTES.get(tag, set())
            fits = (
                _HREF.match(value) if name == "href"
                else _ICON.match(value) if name == "src"
                else _STYLE.match(value) if name == "style"
                else safe_text.original(value) is not None if name == "title"
                else True
            )  # fmt: skip
            if not known or not fits:
                self.seen.wrong.append(f"<{tag} {name}={value!r}>")


def read(html: str) -> Seen:
    """Return what is seen in `html`, and everything in it that our writer never writes."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.seen
