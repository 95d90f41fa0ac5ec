"""Code as coloured runs: Pygments finds the parts, our own tokens give the colours."""

import re
import time
from functools import lru_cache

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

from app.render.runs import Run
from app.tokens import Tokens

HIGHLIGHTED_CHARS = 20_000
_DEADLINE_S = 0.06
_PLAIN = frozenset({"", "text", "txt", "plain", "plaintext", "output", "log", "none"})
_DIFF = frozenset({"diff", "patch", "udiff"})
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)

# Pygments' kinds, the nearest ancestor decides.
_INK = {
    Token.Keyword: "code_kw",
    Token.Keyword.Type: "code_fn",
    Token.Keyword.Constant: "code_num",
    Token.Operator.Word: "code_kw",
    Token.Name.Builtin: "code_fn",
    Token.Name.Builtin.Pseudo: "code_kw",
    Token.Name.Function: "code_fn",
    Token.Name.Class: "code_fn",
    Token.Name.Decorator: "code_fn",
    Token.Name.Tag: "code_kw",
    Token.Name.Attribute: "code_fn",
    Token.Name.Constant: "code_num",
    Token.Name.Variable: "code_num",
    Token.String: "code_str",
    Token.Literal.Date: "code_str",
    Token.Number: "code_num",
    Token.Comment: "code_com",
    Token.Comment.Preproc: "code_kw",
    Token.Generic.Heading: "code_fn",
    Token.Generic.Prompt: "code_com",
    Token.Generic.Output: "code_com",
}


def runs(code: str, language: str, tokens: Tokens) -> list[Run]:
    """Return `code` as runs whose texts join to exactly `code`.

    What no lexer knows, what is longer than 20,000 characters and what takes too long stays
    in one colour.
    """
    name = language.lower()
    if name in _DIFF or (name in _PLAIN and _HUNK.search(code[:4_000])):
        return diff_runs(code, tokens)
    lexer = None if name in _PLAIN or len(code) > HIGHLIGHTED_CHARS else _lexer(name)
    return [Run(code)] if lexer is None else _lexed(code, lexer, tokens)


def diff_runs(code: str, tokens: Tokens) -> list[Run]:
    """Return a diff with added lines, removed lines and headers told apart by colour."""
    result: list[Run] = []
    for line in code.splitlines(keepends=True):
        css = _diff_css(line, tokens)
        if result and result[-1].css == css:
            result[-1] = Run(result[-1].text + line, css)
        else:
            result.append(Run(line, css))
    return result


def _diff_css(line: str, tokens: Tokens) -> str:
    if line.startswith(("+++", "---", "diff ", "index ", "*** ")):
        return f"color:{tokens.text3}"
    if line.startswith("@@"):
        return f"color:{tokens.info}"
    if line.startswith("+"):
        return f"color:{tokens.ok}"
    if line.startswith("-"):
        return f"color:{tokens.err}"
    return ""


@lru_cache(maxsize=64)
def _lexer(name: str) -> Lexer | None:
    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _lexed(code: str, lexer: Lexer, tokens: Tokens) -> list[Run]:
    """Return the lexer's parts as runs; plain when it loses a character or the deadline."""
    result: list[Run] = []
    length = 0
    ends_at = time.thread_time() + _DEADLINE_S
    for kind, text in lexer.get_tokens(code):
        if time.thread_time() > ends_at:
            break
        length += len(text)
        ink = _ink(kind)
        css = f"color:{getattr(tokens, ink)}" if ink else ""
        if result and (result[-1].css == css or not text.strip()):
            result[-1] = Run(result[-1].text + text, result[-1].css)
        else:
            result.append(Run(text, css))
    if length < len(code):
        result.append(Run(code[length:]))
    whole = "".join(run.text for run in result)
    return result if whole == code else [Run(code)]


@lru_cache(maxsize=512)
def _ink(kind: _TokenType) -> str:
    at: _TokenType | None = kind
    while at is not None:
        if at in _INK:
            return _INK[at]
        at = at.parent
    return ""
