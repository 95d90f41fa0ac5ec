"""JSON values that stand alone: in a column, in a string of another value, in a small file."""

from pathlib import Path

from core.sources import files
from core.sources.lines import LINE_BYTES, JsonObject, Line, recover, whole


def json_value(raw: str | bytes) -> object:
    """Return what a JSON text means, or None where it is none, too large or too deep.

    Bytes that are not UTF-8 and lone surrogates become U+FFFD.
    """
    if isinstance(raw, str):
        raw = raw.encode("utf-8", "replace")
    if len(raw) > LINE_BYTES:
        return None
    boxed = b'{"":' + raw.strip().removeprefix(b"\xef\xbb\xbf") + b"}"
    found = whole(boxed)
    if found is None:
        first = next(recover(Line(1, 0, boxed, True), lambda _: False), None)
        found = first.value if isinstance(first, JsonObject) else {}
    return found.get("") if len(found) == 1 else None


def json_file(path: Path) -> object:
    """Return what a small JSON file means, or None where it is none or too large.

    Raises:
        SourceError: the file cannot be read.
    """
    with files.opened(path) as stream:
        parts, size = [], 0
        while size <= LINE_BYTES and (chunk := stream.read(1 << 20)):
            parts.append(chunk)
            size += len(chunk)
    return json_value(b"".join(parts))
