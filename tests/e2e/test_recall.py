"""`backscroll recall`: found, read, scrolled through and browsed, in words and as JSON."""

import json
import shlex

import pytest

HEAD = {
    "mode", "query", "understood", "repairs", "search_path", "why", "elapsed_ms", "complete",
    "reason", "total_hits", "total_is_exact", "inside_words", "ranked_scope", "messages_searched",
    "not_searched", "index_status", "legacy_import", "left_out", "warnings", "hint", "results",
}  # fmt: skip
RESULT = {
    "session", "title", "source", "kind", "project", "model", "when", "started_at_ms",
    "last_active_at_ms", "message_count", "lineage", "parent", "link", "message", "role",
    "snippet", "marks", "created_at_ms", "why", "preview",
    "detail", "before", "after", "opening", "messages", "resolution",
}  # fmt: skip
CONTROLS = set("\x00\x1b\x07\x7f\x9b\u202e\u2066\ufeff")


def of_title(found, title):
    (result,) = (r for r in found["results"] if r["title"] == title)
    return result


def test_each_language_finds_its_conversation_first(demo):
    for query, title in (
        ("退订链接", "邮件通知：退订链接与取消订阅"),
        ("文字コード", "家計簿 CSV の取り込みスクリプト"),
        ("역추적", "로그 파서 정규식 성능 개선"),
        ("evidence of who", "ITGC evidence: who changed the retention rule"),
    ):
        found = demo("recall", query, "--json").json
        assert found["results"][0]["title"] == title
        assert found["results"][0]["detail"] == "full"
        assert found["mode"] == "discover"


def test_the_document_has_the_shape_of_the_contract(demo):
    found = demo("recall", "订阅", "--limit", "10", "--json").json

    assert set(found) == HEAD
    assert all(set(result) == RESULT for result in found["results"])
    assert found["total_is_exact"] is True
    assert found["legacy_import"] == {"complete": True}
    whole, *others = found["results"]
    assert others
    assert whole["opening"] or len(whole["messages"]) > 1
    for result in others:
        assert result["detail"] == "anchor"
        assert len(result["messages"]) <= 1
        assert result["opening"] == result["resolution"] == []
    for result in found["results"]:
        assert result["why"]
        assert all(result["snippet"][a:b] == "订阅" for a, b in result["marks"])
        assert result["link"].startswith("backscroll://session/")


def test_the_first_result_has_its_window_and_both_ends_and_no_message_twice(demo):
    found = demo("recall", "去重", "--json").json

    result = of_title(found, "电影订阅重复下载：定位与修复")
    numbers = [
        message["number"]
        for part in ("opening", "messages", "resolution")
        for message in result[part]
    ]
    assert numbers == sorted(set(numbers))
    assert len(result["opening"]) <= 3
    assert len(result["resolution"]) <= 3
    assert len(result["messages"]) <= 11
    first, last = result["messages"][0]["number"], result["messages"][-1]["number"]
    assert result["before"] == first - 1
    assert result["after"] == result["message_count"] - last


def test_what_is_cut_is_read_on_with_the_command_that_is_printed(backscroll, tmp_path):
    words = " ".join(f"word{n}" for n in range(2_000))
    record = {"session": "a long one", "id": "m 1", "role": "user", "content": words}
    talk = tmp_path / "talk.jsonl"
    talk.write_text(json.dumps(record), encoding="utf-8")
    assert backscroll("import", talk).code == 0

    lines = backscroll("recall", "word1").out.splitlines()

    (hint,) = (line for line in lines if "more characters" in line)
    count, command = hint.split(" more characters: ")
    told = max(lines, key=len)
    rest = backscroll(*shlex.split(command), "--chars", "100000").out.rstrip("\n")
    assert (told + rest).replace(" ", "") == words.replace(" ", "")
    assert count.split()[-1] == f"{len(rest):,}"


def test_a_session_is_read_from_both_ends(demo):
    refs = {s["title"]: s["session"] for s in demo("sessions", "list", "--json").json["sessions"]}

    found = demo("recall", "--session", refs["电影订阅重复下载：定位与修复"], "--json").json

    (result,) = found["results"]
    assert found["mode"] == "read"
    assert [m["number"] for m in result["opening"]] == list(range(1, 21))
    total = result["message_count"]
    assert [m["number"] for m in result["resolution"]] == list(range(total - 9, total + 1))
    assert result["after"] == total - 30


def test_a_message_is_shown_with_what_surrounds_it(filled):
    found = filled("recall", "--session", "s1", "--around", "m2", "--window", "1", "--json").json

    (result,) = found["results"]
    assert found["mode"] == "scroll"
    assert [m["message"] for m in result["messages"]] == ["m1", "m2", "m3"]
    assert (result["before"], result["after"]) == (0, 0)
    by_link = filled("recall", "--session", result["link"], "--window", "1", "--json").json
    assert by_link["results"] == found["results"]


def test_without_a_question_the_newest_come_first(demo):
    found = demo("recall", "--limit", "10", "--json").json

    times = [result["last_active_at_ms"] for result in found["results"]]
    assert found["mode"] == "browse"
    assert len(times) == 10
    assert times == sorted(times, reverse=True)
    assert all(result["preview"] for result in found["results"])
    assert found["search_path"] == "empty"
    assert found["total_hits"] is None


def test_filters_narrow_and_exclusions_leave_out(demo):
    everything = demo("recall", "订阅", "--limit", "10", "--json").json
    one = everything["results"][0]

    without = demo("recall", "订阅", "--limit", "10", "--exclude", one["session"], "--json").json
    codex = demo("recall", "구독", "--source", "codex", "--json").json
    tools = demo("recall", "3006", "--role", "tool", "--json").json
    old = demo("recall", "订阅", "--until", "2020-01-01", "--json").json

    assert one["session"] not in [r["session"] for r in without["results"]]
    assert without["left_out"]["excluded"] == 1
    assert {r["source"] for r in codex["results"]} == {"codex"}
    assert [r["role"] for r in tools["results"]] == ["tool"]
    assert old["results"] == []
    assert old["hint"]


def test_the_words_for_people_say_what_is_where(filled):
    finished = filled("recall", "漓")

    lines = finished.out.splitlines()
    assert finished.code == 0
    assert "1 hit in " in lines[0]
    assert any("电影订阅" in line and "s1" in line for line in lines)
    assert any("A message of the assistant matches" in line for line in lines)
    assert any(line.startswith(" ▸#2 assistant") for line in lines)
    assert any(line.startswith("  #1 user") for line in lines)
    assert any("backscroll://session/s1#m2" in line for line in lines)


def test_nothing_found_is_a_fact_with_a_hint(filled):
    finished = filled("recall", "龘龘龘")

    assert finished.code == 0
    assert "0 hits in " in finished.out
    assert "no proof" in finished.err


def test_hostile_text_reaches_no_terminal(backscroll, tmp_path):
    hostile = "before\x1b]52;c;ZXZpbA==\x07\x9b31m\u202egnp.exe\x00 \u2066after\ufeff\r\nnext"
    path = tmp_path / "hostile.jsonl"
    call = {"id": "c", "name": hostile, "arguments": hostile}
    record = {"session": f"s{hostile}", "id": hostile, "role": "assistant", "content": hostile,
              "title": hostile, "cwd": f"/home/{hostile}", "model": hostile,
              "tool_calls": [call]}  # fmt: skip
    path.write_text(json.dumps(record) + "\n")
    assert backscroll("import", path).code == 0

    (session,) = backscroll("sessions", "list", "--json").json["sessions"]
    found = [
        backscroll("recall"),
        backscroll("recall", "after"),
        backscroll("recall", "--session", session["session"].replace("\x00", "")),
        backscroll("recall", "after", "--json"),
    ]

    for finished in found:
        assert not set(finished.out + finished.err) & CONTROLS
    assert "before" in found[0].out
    assert "next" in found[1].out
    assert found[3].json["results"][0]["messages"][0]["content"] == hostile


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--session", "nobody"], "not-found"),
        (["--session", "s1", "--around", "m9"], "not-found"),
        (["--around", "m1"], "query"),
        (["x", "--role", "wizard"], "query"),
        (["x", "--since", "someday"], "query"),
        (["x", "--until", "2026-02-30"], "query"),
    ],
)
def test_what_cannot_be_recalled_is_said_in_words(filled, arguments, code):
    finished = filled("recall", *arguments)
    document = filled("recall", "--json", *arguments)

    assert finished.code == document.code == 1
    assert finished.err.startswith(f"{code}: ")
    assert finished.out == ""
    assert document.json["error"]["code"] == code


@pytest.mark.parametrize(
    "arguments",
    [
        ["--limit", "-1"],
        ["--limit", "many"],
        ["--window", "0"],
        ["--window", "1.5"],
        ["--sort", "sideways"],
        ["--detail", "some"],
        ["--deadline", "0"],
        ["--limit", "99999999999999999999"],
    ],
)
def test_bad_usage_of_recall_exits_with_two(backscroll, arguments):
    finished = backscroll("recall", "x", *arguments)

    assert finished.code == 2
    assert finished.err.startswith("usage: ")
    assert finished.out == ""


@pytest.mark.parametrize(
    "query",
    ['"half', '""', "(", "*", "AND OR NOT", "NEAR(a b)", "-x", "%", "_", "\\", "x:y", "^",
     "role:wizard", "before:2026-99-99", "\udcff", "订" * 30_000],
)  # fmt: skip
def test_no_question_is_an_error(filled, query):
    finished = filled("recall", "--json", "--", query)

    assert finished.code == 0
    assert isinstance(finished.json["results"], list)
    assert finished.json["why"]


def test_numbers_beyond_their_bounds_are_brought_within(filled):
    wide = filled("recall", "--limit", "500", "--json").json
    window = filled("recall", "--session", "s1", "--around", "m1", "--window", "999", "--json").json

    assert len(wide["results"]) == 10
    assert len(window["results"][0]["messages"]) == 3


def test_an_answer_cut_short_is_partial(filled):
    finished = filled("recall", "the", "--deadline", "0.000001", "--json")

    assert finished.code == 3
    assert finished.json["complete"] is False
    assert finished.json["reason"] == "query_timeout"
