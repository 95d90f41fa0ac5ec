"""The program as a user starts it: a process, a home of its own, a store of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import demo_home

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests" / "data" / "samples"
TALK = """\
{"session":"s1","id":"m1","role":"user","content":"订阅的电影每次刷新都会重复下载","title":"电影订阅"}
{"session":"s1","id":"m2","role":"assistant","content":"漓江的水，入队两次 gen-itgc后"}
{"session":"s1","id":"m3","role":"tool","content":"exit 0: 订阅 done","tool_name":"Bash"}
{"session":"s2","id":"m1","role":"user","content":"the ITGC control is tested"}
"""


@dataclass(frozen=True)
class Finished:
    """What a process left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Program:
    """`backscroll` with a home and a data folder that belong to one test."""

    home: Path
    data: Path

    def __call__(self, *arguments: str | Path, env: dict[str, str] | None = None) -> Finished:
        result = subprocess.run(
            [sys.executable, "-m", "app", *map(str, arguments)],
            cwd=ROOT,
            env=self.environment() | (env or {}),
            capture_output=True,
            text=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            timeout=100,
            check=False,
        )
        assert "Traceback" not in result.stderr, result.stderr
        return Finished(result.returncode, result.stdout, result.stderr)

    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "CC", "LC_ALL")}
        return kept | {
            "HOME": str(self.home),
            "BACKSCROLL_DATA_DIR": str(self.data),
            "QT_QPA_PLATFORM": "offscreen",
            "PYTHONWARNINGS": "error",
        }


@pytest.fixture
def backscroll(tmp_path: Path) -> Program:
    home = tmp_path / "home"
    home.mkdir()
    return Program(home, tmp_path / "data")


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """A store with the four kinds of the samples and one neutral file in it; only read it."""
    folder = tmp_path_factory.mktemp("filled")
    home = folder / "home"
    home.mkdir()
    program = Program(home, folder / "data")
    talk = folder / "talk.jsonl"
    talk.write_text(TALK, encoding="utf-8")
    kinds = [SAMPLES / kind for kind in ("claude_code", "codex", "hermes", "chatgpt")]
    finished = program("import", *kinds, talk, "--json")
    assert finished.code in (0, 3), finished.out + finished.err
    return program


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """A store with the conversations of the demo home in it; only read it."""
    folder = tmp_path_factory.mktemp("demo")
    loose = demo_home.build(folder / "home")
    program = Program(folder / "home", folder / "data")
    for places in ([], [loose]):
        finished = program("import", *places, "--json")
        assert finished.code in (0, 3), finished.out + finished.err
    return program
