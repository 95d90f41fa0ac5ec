"""What the ledger says of an import: which places were read, and what came of them; no text."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from core.types import ImportReport
from core.upkeep.wording import counted
from core.upkeep_types import OperationState

KIND = "import"
_MOST_PATHS = 20


class Ended(NamedTuple):
    """How an import ended, as `operations.finish` writes it down."""

    state: OperationState
    outcome: str
    receipt: dict[str, object]


def arguments(paths: Sequence[Path], kind: str | None) -> dict[str, object]:
    """Return what tells one import from another: its places as they were given.

    Of very many the first are named, and all together by a hash.
    """
    names = [_as_text(path) for path in paths]
    told: dict[str, object] = {"paths": names[:_MOST_PATHS], "kind": kind}
    if len(names) > _MOST_PATHS:
        told["more"] = len(names) - _MOST_PATHS
        told["all"] = hashlib.blake2b("\0".join(names).encode(), digest_size=16).hexdigest()
    return told


def ended(report: ImportReport) -> Ended:
    """Return how an import ended: `failed` where nothing of what it was given could be read."""
    is_read = any(file.outcome != "failed" for file in report.files) or bool(report.skipped)
    outcome = (
        f"{counted(report.new, 'new message')}, {report.changed:,} changed;"
        f" {counted(report.skipped, 'file')} skipped, {report.failed:,} failed"
    )
    return Ended(
        "failed" if report.failed and not is_read else "succeeded", outcome, receipt(report)
    )


def receipt(report: ImportReport) -> dict[str, object]:
    """Return what an import has stored so far, in numbers."""
    return {
        "new": report.new,
        "changed": report.changed,
        "skipped": report.skipped,
        "failed": report.failed,
        "conflicts": report.conflicts,
    }


def _as_text(path: Path) -> str:
    """Return a path as valid text: a file may be named by any bytes."""
    return str(path).encode(errors="surrogateescape").decode(errors="replace")
