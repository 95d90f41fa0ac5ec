import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.render import markdown, runs
from app.render.sheet import Sheet
from app.render.style import Style
from app.tokens import LIGHT
from tests.unit.render.reading import read

SIGNS = st.sampled_from(
    ["*", "**", "_", "#", "# ", "> ", "- ", "1. ", "|", "|-|-|", "\n", "\n\n", "[", "]", "](", ")",
     "![", "`", "```", "~~", "<", ">", "&", "&lt;", "\\", "    ", "word", "订阅", "a b", "http://x.y/z",
     "javascript:1", "<b>", "---", "\u202e", "\x00"]
)  # fmt: skip
MARKED_UP = st.lists(SIGNS, max_size=40).map("".join)


def sheet(**fields) -> Sheet:
    return Sheet("m1", Style(LIGHT), **fields)


@given(text=MARKED_UP)
@settings(max_examples=300, deadline=None)
def test_any_markdown_becomes_nothing_but_our_own_tags(text):
    try:
        seen = read(markdown.body(sheet(), text))
    except markdown.TooHeavyError:
        return

    assert seen.wrong == []


WORDS = st.lists(
    st.sampled_from(["one", "two", "订阅", "*", "**three**", "_four_", "- five", "1. six",
                     "> seven", "# eight", "~~nine~~", "`ten`", "&", "<b>", "|", "\n", "\n\n",
                     "C++", "a*b"]),
    max_size=30,
).map(" ".join)  # fmt: skip


@given(text=WORDS)
@settings(max_examples=300, deadline=None)
def test_no_word_is_lost_and_none_changes_its_place(text):
    seen = read(markdown.body(sheet(), text)).text

    ours = re.compile(r"\btextcopy\b|[^a-z订阅]+")  # the header of an indented code block
    assert ours.sub("", seen) == re.sub(r"[^a-z订阅]+", "", text)


def test_spaces_and_line_ends_stay_as_they_were_written():
    seen = read(markdown.body(sheet(), "two  spaces\nand 中文abc\n"))

    assert seen.text == "two  spaces\nand 中文abc"


def test_a_match_survives_bold_code_and_links():
    text = "先**查订**阅、`refresh()` 与 [订](http://example.com/订阅)阅"
    page = sheet(marker=runs.literal_marker("订阅"))

    seen = read(markdown.body(page, text))

    assert page.matches == 2
    assert "".join(seen.marked) == "订阅订阅"
    assert page.links == ["http://example.com/订阅"]


def test_an_address_is_never_in_the_html():
    page = sheet(marker=runs.literal_marker("example"))

    html = markdown.body(page, "[here](https://example.com/?q=1) and <https://example.com/x>")

    assert 'href="do:link/m1/0"' in html
    assert "?q=1" not in html
    assert page.links == ["https://example.com/?q=1", "https://example.com/x"]


@pytest.mark.parametrize(
    ("text", "target", "rest"),
    [
        ("see https://example.com/a_(b).", "https://example.com/a_(b)", "."),
        ("(https://example.com/a)", "https://example.com/a", ")"),
        ("见https://example.com/a，然后", "https://example.com/a", "，然后"),
        ("http:// alone", None, ""),
    ],
)
def test_a_bare_address_ends_where_the_sentence_goes_on(text, target, rest):
    page = sheet()
    seen = read(markdown.body(page, text))

    assert page.links == ([target] if target else [])
    assert seen.text == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("![p](http://127.0.0.1:9/pixel.png)", "image not loaded: p, 127.0.0.1"),
        ("![](file:///etc/passwd)", "image not loaded: passwd"),
        ("![x](data:image/png;base64,AAAA)", "image not loaded: x, image/png"),
        ("![**b** c](\\\\host\\share\\x.png)", "image not loaded: b c, x.png"),
    ],
)
def test_a_picture_becomes_words(text, shown):
    html = markdown.body(sheet(), text)

    assert "<img" not in html
    assert read(html).text == shown


@pytest.mark.parametrize(
    "text",
    [
        '<script>location.href="http://127.0.0.1:9/x"</script> finch',
        '<img src=x onerror=alert(1)> <a href="javascript:1">a</a> <style>*{display:none}</style>',
        "</textarea></pre><b>out",
        "<!-- hidden --> <table><tr><td>",
    ],
)
def test_html_in_a_message_is_text(text):
    """The messages of case G09."""
    seen = read(markdown.body(sheet(), text))

    assert seen.wrong == []
    assert seen.text == text


def test_a_script_link_is_a_link_of_ours_that_names_its_target():
    page = sheet()
    markdown.body(page, "[open](file:///etc/passwd) [a](javascript:1)")

    assert page.links == ["file:///etc/passwd", "javascript:1"]


def test_a_table_keeps_its_alignment_and_its_cells():
    html = markdown.body(sheet(), "| 方式 | p95 |\n|---|--:|\n| MeCab | **3.1 ms** |\n")

    assert read(html).text == "方式p95MeCab3.1 ms"
    assert html.count('<td align="right"') == 2
    assert html.count(f"background-color:{LIGHT.sunken}") == 2


def test_code_has_its_language_a_copy_link_and_our_colours():
    page = sheet()
    html = markdown.body(page, "```python\ndef f():\n    return 1\n```")

    assert page.codes == ["def f():\n    return 1"]
    assert "do:code/m1/0" in html
    assert f'<span style="color:{LIGHT.code_kw}">def' in html
    assert read(html).text == "pythoncopydef f():\n    return 1"


def test_a_diff_tells_added_from_removed():
    html = markdown.body(sheet(), "```diff\n-old\n+new\n same\n```")

    assert f'color:{LIGHT.err}">-old' in html
    assert f'color:{LIGHT.ok}">+new' in html


def test_lists_keep_their_numbers():
    html = markdown.body(sheet(), "7. seven\n8. eight\n")

    assert '<ol start="7"' in html


@pytest.mark.parametrize(
    "text",
    [
        "> " * 5_000 + "deep",
        "- " * 200 + "deep",
        "|a" * 2_000 + "|\n" + "|-" * 2_000 + "|\n" + "|b" * 2_000 + "|",
        "|a|b|\n|-|-|\n" + "|x|y|\n" * 3_000,
    ],
)
def test_what_would_be_lost_or_slow_is_refused(text):
    with pytest.raises(markdown.TooHeavyError):
        markdown.body(sheet(), text)


HOSTILE = {
    "brackets": "[" * 16_000,
    "pictures": "![" * 8_000,
    "links": "[a](" * 4_000,
    "stars": "*a " * 5_000,
    "strong": "**" * 8_000,
    "ticks": " ".join("`" * n for n in range(1, 180)),
    "angles": "<" * 16_000,
    "lists": "- " * 8_000,
    "entities": "&amp;" * 3_000,
    "escapes": "\\*" * 8_000,
    "nothing": "\x00" * 8_000,
    "address": "http://a.b/" + "(" * 16_000,
    "one line": "x" * 16_000,
    "json": "```json\n" + "[" * 16_000 + "\n```",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_holds_the_builder_for_long(name):
    markdown.body(sheet(), "warm **up** `now`\n```json\n1\n```")
    start = time.thread_time()
    try:
        markdown.body(sheet(), HOSTILE[name])
    except markdown.TooHeavyError:
        pass

    assert time.thread_time() - start < 1.0  # the deadline of parsing is 0.25 s
