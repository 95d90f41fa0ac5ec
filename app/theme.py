"""Palette, fonts, style sheet and icons: everything that makes a widget look like ours.

`apply()` sets the whole look; `current()` is the palette that painting code reads at each
paint. `changed` fires after either the palette or the text size changed, so that what was
rendered from them (HTML, cached layouts) can be made anew.
"""

import sys
from functools import cache, lru_cache

from PySide6.QtCore import QByteArray, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QIcon,
    QImage,
    QPainter,
    QPalette,
    QPixmap,
)
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from app import resources
from app.tokens import DARK, LIGHT, Tokens

__all__ = ["DARK", "LIGHT", "Tokens"]

STEPS_PT = {
    "micro": 8.25,
    "caption": 9.0,
    "ui": 9.75,
    "lead": 10.5,
    "read": 11.25,
    "search": 12.0,
    "head": 11.25,
    "title": 13.5,
    "display": 18.0,
}
BOLD_STEPS = frozenset({"head", "title", "display"})
SCALED_STEPS = frozenset({"read", "snippet", "code"})
TEXT_SCALES = (0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0)

_OTHER_TEXT = ("DejaVu Sans", "Liberation Sans")
_OTHER_CODE = ("DejaVu Sans Mono", "Liberation Mono")
_CJK_BY_LANGUAGE = {"zh_TW": "TC", "zh_HK": "TC", "zh_MO": "TC", "ja": "JP", "ko": "KR"}
_ICON_RATIOS = (1.0, 1.5, 2.0, 3.0)


class _Notifier(QObject):
    changed = Signal()


_notifier = _Notifier()
changed = _notifier.changed


class _Look:
    """What was applied last; one per process, as QApplication's palette is."""

    tokens = LIGHT
    text_scale = 1.0
    language = "en"


def current() -> Tokens:
    """Return the palette in force."""
    return _Look.tokens


def color(token: str) -> QColor:
    """Return the colour called `token` in the palette in force."""
    return QColor(getattr(_Look.tokens, token))


def text_scale() -> float:
    """Return the factor by which message text, code and snippets are enlarged."""
    return _Look.text_scale


def set_text_scale(scale: float) -> None:
    """Enlarge message text, code and snippets by `scale`, one of `TEXT_SCALES`."""
    if scale != _Look.text_scale:
        _Look.text_scale = scale
        _notifier.changed.emit()


def apply(app: QApplication, dark: bool, *, language: str = "en") -> None:
    """Set style, palette, fonts and style sheet of the whole program.

    `language` is the locale name of the user interface; it picks the CJK letter forms.
    """
    _Look.tokens = DARK if dark else LIGHT
    _Look.language = language
    if app.style().name().lower() != "fusion":
        app.setStyle("Fusion")
    app.setPalette(palette(_Look.tokens))
    app.setFont(font("ui"))
    app.setStyleSheet(style_sheet(_Look.tokens))
    _notifier.changed.emit()


def style_sheet(tokens: Tokens) -> str:
    """Return the window's style sheet with the colours of `tokens` filled in."""
    names = {name: getattr(tokens, name) for name in Tokens.__slots__}
    return resources.text("style", "window.qss") % names


def palette(tokens: Tokens) -> QPalette:
    """Return Fusion's palette in the colours of `tokens`."""
    role = QPalette.ColorRole
    colors = {
        role.Window: tokens.window,
        role.AlternateBase: tokens.panel,
        role.Base: tokens.base,
        role.Button: tokens.base,
        role.Light: tokens.base,
        role.Midlight: tokens.line,
        role.Mid: tokens.line2,
        role.Dark: tokens.line2,
        role.Shadow: tokens.line2,
        role.WindowText: tokens.text,
        role.Text: tokens.text,
        role.ButtonText: tokens.text,
        role.BrightText: tokens.on,
        role.PlaceholderText: tokens.text3,
        role.Link: tokens.accent,
        role.LinkVisited: tokens.accent,
        role.Highlight: tokens.fill,
        role.Accent: tokens.fill,
        role.HighlightedText: tokens.on,
        role.ToolTipBase: tokens.text,
        role.ToolTipText: tokens.base,
    }
    result = QPalette()
    for each, value in colors.items():
        result.setColor(each, QColor(value))
    for each in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, each, QColor(tokens.text3))
    result.setColor(QPalette.ColorGroup.Disabled, role.Highlight, QColor(tokens.sel))
    return result


# Fonts


def cjk_suffix(language: str) -> str:
    """Return the letter forms (SC, TC, JP, KR) that a reader of `language` expects."""
    name = language.replace("-", "_")
    if "Hant" in name:
        return "TC"
    return _CJK_BY_LANGUAGE.get(name, _CJK_BY_LANGUAGE.get(name.split("_")[0], "SC"))


@cache
def _platform_families() -> tuple[list[str], list[str]]:
    """Return the families before the CJK ones: for text and for code."""
    if sys.platform == "win32":
        return ["Segoe UI"], ["Cascadia Mono", "Consolas"]
    if sys.platform == "darwin":
        return [".AppleSystemUIFont"], ["SF Mono", "Menlo"]
    known = set(QFontDatabase.families())
    text = ["Noto Sans", *(name for name in _OTHER_TEXT if name in known)]
    code = ["Noto Sans Mono", *(name for name in _OTHER_CODE if name in known)]
    return text, code


@cache
def _platform_cjk(suffix: str) -> list[str]:
    """Return the platform's families for CJK letters of the form `suffix`."""
    if sys.platform == "win32":
        names = {"SC": "Microsoft YaHei UI", "TC": "Microsoft JhengHei UI"}
        return [names.get(suffix, {"JP": "Yu Gothic UI", "KR": "Malgun Gothic"}.get(suffix, ""))]
    if sys.platform == "darwin":
        names = {"SC": "PingFang SC", "TC": "PingFang TC"}
        mac = {"JP": "Hiragino Sans", "KR": "Apple SD Gothic Neo"}
        return [names.get(suffix, mac.get(suffix, ""))]
    return [f"Noto Sans CJK {suffix}"]


def families(suffix: str = "") -> list[str]:
    """Return the text families; `suffix` (SC, TC, JP, KR) overrides the language's choice."""
    return _platform_families()[0] + _platform_cjk(suffix or cjk_suffix(_Look.language))


def code_families() -> list[str]:
    """Return the families for code, CJK included."""
    if sys.platform in ("win32", "darwin"):
        return _platform_families()[1] + _platform_cjk(cjk_suffix(_Look.language))
    mono = f"Noto Sans Mono CJK {cjk_suffix(_Look.language)}"
    return [*_platform_families()[1], mono]


def points(step: str) -> float:
    """Return the size of a type step in points, text scale included where it applies."""
    base = STEPS_PT.get(step, STEPS_PT["ui"])
    return base * _Look.text_scale if step in SCALED_STEPS else base


def font(step: str = "ui", *, bold: bool = False) -> QFont:
    """Return the font of a type step: micro caption ui lead read search head title display.

    `snippet` is `ui` and `code` is `ui` in the code families; both follow the text scale.
    """
    result = QFont()
    result.setFamilies(code_families() if step == "code" else families())
    result.setPointSizeF(points(step))
    result.setBold(bold or step in BOLD_STEPS)
    return result


def code_font(step: str = "ui") -> QFont:
    """Return the code font at the size of `step`."""
    result = font(step)
    result.setFamilies(code_families())
    return result


# Icons


def image(name: str, ink: str = "text2", size: int = 16, ratio: float = 1.0) -> QImage:
    """Return icon `name` in the colour token `ink`, `size` px square, drawn for `ratio`."""
    return _drawn(name, getattr(_Look.tokens, ink), size, ratio)


@lru_cache(maxsize=1024)
def _drawn(name: str, value: str, size: int, ratio: float) -> QImage:
    source = resources.text("icons", f"{name}.svg").replace("currentColor", value)
    result = QImage(
        QSize(round(size * ratio), round(size * ratio)), QImage.Format.Format_ARGB32_Premultiplied
    )
    result.fill(Qt.GlobalColor.transparent)
    painter = QPainter(result)
    QSvgRenderer(QByteArray(source.encode())).render(painter)
    painter.end()
    result.setDevicePixelRatio(ratio)
    return result


def pixmap(name: str, ink: str = "text2", size: int = 16, ratio: float = 1.0) -> QPixmap:
    """Return icon `name` as a pixmap; see `image`."""
    return QPixmap.fromImage(image(name, ink, size, ratio))


def icon(name: str, ink: str = "text2", size: int = 16) -> QIcon:
    """Return icon `name` for buttons and actions, crisp at any screen scale.

    Make it anew when `changed` fires: it holds the colours of now.
    """
    result = QIcon()
    for ratio in _ICON_RATIOS:
        result.addPixmap(pixmap(name, ink, size, ratio))
        result.addPixmap(pixmap(name, "line2", size, ratio), QIcon.Mode.Disabled)
    return result


def paint_icon(painter: QPainter, name: str, ink: str, rect: QRectF) -> None:
    """Draw icon `name` into `rect` (square), crisp at the painter's screen scale."""
    ratio = painter.device().devicePixelRatioF()
    painter.drawImage(rect, image(name, ink, round(rect.width()), ratio))
