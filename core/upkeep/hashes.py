"""Whether a message read from a damaged file is the one that was stored."""

import hashlib
from collections.abc import Sequence

from core.upkeep.pages import Value

_HASH, _ROLE, _TOOL_NAME, _CONTENT, _REASONING, _CALLS = 4, 5, 10, 18, 21, 22


def is_whole(values: Sequence[Value]) -> bool:
    """Tell whether the columns of a message agree with its hash.

    One that calls tools is believed: what its calls were hashed as is not stored.
    See `core.history.bodies.content_hash`.
    """
    if values[_CALLS] is not None:
        return True
    parts = (
        values[_ROLE],
        values[_CONTENT],
        values[_REASONING] or "",
        "",
        values[_TOOL_NAME] or "",
    )
    told = "\0".join(map(str, parts)).encode(errors="surrogatepass")
    return hashlib.blake2b(told, digest_size=16).digest() == values[_HASH]
