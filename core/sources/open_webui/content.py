"""What a message of Open WebUI says: `output[]`, or a text with HTML blocks put into it.

Newer versions keep reasoning, calls and their results as items of `output`, and a flattened
copy in `content`; then the items count. Older ones know only `content`, in which reasoning and
calls are `<details type="…">` blocks with everything escaped.
"""

import html
import re
from collections.abc import Callable, Mapping
from typing import Any

from core.sources import loose
from core.sources.json_value import json_value
from core.sources.loose import Json
from core.sources.web_chat import Said
from core.types import ToolCall, ToolStatus

_OPENING = re.compile(r'<details((?:\s++[\w:-]++(?:="[^"]*+")?+)*+)\s*+>')
_ATTRIBUTE = re.compile(r'([\w:-]+)="([^"]*)"')
_SUMMARY = re.compile(r"\s*<summary>.*?</summary>\s?", re.DOTALL)
_CODE = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
_CLOSING = "</details>"
_QUOTE = re.compile(r"^> ?", re.MULTILINE)
_FAILED = {"error", "failed"}


def said_by(message: Json) -> Said:
    """Return what a message says."""
    said = Said()
    for item in loose.items(message.get("output")):
        _read_item(loose.mapping(item), said)
    if not said.texts:
        _read_content(message.get("content"), said, is_twin=not said.is_empty)
    is_running = message.get("done") is False
    for place, call in enumerate(said.calls):
        if call.status == ToolStatus.PENDING and not is_running:
            said.calls[place] = ToolCall(call.id, call.name, call.arguments)
    for file in map(loose.mapping, loose.items(message.get("files"))):
        _read_file(file, said)
    return said


def error_of(message: Json) -> str | None:
    """Return the words of an error that was shown in the place of an answer."""
    error = message.get("error")
    if isinstance(error, dict):
        return loose.text(error, "content", "message", "detail")
    return error if isinstance(error, str) and error.strip() else None


def usage_of(message: Json) -> str | None:
    """Return the token counts in our names as JSON; `input` is without what was cached."""
    told = loose.mapping(message.get("usage") or loose.mapping(message.get("info")).get("usage"))
    told = told or loose.mapping(message.get("info"))
    inputs = loose.mapping(told.get("input_tokens_details") or told.get("prompt_tokens_details"))
    outputs = told.get("output_tokens_details") or told.get("completion_tokens_details")
    counts = {
        "input": _count(told, "input_tokens", "prompt_tokens", "prompt_eval_count"),
        "cached_read": _count(inputs, "cached_tokens"),
        "output": _count(told, "output_tokens", "completion_tokens", "eval_count"),
        "reasoning": _count(loose.mapping(outputs), "reasoning_tokens"),
    }
    usage = {name: count for name, count in counts.items() if count is not None}
    if "input" in usage:
        usage["input"] = max(0, usage["input"] - usage.get("cached_read", 0))
    return loose.json_text(usage) if usage else None


def _count(told: Json, *names: str) -> int | None:
    found = (told.get(name) for name in names)
    return next(
        (n for n in found if isinstance(n, int) and not isinstance(n, bool) and n >= 0), None
    )


def _read_item(item: Json, said: Said) -> None:
    kind = item.get("type")
    read = _ITEMS.get(kind) if isinstance(kind, str) else None
    if read is None:
        said.note(f"output {kind}" if isinstance(kind, str) else "output")
    else:
        read(item, said)


def _read_message(item: Json, said: Said) -> None:
    said.add_text(_text_of(item.get("content"), said))


def _read_reasoning(item: Json, said: Said) -> None:
    text = _text_of(item.get("content"), said) or _text_of(item.get("summary"), said)
    said.add_reasoning(text)


def _read_call(item: Json, said: Said) -> None:
    key = loose.text(item, "call_id", "id")
    pending = item.get("status") == "in_progress"
    status = ToolStatus.PENDING if pending else ToolStatus.UNKNOWN
    arguments = loose.json_text(item.get("arguments"))
    said.calls.append(ToolCall(key, loose.text(item, "name") or "", arguments, status))


def _read_result(item: Json, said: Said) -> None:
    result = _text_of(item.get("output"), said)
    failed = item.get("status") in _FAILED if isinstance(item.get("status"), str) else False
    said.answer(loose.text(item, "call_id"), loose.text(item, "name"), result, failed)


def _read_code(item: Json, said: Said) -> None:
    code, output = item.get("code"), item.get("output")
    call = ToolCall(
        loose.text(item, "id"), "code_interpreter", code if isinstance(code, str) else ""
    )
    said.calls.append(call)
    if output is not None:
        said.answer(call.id, call.name, loose.json_text(output), failed=False)


_ITEMS: Mapping[str, Callable[[Json, Said], None]] = {
    "message": _read_message,
    "reasoning": _read_reasoning,
    "function_call": _read_call,
    "function_call_output": _read_result,
    "open_webui:code_interpreter": _read_code,
}


def _text_of(content: object, said: Said) -> str:
    """Return the text of content that is one, a list of parts, or some other value."""
    if isinstance(content, dict):
        return loose.text(content, "text") or loose.json_text(content)
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    texts = []
    for part in content:
        found = loose.mapping(part)
        if isinstance(part, str):
            texts.append(part)
        elif (text := loose.text(found, "text", "refusal")) is not None:
            texts.append(text)
        elif url := _url(found):
            said.add_media(str(found.get("type", "file")).removeprefix("input_"), url)
        elif isinstance(kind := found.get("type"), str) and kind not in _TEXT_PARTS:
            said.note(f"part {kind}")
    return "\n".join(texts)


_TEXT_PARTS = {"input_text", "output_text", "reasoning_text", "summary_text", "text"}


def _url(part: Json) -> str | None:
    image = part.get("image_url")
    return image if isinstance(image, str) else loose.text(loose.mapping(image), "url")


def _read_content(content: object, said: Said, *, is_twin: bool) -> None:
    """Take in `content`; of one whose items were read already, only the text."""
    text = _text_of(content, said)
    rest, position = [], 0
    while opening := _OPENING.search(text, position):
        attributes = {k: html.unescape(v) for k, v in _ATTRIBUTE.findall(opening.group(1))}
        read = _BLOCKS.get(attributes.get("type", ""))
        end = text.find(_CLOSING, opening.end())
        if read is None or end < 0:
            rest.append(text[position : opening.end()])
            position = opening.end()
            continue
        rest.append(text[position : opening.start()])
        position = end + len(_CLOSING)
        if not is_twin:
            body = _SUMMARY.sub("", text[opening.end() : end], count=1)
            read(attributes, html.unescape(body), said)
    left = "".join((*rest, text[position:]))
    said.add_text(left.strip("\n") if len(left) < len(text) else left)


def _read_thought(attributes: Json, body: str, said: Said) -> None:
    del attributes
    said.add_reasoning(_QUOTE.sub("", body).strip("\n"))


def _read_tool_block(attributes: Json, body: str, said: Said) -> None:
    key, name = loose.text(attributes, "id"), loose.text(attributes, "name") or ""
    is_done = attributes.get("done") != "false"
    status = ToolStatus.UNKNOWN if is_done else ToolStatus.PENDING
    said.calls.append(ToolCall(key, name, _unpacked(attributes.get("arguments")), status))
    result = attributes.get("result", body.strip())
    if is_done and result:
        said.answer(key, name, _unpacked(result), failed=False)


def _read_code_block(attributes: Json, body: str, said: Said) -> None:
    code = _CODE.search(body)
    call = ToolCall(None, "code_interpreter", code.group(1) if code else body.strip())
    said.calls.append(call)
    if output := attributes.get("output"):
        said.answer(None, call.name, _unpacked(output), failed=False)


_BLOCKS: Mapping[str, Callable[[Json, str, Said], None]] = {
    "reasoning": _read_thought,
    "tool_calls": _read_tool_block,
    "code_interpreter": _read_code_block,
}


def _unpacked(value: Any) -> str:
    """Return a text that was written as JSON of a text, else the value as it is."""
    if not isinstance(value, str):
        return ""
    found = json_value(value)
    return found if isinstance(found, str) else value


def _read_file(file: Json, said: Said) -> None:
    inner = loose.mapping(file.get("file"))
    at = loose.text(file, "url", "name", "id") or loose.text(inner, "filename", "id")
    name = loose.text(file, "name") or loose.text(inner, "filename")
    if at:
        is_inline = at.startswith("data:")
        told = at if is_inline or not name or name == at else f"{at} {name}"
        said.add_media(loose.text(file, "type"), told, file.get("size"))
