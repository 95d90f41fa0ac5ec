"""Facts as the command line words them: counts, times, sizes, the path of an answer."""

from datetime import datetime

from core.types import Progress, SearchResult

PATHS = {
    "cjk": "CJK index",
    "fts5": "word index",
    "fts5+cjk": "CJK and word index",
    "trigram": "trigram index",
    "like": "scan",
    "fts5_or": "word index, fewer words",
    "title": "titles",
    "empty": "browse",
}
_KIB = 1024


def local_time(at_ms: int | None) -> str:
    """Return a time in the system's zone to the minute, or 'no time'."""
    if at_ms is None:
        return "no time"
    return datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M")


def size(count: int) -> str:
    """Return a number of bytes with a unit, in powers of 1024."""
    value = float(count)
    for unit in ("B", "KiB", "MiB"):
        if value < _KIB:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= _KIB
    return f"{value:.1f} GiB"


def plural(count: int, noun: str) -> str:
    """Return `count noun`, with thousands set off and an s when there is not one."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def of_file(path: str, reason: str) -> str:
    """Return what there is to say of a file, its name once: most reasons begin with it."""
    return reason if reason.startswith(path) else f"{path}: {reason}"


def progress(step: Progress) -> str:
    """Return how far long work has come, in one line."""
    share = f" {step.done / step.total:.0%}" if step.total else ""
    return f"{step.what}{share} · {step.done:,} {step.unit}".strip()


def answer(result: SearchResult) -> str:
    """Return one line: which index answered, how much, how fast, over what."""
    parts = [
        PATHS[result.search_path],
        f"{_found(result)} in {plural(result.messages_searched, 'message')}",
        f"{result.elapsed_ms:.1f} ms",
        "complete" if result.complete else f"partial ({result.reason})",
    ]
    left_out = [f"{n:,} {_unsearched(what, n)}" for what, n in result.not_searched.items() if n]
    if left_out:
        parts.append("not searched: " + ", ".join(left_out))
    return " · ".join(parts) + f"\n{result.why}"


def _unsearched(what: str, count: int) -> str:
    words = what.replace("_", " ")
    return words.removesuffix("s") if count == 1 else words


def _found(result: SearchResult) -> str:
    hits = plural(result.total_hits, "hit")
    if result.total_is_exact:
        return hits
    if result.complete:
        return f"up to {hits}"
    return f"at least {hits}" if result.total_hits else "nothing found in time"
