"""Scheduled upkeep and the ledger from the command line, as the system's own cron would use it."""

import os
import signal
import subprocess
import sys
import time

from core.store import liveness
from core.store.connection import open_store, transaction
from core.upkeep import operations
from tests.e2e.conftest import ROOT

HOLD = """
import sys
from pathlib import Path
from core.store.connection import open_store
from core.upkeep import operations
db = open_store(Path(sys.argv[1]), None)
with operations.recorded(db, "optimize", {}, "command"):
    print("holding", flush=True)
    sys.stdin.read()
"""


def store_of(program):
    (store,) = program.data.glob("profiles/*/state.db")
    return store


def listed(program, *options):
    return program("jobs", "list", "--json", *options).json["jobs"]


def test_a_store_begins_with_jobs_and_status_tells_them(backscroll):
    made = {job["id"]: job for job in listed(backscroll)}

    assert set(made) == {"trash", "retention", "purge", "backup", "optimize", "check"}
    assert made["backup"] == made["backup"] | {
        "kind": "backup", "schedule": "every:30m", "state": "scheduled", "last_status": None,
        "last_error": None, "run_count": 0, "max_runs": None, "last_fired_at_ms": None,
    }  # fmt: skip
    left_s = made["backup"]["next_fire_at_ms"] / 1000 - time.time()
    assert 1_700 < left_s <= 1_800
    assert backscroll("status", "--json").json["jobs"] == listed(backscroll)
    told = backscroll("status").out
    assert "Jobs       6 of 6 jobs scheduled, next backup " in told


def test_a_job_is_made_changed_paused_resumed_run_and_removed(backscroll):
    made = backscroll("jobs", "add", "check", "cron:0 3 * * 1", "--max-runs", "2", "--json").json
    assert made["job"]["id"] == "check-1"
    assert (made["job"]["max_runs"], made["job"]["schedule"]) == (2, "cron:0 3 * * 1")
    changed = backscroll("jobs", "change", "check-1", "every:2h", "--json").json["job"]
    assert changed["schedule"] == "every:2h"
    assert backscroll("jobs", "pause", "check-1", "--json").json["job"]["state"] == "paused"
    assert backscroll("jobs", "resume", "check-1", "--json").json["job"]["state"] == "scheduled"
    ran = backscroll("jobs", "run", "check-1", "--json")
    assert ran.code == 0
    (told,) = ran.json["runs"]
    assert (told["job"], told["status"]) == ("check-1", "ok")
    assert "1 of 2 runs" in backscroll("jobs", "show", "check-1").out
    backscroll("jobs", "run", "check-1")
    done = backscroll("jobs", "show", "check-1", "--json").json["job"]
    assert (done["state"], done["run_count"], done["next_fire_at_ms"]) == ("completed", 2, None)
    assert backscroll("jobs", "remove", "check-1", "--json").json["removed"]["id"] == "check-1"
    assert "check-1" not in {job["id"] for job in listed(backscroll)}


REFUSED = [
    (("show", "nobody"), "not-found"),
    (("run", "nobody"), "not-found"),
    (("add", "compact", "every:1h"), "setting"),
    (("add", "check", "cron:61 * * * *"), "setting"),
    (("change", "backup", "sometimes"), "setting"),
]


def test_what_cannot_be_done_is_said_and_changes_nothing(backscroll):
    before = listed(backscroll)
    for arguments, code in REFUSED:
        told = backscroll("jobs", *arguments, "--json")
        assert (told.code, told.json["error"]["code"]) == (1, code), arguments
    assert listed(backscroll) == before


def test_what_is_due_is_run_once_and_what_was_removed_stays_removed(backscroll):
    backscroll("jobs", "remove", "optimize")
    backscroll("jobs", "add", "check", "delay:0s")
    db = open_store(store_of(backscroll), None)
    with transaction(db):  # as if the machine had been off for years
        db.execute("UPDATE jobs SET next_fire_at_ms = 1")
    db.close()

    first = backscroll("jobs", "run-due", "--json")

    assert first.code == 0
    statuses = {run["job"]: run["status"] for run in first.json["runs"]}
    assert statuses == {
        "check-1": "ok", "check": "ok", "backup": "ok", "retention": "skipped",
        "trash": "skipped", "purge": "skipped",
    }  # fmt: skip
    assert backscroll("jobs", "run-due", "--json").json == {"runs": []}
    assert {job["id"] for job in listed(backscroll)} == set(statuses)
    assert len(list(store_of(backscroll).parent.glob("snapshots/state-*.db"))) == 1
    (kept,) = backscroll("operations", "list", "--json").json["operations"]
    assert (kept["kind"], kept["actor"], kept["state"]) == ("backup", "schedule", "succeeded")
    assert kept["receipt"]["name"].startswith("state-")


def test_a_killed_operation_is_unknown_then_verified_by_looking(backscroll):
    backscroll("status")
    command = [sys.executable, "-c", HOLD, str(store_of(backscroll))]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "holding\n"
        busy = backscroll("jobs", "run", "optimize", "--json").json["runs"][0]
        assert (busy["status"], busy["words"]) == ("skipped", "optimize is running already")
        refused = backscroll("operations", "verify", "1", "--json")
        assert (refused.code, refused.json["error"]["code"]) == (1, "refused")
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()

    assert [
        each["state"]
        for each in backscroll("operations", "list", "--state", "unknown", "--json").json[
            "operations"
        ]
    ] == ["unknown"]
    seen = backscroll("operations", "verify", "1", "--json")
    assert seen.code == 0
    assert seen.json["operation"]["state"] == "failed"
    assert "can be merged on" in seen.json["operation"]["outcome"]
    assert backscroll("jobs", "run", "optimize", "--json").json["runs"][0]["status"] == "ok"


def test_what_the_store_does_not_tell_stays_unknown(backscroll):
    backscroll("status")
    db = open_store(store_of(backscroll), None)
    with transaction(db):
        operations.begin(db, "salvage", {}, "you")
        gone = liveness.holder().replace(".", ".9", 1)
        db.execute("UPDATE operations SET holder = ?", (gone,))
    db.close()
    told = backscroll("operations", "verify", "1", "--json")
    assert told.code == 3
    assert told.json["operation"]["state"] == "unknown"
    assert "salvage  unknown  by you" in backscroll("operations", "show", "1").out


def test_the_ledger_is_listed_page_by_page_and_bad_questions_are_refused(backscroll):
    backscroll("status")
    db = open_store(store_of(backscroll), None)
    for n in range(5):
        with operations.recorded(db, "backup", {"n": n}, "you") as claim:
            claim.outcome = f"kept \x1b[31m{n}"
    db.close()
    page = backscroll("operations", "list", "--limit", "2", "--before", "4", "--json").json
    assert [each["id"] for each in page["operations"]] == [3, 2]
    told = backscroll("operations", "list")
    assert "\x1b" not in told.out
    assert told.out.count("\n") == 5
    assert backscroll("operations", "list", "--state", "lost").code == 1
    assert backscroll("operations", "show", "99").code == 1
    assert backscroll("operations", "show", "x").code == 2
    assert backscroll("operations").code == 2
