"""A piece of SQL together with what is bound in it."""

from __future__ import annotations  # apsw's types are known to type checkers alone

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw


@dataclass(frozen=True, slots=True)
class Sql:
    """SQL whose question marks stand for `bindings`, in their order."""

    text: str
    bindings: tuple[apsw.SQLiteValue, ...] = ()


EVERYTHING = Sql("true")


def both(*conditions: Sql) -> Sql:
    """Return the condition that all of `conditions` hold."""
    return _joined(" AND ", [c for c in conditions if c is not EVERYTHING])


def either(*conditions: Sql) -> Sql:
    """Return the condition that one of `conditions` holds."""
    return _joined(" OR ", list(conditions))


def _joined(operator: str, conditions: list[Sql]) -> Sql:
    if not conditions:
        return EVERYTHING
    if len(conditions) == 1:
        return conditions[0]
    text = operator.join(f"({condition.text})" for condition in conditions)
    return Sql(f"({text})", tuple(b for condition in conditions for b in condition.bindings))


def places(values: tuple[apsw.SQLiteValue, ...]) -> Sql:
    """Return a list in brackets for `IN`."""
    return Sql(f"({', '.join('?' * len(values))})", values)
