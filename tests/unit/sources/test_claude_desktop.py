"""Claude Desktop's agent sessions: transcripts of Claude Code in folders of another layout."""

import json
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.sources import claude_code, detect
from core.sources.claude_code import desktop
from core.sources.ingest_plan import make_plan
from core.sources.records import MessageRecord, SessionRecord
from core.types import FoundSource, TitleSource
from tests.unit.sources.expected import SAMPLES

SAMPLE = SAMPLES / "others/claude_desktop/Claude"
STEM = "0d000000-0000-4000-8000-00000000000d"


@pytest.fixture
def claude(tmp_path):
    """The program's folder of a person on Linux."""
    shutil.copytree(SAMPLE, tmp_path / ".config/Claude")
    return tmp_path / ".config/Claude"


def session_of(root):
    (path,) = claude_code.files(root / desktop.SESSIONS)
    (session,) = [r for r in claude_code.read(path) if isinstance(r, SessionRecord)]
    return session


def beside(root):
    (path,) = root.rglob("local_*.json")
    return path


def test_the_session_is_told_beside_its_transcript(claude):
    session = session_of(claude)
    assert (session.native_id, session.title, session.title_source) == (
        STEM, "Repair the login", TitleSource.MODEL
    )  # fmt: skip
    assert (session.cwd, session.channel, session.archived) == (
        "/Users/alice/code/my-app", "desktop", False
    )  # fmt: skip
    (path,) = claude_code.files(claude / desktop.SESSIONS)
    said = [r.content for r in claude_code.read(path) if isinstance(r, MessageRecord)]
    assert said == ["Fix the login bug", "Looking at the auth module...", "That looks right",
                    "Applied the fix."]  # fmt: skip


def test_nothing_of_the_account_is_read_out(claude):
    (path,) = claude_code.files(claude / desktop.SESSIONS)
    told = repr(list(claude_code.read(path))).replace(str(path), "")
    for secret in ("nobody@example.org", "not shown", "0a000000", "0b000000"):
        assert secret not in told


def test_what_is_told_of_another_transcript_gives_no_title(claude):
    value = json.loads(beside(claude).read_text())
    beside(claude).write_text(json.dumps(value | {"cliSessionId": "another"}))
    session = session_of(claude)
    assert (session.title, session.title_source) == ("Fix the login bug", TitleSource.DERIVED)
    assert session.cwd == "/Users/alice/code/my-app"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"title": 7}', "[" * 90_000])
def test_without_a_word_beside_it_the_transcript_stands(claude, text):
    beside(claude).write_text(text)
    session = session_of(claude)
    assert (session.title, session.cwd) == ("Fix the login bug", "/sessions/brave-quiet-heron")


def test_a_title_typed_into_the_transcript_wins(claude):
    (path,) = claude_code.files(claude / desktop.SESSIONS)
    line = {"type": "custom-title", "customTitle": "By hand", "sessionId": STEM}
    path.write_text(path.read_text() + json.dumps(line) + "\n")
    assert session_of(claude).title == "By hand"


@pytest.mark.parametrize(
    ("place", "env"),
    [
        (".config", {}),
        ("Library/Application Support", {}),
        ("AppData/Roaming", {}),
        ("roaming", {"APPDATA": "roaming"}),
        ("xdg", {"XDG_CONFIG_HOME": "xdg"}),
    ],
)
def test_the_place_is_found(tmp_path, place, env):
    root = tmp_path / place / "Claude"
    shutil.copytree(SAMPLE, root)
    (path,) = root.rglob(f"{STEM}.jsonl")
    env = {key: str(tmp_path / value) for key, value in env.items()}
    (found,) = claude_code.found(env, tmp_path)
    folder, size = str(root / desktop.SESSIONS), path.stat().st_size
    assert found == FoundSource("claude-code", folder, "Claude Desktop", 1, size, True)


def test_only_transcripts_are_read_whatever_folder_is_named(claude):
    """The program's own log repeats the messages; it is no history of its own."""
    for place in (claude, claude / desktop.SESSIONS, claude.parent):
        assert [u.path.name for u in make_plan([place], None, {}).units] == [f"{STEM}.jsonl"]
    (log,) = claude.rglob("audit.jsonl")
    assert detect.detect(log) is None


odd = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.floats(allow_nan=False)
KEYS = ("cliSessionId", "title", "cwd", "userSelectedFolders", "model", "createdAt",
        "lastActivityAt", "isArchived")  # fmt: skip


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(KEYS), odd | st.lists(odd)))
def test_no_value_beside_crashes_the_reader(tmp_path_factory, value):
    root = tmp_path_factory.mktemp("home") / "Claude"
    shutil.copytree(SAMPLE, root)
    beside(root).write_text(json.dumps(value))
    session = session_of(root)
    assert session.title
    assert session.cwd
