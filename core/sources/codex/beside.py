"""What lies beside the rollouts: the prompt history, and the names of older releases.

`history.jsonl` is `{session_id, ts, text}` with `ts` in seconds, `session_index.jsonl` is
`{id, thread_name, updated_at}`. Both are rewritten in place, so nothing depends on where a line is.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from core.sources.codex import rollout_files
from core.sources.codex.survey import JsonDict
from core.sources.codex.texts import same_words, string, title_of
from core.sources.instants import instant_ms
from core.sources.lines import JsonObject, objects
from core.sources.records import MessageRecord, ReadTo, Record, SessionRecord
from core.types import Origin, Role, TimeQuality, TitleSource

HISTORY = "history.jsonl"
NAMES = "session_index.jsonl"


def is_prompt(value: JsonDict) -> bool:
    """Tell whether the object is a line of the prompt history."""
    return "session_id" in value and "ts" in value and isinstance(value.get("text"), str)


def read_history(path: Path) -> Iterator[Record]:
    """Yield the prompts of sessions that have no rollout; with one they would be told twice."""
    told: Counter[str] = Counter()
    with path.open("rb") as stream:
        for found in objects(stream, is_prompt):
            if not isinstance(found, JsonObject):
                yield found
            elif is_prompt(found.value):
                session = str(found.value["session_id"])
                if rollout_files.sibling(path, session) is None:
                    yield from _prompt(session, found, told)
    yield ReadTo(path.stat().st_size, path.stat().st_size)


def _prompt(session: str, found: JsonObject, told: Counter[str]) -> Iterator[Record]:
    text = found.value["text"]
    at_ms = instant_ms(found.value["ts"])
    if not told[session]:
        yield SessionRecord(
            session, title=title_of(text), title_source=TitleSource.DERIVED, started_at_ms=at_ms
        )
    told[session] += 1
    # As a rollout's own messages are named, so that both would meet.
    digest = blake2b(f"{Role.USER}\0{same_words(text)}".encode(), digest_size=8).hexdigest()
    told[f"{session}:{digest}"] += 1
    count = told[f"{session}:{digest}"]
    yield MessageRecord(
        session=session,
        uid=f"{session}:{digest}" if count == 1 else f"{session}:{digest}.{count}",
        role=Role.USER,
        content=text,
        origin=Origin.HUMAN,
        position=(at_ms or 0) * 1000 + told[session] % 1000,
        created_at_ms=at_ms,
        time_quality=TimeQuality.NONE if at_ms is None else TimeQuality.EXACT,
        raw_ref=found.raw_ref,
    )


def indexed_title(path: Path, session: str) -> str | None:
    """Return the name that the index beside a rollout gives its session."""
    names = rollout_files.home_of(path) / NAMES
    try:
        facts = names.stat()
    except OSError:
        return None
    return _names(names, (facts.st_mtime_ns, facts.st_size)).get(session)


@lru_cache(maxsize=4)
def _names(path: Path, stamp: tuple[int, int]) -> Mapping[str, str]:  # noqa: ARG001 - key
    found: dict[str, str] = {}
    with path.open("rb") as stream:
        for line in objects(stream, lambda value: "thread_name" in value):
            if isinstance(line, JsonObject):
                name = string(line.value.get("thread_name"))
                if name:
                    found[str(line.value.get("id"))] = name
    return found
