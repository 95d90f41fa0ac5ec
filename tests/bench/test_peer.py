"""The peer is given the same messages, as its own store takes them."""

from core.sources import claude_code
from core.sources.records import MessageRecord
from tests.bench import generator, peer


def test_the_peer_gets_every_message_in_order(tmp_path):
    generator.write(tmp_path, messages=400, sessions=4, seed=3)
    for path in sorted(tmp_path.rglob("*.jsonl")):
        ours = [r for r in claude_code.read(path) if isinstance(r, MessageRecord)]
        theirs = list(peer.messages(path))
        assert [each["role"] for each in theirs] == [r.role.value for r in ours]
        assert [each["content"] for each in theirs] == [r.content for r in ours]
        for message, record in zip(theirs, ours, strict=True):
            names = [call["function"]["name"] for call in message.get("tool_calls", ())]
            assert names == [call.name for call in record.tool_calls]
            assert message.get("tool_call_id") == record.tool_call_id
