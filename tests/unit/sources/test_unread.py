"""Every sample is read by its own reader, or refused by the name of the program it is of."""

import json
import tomllib
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.models.sessions import SOURCE_ICONS, SOURCE_NAMES
from core.sources import codex, detect, unread
from core.sources.ingest_plan import make_plan
from core.sources.kinds import KINDS as KINDS_TOLD
from tests.unit.sources.expected import SAMPLES

FILES = sorted(path for path in SAMPLES.rglob("*") if path.is_file())
ROOT = Path(__file__).resolve().parents[3]
OTHERS = SAMPLES / "others"

# Which reader reads the samples of which folder; `edge` by the beginning of the file's name.
KINDS = {
    "chatgpt": "chatgpt",
    "claude_ai": "claude-ai",
    "claude_code": "claude-code",
    "codex": "codex",
    "edge/claude": "claude-code",
    "edge/codex": "codex",
    "hermes": "hermes",
    "moviepilot": "moviepilot",
    "others/aider": "aider",
    "others/claude_desktop": "claude-code",
    "others/copilot/agent-sessions": "copilot-cli",
    "others/copilot/deja-vu": "copilot-cli",
    "others/cursor": "cursor",
    "others/gemini": "gemini-cli",
    "others/goose": "goose",
    "others/librechat": "librechat",
    "others/omp": "pi",
    "others/openclaw": "pi",
    "others/opencode": "opencode",
    "others/openwebui": "open-webui",
    "others/pi/": "pi",
    "others/qwen/": "qwen-code",
    "others/vscode_chat": "vscode-chat",
    "picobot": "picobot",
}

# Whose history it is that is not read, and files beside it that are nothing by themselves.
PROGRAMS = {
    "antigravity": "Antigravity",
    "cline": "Cline or Roo Code",
    "copilot/visualstudio": "GitHub Copilot in Visual Studio (traces)",
    "deepseek": "DeepSeek's coding agent",
    "droid": "Droid (Factory)",
    "gptme": "gptme",
    "grok": "Grok",
    "grok-build": "Grok",
    "iflow": "iFlow",
    "kimi": "Kimi",
    "kiro_sqlite": "Kiro",
    "omnigent": "Omnigent",
    "posit-assistant": "Posit Assistant",
    "qwenpaw": "QwenPaw",
    "roo": "Cline or Roo Code",
    "vibe": "Mistral Vibe",
}
BESIDE = {
    "antigravity/agent-sessions/small.md",  # a document that the program wrote
    "kiro_sqlite/agentsview/malformed_payload.txt",
    *(
        f"omnigent/agentsview/{name}.json"
        for name in (
            *("compaction", "error", "function_call", "function_call_output", "reasoning"),
            *("routing_decision", "slash_command", "terminal_command"),
        )
    ),
    "posit-assistant/agentsview/workspaces/a1b2c3d4/workspace.json",
    "vibe/agentsview/session_empty/messages.jsonl",  # empty
}
REFUSED = [
    (str(path.relative_to(OTHERS)), program)
    for folder, program in PROGRAMS.items()
    for path in FILES
    if path.is_relative_to(OTHERS / folder) and str(path.relative_to(OTHERS)) not in BESIDE
]


def kind_of(path):
    """The kind that a sample is of, None for one that no reader reads."""
    name = path.relative_to(SAMPLES).as_posix()
    return next((kind for start, kind in KINDS.items() if name.startswith(start)), None)


def test_no_reader_takes_the_history_of_another():
    mistaken = [
        (path, kind)
        for path in FILES
        for kind, reader in detect.READERS.items()
        if reader.recognises(path) and kind != kind_of(path)
    ]
    assert mistaken == []


def test_every_sample_is_read_as_what_it_is_or_left_with_a_reason():
    plan = make_plan([SAMPLES], None, {})
    assert [(u.path, u.reader.KIND) for u in plan.units if kind_of(u.path) != u.reader.KIND] == []
    assert [r for r in plan.reports if r.outcome == "failed" or not r.reason] == []
    met = {str(unit.path) for unit in plan.units} | {report.path for report in plan.reports}
    assert [path for path in FILES if str(path) not in met] == []


def test_help_texts_name_every_kind():
    assert set(detect.READERS) == set(KINDS_TOLD)
    assert sorted(KINDS_TOLD) == list(KINDS_TOLD)


def test_every_kind_is_named_wherever_a_reader_needs_it():
    table = (ROOT / "docs" / "SOURCES.md").read_text(encoding="utf-8")
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (parted,) = (c for c in contracts["contracts"] if c["name"] == "readers know no store")
    for kind, reader in detect.READERS.items():
        assert table.count(f"\n| `{kind}` | ") == 1
        assert reader.__name__ in parted["source_modules"]
        assert kind in SOURCE_NAMES
        assert kind in SOURCE_ICONS
        assert kind in {*KINDS.values(), "jsonl"}


def test_every_program_that_is_not_read_has_samples():
    assert {program for _, program in REFUSED} == set(PROGRAMS.values())


@pytest.mark.parametrize(("name", "program"), REFUSED)
def test_history_that_is_not_read_is_refused_by_its_name(name, program):
    path = OTHERS / name
    words = f"history of {program}, which this version does not read"
    assert unread.sentence(path) == words
    (report,) = make_plan([path], None, {}).reports
    assert (report.outcome, report.reason) == ("failed", f"{path} is {words}")


def test_a_folder_tells_it_for_each_file():
    reports = {r.path: r.reason for r in make_plan([OTHERS], None, {}).reports}
    for name, program in REFUSED:
        assert (
            reports[str(OTHERS / name)] == f"history of {program}, which this version does not read"
        )


@pytest.mark.parametrize(
    ("name", "content", "program"),
    [
        ("T-1.json", {"v": 3, "id": "T-1", "created": 1, "messages": []}, "Amp"),
        ("1.conversation.json", {"name": "x", "messages": []}, "LM Studio"),
        ("x.jsonl", {"resourceSpans": []}, "a program that wrote OpenTelemetry traces"),
    ],
)
def test_formats_known_by_their_description(tmp_path, name, content, program):
    path = tmp_path / name
    path.write_text(json.dumps(content))
    assert unread.program_of(path) == program


@pytest.mark.parametrize(
    ("table", "program"),
    [
        ("threads(id, summary, updated_at, data_type, data)", "Zed"),
        ("conversations_v2(key, conversation_id, value)", "Kiro"),
        ("letters(a)", None),
    ],
)
def test_databases_are_known_by_their_tables(tmp_path, table, program):
    path = tmp_path / "x.db"
    db = apsw.Connection(str(path))
    db.execute(f"CREATE TABLE {table}")
    db.close()
    assert unread.program_of(path) == program


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"role":"user"}', "dear all", "[" * 9000])
def test_what_is_nobodys_stays_unnamed(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    assert unread.sentence(path) is None


def test_what_cannot_be_opened_stays_unnamed(tmp_path):
    assert unread.sentence(tmp_path / "none.json") is None
    (tmp_path / "auth.json").write_text('{"conversation_id":"x","history":[]}')
    assert unread.sentence(tmp_path / "auth.json") is None


def test_a_folder_with_sessions_is_not_codex_own(tmp_path):
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "x.jsonl").write_text("{}")
    assert not codex.is_home(tmp_path)
    (tmp_path / "sessions" / "2026").mkdir()
    assert codex.is_home(tmp_path)


NAMES = st.sampled_from(
    ["api_conversation_history.json", "summary.json", "x.messages.json", "index.json", "meta.json",
     "lm-messages.jsonl", "signals.json", "x.jsonl", "x.conversation.json", "taskHistory.json"]
)  # fmt: skip
KEYS = (
    *("role", "content", "type", "timestamp", "source", "session_id", "sessionId", "agent", "id"),
    *("info", "session_summary", "params", "message", "history", "conversation_id", "messages"),
    *("resourceSpans", "root", "schemaVersion", "conversations", "created_at", "messages_path"),
)
SCALAR = st.sampled_from([None, True, 0, 1.5, "", "text", "T-1", "session"])
INNER = SCALAR | st.dictionaries(st.sampled_from(KEYS), SCALAR, max_size=3)
ANY = INNER | st.lists(INNER, max_size=2)


@settings(max_examples=60)
@given(NAMES, ANY | st.dictionaries(st.sampled_from(KEYS), ANY, max_size=6), st.binary(max_size=9))
def test_no_content_breaks_the_look_at_it(tmp_path_factory, name, content, after):
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(json.dumps(content).encode() + b"\n" + after)
    assert isinstance(unread.sentence(path), str | None)
