"""Reading the rows of a damaged store from its pages, without SQLite.

SQLite finds a row by way of the pages above it: where one of those is damaged, all rows below are
out of its reach though their own pages are sound. So the pages are read one after the other, and
each leaf tells by itself which rows it holds (https://www.sqlite.org/fileformat2.html).

Nobody may have the file open: closing it here would drop SQLite's locks.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

Value = None | int | float | str | bytes

_TABLE_LEAF, _INDEX_LEAF, _TABLE_INNER, _INDEX_INNER = 13, 10, 5, 2
_KINDS = (_TABLE_LEAF, _INDEX_LEAF, _TABLE_INNER, _INDEX_INNER)
_FILE_HEADER, _WAL_HEADER, _FRAME_HEADER = 100, 32, 24
_PAGE_BYTES = 4096
_MAGIC = (0x377F0682, 0x377F0683)
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class Row(NamedTuple):
    """A row as its page tells it: the id (None in a table without) and the values in order."""

    rowid: int | None
    values: tuple[Value, ...]


class BadPageError(Exception):
    """A page, or a row on it, is not what it should be."""


class Pages:
    """The pages of a store as its last commit left them: the file's, and over them its log's."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        size = path.stat().st_size
        self.page_bytes = _page_bytes(self._file.read(_FILE_HEADER))
        log = path.with_name(f"{path.name}-wal")
        self._logged = _logged(log.read_bytes(), self.page_bytes) if log.exists() else {}
        self.count = max([size // self.page_bytes, *self._logged])
        self._usable = self.page_bytes

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def page(self, number: int) -> bytes:
        """Return a page, the first being 1.

        Raises:
            BadPageError: there is none.
        """
        if number in self._logged:
            return self._logged[number]
        if not 1 <= number <= self.count:
            raise BadPageError
        self._file.seek((number - 1) * self.page_bytes)
        found = self._file.read(self.page_bytes)
        if len(found) < self.page_bytes:
            raise BadPageError
        return found

    def below(self, root: int) -> set[int]:
        """Return the pages of a tree that are reached from its root, the root among them."""
        seen: set[int] = set()
        left = [root]
        while left:
            number = left.pop()
            if number in seen:
                continue
            try:
                page = self.page(number)
                kind, cells, start = _head(page, number)
            except BadPageError:
                continue
            seen.add(number)
            if kind in (_TABLE_INNER, _INDEX_INNER):
                left.append(_u32(page, start + 8))
                left += [_u32(page, cell) for cell in cells if cell + 4 <= len(page)]
        return seen

    def rows(self, number: int) -> Iterator[Row]:
        """Yield the rows on a page that can be read; none of a page that holds no rows."""
        try:
            page = self.page(number)
            kind, cells, _ = _head(page, number)
        except BadPageError:
            return
        if kind == _TABLE_INNER:
            return
        for cell in cells:
            try:
                yield self._row(page, cell, kind)
            except (BadPageError, IndexError, struct.error, UnicodeDecodeError):
                continue

    def _row(self, page: bytes, at: int, kind: int) -> Row:
        rowid = None
        at += 4 if kind == _INDEX_INNER else 0
        size, at = _varint(page, at)
        if kind == _TABLE_LEAF:
            unsigned, at = _varint(page, at)
            rowid = unsigned - (1 << 64) if unsigned >= 1 << 63 else unsigned
        return Row(rowid, _values(self._payload(page, at, size, kind)))

    def _payload(self, page: bytes, at: int, size: int, kind: int) -> bytes:
        usable = self._usable
        most = usable - 35 if kind == _TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        if size <= most:
            return _cut(page, at, size)
        least = (usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (usable - 4)
        local = local if local <= most else least
        parts, left = [_cut(page, at, local)], size - local
        number, passed = _u32(page, at + local), 0
        while left > 0:
            passed += 1
            if not number or passed > self.count:
                raise BadPageError
            over = self.page(number)
            parts.append(over[4 : 4 + min(left, usable - 4)])
            left -= usable - 4
            number = _u32(over, 0)
        return b"".join(parts)


def _page_bytes(header: bytes) -> int:
    """Return the bytes of a page by the file's header, those of our stores where it is damaged."""
    if len(header) < _FILE_HEADER or not header.startswith(b"SQLite format 3\0"):
        return _PAGE_BYTES
    found = int.from_bytes(header[16:18], "big")
    found = 65536 if found == 1 else found
    return found if 512 <= found <= 65536 and found & (found - 1) == 0 else _PAGE_BYTES


def _logged(log: bytes, page_bytes: int) -> dict[int, bytes]:
    """Return the pages that a log holds up to its last commit, each as it was written last."""
    if len(log) < _WAL_HEADER or _u32(log, 0) not in _MAGIC or _u32(log, 8) != page_bytes:
        return {}
    order = ">" if _u32(log, 0) & 1 else "<"
    sums = _sums(log[:24], (0, 0), order)
    if sums != struct.unpack(">II", log[24:32]):
        return {}
    salt, at = log[16:24], _WAL_HEADER
    found: dict[int, bytes] = {}
    open_ones: dict[int, bytes] = {}
    while at + _FRAME_HEADER + page_bytes <= len(log):
        head = log[at : at + _FRAME_HEADER]
        page = log[at + _FRAME_HEADER : at + _FRAME_HEADER + page_bytes]
        sums = _sums(page, _sums(head[:8], sums, order), order)
        if head[8:16] != salt or sums != struct.unpack(">II", head[16:24]):
            break
        open_ones[_u32(head, 0)] = page
        if _u32(head, 4):  # a commit
            found |= open_ones
            open_ones = {}
        at += _FRAME_HEADER + page_bytes
    return found


def _sums(content: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


def _head(page: bytes, number: int) -> tuple[int, list[int], int]:
    """Return the kind of a page, where its cells are, and where its header begins."""
    start = _FILE_HEADER if number == 1 else 0
    kind = page[start]
    if kind not in _KINDS:
        raise BadPageError
    count = int.from_bytes(page[start + 3 : start + 5], "big")
    first = start + (12 if kind in (_TABLE_INNER, _INDEX_INNER) else 8)
    if first + 2 * count > len(page):
        raise BadPageError
    cells = list(struct.unpack_from(f">{count}H", page, first))
    return kind, [cell for cell in cells if first + 2 * count <= cell < len(page)], start


def _values(record: bytes) -> tuple[Value, ...]:
    """Return the values of a record, whose types and lengths must add up to it exactly."""
    header_bytes, at = _varint(record, 0)
    if not at <= header_bytes <= len(record):
        raise BadPageError
    values: list[Value] = []
    content = header_bytes
    while at < header_bytes:
        kind, at = _varint(record, at)
        value, content = _value(record, content, kind)
        values.append(value)
    if at != header_bytes or content != len(record) or not values:
        raise BadPageError
    return tuple(values)


def _value(record: bytes, at: int, kind: int) -> tuple[Value, int]:
    if kind == 0:
        return None, at
    if kind in (8, 9):
        return kind - 8, at
    if kind in _INTEGERS:
        size = _INTEGERS[kind]
        return int.from_bytes(_cut(record, at, size), "big", signed=True), at + size
    if kind == 7:
        return struct.unpack(">d", _cut(record, at, 8))[0], at + 8
    if kind < 12:
        raise BadPageError
    size = (kind - 12) // 2
    found = _cut(record, at, size)
    return (found.decode() if kind % 2 else found), at + size


def _varint(source: bytes, at: int) -> tuple[int, int]:
    value = 0
    for n in range(9):
        byte = source[at + n]
        if n == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    raise BadPageError


def _u32(source: bytes, at: int) -> int:
    return int(struct.unpack_from(">I", source, at)[0])


def _cut(source: bytes, at: int, size: int) -> bytes:
    found = source[at : at + size]
    if len(found) != size:
        raise BadPageError
    return found
