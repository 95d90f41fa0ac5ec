"""Numbers as the ledger words them."""


def counted(count: int, noun: str) -> str:
    """Return `count noun`, with thousands set off and an s when there is not one."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
