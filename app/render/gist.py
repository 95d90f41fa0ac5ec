"""A message in a few words: for one-line rows, the outline and accessible names."""

import json
import re
from collections.abc import Mapping

from app.render import checklist, safe_text, words
from core.plans import read_plan
from core.types import Message, Origin, Role, ToolCall

_PARSED_CHARS = 200_000
# The argument that tells most, in the order of telling; names of several agents.
_TELLING = (
    "command", "cmd", "pattern", "query", "file_path", "filename", "path", "notebook_path",
    "url", "uri", "skill", "description", "prompt", "question", "message", "text", "code",
    "name", "title", "id",
)  # fmt: skip
_FENCE = re.compile(r"^\s*(?:```|~~~).*$", re.MULTILINE)
_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]+)\]\([^)\s]*\)")
_LEAD = re.compile(r"^[ \t]*(?:#{1,6} |> ?|[-*+] )+", re.MULTILINE)
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_TAG = re.compile(r"\s*<([A-Za-z][A-Za-z0-9_-]{1,40})[\s>]")
_HEADING = re.compile(r"\s*#{1,6} +(.{1,80})")
_SUMMARY = re.compile(
    r"compact(?:ion|ed)|continued from a previous conversation|summary of (?:the|our|this)",
    re.IGNORECASE,
)
_SHELLS = ("bash", "sh", "zsh", "fish", "cmd", "powershell", "pwsh")


def of(message: Message, limit: int = 400) -> str:
    """Return what the message says, as one line; a call stands for an empty message."""
    if message.role is Role.TOOL:
        said = safe_text.without_terminal_codes(message.content[: limit * 4])
        name = f"{message.tool_name} — " if message.tool_name else ""
        return safe_text.one_line(name + said, limit)
    if message.role is Role.SYSTEM or message.origin in (Origin.INJECTED, Origin.SYNTHETIC):
        return label(message.content)
    if message.content.strip():
        return plain(message.content, limit)
    if message.tool_calls:
        call = message.tool_calls[0]
        return safe_text.one_line(f"{call.name} {main_argument(call)}", limit)
    return words.thinking() if message.reasoning else ""


def plain(text: str, limit: int = 400) -> str:
    """Return the beginning of Markdown as one line without its signs."""
    head = text[: limit * 4]
    for pattern, put in ((_FENCE, " "), (_IMAGE, r"\1"), (_LINK, r"\1"), (_LEAD, "")):
        head = pattern.sub(put, head)
    head = _STRONG.sub(r"\2", head).replace("`", "")
    return safe_text.one_line(head if head.strip() else text, limit)


def label(text: str) -> str:
    """Return what a system or injected text is: its tag, its heading or its first words."""
    tag = _TAG.match(text)
    if tag:
        return re.sub(r"[_-]+", " ", tag[1])
    heading = _HEADING.match(text)
    return plain(heading[1] if heading else text, 80)


def is_summary(text: str) -> bool:
    """Tell whether an added text says that it stands for messages before it."""
    return _SUMMARY.search(text[:400]) is not None


def arguments(call: ToolCall) -> Mapping[str, object] | None:
    """Return a call's arguments by name, or None when they are not a JSON object."""
    text = call.arguments
    if not text.lstrip().startswith("{") or len(text) > _PARSED_CHARS:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def main_argument(call: ToolCall, folder: str = "") -> str:
    """Return the argument that tells most, as one line; paths below `folder` are shortened."""
    plan = read_plan(call)
    if plan is not None:
        return checklist.gist(plan)
    named = arguments(call)
    if named is None:
        return _patched(call.arguments) or safe_text.one_line(call.arguments, 200)
    for name in _TELLING:
        told = _as_text(named.get(name))
        if told:
            return safe_text.one_line(_shortened(told, folder), 200)
    for value in named.values():
        told = _as_text(value)
        if told:
            return safe_text.one_line(_shortened(told, folder), 200)
    return "" if not named else safe_text.one_line(call.arguments, 200)


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        shell = value[0].rsplit("/", 1)[-1] in _SHELLS and len(value) == 3
        return value[2] if shell else " ".join(value)
    return ""


def _shortened(text: str, folder: str) -> str:
    base = folder.rstrip("/") + "/"
    return text.removeprefix(base) if len(base) > 1 else text


def _patched(text: str) -> str:
    """Return the files a patch names, where the argument is one."""
    files = re.findall(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", text[:20_000], re.MULTILINE)
    return safe_text.one_line(", ".join(files), 200)
