"""Any message is read to its last character, by offsets in Unicode characters."""

import io
import json
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.__main__ import main
from app.cli.mcp_answers import read_message
from core.store.connection import transaction
from tests.unit.store.making import message, store_at, store_messages

# Beside what Hypothesis thinks of: astral, combining marks, joiners, NUL, and pieces of graphemes
# that a page may cut off. Half of a surrogate pair is no character; an import makes it U+FFFD.
PIECES = st.sampled_from(
    [
        "a",
        "漢",
        "😀",
        "👩‍👩‍👧",
        "🇯🇵",
        "é",
        "が",
        "葛\U000e0100",
        "\x00",
        "\r\n",
        "\ufffd",
        "\ufeff",
        "\u202e",
    ]
)
CONTENTS = st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=60)


@cache
def stored():
    folder = Path(mkdtemp(prefix="reading-on"))
    db = store_at(folder)
    store_messages(db, message("m", "as it begins"))
    return folder, db


def shown(folder, *options):
    """What `show` prints for the one message, its store named as that of a test."""
    with pytest.MonkeyPatch.context() as patch, Captured() as captured:
        patch.setattr("app.cli.store_access.store_path", lambda _: folder / "profile" / "state.db")
        assert main(["show", "s", "--message", "m", "--json", *map(str, options)]) == 0
    return json.loads(captured.text)


class Captured:
    """Takes what is printed meanwhile, as the bytes a terminal gets."""

    def __enter__(self):
        self._patch = pytest.MonkeyPatch()
        self._bytes = io.BytesIO()
        self._patch.setattr(sys, "stdout", io.TextIOWrapper(self._bytes, "utf-8"))
        return self

    def __exit__(self, *_):
        sys.stdout.flush()
        self.text = self._bytes.getvalue().decode()
        self._patch.undo()


@given(content=CONTENTS, chars=st.integers(1, 7), start=st.integers(0, 10))
@example(content="", chars=1, start=0)
@example(content="\x00", chars=1, start=0)
@example(content="e\u0301\u0301\U0001d11e", chars=1, start=0)
@settings(max_examples=60, deadline=None)
def test_the_parts_of_a_message_are_the_message(content, chars, start):
    folder, db = stored()
    with transaction(db):
        db.execute("UPDATE messages SET content = ? WHERE uid = 'm'", (content,))

    texts, offset = [], start
    while offset is not None:
        part = shown(folder, "--offset", offset, "--chars", chars)
        assert part["offset"] == offset
        assert part["total_chars"] == len(content)
        assert part["chars"] == len(part["text"]) <= chars
        texts.append(part["text"])
        offset = part["next"]

    assert "".join(texts) == content[start:]


@given(content=CONTENTS, repeat=st.sampled_from([1, 300, 2_000]), chars=st.integers(500, 20_000))
@example(content="\x00", repeat=2_000, chars=12_000)
@example(content="\U000e0041", repeat=2_000, chars=12_000)
@settings(max_examples=40, deadline=None)
def test_an_agent_reads_the_same_in_answers_that_fit(content, repeat, chars):
    _, db = stored()
    content *= repeat
    with transaction(db):
        db.execute("UPDATE messages SET content = ? WHERE uid = 'm'", (content,))

    texts, offset = [], 0
    while offset is not None:
        given_arguments = {"session": "s", "message": "m", "offset": offset, "chars": chars}
        answer = read_message(db, given_arguments)
        assert len(answer) <= 16_000
        part = json.loads(answer)
        assert part["chars"] == len(part["text"]) <= 12_000
        assert part["total_chars"] == len(content)
        texts.append(part["text"])
        offset = part["next"]

    assert "".join(texts) == content
