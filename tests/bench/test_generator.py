"""The generated history is what the benches say it is, and the same everywhere."""

import json

from core.sources import claude_code
from core.sources.records import BadSourceRecord, MessageRecord, UnknownRecord
from core.text import has_cjk
from core.types import Role
from tests.bench import generator


def files(folder):
    return sorted(folder.rglob("*.jsonl"))


def test_a_seed_always_makes_the_same_files(tmp_path):
    for name in ("one", "two"):
        generator.write(tmp_path / name, messages=300, sessions=5, seed=7)
    one, two = (
        [(path.relative_to(tmp_path / name), path.read_bytes()) for path in files(tmp_path / name)]
        for name in ("one", "two")
    )
    assert one == two


def test_roles_sizes_and_languages_are_an_agents(tmp_path):
    size = generator.write(tmp_path, messages=4_000, sessions=60, seed=1)
    found = [record for path in files(tmp_path) for record in claude_code.read(path)]
    assert not [r for r in found if isinstance(r, BadSourceRecord | UnknownRecord)]
    messages = [r for r in found if isinstance(r, MessageRecord)]
    assert len(messages) == 4_000
    assert 650 < size / len(messages) < 950
    texts = dict.fromkeys(Role, 0)
    for message in messages:
        calls = json.dumps([call.arguments for call in message.tool_calls])
        texts[message.role] += len(message.content.encode()) + len(calls)
    assert 0.45 < texts[Role.TOOL] / sum(texts.values()) < 0.90
    cjk = sum(has_cjk(message.content) for message in messages)
    assert 0.2 < cjk / len(messages) < 0.4


def test_all_of_a_history_lies_in_the_past_however_large(tmp_path):
    generator.write(tmp_path, messages=2_000, sessions=100, seed=2)
    found = [record for path in files(tmp_path) for record in claude_code.read(path)]
    times = [r.created_at_ms for r in found if isinstance(r, MessageRecord)]
    known = sorted(time for time in times if time is not None)
    assert len(known) == 2_000
    years = (known[-1] - known[0]) / (365 * 86_400_000)
    assert 1.9 < years < 2.1
    assert known[-1] < (generator.ENDS_S + 30 * 86_400) * 1000
