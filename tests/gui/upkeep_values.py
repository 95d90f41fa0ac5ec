"""Values that tests and pictures of the maintenance page are built from."""

from dataclasses import replace

from app.views.maintenance.index_words import IndexShown, Verified
from app.views.maintenance.split_tiles import Split, SplitToken
from app.views.maintenance.store_words import Checked, Running, StoreShown
from app.views.maintenance.tokenizer_card import PROBE, TokenizerShown
from core.types import IndexStatus, TokenizerStatus
from core.upkeep_types import Erasure, OpenElsewhere, StoreSizes

NOW_MS = 1_796_031_600_000  # 30 Nov 2026, 09:40 UTC
MB = 1_000_000


def index(name: str = "messages_fts", **changes) -> IndexStatus:
    """An index that holds all of 181,240 rows."""
    values = {
        "name": name,
        "state": "ready",
        "coverage": 1.0,
        "done": 181_240,
        "todo": 0,
        "cursor": 0,
        "last_moved_at_ms": NOW_MS - 4_000,
        "reason": "",
    }
    return IndexStatus(**(values | changes))


def building(name: str = "messages_fts_cjk", **changes) -> IndexStatus:
    """An index of which 62 % is filled."""
    values = {
        "state": "building",
        "coverage": 112_175 / 180_928,
        "done": 112_175,
        "todo": 68_753,
        "rate_rows_s": 285.0,
        "last_moved_at_ms": NOW_MS - 1_000,
    }
    return index(name, **(values | changes))


WELL = Verified(NOW_MS, True, 0.8)
RATES = tuple(260.0 + 60 * ((n * 7) % 11) / 11 - 40 * (n % 29 == 0) for n in range(140))


def good_indexes() -> tuple[IndexShown, ...]:
    """Three indexes, one of them being filled."""
    return (
        IndexShown(index(), NOW_MS, WELL),
        IndexShown(building(), NOW_MS, is_running=True, rates=RATES),
        IndexShown(index("messages_fts_trigram", done=97_300), NOW_MS, WELL),
    )


def bad_indexes() -> tuple[IndexShown, ...]:
    """Three indexes that are damaged, stuck and detached."""
    words = "does not find a word that message 181,239 holds; holds 3 rows that it should not"
    detached = index(
        "messages_fts_trigram",
        state="detached",
        reason="a program without the CJK tokenizer wrote to the store",
        coverage=0.97,
        done=96_096,
        todo=1_204,
        queued=1_204,
    )
    return (
        IndexShown(index(), NOW_MS, Verified(NOW_MS, False, 2.1, words)),
        IndexShown(building(stuck=True, last_moved_at_ms=NOW_MS - 420_000), NOW_MS),
        IndexShown(detached, NOW_MS, can_work=False),
    )


def tokenizer(**changes) -> TokenizerShown:
    """A tokenizer that works."""
    status = TokenizerStatus(
        path="/home/dev/projects/backscroll/.venv/lib/backscroll/libfts5_cjk.so",
        loads=True,
        acceptance=True,
        fingerprint="0" * 32,
        version="1.4.0",
        reason="it works",
        state="verified",
        built_for="x86-64, 64 bit",
        sha256="9f3c41d7" + "5" * 48 + "a08ee21a",
        load_ms=0.6,
    )
    return TokenizerShown(replace(status, **changes), NOW_MS, "3.54.1")


def no_tokenizer() -> TokenizerShown:
    """None, and no compiler to build one."""
    shown = tokenizer(
        path=None,
        loads=False,
        acceptance=False,
        version=None,
        state="missing",
        built_for=None,
        sha256=None,
        load_ms=None,
        reason="libfts5_cjk.so is in none of the three places it could be in",
        next_step="no C compiler was found; install one and build it here",
    )
    return replace(shown, remedy="sudo apt install build-essential libsqlite3-dev")


def split(text: str = PROBE) -> Split:
    """A run of CJK characters cut into pairs, the last one alone."""
    return Split(
        text,
        tuple(SplitToken(n, min(n + 2, len(text)), text[n : n + 2]) for n in range(len(text))),
    )


def sizes(**changes) -> StoreSizes:
    """A store of 599 MB."""
    values = {
        "parts": {
            "messages": 268 * MB,
            "messages_fts_trigram": 142 * MB,
            "messages_fts_cjk": 94 * MB,
            "messages_fts": 61 * MB,
            "message_keys": 11 * MB,
            "sessions": 4 * MB,
            "operations": 3 * MB,
        },
        "free_pages_bytes": 12 * MB,
        "wal_bytes": 4_100_000,
        "snapshots_bytes": 603 * MB,
        "damaged_bytes": 0,
        "disk_free_bytes": 212_000 * MB,
        "compact_needs_bytes": 1_200 * MB,
    }
    return StoreSizes(**(values | changes))


def good_store() -> StoreShown:
    """A store that was checked and backed up."""
    return StoreShown(
        599 * MB,
        sizes(),
        states={"messages_fts_cjk": "building"},
        checked=Checked(NOW_MS, True),
        snapshots=3,
        proven_at_ms=NOW_MS - 2 * 86_400_000,
        newest_at_ms=NOW_MS - 1_800_000,
        elsewhere=(OpenElsewhere(4121, "hermes", False),),
    )


def bad_store() -> StoreShown:
    """A store with a damaged index, deleted texts that wait, and a check that runs."""
    return StoreShown(
        599 * MB,
        sizes(damaged_bytes=58 * MB, disk_free_bytes=410 * MB),
        states={"messages_fts_trigram": "detached", "messages_fts_cjk": "stuck"},
        off=frozenset({"messages_fts_trigram"}),
        checked=Checked(NOW_MS, False, words="messages_fts is damaged"),
        elsewhere=(OpenElsewhere(4121, "hermes", False), OpenElsewhere(977, "backscroll", True)),
        erasure=Erasure(412, 31 * MB, NOW_MS - 3 * 86_400_000, "another program reads the store"),
        running=Running(
            "check.full",
            "Full check: comparing a private copy",
            0.43,
            "You can close the window: it stops at a safe point and nothing is lost.",
        ),
    )
