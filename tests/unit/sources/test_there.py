"""One folder that may not be entered is no end of a look over the places of all programs.

A name that is too long stands for it: the look at it fails as well, whoever runs the tests.
"""

import os

import pytest

from core.errors import SourceError
from core.history.sources import KnownFile
from core.sources import detect, there
from core.sources.downloads import FOLDER
from core.sources.ingest_plan import make_plan

UNSEEN = "a" * 300


@pytest.mark.parametrize("ask", [there.is_dir, there.is_file, there.exists])
def test_what_cannot_be_looked_at_is_not_there(tmp_path, ask):
    assert not ask(tmp_path / UNSEEN)
    assert not ask(tmp_path / "nothing")


def test_each_is_told_for_what_it_is(tmp_path):
    (tmp_path / "file").touch()
    assert (there.is_dir(tmp_path), there.is_file(tmp_path / "file")) == (True, True)
    assert there.exists(tmp_path / "file")
    assert not there.is_file(tmp_path)


def test_a_place_that_is_required_says_why_it_is_not_there(tmp_path):
    there.require(tmp_path)
    with pytest.raises(SourceError, match="nothing does not exist"):
        there.require(tmp_path / "nothing")
    with pytest.raises(SourceError, match="cannot be read"):
        there.require(tmp_path / UNSEEN)
    with pytest.raises(SourceError, match="cannot be read"):
        there.require(tmp_path / "a\0b")


@pytest.mark.parametrize(
    "variable",
    [
        "APPDATA",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "CONFIG_DIR",
        "COPILOT_HOME",
        "CURSOR_CONFIG_DIR",
        "DATA_DIR",
        "GEMINI_CLI_HOME",
        "GOOSE_PATH_ROOT",
        "HERMES_HOME",
        "OPENCLAW_STATE_DIR",
        "OPENCODE_DB",
        "PI_CODING_AGENT_DIR",
        "QWEN_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
    ],
)
def test_a_programs_place_that_cannot_be_seen_is_not_found(tmp_path, variable):
    assert detect.found_on_this_machine({variable: str(tmp_path / UNSEEN)}, tmp_path) == []


def test_downloads_that_may_not_be_listed_are_told_of_once_and_the_rest_is_found(
    tmp_path, monkeypatch
):
    (tmp_path / FOLDER).mkdir()
    talk = tmp_path / ".codex/sessions/2026/rollout-2026-07-17T09-00-00-x.jsonl"
    talk.parent.mkdir(parents=True)
    talk.write_text("{}\n", encoding="utf-8")
    listed = type(tmp_path).iterdir

    def refused(path):
        if path.name == FOLDER:
            raise PermissionError(1, "Operation not permitted", str(path))
        return listed(path)

    monkeypatch.setattr(type(tmp_path), "iterdir", refused)
    found = detect.found_on_this_machine({}, tmp_path)
    assert [(each.name, each.importable) for each in found] == [("Codex", True), (FOLDER, False)]
    assert found[1].reason == "it cannot be read: Operation not permitted"


def test_a_folder_that_a_reader_cannot_look_into_is_not_its_home(tmp_path, monkeypatch):
    def refused(folder):
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(detect.READERS["pi"], "is_home", refused)
    (tmp_path / "session-state").mkdir()
    assert detect.home_of(tmp_path) is detect.READERS["copilot-cli"]


def test_a_rollout_that_lies_packed_beside_itself_is_one_session(tmp_path):
    folder = tmp_path / ".codex/sessions/2026/07/17"
    archived = tmp_path / ".codex/archived_sessions"
    name = "rollout-2026-07-17T09-00-00-c3c3c3c3-0000-7000-8000-000000000003.jsonl"
    for place in (folder, archived):
        place.mkdir(parents=True)
    (folder / name).write_bytes(b"{}\n")
    (folder / f"{name}.zst").write_bytes(b"packed")
    (archived / name).write_bytes(b"{}\n")
    (found,) = detect.found_on_this_machine({}, tmp_path)
    assert (found.sessions, found.size_bytes) == (1, 12)


def test_a_file_that_was_read_and_may_not_be_read_any_more_has_failed(tmp_path, monkeypatch):
    folder = tmp_path / ".codex/sessions/2026"
    folder.mkdir(parents=True)
    name = "rollout-2026-07-17T09-00-00-c3c3c3c3-0000-7000-8000-000000000003.jsonl"
    (folder / name).write_text("{}\n", encoding="utf-8")
    (folder.parent / "2025").mkdir()
    path = str(folder / name)
    known = {path: [KnownFile(1, 1, "codex", "", path, 1, 3, 1, 1, "done", None, None)]}
    readable = os.access
    monkeypatch.setattr(os, "access", lambda at, mode: str(at) != path and readable(at, mode))
    monkeypatch.setattr(detect.READERS["codex"], "files", lambda folder: iter(()))
    plan = make_plan([tmp_path / ".codex"], None, known)
    assert [(each.path, each.outcome) for each in plan.reports] == [(path, "failed")]
    assert plan.gone == []
