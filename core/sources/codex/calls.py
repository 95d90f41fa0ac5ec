"""Which result belongs to which call.

A call id may be given to two different calls, and old files have none: results answer the calls
of their id (or, without one, of their name) in order.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from core.sources.codex.texts import arguments_of, mapping, string, type_of
from core.types import ToolCall, ToolStatus

# These hold their own result: no output line follows.
_WHOLE = ("web_search_call", "image_generation_call")
_ENDS = {"completed": ToolStatus.SUCCEEDED, "failed": ToolStatus.FAILED}


class Calls:
    """The calls of one session, those without a result first in line."""

    def __init__(self) -> None:
        self._made: dict[str, int] = {}
        self._open: dict[str, deque[tuple[str, str]]] = {}
        self._last: dict[str, tuple[str, str]] = {}

    def made(self, payload: Mapping[str, Any], name: str, place: str) -> ToolCall:
        """Return the call with an id that no other call of the session has.

        The second call of one id gets `#2`; a call without one is named by its `place`.
        """
        function = mapping(payload.get("function"))
        name = name or string(payload.get("name")) or string(function.get("name")) or "tool"
        native = string(payload.get("call_id")) or string(payload.get("id"))
        unique = place
        if native:
            self._made[native] = count = self._made.get(native, 0) + 1
            unique = native if count == 1 else f"{native}#{count}"
        status = ToolStatus.UNKNOWN
        if type_of(payload) in _WHOLE:
            status = _ENDS.get(str(payload.get("status")), status)
        else:
            self._open.setdefault(native or "", deque()).append((unique, name))
        return ToolCall(unique, name, arguments_of({**function, **payload}), status)

    def answered(self, payload: Mapping[str, Any]) -> tuple[str | None, str | None]:
        """Return (id, tool name) of the call that this result answers.

        A result that nothing called keeps its own id and name.
        """
        native = string(payload.get("call_id"))
        name = string(payload.get("name"))
        waiting = self._open.get(native or "")
        if not waiting:
            return self._last.get(native, (native, name)) if native else (None, name)
        same = next((call for call in waiting if call[1] == name), None)
        call = same or waiting[0]
        waiting.remove(call)
        if native:
            self._last[native] = call
            if not waiting:
                del self._open[native]
        return call
