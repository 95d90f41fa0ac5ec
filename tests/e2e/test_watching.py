"""Watching as a user does: a real `import --watch`, files that change, and a second one."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, Program

SEEN_WITHIN_S = 2.0


def said(session: str, uid: str, content: str) -> str:
    line = {"session": session, "id": uid, "role": "user", "content": content}
    return json.dumps(line) + "\n"


class Watcher:
    """A process of `import --watch`; its lines are documents."""

    def __init__(self, program: Program, *arguments: str | Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app", "import", "--watch", "--json", *map(str, arguments)],
            cwd=ROOT,
            env=program.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def line(self) -> dict[str, object]:
        text = self.process.stdout.readline()
        assert text, self.process.stderr.read()
        return json.loads(text)

    def until_begun(self) -> None:
        """Return when every place was looked through."""
        left = len(self.line()["watching"])
        while left:
            left -= bool(self.line().get("noticed", {}).get("whole"))

    def stop(self, number: int = signal.SIGINT) -> tuple[int, str]:
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=20)
        return self.process.returncode, err

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def watch(backscroll) -> Iterator[object]:
    begun: list[Watcher] = []

    def begin(*arguments: str | Path) -> Watcher:
        begun.append(Watcher(backscroll, *arguments))
        return begun[-1]

    yield begin
    for each in begun:
        each.kill()


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    folder = tmp_path / "talks"
    folder.mkdir()
    (folder / "a.jsonl").write_text(said("s1", "m1", "the first apple"))
    return folder


def stored(backscroll: Program, text: str) -> int:
    return backscroll("search", text, "--json").json["total_hits"]


def test_an_append_is_found_by_another_process_within_two_seconds(backscroll, watch, talks):
    one = watch(talks)
    one.until_begun()
    assert stored(backscroll, "apple") == 1
    with (talks / "a.jsonl").open("a") as file:
        file.write(said("s1", "m2", "a second quince"))
    began = time.monotonic()
    told = one.line()["noticed"]
    assert time.monotonic() - began < SEEN_WITHIN_S
    assert (told["new"], told["whole"]) == (1, False)
    assert stored(backscroll, "quince") == 1
    (talks / "a.jsonl").rename(talks / "b.jsonl")
    with (talks / "b.jsonl").open("a") as file:
        file.write(said("s1", "m3", "the third medlar"))
    while one.line()["noticed"]["new"] == 0:
        pass
    assert stored(backscroll, "medlar") == 1
    assert stored(backscroll, "apple") == 1
    (talks / "b.jsonl").unlink()
    assert one.line()["noticed"]["whole"]
    assert stored(backscroll, "apple OR quince OR medlar") == 3
    code, err = one.stop()
    assert code == 130
    assert "kept" in err


def used_s(process: subprocess.Popen) -> float:
    """Return the processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])  # proc_pid_stat(5): utime, stime
    return ticks / os.sysconf("SC_CLK_TCK")


def test_it_is_idle_takes_more_places_and_the_second_says_who_watches(
    backscroll, watch, talks, tmp_path
):
    one = watch(talks)
    one.until_begun()
    time.sleep(0.5)
    before = used_s(one.process)
    time.sleep(4)
    assert used_s(one.process) - before <= 0.02  # half a percent, as far as ticks can tell

    more = tmp_path / "more.jsonl"
    more.write_text(said("s9", "m1", "a late plum"))
    answer = backscroll("sources", "watch", more)
    assert f"process {one.process.pid}" in answer.err
    while "noticed" not in (told := one.line()) or told["noticed"]["place"] != str(more):
        pass
    assert stored(backscroll, "plum") == 1

    second = backscroll("import", "--watch", "--json")
    assert (second.code, second.json["error"]["code"]) == (1, "running")
    assert f"process {one.process.pid}" in second.json["error"]["message"]
    one.kill()
    third = watch()
    third.until_begun()
    listed = backscroll("sources", "--json").json
    assert listed["watcher"]["pid"] == third.process.pid
    assert [each["path"] for each in listed["watched"]] == [str(more), str(talks)]
    assert third.stop(signal.SIGTERM)[0] == 130
    assert backscroll("sources", "--json").json["watcher"] is None
