"""Public faults of programs of this kind, by their numbers in tests/data/cases."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import apsw

from tests.e2e.conftest import ROOT


def talks(folder: Path, sessions: int, messages: int, word: str = "kestrel") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for n in range(sessions):
        rows = (
            {
                "session": f"{word}{n}",
                "id": f"m{i}",
                "role": "user",
                "content": f"{word} {n} {i} 订阅",
            }
            for i in range(messages)
        )
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{n}.jsonl").write_text(text, encoding="utf-8")


def started(backscroll, *arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "app", *map(str, arguments)],
        cwd=ROOT, env=backscroll.environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def store_of(backscroll) -> Path:
    return next(backscroll.data.glob("profiles/*/state.db"))


def test_c03_others_search_and_write_while_an_import_runs(backscroll, tmp_path):
    talks(tmp_path / "first", 1, 5, "osprey")
    assert backscroll("import", tmp_path / "first", "--kind", "jsonl").code == 0
    talks(tmp_path / "many", 60, 500)
    importing = started(backscroll, "import", tmp_path / "many", "--kind", "jsonl")
    beside = []
    with importing:
        while importing.poll() is None:
            found = backscroll("search", "osprey", "--json")
            pinned = backscroll("sessions", "pin", "osprey0")
            beside.append((found.json["total_hits"], pinned.code, importing.poll() is None))
    assert importing.returncode == 0
    assert any(is_beside for *_, is_beside in beside)
    assert {(hits, code) for hits, code, _ in beside} == {(5, 0)}


def test_c04_the_log_stays_short_beside_a_reader_and_goes_with_the_program(backscroll, tmp_path):
    talks(tmp_path / "first", 1, 5)
    assert backscroll("import", tmp_path / "first", "--kind", "jsonl").code == 0
    path = store_of(backscroll)
    talks(tmp_path / "many", 30, 500)
    reader = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM messages").fetchall()
    assert backscroll("import", tmp_path / "many", "--kind", "jsonl").code == 0
    reader.execute("ROLLBACK")
    reader.close()
    assert backscroll("status").code == 0
    log = path.with_name("state.db-wal")
    assert not log.exists() or log.stat().st_size == 0


def test_c07_a_folder_that_is_not_there_takes_nothing_away(backscroll, tmp_path):
    place = tmp_path / "mnt" / "talks"
    talks(place, 3, 4)
    assert backscroll("import", place, "--kind", "jsonl").code == 0
    place.rename(tmp_path / "unmounted")
    missing = backscroll("import", place, "--kind", "jsonl")
    assert missing.code == 1
    assert str(place) in missing.err
    assert backscroll("search", "kestrel", "--json").json["total_hits"] == 12
    (tmp_path / "unmounted").rename(place)
    again = backscroll("import", place, "--kind", "jsonl", "--json").json
    assert (again["new"], again["changed"], again["skipped"], again["failed"]) == (0, 0, 3, 0)
    assert backscroll("search", "kestrel", "--json").json["total_hits"] == 12


def test_r09_what_its_owner_pruned_is_kept(backscroll, tmp_path):
    place = tmp_path / "talks"
    talks(place, 8, 2)
    assert backscroll("import", place, "--kind", "jsonl").code == 0
    for n in range(6):
        (place / f"{n}.jsonl").unlink()
    assert backscroll("import", place, "--kind", "jsonl").code == 0
    assert len(backscroll("sessions", "list", "--json").json["sessions"]) == 8
    assert backscroll("search", "kestrel", "--json").json["total_hits"] == 16
    shutil.rmtree(place)
    assert backscroll("search", "kestrel", "--json").json["total_hits"] == 16


def test_c13_reading_few_changed_files_again_costs_little_of_the_first_time(backscroll, tmp_path):
    place = tmp_path / "talks"
    talks(place, 100, 60)
    began = os.times()
    assert backscroll("import", place, "--kind", "jsonl").code == 0
    first = os.times()
    for n in range(8):
        with (place / f"{n}.jsonl").open("a", encoding="utf-8") as file:
            file.write(
                json.dumps({"session": f"kestrel{n}", "role": "user", "content": "one more"})
            )
            file.write("\n")
    again = backscroll("import", place, "--kind", "jsonl", "--json").json
    assert (again["new"], again["skipped"]) == (8, 92)
    second = os.times()
    assert cpu(first, second) < 0.25 * cpu(began, first) + START_S


START_S = 0.6
"""What starting the program costs by itself."""


def cpu(since: os.times_result, until: os.times_result) -> float:
    return until.children_user + until.children_system - since.children_user - since.children_system
