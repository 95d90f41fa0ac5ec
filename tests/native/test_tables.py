"""The tables that C and Python share are what their generators make of Unicode and SQLite."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from core.cjk_ranges import CJK_RANGES
from core.text import has_cjk
from core.word_ranges import WORD_RANGES

NATIVE = Path(__file__).parents[2] / "native" / "fts5_cjk"


@pytest.mark.parametrize("generator", ["make_ranges.py", "make_word_ranges.py"])
def test_committed_tables_are_the_generators_output(generator):
    done = subprocess.run(
        [sys.executable, NATIVE / generator, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("ranges", [CJK_RANGES, WORD_RANGES])
def test_ranges_are_in_order_and_apart(ranges):
    assert all(first <= last for first, last in ranges)
    assert all(before[1] < after[0] for before, after in pairwise(ranges))


@pytest.mark.parametrize(
    "chars",
    [
        "一龥鿿㐀䶿𠀀𪛟𪜀𫝀𫠠𬺰𮯰𰀀𱍐",  # ideographs: the first and last blocks, every extension
        "豈舘丽",  # compatibility ideographs
        "々〆〇〻〱ゝゞヽヾー",
        "ぁゖァヺヿㇰㇿ\u3099\u309aｦｰﾝﾞﾟ𛀀𛄀𛅐",
        "ㄅㄯㆠㆿ",
        "가힣\u1100\u11ffㄱㆎ\ua960\ua97c\ud7b0\ud7fbﾡￜ",
        "กๆ์๛ກໝ\u0ec8",
        "က႟\u102b\u1039",
        "កឥ\u17d2៛",
    ],
)
def test_scripts_of_the_rule_are_in_the_table(chars):
    assert [char for char in chars if not has_cjk(char)] == []


def test_punctuation_and_other_scripts_are_not():
    chars = "、。，！？（）「」・･゠〜…—“”aé9Жاשह😀Ａ１℃㈱⼀〄"
    assert [char for char in chars if has_cjk(char)] == []
