"""Telling whether two tokenizers cut text alike, without trusting names or versions."""

import hashlib
import re

import apsw

from core.cjk_ranges import CJK_RANGES
from core.unicode61 import arguments
from core.word_ranges import SEPARATOR_RANGES

TOKENIZER = "cjk_unicode61"
ARGUMENTS = arguments(SEPARATOR_RANGES)
"""What every index of words gives to `unicode61`, straight or through `cjk_unicode61`."""

ENTRY_POINT = "sqlite3_ftscjk_init"  # named, so that a library may be tried under any file name
_SURROGATES = re.compile("[\ud800-\udfff]")
_SAMPLE_STEP = 37  # coprime to the sizes of Unicode's blocks, so each block is met at odd places
_LAST_SAMPLED = 0x323AF  # the last ideograph of Unicode 16
_ENDINGS = ("服", "a服", "服务", "服务。", "服 务")  # a query's last token hangs on how it ends


def is_available(db: apsw.Connection) -> bool:
    """Tell whether `cjk_unicode61` is known to this connection."""
    return db.fts5_tokenizer_available(TOKENIZER)


def fingerprint(db: apsw.Connection) -> str | None:
    """Return 32 hexadecimal digits for how this connection's tokenizer cuts, None without one.

    Two builds with one fingerprint may write one index. Different ones may not: the tokens of
    a deletion would miss those of the insertion and leave ghosts. Costs some milliseconds.
    """
    if not is_available(db):
        return None
    tokenize = db.fts5_tokenizer(TOKENIZER, ARGUMENTS)
    digest = hashlib.blake2b(digest_size=16)
    for reason in (apsw.FTS5_TOKENIZE_DOCUMENT, apsw.FTS5_TOKENIZE_QUERY):
        for text in (_probe_text(), *_ENDINGS):
            for token in tokenize(text.encode(), reason, None):
                digest.update(repr(token).encode())
    return digest.hexdigest()


def _probe_text() -> str:
    """Every border of every range from both sides, and a sample of everything else."""
    borders = [
        f"a{chr(first - 1)}{chr(first)}{chr(first)}b {chr(last)}{chr(last)}{chr(last + 1)}1"
        for first, last in CJK_RANGES
    ]
    sampled = map(chr, range(0x20, _LAST_SAMPLED, _SAMPLE_STEP))
    probe = " ".join((*borders, "".join(sampled), "电影订阅成功 nginx服务 Don't"))
    return _SURROGATES.sub("", probe)  # UTF-8 has none
