"""What the user's machine, files or text can cause.

A `CoreError` is expected: it is shown in words, and the command line exits with 1.
`TimeoutError` and `asyncio.CancelledError` stay the builtins. Anything else is a bug.
"""


class CoreError(Exception):
    """An expected failure. `code` is stable and the same for every message of a class."""

    code = "error"


class QueryError(CoreError):
    """The query cannot be answered as asked (an option out of range, say)."""

    code = "query"


class NotFoundError(CoreError):
    """No session or message of this name is in the store."""

    code = "not-found"


class AmbiguousError(CoreError):
    """A name fits more than one session; the longer form `source/id` tells them apart."""

    code = "ambiguous"


class SettingError(CoreError):
    """A setting or an argument is outside what it may be."""

    code = "setting"


class RunningError(CoreError):
    """The same action is under way already, here or in another program."""

    code = "running"


class RefusedError(CoreError):
    """Upkeep that would not be safe now, or that has to be confirmed first; nothing was done."""

    code = "refused"


class SourceError(CoreError):
    """A place or file cannot be imported. `path` is the file, `line` its line where known."""

    code = "source"

    def __init__(self, message: str, *, path: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


class StoreError(CoreError):
    """The store's file, or the machine below it, does not do what it should."""

    code = "store"


class NotAStoreError(StoreError):
    """The file is not a store of ours; it was left as it is."""

    code = "not-a-store"


class StoreBusyError(StoreError):
    """Another process held the write lock for longer than we wait."""

    code = "store-busy"


class StoreFullError(StoreError):
    """The disk is full; what was being written is not stored."""

    code = "store-full"


class StoreReadOnlyError(StoreError):
    """The store cannot be written to, by its place or by its schema."""

    code = "store-read-only"


class StoreMovedError(StoreError):
    """The file that is open is no longer at its path: another has taken its place, or none."""

    code = "store-moved"


class StoreCorruptError(StoreError):
    """The file is damaged; it was left as it is."""

    code = "store-corrupt"


class SchemaTooNewError(StoreReadOnlyError):
    """The file was written by a later version of this program."""

    code = "schema-too-new"

    def __init__(
        self, found: int, newest: int, consequence: str = "it can be read but not written"
    ) -> None:
        super().__init__(
            f"the store has schema {found}, this version knows up to {newest}: {consequence}"
        )
        self.found = found
        self.newest = newest


class TokenizerError(CoreError):
    """The CJK tokenizer cannot be built, found or loaded."""

    code = "tokenizer"
