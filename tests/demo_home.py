"""A home folder with history of several programs, made from the demo conversations.

The conversations of `tests/data/demo` are in the neutral format; here they are written the way
the programs they name write them, with their days moved so that the newest one is of today.
"""

import json
import shutil
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
DEMO = DATA / "demo"
SAMPLES = DATA / "samples"
_NEWEST = datetime(2026, 11, 29, tzinfo=UTC)

Lines = list[dict[str, Any]]


def build(home: Path) -> Path:
    """Fill a home folder; returns the folder of conversations that no program owns."""
    shift = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - _NEWEST
    loose = home / "exports"
    loose.mkdir(parents=True)
    names: Lines = []
    for path in sorted(DEMO.glob("*.jsonl")):
        lines = [_shifted(json.loads(line), shift) for line in path.read_text("utf-8").splitlines()]
        match lines[0]["source"]:
            case "claude-code":
                _write(_claude_path(home, lines), _claude_lines(lines))
            case "codex":
                _write(_codex_path(home, lines), _codex_lines(lines))
                names.append({"id": _uuid(lines[0]["session"]), "thread_name": lines[0]["title"]})
            case _:
                _write(loose / path.name, lines)
    _write(home / ".codex/session_index.jsonl", names)
    (home / ".hermes").mkdir()
    shutil.copy(SAMPLES / "hermes/generated-v23/state.db", home / ".hermes/state.db")
    (home / "Downloads").mkdir()
    shutil.copy(
        SAMPLES / "chatgpt/synthetic/export-sharded.zip",
        home / "Downloads/chatgpt-export-2026-11.zip",
    )
    return loose


def _shifted(line: dict[str, Any], shift: timedelta) -> dict[str, Any]:
    at = datetime.fromisoformat(line["created_at"]) + shift
    return line | {"created_at": at.strftime("%Y-%m-%dT%H:%M:%S.000Z")}


def _uuid(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def _write(path: Path, lines: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _claude_path(home: Path, lines: Lines) -> Path:
    folder = lines[0].get("cwd", "/home/dev").replace("/", "-")
    return home / ".claude/projects" / folder / f"{_uuid(lines[0]['session'])}.jsonl"


def _claude_lines(lines: Lines) -> Iterator[dict[str, Any]]:
    session = _uuid(lines[0]["session"])
    parent = None
    for line in lines:
        own = _uuid(line["id"])
        yield {
            "type": "assistant" if line["role"] == "assistant" else "user",
            "uuid": own,
            "parentUuid": parent,
            "timestamp": line["created_at"],
            "sessionId": session,
            "cwd": line.get("cwd", "/home/dev"),
            "version": "2.1.132",
            "isSidechain": False,
            "message": _claude_message(line),
        }
        parent = own
    yield {"type": "custom-title", "customTitle": lines[0]["title"], "sessionId": session}


def _claude_message(line: dict[str, Any]) -> dict[str, Any]:
    if line["role"] == "user":
        return {"role": "user", "content": line["content"]}
    if line["role"] == "tool":
        result = {
            "type": "tool_result",
            "tool_use_id": line["tool_call_id"],
            "content": line["content"],
            "is_error": line["tool_status"] == "failed",
        }
        return {"role": "user", "content": [result]}
    blocks: Lines = []
    if line.get("reasoning"):
        blocks.append({"type": "thinking", "thinking": line["reasoning"], "signature": ""})
    if line["content"]:
        blocks.append({"type": "text", "text": line["content"]})
    for call in line.get("tool_calls", ()):
        arguments = json.loads(call["arguments"])
        use = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": arguments}
        blocks.append(use)
    return {
        "id": f"msg_{_uuid(line['id'])}",
        "role": "assistant",
        "model": line["model"],
        "content": blocks,
    }


def _codex_path(home: Path, lines: Lines) -> Path:
    at = datetime.fromisoformat(lines[0]["created_at"])
    name = f"rollout-{at:%Y-%m-%dT%H-%M-%S}-{_uuid(lines[0]['session'])}.jsonl"
    return home / f".codex/sessions/{at:%Y/%m/%d}" / name


def _codex_lines(lines: Lines) -> Iterator[dict[str, Any]]:
    first = lines[0]
    meta = {"id": _uuid(first["session"]), "cwd": first["cwd"], "originator": "codex_cli_rs"}
    yield {"timestamp": first["created_at"], "type": "session_meta", "payload": meta}
    for line in lines:
        for payload in _codex_payloads(line):
            yield {"timestamp": line["created_at"], "type": "response_item", "payload": payload}


def _codex_payloads(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if line["role"] == "tool":
        yield {
            "type": "function_call_output",
            "call_id": line["tool_call_id"],
            "output": line["content"],
        }
        return
    kind = "input_text" if line["role"] == "user" else "output_text"
    if line["content"]:
        content = [{"type": kind, "text": line["content"]}]
        yield {"type": "message", "role": line["role"], "content": content}
    for call in line.get("tool_calls", ()):
        yield {
            "type": "function_call",
            "name": call["name"],
            "arguments": call["arguments"],
            "call_id": call["id"],
        }
