"""`workspace.yaml` beside a session: a few flat lines that Copilot CLI writes.

A YAML library would parse anything that a stranger can put there (anchors that grow, tags) for
the sake of eight flat names. So only `name: value` at the beginning of a line is read, plain, in
quotes, or as a block of indented lines; what is written otherwise is left out.
"""

import json
from pathlib import Path

from core.errors import SourceError
from core.sources import files as disk

NAME = "workspace.yaml"
_BYTES = 1 << 16
_NAMES = frozenset(
    {"branch", "created_at", "cwd", "git_root", "name", "repository", "summary", "updated_at"}
    | {"user_named"}
)


def beside(path: Path) -> dict[str, str]:
    """Return the known names of the file beside a session's events; none where there is none."""
    try:
        with disk.opened(path.with_name(NAME)) as stream:
            return parsed(stream.read(_BYTES).decode("utf-8", "replace"))
    except SourceError:
        return {}


def parsed(text: str) -> dict[str, str]:
    """Return the known names that stand at the beginning of a line, with their values."""
    found: dict[str, str] = {}
    lines = text.splitlines()
    for number, line in enumerate(lines):
        name, colon, rest = line.partition(":")
        if not colon or name not in _NAMES or (rest and not rest[0].isspace()):
            continue
        value = rest.strip()
        if value[:1] in ("|", ">"):
            value = _block(lines[number + 1 :], "\n" if value[0] == "|" else " ")
        else:
            value = _scalar(value)
        if value and value not in ("null", "~"):
            found[name] = value
    return found


def _block(lines: list[str], joint: str) -> str:
    taken = []
    for line in lines:
        if line.strip() and not line.startswith(" "):
            break
        taken.append(line.strip())
    return joint.join(taken).strip()


def _scalar(value: str) -> str:
    """The text of a plain or quoted value; '' for what is not one."""
    if value.startswith("'"):
        end = len(value) > 1 and value.endswith("'")
        return value[1:-1].replace("''", "'") if end else ""
    if value.startswith('"'):
        try:
            told = json.loads(value)
        except ValueError:
            return ""
        return told if isinstance(told, str) else ""
    if value[:1] in ("{", "[", "&", "*", "!", "#"):
        return ""
    return value.partition(" #")[0].rstrip()
