"""Why a session is not seen: in the store, hidden there, or in the files where it came from.

It never says that something is not there when it did not look everywhere.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import apsw

from core.recall.hidden import Stored, StoredFile, in_store
from core.source_types import Absence, AbsenceFinding
from core.sources import detect
from core.sources.raw_text import MOST_BYTES, MOST_S, RawLook, RawMatch, RawPlace, look
from core.types import FoundSource

__all__ = ["explain", "in_store", "judged", "looked", "places_of"]

_ORDER = (
    "visible",
    "trashed",
    "deleted",
    "taken_back",
    "archived",
    "kind",
    "empty",
    "unreadable",
    "failed",
    "changed",
    "not_imported",
    "not_watched",
    "in_file",
    "lineage",
    "gone",
    "removed",
    "nowhere",
)
_DATABASES = (".db", ".sqlite", ".sqlite3", ".vscdb")


def explain(
    db: apsw.Connection,
    text: str,
    found: Iterable[FoundSource] | None = None,
    *,
    most_s: float = MOST_S,
    most_bytes: int = MOST_BYTES,
) -> Absence:
    """Tell why the session of an id, a title or a phrase is not seen, or that it is.

    Args:
        db: a reader of the store.
        text: an id or its beginning, `source/id`, a link, a title, or words as they were said.
        found: the places found on this machine; looked for where None.
        most_s: for how long files are read.
        most_bytes: how much of them is read.
    """
    began = time.monotonic()
    stored = in_store(db, text)
    raw = looked(stored, text, found, most_s=most_s, most_bytes=most_bytes)
    return judged(stored, raw, text, time.monotonic() - began)


def looked(
    stored: Stored,
    text: str,
    found: Iterable[FoundSource] | None = None,
    *,
    most_s: float = MOST_S,
    most_bytes: int = MOST_BYTES,
    stop: Callable[[], bool] = lambda: False,
) -> RawLook:
    """Look into the files of every place that is known, until `stop` says yes.

    No store is needed. What the store shows already needs no look.
    """
    if any(each.kind == "visible" for each in stored.findings):
        return RawLook()
    if found is None:
        found = detect.found_on_this_machine()
    return look(text, places_of(stored, found), most_s, most_bytes, stop, stored.left_alone)


def places_of(stored: Stored, found: Iterable[FoundSource]) -> list[RawPlace]:
    """Return where to look: what is watched, was found on this machine, or was read before.

    Of what was read before the folders are looked into, for what is new beside it.
    """
    places = [RawPlace(each.path, each.kind) for each in stored.watched]
    places += [RawPlace(each.path, each.kind) for each in found if os.path.lexists(each.path)]
    covered = tuple(each.path.rstrip("/\\") + os.sep for each in places)
    alone = (path for path, each in stored.files.items() if each.state != "gone")
    folders = {os.path.dirname(path) for path in alone if not path.startswith(covered)}  # noqa: PTH120 (as stored)
    places += [RawPlace(path, "", deep=False) for path in sorted(folders)]
    return list({each.path: each for each in reversed(places)}.values())[::-1]


def judged(stored: Stored, raw: RawLook, text: str, elapsed_s: float) -> Absence:
    """Return what both looks come to."""
    findings = [*stored.findings]
    for match in raw.matches:
        told = [each.facts.get("session") for each in findings if each.kind == "deleted"]
        new = _of_match(match, stored)
        findings += [
            each for each in new if each.kind != "deleted" or each.facts["session"] not in told
        ]
    complete = stored.complete and raw.complete
    reasons = [f"the search was cut short ({stored.reason})"] if not stored.complete else []
    reason = "; ".join(reasons + raw.reasons)
    if not findings:
        findings.append(_nowhere(stored, raw, complete=complete))
    unique = {(each.kind, each.sentence): each for each in findings}
    return Absence(
        text=text,
        findings=tuple(sorted(unique.values(), key=lambda each: _ORDER.index(each.kind))),
        places=raw.places,
        files=raw.files,
        bytes=raw.bytes,
        elapsed_ms=elapsed_s * 1000,
        complete=complete,
        reason=reason,
    )


def _nowhere(stored: Stored, raw: RawLook, *, complete: bool) -> AbsenceFinding:
    where = (
        f"{_many(stored.messages, 'message')} of the store, and {_many(raw.files, 'file')}"
        f" ({_many(raw.bytes, 'byte')}) of {_many(raw.places, 'place')}"
    )
    if complete:
        return AbsenceFinding(
            "nowhere",
            f"Nothing of it was found: {where} were looked through to their ends.",
            "import the file that holds it, or name its place: backscroll import PATH",
        )
    return AbsenceFinding(
        "nowhere",
        f"Nothing of it was found in {where}, but not all was looked through.",
        "look again: with more time, or once those files can be read",
    )


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _of_match(match: RawMatch, stored: Stored) -> Iterator[AbsenceFinding]:
    """Yield why what a file holds is not seen."""
    known = stored.files.get(match.path)
    where = f"line {match.line:,} of {match.path}" if match.line else match.path
    name = _session_named(match, stored)
    if name:
        yield AbsenceFinding(
            "deleted",
            f"{where} has it, of the session {name}, which you deleted for good.",
            f"backscroll trash forget {name}, then import again",
            path=match.path,
            facts={"session": name, "line": match.line},
        )
        return
    if known is None or known.state == "gone":
        yield AbsenceFinding(
            "not_imported",
            f"{where} has it, and this file was not imported yet.",
            f"backscroll import {match.path}",
            path=match.path,
            facts={"line": match.line, "place": match.place.path},
        )
        yield from _of_place(match, stored)
        return
    yield from _of_read(match, known, where, stored)


def _session_named(match: RawMatch, stored: Stored) -> str:
    """Return the deleted session that a file is named after, '' where it is none."""
    stem = Path(match.path).name.removesuffix(".zst").rsplit(".", 1)[0]
    tried = (stem, stem[-36:])  # Codex puts the time before the id
    return next((each for each in tried if each and stored.is_deleted(each)), "")


def _of_read(
    match: RawMatch, known: StoredFile, where: str, stored: Stored
) -> Iterator[AbsenceFinding]:
    """Yield why a file that was read holds what the store does not show."""
    facts: dict[str, str | int] = {"line": match.line, "place": match.place.path}
    bad = next((why for line, why in known.bad if line == match.line and match.line), "")
    if bad:
        yield AbsenceFinding(
            "unreadable",
            f"{where} has it, but that record could not be read: {bad}.",
            path=match.path,
            facts=facts | {"reason": bad},
        )
    elif known.state == "failed":
        yield AbsenceFinding(
            "failed",
            f"{where} has it, but the file could not be read to its end: {known.error}.",
            f"backscroll import {match.path}",
            path=match.path,
            facts=facts | {"reason": known.error},
        )
    elif _grew(match, known):
        yield AbsenceFinding(
            "changed",
            f"{where} has it, and the file was changed since it was read last.",
            f"backscroll import {match.path}",
            path=match.path,
            facts=facts,
        )
        yield from _of_place(match, stored)
    elif not stored.findings:
        yield AbsenceFinding(
            "in_file",
            f"{where} has it. The file was read, but these words are no part of a message that"
            " is shown: a name, a setting, or a record that is left where it is.",
            path=match.path,
            facts=facts,
        )


def _grew(match: RawMatch, known: StoredFile) -> bool:
    """Whether a file is other than when it was read.

    The size of a database that was read is that of several files; its time is the latest.
    """
    is_database = match.path.endswith(_DATABASES)
    return match.mtime_ns > known.mtime_ns or (not is_database and match.size != known.size)


def _of_place(match: RawMatch, stored: Stored) -> Iterator[AbsenceFinding]:
    holding = [
        each
        for each in stored.watched
        if match.path == each.path or match.path.startswith(each.path.rstrip("/\\") + os.sep)
    ]
    if any(not each.paused for each in holding):
        return
    why = "watching it is paused" if holding else "it is not watched"
    yield AbsenceFinding(
        "not_watched",
        f"What is new in {match.place.path} is not read by itself: {why}.",
        f"backscroll sources watch {match.place.path}",
        path=match.place.path,
        facts={"place": match.place.path, "paused": int(bool(holding))},
    )
