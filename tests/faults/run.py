"""Runs the proof under faults for minutes and prints its figures as one table.

    make faults                                some minutes on two cores
    make faults ARGS="--form long"             a thousand kills of each kind, 20,000 images: hours
    make faults ARGS="--only power_cut kills"  some of it
    make faults ARGS="--write"                 the table also goes to docs/RELIABILITY.md

Exits with 1 when a proof fails; its figure is then not in the table.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.faults import figures

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "RELIABILITY.md"
START, END = "<!-- make faults -->", "<!-- end -->"
ALONE = ("writers",)
"""What measures times, and so has the machine to itself."""


def names() -> list[str]:
    """Return the proofs: what the files of this folder are called."""
    return sorted(path.stem.removeprefix("test_") for path in FOLDER.glob("test_*.py"))


def run(only: list[str], form: str, place: Path, processes: int) -> int:
    """Run these proofs; return pytest's exit code."""
    environment = os.environ | {
        "BACKSCROLL_FAULTS": form,
        figures.FILE_VARIABLE: str(place),
        "QT_QPA_PLATFORM": "offscreen",
    }
    spread = ["-n", str(processes), "--dist", "worksteal"] if processes > 1 else []
    files = [str(FOLDER / f"test_{name}.py") for name in only]
    command = [sys.executable, "-m", "pytest", "-m", "faults", "-q", "--timeout", "7200", *spread]
    return subprocess.run([*command, *files], env=environment).returncode


def write_page(text: str) -> None:
    """Put the table into its place of the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{START}\n{text}\n{END}{after}", encoding="utf-8")


def main() -> int:
    """Run what the arguments ask for; 1 when a proof fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--form", choices=("short", "minutes", "long"), default="minutes")
    parser.add_argument("--only", choices=names(), nargs="+", default=names())
    parser.add_argument("--write", action="store_true", help="keep the table in the page")
    args = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "figures.jsonl"
        together = [name for name in args.only if name not in ALONE]
        alone = [name for name in args.only if name in ALONE]
        codes = [run(together, args.form, place, processes=2)] if together else []
        codes += [run(alone, args.form, place, processes=1)] if alone else []
        found = figures.noted(place)
    minutes = (time.monotonic() - began) / 60
    text = (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {platform.system()},"
        f" Python {platform.python_version()}; {args.form} form, {minutes:.1f} minutes\n\n"
        f"{figures.table(found)}"
    )
    print(f"\n{text}")
    if args.write:
        write_page(text)
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
