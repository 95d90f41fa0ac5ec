"""Counts tokens once for each answer, as Codex reports them.

`input_tokens` includes what came from the cache, totals grow over the session, and the same
count may be told again; sums of what is told are twice the truth.
"""

from collections.abc import Mapping
from typing import Any

from core.sources.codex.texts import mapping


class Tokens:
    """The tokens of one session. `sum` is what was counted so far."""

    def __init__(self) -> None:
        self._total: Mapping[str, Any] = {}
        self.sum: dict[str, int] = {}

    def told(self, info: object) -> dict[str, int]:
        """Return what one `token_count` event adds, nothing for a repeated one."""
        total = mapping(mapping(info).get("total_token_usage"))
        last = mapping(mapping(info).get("last_token_usage"))
        if total and total == self._total:
            return {}
        added = last or _difference(total, self._total)
        self._total = total or self._total
        return self.counted(added)

    def counted(self, counts: Mapping[str, Any]) -> dict[str, int]:
        """Add the counts of one answer and return them in our names."""
        usage = usage_of(counts)
        for name, tokens in usage.items():
            self.sum[name] = self.sum.get(name, 0) + tokens
        return usage


def _difference(total: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: n - before.get(name, 0) if isinstance(before.get(name, 0), int) else n
        for name, n in total.items()
        if isinstance(n, int)
    }


def usage_of(counts: Mapping[str, Any]) -> dict[str, int]:
    """Return token counts in our names; `input` is without what came from the cache."""
    told = {
        "input": counts.get("input_tokens"),
        "cached_read": counts.get("cached_input_tokens"),
        "output": counts.get("output_tokens"),
        "reasoning": counts.get("reasoning_output_tokens"),
    }
    usage = {name: n for name, n in told.items() if isinstance(n, int) and n >= 0}
    if "input" in usage:
        usage["input"] = max(0, usage["input"] - usage.get("cached_read", 0))
    return usage
