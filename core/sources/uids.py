"""Ids for the messages of one session, whether its source gives them or not."""

import hashlib


class Uids:
    """Gives each message of one session the id under which it is known again.

    The source's own id where there is one. An id that comes again with other words names
    another message, which gets an id made of both. Without one the id is made of the words and
    of how often they were met before, so it stays the same while the session grows.
    """

    def __init__(self, session: str) -> None:
        self._session = session
        self._seen: dict[str, bytes] = {}
        self._ordinals: dict[bytes, int] = {}

    def of(self, native: str | None, *words: str) -> str:
        """Return the id of the message that says these words."""
        told = _hash("\0".join(words))
        if native is None:
            ordinal = self._ordinals.get(told, 0)
            self._ordinals[told] = ordinal + 1
            return _hash(f"{self._session}\0{told.hex()}\0{ordinal}").hex()
        if self._seen.setdefault(native, told) == told:
            return native
        return f"{native}~{told.hex()}"


def _hash(words: str) -> bytes:
    return hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=12).digest()
