"""What HTML needs to know of the look: colours, families, sizes, the width of a line."""

import re
from dataclasses import dataclass

from app.render import safe_text
from app.tokens import Tokens

GUTTER_PX = 56
SIDE_PX = 24


@dataclass(frozen=True, slots=True)
class Style:
    """The look of one rendering.

    `scale` enlarges message text and code, never captions. `width_px` is the viewer's width:
    lines that must stay one line are cut to it.
    """

    tokens: Tokens
    code_families: tuple[str, ...] = ("Noto Sans Mono", "Noto Sans Mono CJK SC")
    kana_family: str = "Noto Sans CJK JP"
    hangul_family: str = "Noto Sans CJK KR"
    scale: float = 1.0
    width_px: int = 776

    def px(self, size: int) -> int:
        """Return a size of message text in whole pixels, so that lines keep an even pitch."""
        return max(1, round(size * self.scale))

    def read(self, size: int = 15, line: int = 24) -> str:
        """Return the CSS of message text."""
        return (
            f"font-size:{self.px(size)}px;line-height:{self.px(line)}px;"
            f"white-space:pre-wrap;color:{self.tokens.text}"
        )

    def caption(self, line: int = 18) -> str:
        """Return the CSS of meta lines."""
        return f"font-size:12px;line-height:{line}px;color:{self.tokens.text3}"

    def code(self, size: int = 13, line: int = 20) -> str:
        """Return the CSS of code: its own families, wrapped, every space kept."""
        return (
            f"font-family:{family(self.code_families)};font-size:{self.px(size)}px;"
            f"line-height:{self.px(line)}px;white-space:pre-wrap;color:{self.tokens.text}"
        )

    def cjk_family(self, text: str) -> str:
        """Return the family whose letter forms `text` asks for; '' for the user's own.

        Kana ask for Japanese forms, Hangul for Korean ones. Han alone says nothing.
        """
        found = _KANA_OR_HANGUL.search(text)
        if found is None:
            return ""
        return self.kana_family if found[0] < "\u3100" else self.hangul_family


_KANA_OR_HANGUL = re.compile(r"[\u3041-\u3096\u30a1-\u30fa\uac00-\ud7a3]")


def family(names: tuple[str, ...]) -> str:
    """Return a `font-family` value; fits into a double-quoted attribute."""
    return ",".join(f"'{name}'" for name in names)


def icon(name: str, ink: str, size: int = 16) -> str:
    """Return the image of one of our own icons in the colour token `ink`."""
    return (
        f'<img src="icon:{name}/{ink}/{size}" width="{size}" height="{size}" '
        'style="vertical-align:middle">'
    )


def link(href: str, text: str, color: str) -> str:
    """Return a link to one of our own actions; `text` is HTML already."""
    return f'<a href="{href}" style="color:{color};text-decoration:none">{text}</a>'


def gap(count: int = 2) -> str:
    """Return the space between two facts of a line; copied, it is one space."""
    return f'<span title="{safe_text.GAP}">{"&nbsp;" * count}</span>'


def pad(css: str = "", count: int = 1) -> str:
    """Return space that is only there for the eye, on the ground that `css` gives it."""
    return f'<span title="{safe_text.BREAK}" style="{css}">{"&nbsp;" * count}</span>'


def badge(words: str, ink: str, ground: str, image: str = "") -> str:
    """Return a word (HTML) on a tint, with an icon where there is one."""
    look = f"background-color:{ground};color:{ink}"
    picture = f'<span style="{look}">{image}</span>{pad(look)}' if image else ""
    return f'{pad(look)}{picture}<span style="{look}">{words}</span>{pad(look)}'
