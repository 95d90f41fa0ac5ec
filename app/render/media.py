"""What stands in the place of a picture or file that a message came with: none is ever loaded."""

import re

from app import formatting
from app.render import safe_text, words

_NAME = 80
_TOLD = re.compile(r"(.*?)(?:; size=(\d{1,15}))?; at=(.*)", re.DOTALL)
_NO_NAME = re.compile(r"\d+:\d+|inline|")  # bytes within the source, which tell a reader nothing
_PICTURE = re.compile(r"\.(?:avif|bmp|gif|heic|ico|jpe?g|png|svg|tiff?|webp)$", re.IGNORECASE)


def not_loaded(ref: str) -> str:
    """Return words for a reference: what it is, and its name, else its kind and size.

    `ref` is a place, or `KIND; size=BYTES; at=PLACE` as readers name what lies within a source.
    """
    told = _TOLD.fullmatch(ref)
    kind, size, at = told.groups() if told else ("image", None, ref)
    name = safe_text.place(at)
    if told and _NO_NAME.fullmatch(at.strip()):
        name = kind if size is None else f"{kind}, {formatting.size(int(size))}"
    name = safe_text.one_line(name or kind, _NAME)
    is_picture = kind.startswith("image") or _PICTURE.search(name)
    return words.image_not_loaded(name) if is_picture else words.file_not_loaded(name)
