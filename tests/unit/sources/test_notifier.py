"""Which places the system tells of, and looking at those that it does not."""

import threading
from pathlib import Path

import pytest

from core.sources import notifier
from core.sources.notifier import Notifier, Root

MOUNTS = r"""
/dev/sda1 / ext4 rw 0 0
server:/export /mnt/far nfs4 rw 0 0
me@host: /home/me/with\040space fuse.sshfs rw 0 0
tmpfs /mnt/far/near tmpfs rw 0 0
C: /mnt/c 9p rw 0 0
"""


@pytest.fixture
def mounts(tmp_path, monkeypatch):
    path = tmp_path / "mounts"
    path.write_text(MOUNTS)
    monkeypatch.setattr(notifier, "_MOUNTS", path)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/you", ""),
        ("/mnt/far", "nfs4"),
        ("/mnt/far/below/it", "nfs4"),
        ("/mnt/farther", ""),
        ("/mnt/far/near/x", ""),
        ("/home/me/with space/talks", "fuse.sshfs"),
        ("/mnt/c/Users", "9p"),
    ],
)
def test_far_places_are_known_by_their_mount(mounts, path, kind):
    reason = notifier.is_far(Path(path))
    assert (kind in reason and bool(kind)) == bool(reason)
    assert bool(reason) == bool(kind)


def test_an_unreadable_table_of_mounts_makes_nothing_far(monkeypatch, tmp_path):
    monkeypatch.setattr(notifier, "_MOUNTS", tmp_path / "none")
    assert notifier.is_far(tmp_path) == ""


class Told:
    """What a notifier told, and waiting for it."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self._changed = threading.Condition()

    def __call__(self, paths: frozenset[str]) -> None:
        with self._changed:
            self.paths |= paths
            self._changed.notify_all()

    def has(self, path: Path, within_s: float = 3.0) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: str(path) in self.paths, within_s)


@pytest.mark.parametrize("kind", ["ext4", "nfs4"])
def test_writes_deletions_and_new_folders_are_told_of(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(notifier, "_mounted", lambda _path: kind)
    monkeypatch.setattr(notifier, "POLL_S", 0.1)
    there = tmp_path / "there.jsonl"
    there.write_text("a")
    told = Told()
    one = Notifier(told)
    ways = one.begin([Root(tmp_path, deep=True), Root(tmp_path / "none", deep=True)])
    assert [way for way, _ in ways.values()].count("missing") == 1
    try:
        there.write_text("b")  # of the same size, within the same second
        assert told.has(there)
        told.paths.clear()
        there.unlink()
        assert told.has(there)
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "x.jsonl").write_text("x")
        assert told.has(tmp_path / "new") or told.has(tmp_path / "new" / "x.jsonl")
    finally:
        one.close()
    told.paths.clear()
    there.write_text("after the end")
    assert not told.has(there, 0.3)


def test_a_flat_root_says_nothing_of_what_is_below(tmp_path, monkeypatch):
    monkeypatch.setattr(notifier, "_mounted", lambda _path: "nfs4")
    monkeypatch.setattr(notifier, "POLL_S", 0.1)
    (tmp_path / "below").mkdir()
    told = Told()
    one = Notifier(told)
    one.begin([Root(tmp_path, deep=False)])
    try:
        (tmp_path / "below" / "x").write_text("x")
        (tmp_path / "y").write_text("y")
        assert told.has(tmp_path / "y")
        assert str(tmp_path / "below" / "x") not in told.paths
    finally:
        one.close()
