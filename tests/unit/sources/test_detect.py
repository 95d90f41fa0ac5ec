"""Which reader reads what, and what is found in the places where programs keep history."""

import shutil
import zipfile
from pathlib import Path

import pytest

from core.errors import SourceError
from core.sources import detect
from core.sources.ingest_plan import make_plan
from core.types import FoundSource
from tests.unit.sources.expected import SAMPLES


def kinds_of(root):
    """The kind that each file below a folder is read as."""
    plan = make_plan([root], None, {})
    return {str(u.path.relative_to(root)): u.reader.KIND for u in plan.units}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("claude_code/agentsview/valid_session.jsonl", "claude-code"),
        ("claude_code/rungraph/projects/-home-dev-acme/22222222-2222-4222-8222-222222222222.jsonl",
         "claude-code"),
        ("edge/claude_only_metadata.jsonl", "claude-code"),
        ("edge/codex_partial_tail.jsonl", "codex"),
        ("codex/agentsview/standard_session.jsonl", "codex"),
        ("chatgpt/synthetic/export-sharded.zip", "chatgpt"),
        ("chatgpt/chatlectify/conversations.json", "chatgpt"),
        ("claude_ai/synthetic/export.zip", "claude-ai"),
        ("claude_ai/synthetic/conversations.jsonl", "claude-ai"),
        ("claude_ai/chatlectify/conversations.json", "claude-ai"),
        ("hermes/rungraph/state.db", "hermes"),
    ],
)  # fmt: skip
def test_a_file_is_known_by_what_it_holds(tmp_path, path, kind):
    copy = tmp_path / f"renamed{''.join(Path(path).suffixes[-1:])}"
    shutil.copy(SAMPLES / path, copy)
    reader = detect.detect(copy)
    assert reader is detect.READERS[kind]


def test_a_neutral_file_is_known(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"session":"s","role":"user","content":"c"}\n')
    assert detect.detect(path).KIND == "jsonl"


@pytest.mark.parametrize("content", ["", "{}\n", '{"a":1}\n', "dear all\n", "\0\0\0\n", "[[[[\n"])
def test_what_is_nobodys_is_nobodys(tmp_path, content):
    for name in ("x.jsonl", "x.json", "x.db", "x.zip"):
        path = tmp_path / name
        path.write_text(content)
        assert detect.detect(path) is None


def test_every_sample_is_read_by_its_own_reader():
    assert set(kinds_of(SAMPLES / "claude_code").values()) == {"claude-code"}
    assert set(kinds_of(SAMPLES / "codex").values()) == {"codex"}
    assert set(kinds_of(SAMPLES / "chatgpt").values()) == {"chatgpt"}
    assert set(kinds_of(SAMPLES / "claude_ai").values()) == {"claude-ai"}
    assert set(kinds_of(SAMPLES / "hermes").values()) == {"hermes"}


def test_the_home_of_a_program_is_left_to_its_reader(tmp_path):
    home = tmp_path / ".claude"
    project = home / "projects" / "-w"
    project.mkdir(parents=True)
    shutil.copy(SAMPLES / "claude_code/agentsview/valid_session.jsonl", project / "0a.jsonl")
    (home / "history.jsonl").write_text('{"display":"x","timestamp":1}\n')
    (home / "settings.json").write_text("{}")
    plan = make_plan([home], None, {})
    assert [u.name for u in plan.units] == [str(project / "0a.jsonl")]
    assert plan.reports == []


def test_a_database_nobody_knows_is_refused_in_its_readers_words(tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("letter.txt", "dear all")
    (unit,) = make_plan([path], None, {}).units
    with pytest.raises(SourceError, match="conversations"):
        list(unit.reader.read(path))


def test_places_overlap_and_files_are_read_once(tmp_path):
    shutil.copytree(SAMPLES / "claude_code" / "rungraph", tmp_path / "r")
    once = make_plan([tmp_path / "r"], None, {})
    again = make_plan([tmp_path / "r", tmp_path / "r" / "projects", tmp_path], None, {})
    assert [u.name for u in once.units] == [u.name for u in again.units]


@pytest.fixture
def home(tmp_path):
    """A person's folder with the history of every program in its default place."""
    shutil.copytree(SAMPLES / "claude_code/rungraph/projects", tmp_path / ".claude/projects")
    shutil.copytree(SAMPLES / "codex/rungraph/sessions", tmp_path / ".codex/sessions")
    (tmp_path / ".codex/auth.json").write_text("{}")
    shutil.copytree(SAMPLES / "hermes/rungraph", tmp_path / ".hermes")
    downloads = tmp_path / "Downloads"
    downloads.mkdir()
    shutil.copy(SAMPLES / "chatgpt/synthetic/export-sharded.zip", downloads / "export.zip")
    shutil.copytree(SAMPLES / "chatgpt/chatlectify", downloads / "unpacked")
    with zipfile.ZipFile(downloads / "claude-ai.zip", "w") as archive:
        archive.writestr("conversations.json", "[]")
        archive.writestr("users.json", "[]")
    (downloads / "half.zip").write_bytes(b"PK\x03\x04 not finished")
    return tmp_path


def size_of(*paths):
    return sum(path.stat().st_size for path in paths)


def test_history_is_found_in_the_default_places(home):
    projects, codex, hermes = home / ".claude/projects", home / ".codex", home / ".hermes"
    export, unpacked = home / "Downloads/export.zip", home / "Downloads/unpacked"
    claude = home / "Downloads/claude-ai.zip"
    found = detect.found_on_this_machine({}, home)
    databases = (hermes / "state.db", hermes / "profiles/legacy/state.db")
    transcripts = size_of(*projects.rglob("*.jsonl"))
    assert found == [
        FoundSource("hermes", str(hermes), "Hermes", None, size_of(*databases), True),
        FoundSource("claude-code", str(projects), "Claude Code", 7, transcripts, True),
        FoundSource("codex", str(codex), "Codex", 5, size_of(*codex.rglob("*.jsonl")), True),
        FoundSource("chatgpt", str(export), "ChatGPT export export", None, size_of(export), True),
        FoundSource(
            "chatgpt", str(unpacked), "ChatGPT export unpacked", None,
            size_of(unpacked / "conversations.json"), True,
        ),
        FoundSource("claude-ai", str(claude), "Claude export claude-ai", None, size_of(claude),
                    True),
    ]  # fmt: skip


def test_what_is_found_is_what_an_import_reads(home):
    for source in detect.found_on_this_machine({}, home):
        plan = make_plan([Path(source.path)], None, {})
        assert {u.reader.KIND for u in plan.units} == {source.kind}
        assert not [r for r in plan.reports if r.outcome == "failed"]


def test_variables_move_the_places(home, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    for name in (".claude", ".codex", ".hermes"):
        shutil.move(home / name, elsewhere / name)
    env = {
        "CLAUDE_CONFIG_DIR": str(elsewhere / ".claude"),
        "CODEX_HOME": str(elsewhere / ".codex"),
        "HERMES_HOME": str(elsewhere / ".hermes"),
    }
    assert {s.kind for s in detect.found_on_this_machine({}, home)} == {"chatgpt", "claude-ai"}
    found = detect.found_on_this_machine(env, home)
    assert [s.path for s in found[:3]] == [
        str(elsewhere / ".hermes"), str(elsewhere / ".claude/projects"), str(elsewhere / ".codex")
    ]  # fmt: skip


def test_a_place_without_history_says_so(tmp_path):
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".codex" / "sessions").mkdir(parents=True)
    claude, codex = detect.found_on_this_machine({}, tmp_path)
    assert (claude.importable, claude.reason) == (
        False, f"{tmp_path / '.claude/projects'} does not exist"
    )  # fmt: skip
    assert (codex.importable, codex.reason, codex.sessions) == (False, "it holds no history", 0)


def test_nothing_anywhere_is_nothing(tmp_path):
    assert detect.found_on_this_machine({}, tmp_path) == []
