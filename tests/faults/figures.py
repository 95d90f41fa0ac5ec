"""The figures of a run: each proof notes its own, and `make faults` prints them as one table."""

import json
import os
from pathlib import Path
from typing import NamedTuple

FILE_VARIABLE = "BACKSCROLL_FAULTS_FIGURES"


class Figure(NamedTuple):
    """One line of the table: the row of the goals, what was done, and what was found."""

    row: str
    what: str
    reached: str


def note(row: str, what: str, reached: str) -> None:
    """Keep a figure where the run collects them; of no effect elsewhere."""
    place = os.environ.get(FILE_VARIABLE)
    if place:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(json.dumps(Figure(row, what, reached), ensure_ascii=False) + "\n")


def noted(place: Path) -> list[Figure]:
    """Return what was noted, in order of the goals' rows."""
    lines = place.read_text(encoding="utf-8").splitlines() if place.exists() else []
    found = [Figure(*json.loads(line)) for line in lines]
    return sorted(found, key=lambda each: (int(each.row.split("-")[0]), each.what))


def table(found: list[Figure]) -> str:
    """Return the figures as a Markdown table; proofs that reached the same share a line."""
    together: dict[tuple[str, str], list[str]] = {}
    for row, what, reached in found:
        together.setdefault((row, reached), []).append(what)
    lines = [f"| {row} | {'; '.join(w)} | {reached} |" for (row, reached), w in together.items()]
    return "\n".join(["| row | proof | reached |", "|---|---|---|", *lines])


def percentiles(seconds: list[float]) -> str:
    """Return p50, p99 and the highest of some times, in milliseconds."""
    ordered = sorted(seconds)
    at = (ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100], ordered[-1])
    return "p50 {:.0f}, p99 {:.0f}, max {:.0f} ms".format(*(1000 * each for each in at))
