"""What a message of Claude.ai says: its blocks, its pasted documents, the files it names.

`text` is a flattened copy of the blocks with a placeholder for those that have none, so it
counts only where there are no blocks that say anything: in exports of 2023 and 2024, and where
every type of block is new.
"""

from core.sources import loose
from core.sources.loose import Json
from core.sources.web_chat import Said
from core.types import ToolCall

PLACEHOLDER = "```\nThis block is not supported on your current device yet.\n```"

_SKIPPED = {"token_budget"}
"""Blocks that are notes of the service to its model."""


def said_by(message: Json) -> Said:
    """Return what a message says."""
    said = Said()
    unknown: list[Json] = []
    for block in loose.items(message.get("content")):
        if isinstance(block, str):
            said.add_text(block)
        elif not isinstance(block, dict):
            said.note(f"block {type(block).__name__}")
        elif not _read_block(block, said):
            unknown.append(block)
    is_text = isinstance(message.get("content"), str)
    if said.is_empty:
        text = message["content"] if is_text else message.get("text")
        said.add_text(text.replace(PLACEHOLDER, "") if isinstance(text, str) else None)
    if said.is_empty:
        for block in unknown:
            said.add_text(block.get("text"))
    _read_files(message, said)
    return said


def _read_block(block: Json, said: Said) -> bool:
    """Read a block; false where its type is not known, which is counted."""
    kind = loose.text(block, "type")
    if kind == "text":
        said.add_text(block.get("text"))
    elif kind == "thinking":
        _read_thinking(block, said)
    elif kind == "tool_use":
        name = loose.text(block, "name") or ""
        arguments = loose.json_text(block.get("input"))
        said.calls.append(ToolCall(loose.text(block, "id"), name, arguments))
    elif kind == "tool_result":
        result = _result(block, said)
        failed = block.get("is_error") is True
        said.answer(loose.text(block, "tool_use_id"), loose.text(block, "name"), result, failed)
    elif kind == "voice_note":
        said.add_text(block.get("title"))
        said.add_text(block.get("text"))
    elif kind in ("image", "document", "file"):
        _read_media(block, said)
    elif kind not in _SKIPPED:
        said.note(f"block {kind}" if kind else "block")
        return False
    return True


def _read_thinking(block: Json, said: Said) -> None:
    if loose.text(block, "thinking"):
        said.add_reasoning(block.get("thinking"))
        return
    for summary in loose.items(block.get("summaries")):
        said.add_reasoning(loose.mapping(summary).get("summary"))


def _result(block: Json, said: Said) -> str:
    """Return the text of a tool's result; pictures in it are named, what is unknown counted."""
    content = block.get("content")
    texts = [content] if isinstance(content, str) else []
    for part in loose.items(content):
        found = loose.mapping(part)
        if isinstance(part, str):
            texts.append(part)
        elif found.get("type") in ("image", "image_gallery", "file"):
            _read_media(found, said)
        elif told := [t for n in ("title", "url", "text") if (t := loose.text(found, n))]:
            texts.append("\n".join(dict.fromkeys(told)))
        elif (kind := found.get("type")) is not None:
            said.note(f"result {kind}" if isinstance(kind, str) else "result")
    structured = block.get("structured_content")
    if not any(texts) and isinstance(structured, dict | list) and structured:
        texts.append(loose.json_text(structured))
    return "\n".join(texts)


def _read_media(block: Json, said: Said) -> None:
    source = loose.mapping(block.get("source"))
    kind = loose.text(source, "media_type") or loose.text(block, "media_type", "type")
    if isinstance(data := source.get("data"), str):
        said.add_media(kind, "inline", len(data) * 3 // 4)
        return
    told = [loose.text(block, "file_uuid", "uuid"), loose.text(block, "file_name", "title")]
    at = " ".join(t for t in told if t) or loose.text(source, "url") or loose.text(block, "url")
    said.add_media(kind, at or "")


def _read_files(message: Json, said: Said) -> None:
    """Add what was pasted, which is what the person really said, and name what was uploaded."""
    for attachment in map(loose.mapping, loose.items(message.get("attachments"))):
        said.add_text(attachment.get("extracted_content"))
        if name := loose.text(attachment, "file_name"):
            kind, size = loose.text(attachment, "file_type"), attachment.get("file_size")
            said.add_media(kind, name, size)
    for field in ("files", "files_v2", "sync_sources"):
        for file in map(loose.mapping, loose.items(message.get(field))):
            told = (loose.text(file, "file_uuid", "uuid"), loose.text(file, "file_name", "name"))
            if at := " ".join(t for t in told if t):
                said.add_media(loose.text(file, "file_kind") or "file", at)
