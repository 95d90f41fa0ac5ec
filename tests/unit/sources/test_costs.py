"""What a hostile file of one shape costs: twice as much of it about twice the time, never four."""

import json
import time

import pytest

from core.sources import claude_code, gemini_cli, message_tree
from core.sources.message_tree import Link

TIMES = 16
LESS, MORE = 500, 500 * TIMES


def siblings(count):
    names = [f"n{number}" for number in range(count)]
    links = {name: Link("root") for name in names}
    links["root"] = Link(None, names, is_root=True)
    return lambda _folder: list(message_tree.walk(links))


def one_message_in_many_lines(count):
    line = {"type": "assistant", "sessionId": "s", "timestamp": "2026-08-05T10:00:00Z"}
    said = [{"id": "m", "content": [{"type": "text", "text": f"{n} said"}]} for n in range(count)]
    told = [line | {"uuid": f"u{n}", "message": each} for n, each in enumerate(said)]
    return lambda folder: list(claude_code.read(write(folder / "s.jsonl", told)))


def a_new_list_in_each_line(count):
    told = [{"sessionId": "s", "startTime": "2026-08-05T10:00:00Z", "kind": "main"}]
    for number in range(count):
        message = {"id": f"m{number}", "type": "user", "content": "x"}
        told.append({"$set": {"messages": [message]}})
    return lambda folder: list(gemini_cli.read(write(folder / "session-x.jsonl", told)))


def write(path, lines):
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


@pytest.mark.parametrize(
    "shape",
    [siblings, one_message_in_many_lines, a_new_list_in_each_line],
    ids=lambda s: s.__name__,
)
def test_what_a_shape_costs_grows_as_it_does(shape, tmp_path):
    def least(count):
        work, took = shape(count), []
        for _ in range(3):
            began = time.process_time()
            work(tmp_path)
            took.append(time.process_time() - began)
        return min(took)

    assert least(MORE) < least(LESS) * TIMES * 5
