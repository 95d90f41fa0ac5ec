import json

import pytest

INDEXES = {"messages_fts", "messages_fts_trigram", "messages_fts_cjk"}


def test_real_history_of_four_kinds_is_found_from_the_cjk_index(filled):
    found = filled("search", "订阅", "--json").json

    assert found["search_path"] in ("cjk", "fts5+cjk")
    assert {(h["session"], h["message"]) for h in found["hits"]} == {("s1", "m1"), ("s1", "m3")}
    assert found["complete"] is True
    assert found["total_hits"] == 2
    assert found["total_is_exact"] is True
    assert found["index_status"]["messages_fts_cjk"]["ready"] is True
    assert set(found["index_status"]) == INDEXES
    for hit in found["hits"]:
        assert [hit["snippet"][start:end] for start, end in hit["marks"]] == ["订阅"]


def test_one_character_is_a_word(filled):
    found = filled("search", "漓", "--json").json

    assert [h["message"] for h in found["hits"]] == ["m2"]
    assert found["search_path"] in ("cjk", "fts5+cjk")


def test_a_latin_word_glued_to_cjk_is_found_in_any_case(filled):
    found = filled("search", "itgc", "--json").json

    hits = {(h["session"], h["message"]) for h in found["hits"]}
    assert hits == {("s1", "m2"), ("s2", "m1")}
    assert found["search_path"] in ("cjk", "fts5+cjk", "fts5")


def test_the_real_hermes_database_answers_a_phrase_of_its_own(filled):
    found = filled("search", "数据库连接池", "--json").json

    assert found["total_hits"] >= 1
    assert found["hits"][0]["source"] == "hermes"


def test_an_answer_in_words_says_its_path(filled):
    finished = filled("search", "订阅")

    assert finished.code == 0
    assert "CJK" in finished.out.splitlines()[0]
    assert "2 hits in " in finished.out.splitlines()[0]


def test_nothing_found_is_a_fact_not_an_error(filled):
    found = filled("search", "龘龘龘", "--json")

    assert found.code == 0
    assert found.json["hits"] == []
    assert found.json["messages_searched"] > 100


def test_a_second_import_stores_nothing_twice(filled):
    before = filled("status", "--json").json["store"]
    again = filled("import", filled.home.parent / "talk.jsonl", "--json").json

    assert (again["new"], again["changed"], again["failed"]) == (0, 0, 0)
    after = filled("status", "--json").json["store"]
    assert (after["sessions"], after["messages"]) == (before["sessions"], before["messages"])


def test_status_tells_the_store_the_indexes_and_the_tokenizer(filled):
    status = filled("status", "--json").json

    assert status["store"]["messages"] > 100
    assert set(status["indexes"]) == INDEXES
    for index in status["indexes"].values():
        assert index["state"] == "ready"
        assert index["coverage"] == 1.0
        assert index["todo"] == 0
    assert status["tokenizer"]["loads"] is True


def test_status_in_words_names_every_source_and_where_it_was_read(filled):
    told = filled("status").out

    for name in ("Claude Code (claude-code)", "Codex (codex)", "ChatGPT (chatgpt)", "Hermes (her"):
        assert name in told
    assert str(filled.home.parent) in told


def test_check_asks_every_index(filled):
    finished = filled("check", "--json")

    assert finished.code == 0
    assert finished.json["ok"] is True
    assert {check["name"] for check in finished.json["checks"]} >= INDEXES


def test_backfill_of_a_complete_store_finishes(filled):
    finished = filled("backfill", "--now", "--json")

    assert finished.code == 0
    assert {i["todo"] for i in finished.json["indexes"].values()} == {0}


def test_sessions_are_listed_page_by_page_without_gaps(filled):
    every = filled("sessions", "list", "--limit", "1000", "--json").json
    refs, token = [], None
    while True:
        after = ["--after", token] if token else []
        page = filled("sessions", "list", "--limit", "20", "--json", *after).json
        refs += [session["session"] for session in page["sessions"]]
        token = page["next"]
        if token is None:
            break

    assert refs == [session["session"] for session in every["sessions"]]
    assert len(set(refs)) == len(refs) == every["total"]
    times = [s["last_active_at_ms"] for s in every["sessions"] if s["last_active_at_ms"]]
    assert times == sorted(times, reverse=True)


def test_a_session_is_read_to_its_last_character(filled):
    page = filled("show", "s1", "--json").json
    assert [m["content"] for m in page["messages"]] == [
        "订阅的电影每次刷新都会重复下载",
        "漓江的水，入队两次 gen-itgc后",
        "exit 0: 订阅 done",
    ]
    assert page["next"] is None

    part = filled("show", "s1", "--message", "m2", "--offset", "3", "--chars", "4", "--json").json
    assert part["text"] == "水，入队"
    assert part["total_chars"] == 19
    assert part["next"] == 7


def test_a_message_that_was_taken_back_is_read_by_its_id_and_said_to_be(backscroll, tmp_path):
    path = tmp_path / "talk.jsonl"
    lines = (
        {"session": "s", "id": state, "role": "user", "content": state, "state": state}
        for state in ("active", "compacted", "rewound", "hidden")
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    backscroll("import", "--kind", "jsonl", path)
    for state in ("active", "compacted", "rewound", "hidden"):
        part = backscroll("show", "s", "--message", state, "--json").json
        assert (part["text"], part["state"]) == (state, state)


def test_a_name_that_is_not_there_is_an_expected_failure(filled):
    finished = filled("show", "no-such-session", "--json")

    assert finished.code == 1
    assert finished.json["error"]["code"] == "not-found"
    assert finished.err == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["search"],
        ["search", "x", "--limit", "0"],
        ["search", "x", "--sort", "sideways"],
        ["search", "x", "--session", ""],
        ["search", "x", "--role", " , "],
        ["search", "x", "--since", ""],
        ["recall", "x", "--exclude", ""],
        ["recall", "x", "--until", " "],
        ["searches", "save", "name", "x", "--since", ""],
        ["sessions", "list", "--source", ""],
        ["sessions"],
        ["show"],
        ["show", "s1", "--offset", "3"],
        ["show", "s1", "--message", "m1", "--from", "2"],
    ],
)
def test_bad_usage_exits_with_two(backscroll, arguments):
    finished = backscroll(*arguments)

    assert finished.code == 2
    assert finished.err.startswith("usage: ")
    assert finished.out == ""


def test_a_number_too_large_is_refused_with_the_largest(backscroll):
    finished = backscroll("search", "x", "--offset", str(2**31))

    assert finished.code == 2
    assert finished.err.startswith(
        "usage: argument --offset: 2147483648 is out of range: 0 to 2,147,483,647\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["search", "x", "--role", "wizard"], "query"),
        (["search", "x", "--since", "someday"], "query"),
        (["import", "/no/such/place"], "source"),
        (["import"], "source"),
        (["show", "x"], "not-found"),
    ],
)
def test_what_the_user_asked_wrongly_is_said_in_words(backscroll, arguments, code):
    finished = backscroll(*arguments)

    assert finished.code == 1
    assert finished.err.startswith(f"{code}: ")
    assert finished.out == ""


@pytest.mark.parametrize(
    "query",
    ['"', '""', "'", "(", ")", "((", "*", "**", "AND", "OR", "NOT", "NEAR(", "^", "{x}:y", "a AND",
     '"half', "\\", " ", "", "-x", "%", "_", "a OR (NOT b)", "body:x", "\udcff", "x" * 100_000],
)  # fmt: skip
def test_no_query_is_an_error(filled, query):
    finished = filled("search", "--json", "--", query)

    assert finished.code in (0, 3)
    assert isinstance(finished.json["hits"], list)
    assert finished.json["why"]


def test_a_query_may_start_with_a_dash(filled):
    finished = filled("search", "--json", "--", "-v")

    assert finished.json["query"] == "-v"


def test_terminal_output_holds_no_control_characters(backscroll, tmp_path):
    hostile = "before\x1b]52;c;ZXZpbA==\x07\x9b31m\u202egnp.exe after"
    path = tmp_path / "hostile.jsonl"
    record = {"session": f"s{hostile}", "id": "m", "role": "user", "content": hostile,
              "title": hostile}  # fmt: skip
    path.write_text(json.dumps(record) + "\n")
    backscroll("import", path)

    listing = backscroll("sessions", "list")
    found = backscroll("search", "after")
    document = backscroll("search", "after", "--json")

    for text in (listing.out, found.out, document.out):
        assert not set(text) & set("\x1b\x07\x9b\u202e")
    assert "before" in listing.out
    assert "after" in found.out
    assert document.json["hits"][0]["session"] == f"s{hostile}"


def test_global_options_stand_before_or_after_the_command(filled, tmp_path):
    first = filled("--json", "status").json
    other = filled("status", "--json", "--data-dir", tmp_path / "elsewhere").json

    assert first["store"]["messages"] > 100
    assert other["store"]["messages"] == 0
    assert str(tmp_path / "elsewhere") in other["store"]["path"]


def test_profiles_do_not_meet(filled):
    other = filled("--profile", "somebody-else", "search", "订阅", "--json").json

    assert other["hits"] == []
    assert other["messages_searched"] == 0


def test_a_broken_record_never_costs_a_file(backscroll, tmp_path):
    path = tmp_path / "mixed.jsonl"
    good = '{"session":"s","id":"%s","role":"user","content":"kept %s"}\n'
    path.write_text(good % ("a", "one") + "{broken\n" + good % ("b", "two"))

    finished = backscroll("import", path, "--json")

    assert finished.code == 3
    assert finished.json["new"] == 2
    (file,) = finished.json["files"]
    assert [(bad["line"], bool(bad["reason"])) for bad in file["bad_records"]] == [(2, True)]


@pytest.mark.parametrize("content", [b"", b"\x00\xff\x17random bytes" * 400])
def test_a_file_in_the_place_of_the_store_is_left_as_it_is(backscroll, content):
    backscroll("status")
    (store,) = backscroll.data.glob("profiles/*/state.db")
    for file in store.parent.glob("state.db*"):
        file.unlink()
    store.write_bytes(content)

    finished = backscroll("search", "x")

    assert finished.code == 1
    assert finished.err.startswith("not-a-store: ")
    assert str(store) in finished.err
    assert store.read_bytes() == content


def test_without_the_tokenizer_nothing_is_lost_and_the_answer_says_so(backscroll, tmp_path):
    path = tmp_path / "talk.jsonl"
    line = {"session": "s", "id": "m", "role": "user", "content": "电影订阅成功"}
    path.write_text(json.dumps(line) + "\n")
    without = {"BACKSCROLL_FTS5_CJK": str(tmp_path / "missing.so")}

    assert backscroll("import", path, env=without).code == 0
    found = backscroll("search", "订阅", "--json", env=without).json
    assert [h["message"] for h in found["hits"]] == ["m"]
    assert found["search_path"] == "like"
    assert found["index_status"]["messages_fts_cjk"]["state"] == "detached"

    backscroll("backfill", "--now")
    found = backscroll("search", "订阅", "--json").json
    assert [h["message"] for h in found["hits"]] == ["m"]
    assert found["search_path"] == "cjk"


def test_the_tokenizer_is_verified_by_using_it(backscroll, tmp_path):
    found = backscroll("install", "cjk", "--check", "--json")
    assert found.code == 0
    assert found.json["loads"] is True
    assert found.json["acceptance"] is True
    assert found.json["fingerprint"]

    missing = {"BACKSCROLL_FTS5_CJK": str(tmp_path / "missing.so")}
    found = backscroll("install", "cjk", "--check", "--json", env=missing)
    assert found.code == 1
    assert found.json["loads"] is False
    assert found.json["reason"]


def test_files_of_the_store_are_the_users_alone(filled):
    for path in filled.data.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_what_stands_inside_longer_words_is_counted_beside_the_hits(backscroll, tmp_path):
    path = tmp_path / "talk.jsonl"
    texts = ("the rule stands", "the ruler stands", "two rulers")
    path.write_text(
        "".join(
            json.dumps({"session": "s", "id": f"m{n}", "role": "user", "content": text}) + "\n"
            for n, text in enumerate(texts)
        )
    )
    backscroll("import", path)

    found = backscroll("search", "rule", "--json").json
    told = backscroll("search", "rule").out
    everything = backscroll("search", "rule", "--everything", "--json").json

    assert [hit["message"] for hit in found["hits"]] == ["m0"]
    assert found["inside_words"] == 2
    assert found["steps"][0]["hits"] == 1
    assert "also inside words: 2" in told.splitlines()
    assert {hit["message"] for hit in everything["hits"]} == {"m0", "m1", "m2"}
    assert everything["search_path"] == "like"
    assert everything["complete"] is True
    assert not any(everything["not_searched"].values())


def test_a_search_of_everything_has_a_minute_unless_told_otherwise():
    from app.cli.arguments import parse
    from app.cli.search import _request

    def seconds(*options):
        return _request(parse(["search", "x", *options])).deadline_s

    assert seconds() == 3.0
    assert seconds("--everything") == 60.0
    assert seconds("--everything", "--deadline", "5") == 5.0
