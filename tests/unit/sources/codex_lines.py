"""Writes rollouts line by line, in the envelope of 0.4x to 0.15x."""

import json
from pathlib import Path

from core.sources import codex
from core.sources.records import BadSourceRecord, MessageRecord, SessionRecord, UnknownRecord
from core.types import Role

ID = "0199aaaa-0000-7000-8000-00000000000{}"
ONE, TWO, THREE = (ID.format(number) for number in (1, 2, 3))
FOLDER = "sessions/2026/09/01"


def line(kind, payload, at="2026-09-01T10:00:00.000Z", **envelope):
    return {"timestamp": at, **envelope, "type": kind, "payload": payload}


def meta(session=ONE, **more):
    head = {"id": session, "timestamp": "2026-09-01T10:00:00.000Z", "cwd": "/w"}
    return line("session_meta", {**head, **more})


def item(role, text, *more):
    kind = "output_text" if role == "assistant" else "input_text"
    parts = [{"type": kind, "text": text}, *more]
    return line("response_item", {"type": "message", "role": role, "content": parts})


def event(name, message=None, **more):
    told = {"message": message} if message is not None else {}
    return line("event_msg", {"type": name, **told, **more})


def call(name, call_id, arguments="{}"):
    told = {"type": "function_call", "name": name, "call_id": call_id, "arguments": arguments}
    return line("response_item", told)


def output(call_id, value):
    told = {"type": "function_call_output", "call_id": call_id, "output": value}
    return line("response_item", told)


def thought(text):
    summary = [{"type": "summary_text", "text": text}]
    return line("response_item", {"type": "reasoning", "summary": summary})


def turn(turn_id, model="gpt-5.5"):
    return line("turn_context", {"turn_id": turn_id, "cwd": "/w", "model": model})


def encoded(*lines):
    return b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in lines)


def path_of(home: Path, session=ONE, hour=10, folder=FOLDER) -> Path:
    path = home / folder / f"rollout-2026-09-01T{hour:02}-00-00-{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def written(home: Path, *lines, session=ONE, hour=10, folder=FOLDER) -> Path:
    path = path_of(home, session, hour, folder)
    path.write_bytes(encoded(*lines))
    return path


def read(path: Path) -> list:
    return list(codex.read(path))


def messages(records) -> list[MessageRecord]:
    return [record for record in records if isinstance(record, MessageRecord)]


def texts(records) -> list[tuple[Role, str]]:
    return [(m.role.value, m.content) for m in messages(records)]


def session(records) -> SessionRecord:
    """The last telling of the only session."""
    found = [record for record in records if isinstance(record, SessionRecord)]
    assert len({record.native_id for record in found}) == 1
    return found[-1]


def bad(records) -> list[BadSourceRecord]:
    return [record for record in records if isinstance(record, BadSourceRecord)]


def unknown(records) -> list[str]:
    return [record.type for record in records if isinstance(record, UnknownRecord)]
