"""History of programs that no reader reads: known by its look, so that it is refused by name.

"This is nothing I know" would be a lie where it is somebody's history. Each rule holds what is
in the format and in no other; a file of a reader's own never comes here, readers are asked first.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import SourceError
from core.sources import files
from core.sources.foreign_sqlite import glimpsed_columns, is_sqlite
from core.sources.instants import instant
from core.sources.lines import whole
from core.sources.loose import items, mapping
from core.types import TimeQuality

HEAD_BYTES = 1 << 18
_OBJECTS = 12
_IFLOW_ID = re.compile(r"session-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class _Glimpse:
    """What is seen of a file: its name, its beginning, the objects on its first whole lines.

    `document` is the object that the whole file is, {} where it is none or a large one.
    """

    name: str
    head: bytes
    objects: tuple[Mapping[str, Any], ...]
    document: Mapping[str, Any]

    @property
    def first(self) -> Mapping[str, Any]:
        """The object on the first line, {} where there is none."""
        return self.objects[0] if self.objects else {}


def sentence(path: Path) -> str | None:
    """Return why a file that no reader knows is not read, None where nothing is known of it.

    Reads 256 KiB at most. A file that cannot be opened is one of which nothing is known.
    """
    program = program_of(path)
    return None if program is None else f"history of {program}, which this version does not read"


def program_of(path: Path) -> str | None:
    """Return the name of the program whose history a file is, which no reader reads.

    Markdown is never opened: it is somebody's notes, and none of the formats known here.
    """
    if path.suffix == ".md":
        return None
    try:
        if is_sqlite(path):
            return next((name for name, columns in _TABLES if _has(path, columns)), None)
        with files.opened(path) as stream:
            head = stream.read(HEAD_BYTES + 1)
    except (SourceError, OSError):
        return None
    glimpse = _glimpse(path.name, head)
    return next((name for name, is_its in _RULES if is_its(glimpse)), None)


def _glimpse(name: str, head: bytes) -> _Glimpse:
    is_all = len(head) <= HEAD_BYTES
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    first = lines[:_OBJECTS] if is_all else lines[: min(_OBJECTS, len(lines) - 1)]
    objects = tuple(found for line in first if (found := whole(line)) is not None)
    document = whole(b"\n".join(lines)) if is_all and not objects[1:] else None
    return _Glimpse(name, head, objects, document or {})


def _has(path: Path, columns: tuple[str, frozenset[str]]) -> bool:
    table, wanted = columns
    return glimpsed_columns(path, table) >= wanted


def _is_antigravity(seen: _Glimpse) -> bool:
    told = seen.first
    return told.get("source") in ("USER_EXPLICIT", "MODEL", "SYSTEM") and "created_at" in told


def _is_cline(seen: _Glimpse) -> bool:
    """Cline, Roo Code and their like: by the names of a task's files, or of a session's."""
    if seen.name in ("api_conversation_history.json", "ui_messages.json"):
        return seen.head.lstrip().startswith(b"[") and (
            b'"role"' in seen.head or b'"say"' in seen.head or b'"ask"' in seen.head
        )
    if seen.name in ("history_item.json", "taskHistory.json"):
        return b'"tokensIn"' in seen.head and b'"task"' in seen.head
    told = seen.document
    if seen.name.endswith(".messages.json"):
        return isinstance(told.get("messages"), list) and {"agent", "sessionId"} <= set(told)
    return {"session_id", "messages_path"} <= set(told)


def _is_deepseek(seen: _Glimpse) -> bool:
    return seen.first.get("type") == "session" and {"createdAt", "delegationDepth"} <= set(
        seen.first
    )


def _is_droid(seen: _Glimpse) -> bool:
    told = seen.first
    if told.get("type") == "session_start":
        return "id" in told and ("sessionTitle" in told or "owner" in told)
    streamed = "session_id" in told or "sessionId" in told
    return streamed and (
        (told.get("type") == "message" and {"role", "text"} <= set(told))
        or (told.get("type") == "system" and {"model", "cwd"} <= set(told) and "uuid" not in told)
    )


def _is_gptme(seen: _Glimpse) -> bool:
    """A role, a text and a time without a zone; nothing else says what it is."""
    told = seen.first
    naive = instant(told.get("timestamp"))[1] == TimeQuality.LOCAL_NAIVE
    return naive and {"role", "content"} <= set(told) and "type" not in told


def _is_grok(seen: _Glimpse) -> bool:
    if seen.name == "summary.json":
        return {"info", "session_summary"} <= set(seen.document)
    if seen.name == "signals.json":
        return {"turnCount", "userMessageCount"} <= set(seen.document)
    if "sessionUpdate" in mapping(mapping(seen.first.get("params")).get("update")):
        return True
    spoken = [each for each in seen.objects if {"type", "role"} & set(each)]
    return seen.first.get("type", seen.first.get("role")) == "system" and any(
        "model_id" in each or "prompt_index" in each for each in spoken
    )


def _is_iflow(seen: _Glimpse) -> bool:
    return is_iflow_line(seen.first)


def is_iflow_line(value: Mapping[str, Any]) -> bool:
    """Whether a line that looks like one of Claude Code is iFlow's.

    iFlow keeps results as objects of another shape and repeats calls under other message ids,
    so that reading it as Claude Code would lose the former and double the latter.
    """
    session = value.get("sessionId")
    return isinstance(session, str) and _IFLOW_ID.fullmatch(session) is not None


def _is_kimi(seen: _Glimpse) -> bool:
    if seen.first.get("type") == "metadata" and "protocol_version" in seen.first:
        return True
    return {"agents", "workDir", "isCustomTitle"} <= set(seen.document)


def _is_kiro(seen: _Glimpse) -> bool:
    history = items(seen.document.get("history"))
    turn = mapping(history[0]) if history else {}
    return "conversation_id" in seen.document and {"user", "assistant"} <= set(turn)


def _is_omnigent(seen: _Glimpse) -> bool:
    content = items(seen.document.get("content"))
    kinds = {mapping(block).get("type") for block in content}
    return {"role", "content"} <= set(seen.document) and bool(
        kinds and kinds <= {"input_text", "output_text"}
    )


def _is_posit(seen: _Glimpse) -> bool:
    if seen.name == "lm-messages.jsonl":
        return isinstance(seen.first.get("id"), int) and "role" in mapping(
            seen.first.get("message")
        )
    told = seen.document
    listed = isinstance(told.get("conversations"), list) and seen.name == "index.json"
    return "schemaVersion" in told and (listed or {"root", "messages"} <= set(told))


def _is_qwenpaw(seen: _Glimpse) -> bool:
    memory = mapping(mapping(seen.document.get("agent")).get("memory"))
    return isinstance(memory.get("content"), list)


def _is_vibe(seen: _Glimpse) -> bool:
    if seen.name == "meta.json":
        return {"session_id", "environment", "stats"} <= set(seen.document)
    return {"role", "content", "message_id"} <= set(seen.first)


def _is_visual_studio(seen: _Glimpse) -> bool:
    return "resourceSpans" in seen.first and b"vs-copilot" in seen.head


def _is_traces(seen: _Glimpse) -> bool:
    return "resourceSpans" in seen.first


def _is_amp(seen: _Glimpse) -> bool:
    thread = seen.document.get("id")
    return isinstance(thread, str) and thread.startswith("T-") and "messages" in seen.document


def _is_lm_studio(seen: _Glimpse) -> bool:
    return seen.name.endswith(".conversation.json") and b'"messages"' in seen.head


_RULES: tuple[tuple[str, Callable[[_Glimpse], bool]], ...] = (
    ("Amp", _is_amp),
    ("Antigravity", _is_antigravity),
    ("Cline or Roo Code", _is_cline),
    ("DeepSeek's coding agent", _is_deepseek),
    ("Droid (Factory)", _is_droid),
    ("GitHub Copilot in Visual Studio (traces)", _is_visual_studio),
    ("a program that wrote OpenTelemetry traces", _is_traces),
    ("Grok", _is_grok),
    ("iFlow", _is_iflow),
    ("Kimi", _is_kimi),
    ("Kiro", _is_kiro),
    ("LM Studio", _is_lm_studio),
    ("Mistral Vibe", _is_vibe),
    ("Omnigent", _is_omnigent),
    ("Posit Assistant", _is_posit),
    ("QwenPaw", _is_qwenpaw),
    ("gptme", _is_gptme),
)

_TABLES: tuple[tuple[str, tuple[str, frozenset[str]]], ...] = (
    ("Kiro", ("conversations_v2", frozenset({"conversation_id", "value"}))),
    ("Zed", ("threads", frozenset({"data", "data_type", "summary"}))),
)
