"""Where things lie, and that nobody else can read them."""

import os
import stat
from pathlib import Path

import pytest

from core import paths
from core.errors import StoreError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def test_the_data_folder_is_the_one_given_then_the_variable_then_the_platform(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("BACKSCROLL_DATA_DIR", str(tmp_path / "named"))
    assert paths.data_dir(tmp_path / "given") == tmp_path / "given"
    assert paths.data_dir() == tmp_path / "named"
    monkeypatch.delenv("BACKSCROLL_DATA_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert paths.data_dir().is_relative_to(tmp_path)
    assert paths.data_dir().name == "Backscroll"


def test_a_relative_data_folder_becomes_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert paths.data_dir(Path("here")) == tmp_path / "here"


def test_profiles_are_apart_and_do_not_give_their_names_away(tmp_path):
    default, work = paths.profile_dir(tmp_path), paths.profile_dir(tmp_path, "work")
    assert default != work
    assert default == paths.profile_dir(tmp_path)
    assert "work" not in work.name
    assert len(work.name) == 16
    assert int(work.name, 16) >= 0
    assert paths.store_path(work) == tmp_path / "profiles" / work.name / "state.db"


def test_made_folders_are_for_their_owner_alone(tmp_path, umask):
    folder = tmp_path / "data" / "profiles" / "key"
    paths.ensure_private_dir(folder)
    assert [mode(p) for p in (folder, folder.parent, folder.parent.parent)] == [0o700] * 3


def test_made_files_are_for_their_owner_alone(tmp_path, umask):
    paths.create_private_file(tmp_path / "file")
    assert mode(tmp_path / "file") == 0o600
    with pytest.raises(FileExistsError):
        paths.create_private_file(tmp_path / "file")


def test_a_readable_folder_of_ours_is_closed_and_a_writable_one_refused(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o755)
    paths.ensure_private_dir(folder)
    assert mode(folder) == 0o700
    folder.chmod(0o770)
    with pytest.raises(StoreError, match="written to by other users"):
        paths.ensure_private_dir(folder)
    assert mode(folder) == 0o770


def test_what_its_owner_made_read_only_stays_so(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o555)
    file = folder / "file"
    folder.chmod(0o755)
    file.touch()
    file.chmod(0o444)
    folder.chmod(0o555)
    paths.ensure_private_dir(folder)
    paths.require_private_file(file)
    assert (mode(folder), mode(file)) == (0o500, 0o400)
    folder.chmod(0o700)


def test_a_link_or_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(StoreError, match="not a folder"):
            paths.ensure_private_dir(tmp_path / name)


def test_a_folder_that_cannot_be_made_says_so(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be created"):
        paths.ensure_private_dir(tmp_path / "file" / "below")


def test_another_users_folder_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(StoreError, match="another user"):
        paths.ensure_private_dir(folder)


def test_a_file_others_can_read_is_closed_and_one_they_can_write_refused(tmp_path):
    file = tmp_path / "file"
    file.touch()
    file.chmod(0o644)
    paths.require_private_file(file)
    assert mode(file) == 0o600
    file.chmod(0o662)
    with pytest.raises(StoreError, match="written to by other users"):
        paths.require_private_file(file)


def test_a_pipe_or_a_link_in_the_place_of_the_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch(mode=0o600)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("pipe", "link"):
        with pytest.raises(StoreError, match="not a regular file"):
            paths.require_private_file(tmp_path / name)
