"""Reads the rollouts of OpenAI Codex: `~/.codex/sessions`, archived ones and old shapes.

Formats of 2025-04 to 2026-09, told apart by the shape of each line. A session is known by the
id in its header, never by its path, since files move when they are archived. Only rollouts and
the prompt history are opened, nothing else of that folder.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from core.errors import SourceError
from core.sources import files as disk
from core.sources import found as places
from core.sources import there
from core.sources.codex import beside, old, rollout_files, survey
from core.sources.codex import rollout as rollout_reader
from core.sources.codex.kinds import CALLS, OUTPUTS
from core.sources.codex.survey import JsonDict
from core.sources.codex.texts import type_of
from core.sources.instants import instant
from core.sources.records import ReaderState, Record, SourceIdentity
from core.types import FoundSource, TimeQuality

KIND = "codex"
READER_VERSION = 1
# A text read while it was being written may be told in full by a later line of its own.
REWRITES = True
SUFFIXES = frozenset({".json", ".jsonl", ".zst"})
CHOOSES = "tree"

REFUSAL = (
    "this is what `codex exec --json` printed, not a saved session: "
    "the session itself is in ~/.codex/sessions"
)


def identity(path: Path) -> SourceIdentity:  # noqa: ARG001 - thread ids are unique in the world
    """Return the one source that all rollouts belong to, whatever folder they lie in."""
    return SourceIdentity(KIND, "", "Codex")


def recognises(path: Path) -> bool:
    """Tell whether it is a rollout, a prompt history, or a folder that holds rollouts.

    Looks at the first lines of a file, of a folder's first few files. What `codex exec --json`
    prints is recognised, so that `read` can refuse it in words.
    """
    if there.is_dir(path):
        return any(_is_ours(file) for file in islice(rollout_files.rollouts(path), _LOOKED_AT))
    return there.is_file(path) and _is_ours(path)


def files(path: Path) -> Iterator[Path]:
    """Yield the rollouts at or below a path, oldest first, then the prompt history in it."""
    if there.is_file(path):
        yield path
        return
    is_home = rollout_files.is_home(path)
    for file in rollout_files.rollouts(path):
        if is_home or (file.name != beside.HISTORY and _is_ours(file)):
            yield file
    history = path / beside.HISTORY
    if there.is_file(history) and _is_ours(history):
        yield history


def is_home(folder: Path) -> bool:
    """Tell whether the folder is laid out as Codex lays out its own."""
    return rollout_files.is_home(folder)


def found(env: Mapping[str, str], home: Path) -> Iterator[FoundSource]:
    """Yield the person's own home of Codex, archived sessions with it."""
    root = Path(env.get("CODEX_HOME") or home / ".codex")
    if not there.is_dir(root):
        return
    sizes = {
        path: size
        for folder in rollout_files.FOLDERS
        for path, size in places.sizes(root / folder, rollout_files.SUFFIXES)
        if rollout_files.NAME.search(path.name)
    }
    sessions = {disk.plain_name(path).name for path in sizes}  # packed, one may lie there twice
    yield places.found(KIND, root, "Codex", sessions=len(sessions), size=sum(sizes.values()))


def read(path: Path) -> Iterator[Record]:
    """Yield what a file holds in its own order, with what it shows of its parent's history.

    Raises:
        SourceError: the file is not a session, or cannot be read.
    """
    try:
        if path.name == beside.HISTORY:
            yield from beside.read_history(path)
        elif path.suffix == ".json":
            yield from old.read(path)
        elif any(survey.is_exec_stream(value) for value in _first(path)):
            raise SourceError(REFUSAL, path=str(path))
        else:
            yield from rollout_reader.read(path)
    except OSError as error:
        raise SourceError(error.strerror or str(error), path=str(path)) from error


def read_on(path: Path, before: ReaderState) -> Iterator[Record]:
    """Yield what was appended to a rollout since, and the messages that it completes.

    Raises:
        EarlierChangedError: the file has to be read whole; before the first record.
        SourceError: it cannot be read.
    """
    try:
        yield from rollout_reader.read_on(before.state)
    except OSError as error:
        raise SourceError(error.strerror or str(error), path=str(path)) from error


_LOOKED_AT = 20


def _is_ours(path: Path) -> bool:
    if path.name == beside.HISTORY:
        return any(beside.is_prompt(value) for value in _first(path))
    if path.suffix == ".json":
        return path.name.startswith("rollout-") and _starts_as_session(path)
    if path.name == beside.NAMES or not path.name.endswith(rollout_files.SUFFIXES):
        return False
    return any(_is_line(value) for value in _first(path))


def _is_line(value: JsonDict) -> bool:
    kind = type_of(value)
    if isinstance(value.get("payload"), dict):
        return kind in survey.ENVELOPES
    if survey.is_exec_stream(value) or survey.is_bare_meta(value):
        return True
    told = "role" in value or kind in CALLS or kind in OUTPUTS
    return told and "session" not in value and set(value) <= _BARE_KEYS and _has_time(value)


# A role and a text are in many formats: lines without an envelope hold no more than this.
_BARE_KEYS = frozenset(
    [
        "timestamp",
        "created_at",
        "type",
        "role",
        "content",
        "message",
        "model",
        "name",
        "function",
        "arguments",
        "result",
        "call_id",
        "output",
        "id",
        "text",
        "status",
        "summary",
        "encrypted_content",
    ]
)


def _has_time(value: JsonDict) -> bool:
    """Whether it has a time with a zone; gptme writes like lines, and times without one."""
    told = value.get("timestamp", value.get("created_at"))
    return isinstance(told, str) and instant(told)[1] == TimeQuality.EXACT


def _starts_as_session(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(1 << 16)
    return b'"session"' in start and (b'"items"' in start or b'"instructions"' in start)


def _first(path: Path) -> list[JsonDict]:
    """The first objects of a file; none if it cannot be unpacked or read."""
    try:
        with rollout_files.opened(path) as stream:
            return list(survey.first_objects(stream))
    except (OSError, EOFError, rollout_files.UnpackError):
        return []
