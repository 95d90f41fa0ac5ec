"""VS Code's log of changes to a chat session, replayed to the session's last state.

`{"kind":0,"v":…}` is the whole state, `{"kind":1,"k":[path],"v":…}` sets (an empty path: the
whole), `{"kind":2,"k":[path],"v":[…],"i":n}` cuts an array to its first n elements and appends
(without `i` it only appends), `{"kind":3,"k":[path]}` deletes. So VS Code's own
`objectMutationLog`. Requests that a change took away are kept, as a person took them back.
"""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

REQUESTS = "requests"


class OperationError(Exception):
    """A change that cannot be made; the text says why."""


class Replay:
    """The state after the changes so far, and the requests that were taken back on the way.

    Memory: the session as it is, and every request that was taken back.
    """

    def __init__(self) -> None:
        self._root: dict[str, Any] = {"state": {}}
        self.undone: dict[str, tuple[int, Json]] = {}

    @property
    def state(self) -> Json:
        """The session as the last change left it."""
        state = self._root.get("state")
        return state if isinstance(state, dict) else {}

    def apply(self, change: Mapping[str, Any]) -> None:
        """Make a change.

        Raises:
            OperationError: it is none, or leads nowhere. The state is as it was.
        """
        kind, path = change.get("kind"), change.get("k", [])
        if kind == 0:
            path = []
        if not isinstance(path, list):
            raise OperationError("a change without a path")
        takes_away = path in ([], [REQUESTS]) and (kind != 2 or "i" in change)
        before = self._requests() if takes_away else {}
        if kind in (0, 1):
            self._set(path, change.get("v"))
        elif kind == 2:
            self._push(path, change.get("v"), change.get("i"))
        elif kind == 3:
            self._delete(path)
        else:
            raise OperationError("a change of a kind that is not known")
        if before:
            now = self._requests()
            self.undone.update((key, each) for key, each in before.items() if key not in now)

    def taken_back(self) -> list[tuple[int, Json]]:
        """Return the requests that are no longer in the session, with the places they had."""
        now = self._requests()
        return [each for key, each in self.undone.items() if key not in now]

    def _requests(self) -> dict[str, tuple[int, Json]]:
        listed = self.state.get(REQUESTS)
        found: dict[str, tuple[int, Json]] = {}
        for place, request in enumerate(listed if isinstance(listed, list) else ()):
            key = request.get("requestId") if isinstance(request, dict) else None
            if isinstance(key, str):
                found[key] = (place, request)
        return found

    def _holder(self, path: list[Any]) -> tuple[Any, Any]:
        """Return what holds the place that a path names, and the name of the place in it."""
        holder: Any = self._root
        steps = ["state", *path]
        for step in steps[:-1]:
            holder = _inside(holder, step)
        return holder, steps[-1]

    def _set(self, path: list[Any], value: Any) -> None:
        holder, name = self._holder(path)
        if isinstance(holder, list) and _is_index(name) and name == len(holder):
            holder.append(value)
            return
        if not isinstance(holder, dict) or not isinstance(name, str):
            _inside(holder, name)
        holder[name] = value

    def _push(self, path: list[Any], values: Any, keep: Any) -> None:
        holder, name = self._holder(path)
        if isinstance(holder, dict) and isinstance(name, str) and holder.get(name) is None:
            holder[name] = []
        array = _inside(holder, name)
        if not isinstance(array, list):
            raise OperationError("it appends to what is no list")
        if keep is not None:
            if not _is_index(keep) or keep > len(array):
                raise OperationError("it cuts a list behind its end")
            del array[keep:]
        array.extend(values if isinstance(values, list) else [] if values is None else [values])

    def _delete(self, path: list[Any]) -> None:
        holder, name = self._holder(path)
        if isinstance(holder, dict) and isinstance(name, str):
            holder.pop(name, None)
        else:
            _inside(holder, name)
            holder[name] = None  # as JavaScript does it: the others keep their places


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _inside(holder: Any, step: Any) -> Any:
    if isinstance(holder, dict) and isinstance(step, str) and step in holder:
        return holder[step]
    if isinstance(holder, list) and _is_index(step) and step < len(holder):
        return holder[step]
    raise OperationError("its path leads nowhere")
