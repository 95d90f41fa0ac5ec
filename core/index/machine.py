"""What kind of machine a library is made for, and whether it is whole, from its header."""

import sys
from pathlib import Path

ELF_MACHINES = {
    3: "x86",
    8: "MIPS",
    20: "PowerPC",
    21: "PowerPC 64",
    22: "S/390",
    40: "ARM",
    62: "x86-64",
    183: "AArch64",
    243: "RISC-V",
    258: "LoongArch",
}
"""e_machine of the ELF header (https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html)."""

_ELF_HEADER_BYTES = 64
_MACH_O = {b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe"}


def machine_of(path: Path) -> str | None:
    """Return in words what the library at ``path`` runs on, None when it is no library."""
    head = _head(path)
    if head[:2] == b"MZ":
        return "Windows"
    if head[:4] in _MACH_O:
        return "macOS"
    if not _is_elf(head):
        return None
    machine = _number(head, 0x12, 2)
    name = ELF_MACHINES.get(machine, f"machine {machine}")
    return f"{name}, {_bits(head)} bit{'' if _is_little(head) else ', big-endian'}"


def our_machine() -> str | None:
    """Return the same for the program that runs now, None where that cannot be told."""
    if sys.platform == "linux":
        return machine_of(Path("/proc/self/exe"))
    return {"win32": "Windows", "darwin": "macOS"}.get(sys.platform)


def is_cut_short(path: Path) -> bool:
    """Tell whether an ELF file ends before its section headers do, which linkers write last.

    The system's loader maps such a file without a word and the process dies at the first
    page that is missing (SIGBUS), so it must not come to loading.
    """
    head = _head(path)
    if not _is_elf(head):
        return False
    if _bits(head) == 64:
        start, size, count = _number(head, 0x28, 8), _number(head, 0x3A, 2), _number(head, 0x3C, 2)
    else:
        start, size, count = _number(head, 0x20, 4), _number(head, 0x2E, 2), _number(head, 0x30, 2)
    return start + size * count > path.stat().st_size


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as library:
            return library.read(_ELF_HEADER_BYTES)
    except OSError:
        return b""


def _is_elf(head: bytes) -> bool:
    return head[:4] == b"\x7fELF" and len(head) == _ELF_HEADER_BYTES


def _bits(head: bytes) -> int:
    return 32 if head[4] == 1 else 64


def _is_little(head: bytes) -> bool:
    return head[5] == 1


def _number(head: bytes, start: int, size: int) -> int:
    return int.from_bytes(head[start : start + size], "little" if _is_little(head) else "big")
