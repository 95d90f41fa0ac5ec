"""Building the CJK tokenizer as one recorded action, with its log."""

from collections.abc import Iterator
from pathlib import Path

import apsw

from core.index import tokenizer
from core.types import Progress, TokenizerStatus
from core.upkeep import operations
from core.upkeep_types import Actor, Report


def install(db: apsw.Connection, prefix: Path, actor: Actor) -> Iterator[Progress | Report]:
    """Build the tokenizer's library below `prefix`, unless the right one is there.

    `Progress.what` is a line of the log, empty while a compiler works. In the ledger stands
    only what was really built.

    Raises:
        TokenizerError: as `tokenizer.building`.
    """
    found = tokenizer.verify(tokenizer.installed_in(prefix))
    if found.state == "verified":
        yield Report(found.reason, _facts(found))
        return
    with operations.recorded(db, "tokenizer.install", {"prefix": str(prefix)}, actor) as claim:
        steps = tokenizer.building(prefix)
        lines = 0
        while True:
            try:
                line = next(steps)
            except StopIteration as end:
                found = end.value
                break
            lines += bool(line)
            yield Progress(lines, None, "steps", line)
        claim.receipt.update(_facts(found))
        claim.outcome = found.reason
    yield Report(found.reason, _facts(found))


def _facts(found: TokenizerStatus) -> dict[str, object]:
    return {
        "path": found.path,
        "version": found.version,
        "fingerprint": found.fingerprint,
        "sha256": found.sha256,
        "built_for": found.built_for,
    }
