"""Upkeep by command: what it prints, how it exits, what it leaves."""

import json
import random

import apsw
import pytest

from tests.unit.damage.damaging import PAGE, leaves_of, pages_of

TALK = "\n".join(
    json.dumps(
        {"session": "s1", "id": f"m{n}", "role": "user", "content": f"kestrel {n} 订阅 " * 40}
    )
    for n in range(200)
)


def made(backscroll, tmp_path):
    talk = tmp_path / "talk.jsonl"
    talk.write_text(TALK, encoding="utf-8")
    assert backscroll("import", talk).code == 0
    return next(backscroll.data.glob("profiles/*/state.db"))


def ruin(path, pages):
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * PAGE)
            file.write(random.Random(page).randbytes(PAGE))


def test_a_sound_store(backscroll, tmp_path):
    made(backscroll, tmp_path)
    assert backscroll("check", "--json").json["ok"] is True
    full = backscroll("check", "--full", "--json")
    assert (full.code, full.json["ok"]) == (0, True)
    assert backscroll("optimize").out.startswith("merged messages_fts")
    assert backscroll("compact", "--json").json["state"] == "succeeded"
    assert backscroll("repair", "--json").json["outcome"] == "nothing is damaged"
    status = backscroll("status", "--json").json
    assert status["checks"]["messages_fts"]["match_ms"] > 0
    assert status["sizes"]["parts"]["messages"] > 0
    assert status["open_elsewhere"] == []
    assert status["store"]["warning"] == ""


def test_a_damaged_index_is_answered_round_and_repaired(backscroll, tmp_path):
    path = made(backscroll, tmp_path)
    ruin(path, pages_of(path, "messages_fts_cjk_data"))
    found = backscroll("search", "订阅", "--json").json
    assert found["total_hits"] == 200
    assert "damaged" in found["why"]
    assert backscroll("repair").code == 0
    assert backscroll("check", "--full").code == 0
    assert backscroll("search", "订阅", "--json").json["search_path"] == "cjk"
    assert backscroll("compact", "--json").json["dropped"] == ["messages_fts_cjk_damaged_1"]


def test_a_damaged_file_is_salvaged_only_when_asked(backscroll, tmp_path):
    path = made(backscroll, tmp_path)
    ruin(path, [1])
    before = path.read_bytes()
    refused = backscroll("repair")
    assert refused.code == 1
    assert "repair --salvage" in refused.err
    unasked = backscroll("repair", "--salvage")
    assert (unasked.code, path.read_bytes()) == (1, before)
    assert "--yes" in unasked.err
    done = backscroll("repair", "--salvage", "--yes", "--json")
    assert (done.code, done.json["messages"], done.json["lost_messages"]) == (0, 200, 0)
    assert backscroll("search", "kestrel", "--json").json["total_hits"] == 200
    assert next(path.parent.glob("damaged-*/state.db")).read_bytes() == before


def test_a_salvage_that_lost_messages_is_partial(backscroll, tmp_path):
    path = made(backscroll, tmp_path)
    ruin(path, leaves_of(path, "messages")[2:4])
    done = backscroll("repair", "--salvage", "--yes", "--json")
    assert done.json["lost_messages"] > 0
    assert done.code == 3
    path.write_bytes(b"")
    nothing = backscroll("repair", "--salvage", "--yes")
    assert "nothing could be read" in nothing.out
    assert nothing.code == 3


def test_a_store_that_was_met_damaged_at_its_opening_is_told_the_way_out(backscroll, tmp_path):
    path = made(backscroll, tmp_path)
    ruin(path, pages_of(path, "index_state"))
    refused = backscroll("repair")
    assert (refused.code, refused.out) == (1, "")
    assert "store-corrupt: " in refused.err
    assert "repair --salvage" in refused.err
    assert "damaged" in backscroll("optimize", "--json").json["error"]["message"]


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_only_a_file_is_salvaged(backscroll, tmp_path, kind):
    path = made(backscroll, tmp_path)
    path.rename(tmp_path / "elsewhere")
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "elsewhere")
    refused = backscroll("repair", "--salvage", "--yes")
    assert (refused.code, refused.err) == (1, f"store: {path} is not a regular file\n")
    assert list(path.parent.glob("damaged-*")) == []


def test_check_gives_its_verdict_though_another_program_writes(backscroll, tmp_path):
    path = made(backscroll, tmp_path)
    writer = apsw.Connection(str(path))
    writer.execute("BEGIN IMMEDIATE")
    found = backscroll("check")
    writer.execute("ROLLBACK")
    writer.close()
    assert found.code == 0
    assert found.out.count("ok    ") >= 5
    assert "not kept" in found.err
