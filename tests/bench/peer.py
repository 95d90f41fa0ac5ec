"""Asks hermes-agent's own store the questions of the bench, in the environment that holds it.

    build/peers/bin/python tests/bench/peer.py CORPUS FOLDER < QUESTIONS

Runs on the standard library and that package alone; nothing of this program is imported, and
nothing of it is in the environment. The corpus comes in by the package's own calls, once.
The first line it prints is the package's version. Then each line of QUESTIONS, a JSON list,
is answered by a line with [milliseconds, how many came]: ["search", term], ["window", session]
(20 messages around its middle) or ["list"] (the 50 newest sessions).
"""

import importlib.metadata
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def messages(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a transcript's messages as that store takes them."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield message(record["message"]["role"], record["message"]["content"])


def message(role: str, content: str | list[dict[str, Any]]) -> dict[str, Any]:
    """Return one message: text, calls of tools, or the result of one."""
    if isinstance(content, str):
        return {"role": role, "content": content}
    text = "\n".join(block["text"] for block in content if block["type"] == "text")
    calls = [block for block in content if block["type"] == "tool_use"]
    results = [block for block in content if block["type"] == "tool_result"]
    if results:
        call = results[0]["tool_use_id"]
        return {"role": "tool", "content": results[0]["content"], "tool_call_id": call}
    made: dict[str, Any] = {"role": role, "content": text}
    if calls:
        made["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["input"])},
            }
            for call in calls
        ]
    return made


def store_of(state: Any, corpus: Path, folder: Path) -> Any:
    """Return the peer's store of the corpus; it is made where it is missing."""
    done = folder / "done"
    path = folder / "state.db"
    if not done.exists():
        for left in folder.glob("state.db*"):
            left.unlink()
        print("the peer imports the history ...", file=sys.stderr)
        db = state.SessionDB(path)
        for file in sorted(corpus.rglob("*.jsonl")):
            db.create_session(file.stem, "cli")
            db.replace_messages(file.stem, list(messages(file)))
        db.close()
        done.touch()
    return state.SessionDB(path)


def works(db: Any, question: list[str]) -> Callable[[], Any]:
    """Return the call that answers a question."""
    match question:
        case ["search", term]:
            return lambda: db.search_messages(term, limit=20)
        case ["window", session]:
            rows = db.get_messages(session)
            anchor = rows[len(rows) // 2]["id"]
            return lambda: db.get_messages_around(session, anchor, window=20)["window"]
        case _:
            return lambda: db.list_sessions_rich(limit=50, order_by_last_active=True)


def main() -> None:
    """Answer the questions of the standard input, line by line."""
    import hermes_state

    corpus, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    db = store_of(hermes_state, corpus, folder)
    print(json.dumps(importlib.metadata.version("hermes-agent")), flush=True)
    for line in sys.stdin:
        work = works(db, json.loads(line))
        began = time.perf_counter()
        found = work()
        print(json.dumps([(time.perf_counter() - began) * 1000, len(found)]), flush=True)
    db.close()


if __name__ == "__main__":
    main()
