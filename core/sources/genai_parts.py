"""Contents in Google's GenAI shape, as Gemini CLI and its forks record them.

A content is one text or a list of parts: `text` (with `thought`), `functionCall`,
`functionResponse`, `inlineData`, `fileData`, `executableCode`, `codeExecutionResult`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

Json = Mapping[str, Any]


class Response(NamedTuple):
    """What a tool gave back: the call's id and tool's name where told, the text, whether well."""

    call_id: str | None
    name: str | None
    text: str
    succeeded: bool


@dataclass(slots=True)
class Parts:
    """The parts of a content, sorted by what they are, in the order they came."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[tuple[str | None, str, str]] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    media: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text as the program shows it: parts are cut anywhere, so nothing stands between."""
        return "".join(self.texts)


def sorted_parts(content: object, at: str) -> Parts:
    """Return the parts of a content; `at` is where they are, for references to media."""
    found = Parts()
    for part in _listed(content):
        if isinstance(part, str):
            found.texts.append(part)
        elif isinstance(part, dict):
            _sort(part, at, found)
        else:
            found.unknown.append(f"part {type(part).__name__}")
    return found


def _listed(content: object) -> Sequence[Any]:
    if content is None:
        return ()
    return content if isinstance(content, list) else (content,)


def _sort(part: Json, at: str, into: Parts) -> None:
    text, thought = part.get("text"), part.get("thought")
    if isinstance(thought, str) and thought:  # an older way to write `thought: true`
        into.thoughts.append(thought)
    if isinstance(text, str):
        if text:
            (into.thoughts if thought is True else into.texts).append(text)
    elif isinstance(call := part.get("functionCall"), dict):
        into.calls.append(
            (text_or_none(call.get("id")), name_of(call), json_text(call.get("args")))
        )
    elif isinstance(answer := part.get("functionResponse"), dict):
        into.responses.append(_response(answer))
    elif isinstance(inline := part.get("inlineData"), dict):
        into.media.append(_media(inline, at))
    elif isinstance(file := part.get("fileData"), dict):
        into.media.append(_media(file, text_or_none(file.get("fileUri")) or at))
    elif isinstance(code := part.get("executableCode"), dict):
        into.texts.append(str(code.get("code") or ""))
    elif isinstance(ran := part.get("codeExecutionResult"), dict):
        into.texts.append(str(ran.get("output") or ""))
    elif not isinstance(thought, str):
        kind = next((key for key in part if key not in ("thought", "thoughtSignature")), None)
        if kind is not None:
            into.unknown.append(f"part {kind}"[:100])


def _response(answer: Json) -> Response:
    told = answer.get("response")
    succeeded = not (isinstance(told, dict) and told.get("error"))
    name = text_or_none(answer.get("name"))
    return Response(text_or_none(answer.get("id")), name, response_text(told), succeeded)


def response_text(told: object) -> str:
    """Return the text of a tool's response, as JSON where it is more than one text."""
    if isinstance(told, dict) and len(told) == 1:
        told = told.get("output", told.get("error", told.get("result", told)))
    return "" if told is None or told == {} else json_text(told)


def _media(data: Json, at: str) -> str:
    kind = text_or_none(data.get("mimeType")) or "file"
    content = data.get("data")
    size = len(content) * 3 // 4 if isinstance(content, str) else 0
    return f"{kind}; size={size}; at={at}"


def name_of(call: Json) -> str:
    """Return the name of the tool that is called, '?' where none is told."""
    return text_or_none(call.get("name")) or "?"


def text_or_none(value: object) -> str | None:
    """Return a text that is not blank, or None."""
    return value if isinstance(value, str) and value.strip() else None


_encode = msgspec.json.Encoder().encode


def json_text(value: object) -> str:
    """Return the value as JSON text; a text stays as it is, nothing is an empty object."""
    if isinstance(value, str):
        return value
    try:
        return "{}" if value is None else _encode(value).decode()
    except RecursionError:
        return "(nested too deeply to show)"
