"""What Gemini CLI keeps as one JSON document: old recordings, saved chats, lists of prompts.

An old recording is an object with `messages`, a saved chat an object with `history` or a bare
array of contents, `logs.json` an array of the prompts of many sessions.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import SourceError
from core.sources import files, there
from core.sources.gemini_cli.facts import Facts
from core.sources.gemini_cli.projects import CHATS, chats_folder, project_folder
from core.sources.genai_parts import text_or_none
from core.sources.json_array import elements
from core.sources.lines import JsonObject, objects
from core.sources.records import BadSourceRecord, Remark, UnknownRecord

LOGS = "logs.json"
GLIMPSE_BYTES = 256 << 10

Json = dict[str, Any]
Listed = tuple[Json, str, bool]
"""A message, where its bytes are, and whether it was taken back."""

_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_MODELS = re.compile(rb'"type"\s*:\s*"gemini"')
_FIRST_OF_LIST = re.compile(rb'\s*\[\s*\{\s*"(\w+)"\s*:')
_ROLE = re.compile(rb'"role"\s*:\s*"(user|model|gemini)"')


class Document(NamedTuple):
    """A session of a document and its messages."""

    native_id: str
    facts: Facts
    listed: list[Listed]


def begins_like_one(head: bytes) -> bool:
    """Whether the first bytes of a file are those of such a document."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start == b"{":
        if b'"messages"' in head:
            told = b'"projectHash"' in head or b'"startTime"' in head
            return (b'"sessionId"' in head and told) or _MODELS.search(head) is not None
        return b'"history"' in head and b'"parts"' in head and _ROLE.search(head) is not None
    first = _FIRST_OF_LIST.match(head.removeprefix(b"\xef\xbb\xbf"))
    if first is None:
        return False
    if first[1] in (b"role", b"parts"):
        return b'"parts"' in head and _ROLE.search(head) is not None
    return b'"messageId"' in head and b'"sessionId"' in head and b'"message"' in head


def session_of(path: Path) -> str | None:
    """Return the session that a recording names, None where it names none."""
    try:
        with files.opened(path) as stream:
            if path.suffix == ".jsonl":
                for line in objects(files.as_utf8(stream), lambda _: True):
                    told = line.value.get("sessionId") if isinstance(line, JsonObject) else None
                    return text_or_none(told)
                return None
            if match := _SESSION.search(stream.read(GLIMPSE_BYTES)):
                return match[1].decode("utf-8", "replace")
        for found in read(path):
            if isinstance(found, Document):
                return found.facts.session
    except SourceError:
        pass  # whoever reads it says so
    return None


def read(path: Path) -> Iterator[Document | BadSourceRecord | Remark | UnknownRecord]:
    """Yield the sessions of a document, and what in it is damaged or not known.

    Raises:
        SourceError: it cannot be read.
    """
    contents: list[Listed] = []
    prompts: dict[str, list[Listed]] = {}
    with files.opened(path) as stream:
        for found in elements(files.as_utf8(stream), lambda _: True):
            if not isinstance(found, JsonObject):
                yield found
                continue
            value = found.value
            if isinstance(value.get("messages", value.get("history")), list):
                yield from _whole(path, value, found.raw_ref)
            elif "role" in value and "parts" in value:
                contents.append((value, found.raw_ref, False))
            elif (session := text_or_none(value.get("sessionId"))) and "message" in value:
                prompts.setdefault(session, []).append((_prompt(value), found.raw_ref, False))
            else:
                yield UnknownRecord("object")
    if contents:
        yield Document(_saved_id(path), Facts(), contents)
    if chats_folder(path) is None and there.is_dir(path.parent / CHATS):
        return  # each session is recorded there, with these prompts
    for session, listed in prompts.items():
        yield Document(session, Facts(), listed)


def _whole(path: Path, value: Json, raw_ref: str) -> Iterator[Document | UnknownRecord]:
    facts = Facts()
    facts.tell(value)
    listed = value.get("messages", value.get("history"))
    messages = listed if isinstance(listed, list) else []
    for message in messages:
        if not isinstance(message, dict):
            yield UnknownRecord(f"message {type(message).__name__}")
    kept = [(message, raw_ref, False) for message in messages if isinstance(message, dict)]
    yield Document(facts.session or _saved_id(path), facts, kept)


def _prompt(value: Json) -> Json:
    """A prompt of `logs.json` as a message of a recording; its id is a number in the session."""
    return {
        "id": f"log {value.get('messageId')}",
        "type": value.get("type"),
        "content": value.get("message"),
        "timestamp": value.get("timestamp"),
    }


def _saved_id(path: Path) -> str:
    """An id for a chat saved under a name: that is unique in its project."""
    return f"{project_folder(path).name}/{path.stem}"
