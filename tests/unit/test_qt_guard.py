import pytest

from app.qt_guard import NoDisplayError, check_display


def test_no_display_is_said_in_words():
    with pytest.raises(NoDisplayError, match="there is no display"):
        check_display({}, "linux")


@pytest.mark.parametrize(
    ("environment", "system"),
    [
        ({"QT_QPA_PLATFORM": "offscreen"}, "linux"),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux"),
        ({}, "darwin"),
        ({}, "win32"),
    ],
)
def test_a_display_of_another_kind_is_left_to_qt(environment, system):
    check_display(environment, system)


def test_a_missing_library_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr("app.qt_guard._X11_LIBRARIES", {"libno-such-thing.so.9": "libno-such9"})

    with pytest.raises(NoDisplayError, match="apt install libno-such9"):
        check_display({"DISPLAY": ":0"}, "linux")
