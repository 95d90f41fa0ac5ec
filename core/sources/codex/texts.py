"""What Codex's payloads say in words: texts, titles and results.

Pure functions over decoded JSON; any shape is accepted, and what is no text gives ''.
Shapes: openai/codex `codex-rs/protocol/src/{models,items,protocol}.rs`, and files of
2025-04 to 2026-09.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.sources.headline import derived_title
from core.sources.lines import without_surrogates
from core.types import ToolStatus

# What the program, not the person, says in the name of the user. Starts, case ignored.
INJECTED_STARTS = (
    "<environment_context>",
    "<user_instructions>",
    "# agents.md instructions for ",
    "<instructions>",
    "<permissions instructions>",
    "<codex_internal_context",
    "<recommended_plugins",
    "<recommended-plugins",
    "<apps_instructions>",
    "<plugins_instructions>",
    "<skills_instructions>",
    "<collaboration_mode>",
    "<personality_spec>",
    "<model_switch>",
    "<hook_prompt",
    "<skill>",
    "<turn_aborted>",
    "<user_action>",
    "<user_shell_command>",
    "<subagent_notification>",
)
# A summary that stands for what was compacted, written in the name of the user.
SUMMARY_STARTS = ("another language model started to solve this problem and produced a summary",)

_PROMPT_CHARS = 1 << 16
_IDE_START = re.compile(r"# (?:Context from my IDE setup|Files mentioned by the user)\b")
_WRAPPERS = re.compile(
    r"(?:\s*<(environment_context|user_instructions|skill)>.*?</\1>)+", re.DOTALL
)
_REQUEST = re.compile(r"^## My request(?: for Codex)?:[ \t]*$\n?", re.MULTILINE)
_IMAGE_TAG = re.compile(r"\s*(?:<image(?: [^<>]*)?>|</image>)\s*")
_ENCRYPTED_VALUE = re.compile(r'("(?:message|items|text)"\s*:\s*")gAAAAA[\w=-]+(")')
_EXIT_CODE = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d+)\s*$", re.MULTILINE)
_FAILED_STARTS = (
    "aborted by user",
    "apply_patch verification failed",
    "exec_command failed",
    "execution error:",
    "failed in sandbox",
    "failed to parse function arguments",
    "unsupported call:",
    "Script failed",
    "Script error",
)


@dataclass(slots=True)
class Content:
    """The parts of a message: texts, kinds of media, and types that are not known."""

    texts: list[str] = field(default_factory=list)
    media: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The texts, each starting a line of its own."""
        return join(self.texts)


def type_of(value: Mapping[str, Any]) -> str | None:
    """Return the `type` of a line or item, as a text of at most 80 whatever it is."""
    kind = value.get("type")
    return kind if kind is None else str(kind)[:80]


def string(value: object) -> str | None:
    """Return the value when it is a string with something in it, else None."""
    return value if isinstance(value, str) and value else None


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def join(texts: Sequence[str]) -> str:
    """Join texts so that each starts a line."""
    joined = ""
    for text in texts:
        joined += f"\n{text}" if joined and not joined.endswith("\n") else text
    return joined


def content_of(value: object) -> Content:
    """Read a message's content: a string, a list of parts or one part.

    Images are not text: each gives its media type, or its address where it has one.
    Encrypted parts are left out.
    """
    found = Content()
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, str):
            found.texts.append(part)
        elif isinstance(part, dict):
            _add_part(found, part)
    return found


def _add_part(found: Content, part: Mapping[str, Any]) -> None:
    kind = part.get("type")
    text = part.get("text", part.get("refusal"))
    if isinstance(text, str):
        # The tags only say where an image stood.
        if not _IMAGE_TAG.fullmatch(text):
            found.texts.append(text)
    elif kind in ("input_image", "image", "local_image"):
        found.media.append(media_of(part.get("image_url") or part.get("path") or part.get("url")))
    elif kind in ("input_audio", "audio", "input_file", "file"):
        found.media.append(media_of(part.get("file_url") or part.get("filename") or kind))
    elif kind != "encrypted_content" and isinstance(kind, str):
        found.unknown.append(kind)


def media_of(source: object) -> str:
    """Name an image or file without its bytes: the type of a data URL, or the address itself."""
    if isinstance(source, dict):
        source = source.get("url")
    if not isinstance(source, str) or not source:
        return "image"
    if source.startswith("data:"):
        return source[5:64].partition(";")[0].partition(",")[0] or "image"
    return source[:2048]


def is_injected(texts: Sequence[str]) -> bool:
    """Tell whether the program wrote all of these texts in the name of the user."""
    spoken = [text for text in texts if text.strip()]
    return bool(spoken) and all(_starts(text, INJECTED_STARTS) for text in spoken)


def is_summary(text: str) -> bool:
    """Tell whether the text is the summary that replaced older turns."""
    return _starts(text, SUMMARY_STARTS)


def _starts(text: str, starts: tuple[str, ...]) -> bool:
    return text.lstrip()[:100].lower().startswith(starts)


def request_of(text: str) -> str:
    """Return what the person asked, without the context that was put before it."""
    wrapped = _WRAPPERS.match(text)
    text = text[wrapped.end() :] if wrapped else text
    if _IDE_START.match(text.lstrip()):
        request = _REQUEST.search(text)
        if request:
            return text[request.end() :].strip()
    return text.strip()


def title_of(text: str) -> str | None:
    """Return a title from a prompt, or None if it holds no words."""
    return derived_title(request_of(text[:_PROMPT_CHARS]))


def same_words(text: str) -> str:
    """Return what two tellings of one text share: it without white space."""
    return "".join(text.split())


def arguments_of(payload: Mapping[str, Any]) -> str:
    """Return a call's arguments as text; a task sent encrypted to another agent is left out."""
    for key in ("arguments", "input", "action", "execution"):
        value = payload.get(key)
        if value is not None:
            break
    else:
        summary = payload.get("summary") or payload.get("revised_prompt")
        value = {"summary": summary} if isinstance(summary, str) else ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _ENCRYPTED_VALUE.sub(r"\1\2", text) if "gAAAAA" in text else text


@dataclass(frozen=True, slots=True)
class Output:
    """What a tool gave back."""

    text: str
    status: ToolStatus
    media: tuple[str, ...] = ()


def output_of(value: object) -> Output:
    """Read a tool's output: a string, a list of parts or an object (all are in use)."""
    if isinstance(value, str):
        return _of_string(value)
    if isinstance(value, list):
        return _of_parts(value)
    if isinstance(value, dict):
        return _of_object(value)
    return Output("" if value is None else json.dumps(value), ToolStatus.UNKNOWN)


def _of_string(text: str) -> Output:
    wrapped = _object_in(text)
    if isinstance(wrapped.get("output"), str) and isinstance(wrapped.get("metadata"), dict):
        return Output(
            without_surrogates(wrapped["output"]), _of_code(wrapped["metadata"].get("exit_code"))
        )
    if text.startswith(_FAILED_STARTS):
        return Output(text, ToolStatus.FAILED)
    head = text[:400].partition("\nOutput:")[0]
    code = _EXIT_CODE.search(head)
    return Output(text, _of_code(int(code[1]) if code else None))


def _of_parts(parts: list[Any]) -> Output:
    content = content_of(parts)
    codes = [_object_in(text).get("exit_code") for text in content.texts]
    found = [_of_code(code) for code in codes if isinstance(code, int)]
    status = _of_string(content.texts[0]).status if content.texts else ToolStatus.UNKNOWN
    if found:
        status = ToolStatus.FAILED if ToolStatus.FAILED in found else ToolStatus.SUCCEEDED
    elif status == ToolStatus.UNKNOWN and content.text.startswith("Script completed"):
        status = ToolStatus.SUCCEEDED
    return Output(content.text, status, tuple(content.media))


def _of_object(value: Mapping[str, Any]) -> Output:
    inner: object = next(
        (value[key] for key in ("output", "content", "content_items", "body") if value.get(key)),
        None,
    )
    if inner is None and ("stdout" in value or "stderr" in value):
        inner = join([t for t in (value.get("stdout"), value.get("stderr")) if isinstance(t, str)])
    read = output_of(inner if inner is not None else json.dumps(value, ensure_ascii=False))
    told = value.get("exit_code", value.get("exitCode"))
    success = value.get("success")
    status = read.status
    if isinstance(told, int):
        status = _of_code(told)
    elif isinstance(success, bool):
        status = ToolStatus.SUCCEEDED if success else ToolStatus.FAILED
    return Output(read.text, status, read.media)


def _object_in(text: str) -> Mapping[str, Any]:
    """Return the object that the text is as JSON, or an empty one."""
    if not text.startswith("{"):
        return {}
    try:
        return mapping(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        return {}


def _of_code(code: object) -> ToolStatus:
    if not isinstance(code, int):
        return ToolStatus.UNKNOWN
    return ToolStatus.SUCCEEDED if code == 0 else ToolStatus.FAILED
