"""Runs the benches and prints their table.

    make bench                                 100,000 messages
    make bench ARGS="--messages 1000000"       a large store; its budgets grow with it
    make bench ARGS="--only search"            on the store of the last run
    make bench-peers                           first, to hold searches against hermes-agent too
    make bench ARGS="--write"                  the table also goes to docs/BENCHMARKS.md

Exits with 1 when a budget is missed.
"""

import argparse
import hashlib
import shutil
import sys
from pathlib import Path

from tests.bench import generator, measuring, vocabulary
from tests.bench.measuring import ROOT, Row

BENCHES = {
    name: f"tests.bench.bench_{name}"
    for name in (
        *("import", "homes", "follow", "large", "search", "recall", "window", "limits", "backfill"),
        *("upkeep", "sizes"),
        "peers",
    )
}
PAGE = ROOT / "docs" / "BENCHMARKS.md"
START, END = "<!-- make bench: {} messages -->", "<!-- end -->"


def corpus(folder: Path, messages: int, seed: int) -> Path:
    """Return a generated history; an earlier one of the same generator is used again."""
    sources = [Path(module.__file__ or "").read_bytes() for module in (generator, vocabulary)]
    version = hashlib.sha256(b"".join(sources)).hexdigest()[:12]
    found = folder / f"corpus-{messages}-{seed}-{version}"
    if not found.exists():
        print(f"making {messages:,} messages ...", file=sys.stderr)
        made = found.with_suffix(".new")
        shutil.rmtree(made, ignore_errors=True)
        sessions = max(5, messages // 200)
        generator.write(made, messages=messages, sessions=sessions, seed=seed)
        made.rename(found)
    return found


def write_page(text: str, messages: int) -> None:
    """Put the table into its place of the page, or at its end."""
    start = START.format(messages)
    page = PAGE.read_text(encoding="utf-8")
    before, found, rest = page.partition(start)
    after = rest.partition(END)[2] if found else "\n"
    PAGE.write_text(f"{before}{start}\n{text}\n{END}{after}", encoding="utf-8")


def main() -> int:
    """Run what the arguments ask for; 1 when a budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--only", choices=sorted(BENCHES), nargs="+", default=list(BENCHES))
    parser.add_argument("--write", action="store_true", help="keep the table in docs/BENCHMARKS.md")
    args = parser.parse_args()
    machine = measuring.machine()
    made = corpus(args.folder, args.messages, args.seed)
    store = args.folder / f"store-{args.messages}"
    rows: list[Row] = []
    for name, module in BENCHES.items():
        if name in args.only:
            print(f"measuring {name} ...", file=sys.stderr)
            rows += [Row(**row) for row in measuring.in_own_process(module, made, store)]
    text = f"{machine}\n\n{measuring.table(rows)}\n"
    print(text)
    if args.write:
        write_page(text, args.messages)
    return int(any(row.ok is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
