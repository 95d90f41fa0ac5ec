"""The largest files come in within 300 MB of memory, each in a process of its own."""

import pytest

from tests.bench import bench_large
from tests.bench.measuring import in_own_process


@pytest.mark.long
@pytest.mark.parametrize("name", bench_large.FILES)
def test_a_large_file_needs_little_memory(name, tmp_path):
    rows = in_own_process("tests.bench.bench_large", name, tmp_path / "store")
    assert [row["ok"] for row in rows] == [None, True], rows
