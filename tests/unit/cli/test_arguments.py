"""What is typed is read strictly: nothing given is nothing, not the folder one happens to be in."""

import pytest

from app.cli.arguments import parse
from app.cli.retention import _days
from core.errors import SettingError


@pytest.mark.parametrize(
    "words",
    [
        ("--data-dir", "", "status"),
        ("status", "--data-dir", " "),
        ("backup", ""),
        ("restore", ""),
        ("import", ""),
        ("install", "cjk", "--venv", ""),
    ],
)
def test_an_empty_path_is_bad_usage_and_not_the_folder_one_is_in(words, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(words)
    assert ended.value.code == 2
    assert "nothing is given" in capsys.readouterr().err


@pytest.mark.parametrize("limit", ["1_0", "１０", "+5", "1.0", "0x10", ""])
def test_a_number_is_digits_and_nothing_else(limit, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(["trash", "list", "--limit", limit])
    assert ended.value.code == 2
    assert "is not a whole number" in capsys.readouterr().err


def test_a_negative_number_is_told_its_range(capsys):
    with pytest.raises(SystemExit):
        parse(["trash", "list", "--limit", "-3"])
    assert "-3 is out of range: 1 to" in capsys.readouterr().err


@pytest.mark.parametrize("days", ["7_0", "１０", "+7", "1.5", "1e2", "", "many"])
def test_days_of_retention_are_digits_and_nothing_else(days):
    with pytest.raises(SettingError, match="whole number"):
        _days(days)
    assert _days("-5") == -5  # refused by its range, in words
