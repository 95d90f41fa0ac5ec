"""Finding, trying and building the tokenizer's library, and the words for what is wrong."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

from core.errors import TokenizerError
from core.index import compiling, machine, reference, tokenizer
from core.index import library as library_file

NATIVE = Path(__file__).parents[3] / "native" / "fts5_cjk"
CC = shutil.which("cc")
FLAGS = ["-shared", "-fPIC", "-O1"]
NOT_A_TOKENIZER = "int answer(void) { return 42; }"
UNICODE61_UNDER_OUR_NAME = """
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1
static void version(sqlite3_context *p, int n, sqlite3_value **a) {
  sqlite3_result_text(p, "0", -1, SQLITE_STATIC);
}
int sqlite3_ftscjk_init(sqlite3 *db, char **e, const sqlite3_api_routines *p) {
  fts5_api *api = 0; fts5_tokenizer t; void *user = 0; sqlite3_stmt *s = 0;
  SQLITE_EXTENSION_INIT2(p);
  sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &s, 0);
  sqlite3_bind_pointer(s, 1, &api, "fts5_api_ptr", 0);
  sqlite3_step(s);
  sqlite3_finalize(s);
  api->xFindTokenizer(api, "unicode61", &user, &t);
  sqlite3_create_function(db, "fts5_cjk_version", 0, SQLITE_UTF8, 0, version, 0, 0);
  return api->xCreateTokenizer(api, "cjk_unicode61", user, &t, 0);
}
"""


@pytest.fixture
def bare_machine(monkeypatch, tmp_path):
    """Nothing is installed: no variable, an empty prefix, program and data folder."""
    monkeypatch.delenv(tokenizer.VARIABLE, raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setattr(tokenizer, "_PROGRAM", tmp_path / "program")
    monkeypatch.setenv("BACKSCROLL_DATA_DIR", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture
def compilers(monkeypatch, tmp_path):
    """A PATH on which only compilers of the test are; each notes that it was called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CC", raising=False)

    def add(name, script):
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "{name} $1" >> {tmp_path}/calls\n{script}\n')
        program.chmod(0o755)

    add.calls = lambda: (tmp_path / "calls").read_text().split("\n")[:-1]
    return add


def library(folder, source):
    """Compile a library from C text."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "source.c").write_text(source)
    made = folder / tokenizer.LIBRARY_NAME
    subprocess.run([CC, *FLAGS, "source.c", "-o", made], cwd=folder, check=True)
    return made


def put(path):
    """Put something there that looks like a library to whoever does not load it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy("/proc/self/exe", path)
    return path


def places(machine):
    name = tokenizer.LIBRARY_NAME
    return [
        machine / "prefix" / "lib" / "backscroll" / name,
        machine / "program" / "lib" / "backscroll" / name,
        machine / "data" / "lib" / name,
    ]


def test_the_places_are_looked_at_in_order(bare_machine, monkeypatch):
    assert tokenizer.locate() is None
    for place in reversed(places(bare_machine)):
        assert tokenizer.locate() != put(place)
        assert tokenizer.locate() == place
    named = put(bare_machine / "named.so")
    monkeypatch.setenv(tokenizer.VARIABLE, str(named))
    assert tokenizer.locate() == named


@pytest.mark.parametrize("value", ["", "/nowhere/libfts5_cjk.so"])
def test_a_named_library_that_does_not_exist_means_without(bare_machine, monkeypatch, value):
    put(places(bare_machine)[0])
    monkeypatch.setenv(tokenizer.VARIABLE, value)
    assert tokenizer.locate() is None
    assert "does not exist: run without it" in tokenizer.verify(None).reason


def test_a_library_that_others_can_replace_is_passed_over(bare_machine):
    first, second, _ = places(bare_machine)
    put(first).chmod(0o666)
    put(second)
    assert tokenizer.locate() == second
    assert "can be written to by every user" in tokenizer.verify(first).reason
    first.chmod(0o644)
    first.parent.chmod(0o777)
    assert tokenizer.locate() == second
    second.unlink()
    assert "can be written to by every user" in tokenizer.verify(None).reason


def test_the_installed_library_works(tokenizer_path):
    status = tokenizer.verify(tokenizer_path)
    assert (status.path, status.loads, status.acceptance) == (str(tokenizer_path), True, True)
    assert status.fingerprint == reference.expected_fingerprint()
    assert status.version == "1.0.0 (Unicode 17.0)"
    assert status.reason == f"{tokenizer_path} works"
    assert (status.state, status.next_step) == ("verified", "")
    assert status.built_for == machine.our_machine()
    assert status.sha256 == hashlib.sha256(tokenizer_path.read_bytes()).hexdigest()
    assert status.load_ms is not None
    assert 0 < status.load_ms < 1000
    assert status.sqlite_version == apsw.sqlite_lib_version()


def assert_unusable(status, state, *words):
    assert (status.loads, status.acceptance, status.fingerprint) == (False, False, None)
    assert status.state == state
    for word in words:
        assert word in status.reason
    assert "backscroll install cjk" in status.next_step


def test_verify_tells_where_it_looked(bare_machine):
    status = tokenizer.verify(None)
    assert_unusable(status, "missing", *(str(p.parent) for p in places(bare_machine)))
    assert status.path is None


def test_verify_tells_of_a_file_that_is_not_there(tmp_path):
    assert_unusable(
        tokenizer.verify(tmp_path / "x.so"), "missing", f"there is no file {tmp_path}/x.so"
    )


def test_verify_tells_of_a_file_that_is_no_library(tmp_path):
    text = tmp_path / "x.so"
    text.write_text("just a text")
    assert_unusable(tokenizer.verify(text), "unusable", "is not a library")


def test_verify_tells_of_another_machine(tokenizer_path, tmp_path):
    changed = bytearray(tokenizer_path.read_bytes())
    changed[0x12:0x14] = (183 if changed[0x12] == 62 else 62).to_bytes(2, "little")
    other = tmp_path / "other.so"
    other.write_bytes(changed)
    name = "AArch64" if changed[0x12] == 183 else "x86-64"
    ours = machine.our_machine()
    status = tokenizer.verify(other)
    assert_unusable(status, "wrong_architecture", f"made for {name}, 64 bit", f"runs on {ours}")
    assert status.built_for == f"{name}, 64 bit"


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_library_cut_short_is_not_even_tried(tokenizer_path, tmp_path, share):
    """The system's loader would end the process with SIGBUS."""
    whole = tokenizer_path.read_bytes()
    short = tmp_path / "short.so"
    short.write_bytes(whole[: int(len(whole) * share)])
    assert_unusable(tokenizer.verify(short), "unusable", "is cut short")


def test_verify_has_the_systems_words_where_it_refuses(tmp_path):
    made = library(
        tmp_path, "extern int missing_part(void);\nint use(void) { return missing_part(); }"
    )
    subprocess.run([CC, *FLAGS, "-Wl,-z,now", "source.c", "-o", made], cwd=tmp_path, check=True)
    assert_unusable(
        tokenizer.verify(made), "refused", "the operating system refuses", "missing_part"
    )


def test_verify_tells_of_a_library_that_is_something_else(tmp_path):
    made = library(tmp_path, NOT_A_TOKENIZER)
    assert_unusable(tokenizer.verify(made), "unusable", "is a library, but not the CJK tokenizer")


def test_verify_tells_of_a_tokenizer_that_misses_words(tmp_path):
    status = tokenizer.verify(library(tmp_path, UNICODE61_UNDER_OUR_NAME))
    assert (status.loads, status.acceptance) == (True, False)
    assert status.state == "unusable"
    assert "an index of 电影订阅成功 misses 订阅" in status.reason


def test_verify_tells_of_a_tokenizer_that_cuts_otherwise(tmp_path):
    shutil.copy(NATIVE / "fts5_cjk.c", tmp_path)
    table = (NATIVE / "fts5_cjk_ranges.h").read_text(encoding="utf-8").splitlines()
    without_thai = [line for line in table if "Thai" not in line]
    assert len(without_thai) == len(table) - 1
    (tmp_path / "fts5_cjk_ranges.h").write_text("\n".join(without_thai), encoding="utf-8")
    made = tmp_path / tokenizer.LIBRARY_NAME
    subprocess.run([CC, *FLAGS, "fts5_cjk.c", "-o", made], cwd=tmp_path, check=True)
    status = tokenizer.verify(made)
    assert (status.loads, status.acceptance) == (True, True)
    assert status.fingerprint not in (None, reference.expected_fingerprint())
    assert status.state == "wrong_hash"
    assert "cuts texts otherwise" in status.reason
    assert "backscroll install cjk" in status.next_step


def may_load(db):
    return db.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, -1)


def test_sql_can_load_nothing_afterwards(tokenizer_path, tmp_path):
    db = apsw.Connection(":memory:")
    tokenizer.load(db, tokenizer_path)
    assert may_load(db) == 0
    with pytest.raises(TokenizerError):
        tokenizer.load(db, put(tmp_path / "x.so"))
    assert may_load(db) == 0
    with pytest.raises(apsw.SQLError, match="not authorized"):
        db.execute("SELECT load_extension(?)", (str(tokenizer_path),))
    db.close()


def test_a_relative_path_is_refused():
    db = apsw.Connection(":memory:")
    with pytest.raises(TokenizerError, match="absolute"):
        tokenizer.load(db, Path("libfts5_cjk.so"))
    db.close()


def test_an_instance_may_outlive_its_connection(tokenizer_path):
    """APSW frees a tokenizer after it lets go of the connection; the code must still be there."""
    program = (
        "import apsw, sys; from pathlib import Path; from core.index import tokenizer;"
        "db = apsw.Connection(':memory:'); tokenizer.load(db, Path(sys.argv[1]));"
        "cut = db.fts5_tokenizer('cjk_unicode61'); del db; del cut; print('alive')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tokenizer_path], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("alive\n", 0)


def test_build_makes_a_library_and_leaves_nothing_else(tmp_path):
    status = tokenizer.build(tmp_path)
    made = tmp_path / "lib" / "backscroll" / tokenizer.LIBRARY_NAME
    assert replace(status, load_ms=0) == replace(tokenizer.verify(made), load_ms=0)
    assert status.acceptance
    assert sorted(made.parent.iterdir()) == [made, library_file.pin_of(made)]


def test_building_tells_what_it_does_and_what_the_compiler_says(compilers, tmp_path):
    compilers("cc", f'echo "a remark of the compiler" >&2\nPATH=/usr/bin:/bin exec {CC} "$@"')
    log = [line for line in tokenizer.building(tmp_path) if line]
    made = tokenizer.installed_in(tmp_path)
    assert log[0] == f"there is no file {made}; building it"
    assert "/cc" in log[1]
    assert "fts5_cjk.c" in log[1]
    assert log[2] == "a remark of the compiler"
    assert log[-1] == f"{made} works"
    assert [line for line in tokenizer.building(tmp_path) if line] == [f"{made} is right already"]


def test_a_compiler_that_is_no_longer_wanted_is_ended(compilers, tmp_path):
    compilers("cc", f"echo $$ > {tmp_path}/pid\nPATH=/usr/bin:/bin exec sleep 60")
    steps = tokenizer.building(tmp_path)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        next(steps)
    pid = int((tmp_path / "pid").read_text())
    steps.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not list(tokenizer.installed_in(tmp_path).parent.iterdir())


def test_a_file_that_changed_since_it_was_verified_is_not_loaded(tmp_path, monkeypatch):
    made = Path(tokenizer.build(tmp_path).path)
    monkeypatch.setenv(tokenizer.VARIABLE, str(made))
    assert tokenizer.locate() == made
    changed = bytearray(made.read_bytes())
    changed[-1] ^= 1  # in the table of sections: the loader would not mind
    made.unlink()  # this process has the old one mapped
    made.write_bytes(changed)
    assert_unusable(tokenizer.verify(made), "wrong_hash", "has changed since it was built")
    assert tokenizer.locate() is None
    assert tokenizer.verify(None).state == "wrong_hash"
    assert tokenizer.build(tmp_path).state == "verified"
    assert tokenizer.locate() == made


def test_a_library_without_a_note_of_its_hash_is_judged_by_what_it_does(tokenizer_path, tmp_path):
    copy = tmp_path / "copy.so"
    shutil.copy(tokenizer_path, copy)
    assert tokenizer.inspect(copy).state == "found"
    assert tokenizer.inspect(copy).loads is False
    assert tokenizer.verify(copy).state == "verified"


def test_build_keeps_what_is_right_and_replaces_what_is_not(tmp_path):
    made = Path(tokenizer.build(tmp_path).path)
    before = made.stat()
    tokenizer.build(tmp_path)
    assert made.stat() == before
    made.unlink()
    made.write_bytes(b"damaged")
    assert tokenizer.build(tmp_path).acceptance
    assert tokenizer.verify(made).acceptance


def test_compilers_are_tried_in_order(compilers, monkeypatch, tmp_path):
    for name in ("cl", "clang", "cc", "gcc", "mine"):
        compilers(name, f"echo {name} is broken >&2; exit 1")
    monkeypatch.setenv("CC", "mine -march=native")
    with pytest.raises(TokenizerError, match=r"does not compile; .*mine: mine is broken"):
        tokenizer.build(tmp_path)
    assert [call.split()[0] for call in compilers.calls()] == ["mine", "cc", "gcc", "clang", "cl"]
    assert compilers.calls()[0] == "mine -march=native"


def test_the_next_compiler_is_tried_when_one_fails(compilers, tmp_path):
    compilers("cc", "exit 1")
    compilers("gcc", f'PATH=/usr/bin:/bin exec {CC} "$@"')
    assert tokenizer.build(tmp_path).acceptance


def test_without_a_compiler_build_says_what_to_install(compilers, tmp_path):
    with pytest.raises(TokenizerError, match=r"no C compiler was found .* install one"):
        tokenizer.build(tmp_path)


def test_without_the_header_build_says_what_to_install(compilers, tmp_path):
    compilers("cc", "echo 'fatal error: sqlite3ext.h: No such file or directory' >&2; exit 1")
    with pytest.raises(TokenizerError, match="libsqlite3-dev"):
        tokenizer.build(tmp_path)


def test_without_the_source_build_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(compiling, "SOURCE_NAME", "gone.c")
    with pytest.raises(TokenizerError, match="source"):
        tokenizer.build(tmp_path)


def test_a_wrong_result_never_takes_the_name(monkeypatch, tmp_path):
    wrong = library(tmp_path / "wrong", NOT_A_TOKENIZER)
    compiler = tmp_path / "compiler"
    compiler.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp {wrong} "$2"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    kept = tmp_path / "lib" / "backscroll" / tokenizer.LIBRARY_NAME
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"what was there")
    with pytest.raises(TokenizerError, match="the compiled tokenizer is not right"):
        tokenizer.build(tmp_path)
    assert kept.read_bytes() == b"what was there"
    assert list(kept.parent.iterdir()) == [kept]


def test_verify_tells_of_a_folder_or_a_pipe_in_its_place(tmp_path):
    assert_unusable(tokenizer.verify(tmp_path), "unusable", "is a folder, not a library")
    os.mkfifo(tmp_path / "pipe.so")
    assert_unusable(tokenizer.verify(tmp_path / "pipe.so"), "unusable", "is no regular file")


@contextmanager
def as_another_user():
    """Root reads everything: for a moment it is nobody."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(was)


def test_verify_tells_of_a_file_that_cannot_be_read():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        secret = put(Path(folder) / "secret.so")
        secret.chmod(0)
        with as_another_user():
            status = tokenizer.verify(secret)
    assert_unusable(status, "refused", "cannot be read: Permission denied")


@pytest.mark.parametrize(
    ("words", "is_noexec", "told", "step"),
    [
        ("x.so: failed to map segment from shared object", True, "mounted noexec", "--venv DIR"),
        ("x.so: failed to map segment from shared object: Permission denied", False,
         "Permission denied", "SELinux"),
        ("x.so: cannot enable executable stack as shared object requires: Permission denied",
         False, "executable stack", "restorecon"),
        ("libmissing.so.1: cannot open shared object file: No such file or directory", False,
         "libmissing.so.1", "Install what it misses"),
    ],
)  # fmt: skip
def test_each_refusal_of_the_system_has_its_next_step(
    tokenizer_path, monkeypatch, words, is_noexec, told, step
):
    def refuse(*_):
        raise TokenizerError("error during initialization")

    def loader(_):
        raise OSError(words)

    monkeypatch.setattr(tokenizer, "load", refuse)
    monkeypatch.setattr("ctypes.CDLL", loader)
    flags = os.ST_NOEXEC if is_noexec else 0
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=flags))
    status = tokenizer.verify(tokenizer_path)
    assert_unusable(status, "refused", told)
    assert step in status.next_step


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "lib").write_text("a file where the folder should be")
    with pytest.raises(TokenizerError, match=r"cannot be written .* --venv"):
        tokenizer.build(tmp_path)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"MZ\x90\0", "Windows"),
        (b"\xcf\xfa\xed\xfe", "macOS"),
        (b"\x7fELF\x01\x01".ljust(18, b"\0") + b"\x28\0", "ARM, 32 bit"),
        (b"\x7fELF\x02\x02".ljust(18, b"\0") + b"\0\x16", "S/390, 64 bit, big-endian"),
        (b"\x7fELF\x02\x01".ljust(18, b"\0") + b"\xff\xff", "machine 65535, 64 bit"),
        (b"\x7fELF", None),
        (b"", None),
    ],
)
def test_machines_by_their_headers(tmp_path, head, expected):
    library = tmp_path / "library"
    library.write_bytes(head.ljust(64, b"\0") if len(head) > 4 else head)
    assert machine.machine_of(library) == expected
