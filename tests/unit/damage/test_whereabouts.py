"""A store on a network or in a synced folder is told of; one in an ordinary folder is not."""

from pathlib import Path

import pytest

from core.store.whereabouts import warning

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home/ann nfs4 rw 0 0
/dev/sdb1 /home/ann/local\\040disk xfs rw 0 0
//box/share /mnt/share cifs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/var/lib/x/state.db", ""),
        ("/home/ann/x/state.db", "on a network (nfs4)"),
        ("/home/ann/local disk/state.db", ""),
        ("/mnt/share/state.db", "on a network (cifs)"),
        ("/mnt/shared/state.db", ""),
        ("/srv/Dropbox/x/state.db", "inside Dropbox"),
        ("/srv/OneDrive - Firm/x/state.db", "inside OneDrive - Firm"),
        ("/srv/Google Drive/x/state.db", "inside Google Drive"),
        ("/srv/dropboxes/x/state.db", ""),
    ],
)
def test_the_place_of_a_store(tmp_path, path, told):
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    found = warning(Path(path), mounts)
    assert told in found
    assert bool(found) == bool(told)


def test_a_system_that_tells_no_mounts_is_no_risk_known(tmp_path):
    assert warning(Path("/srv/x/state.db"), tmp_path / "none") == ""
