"""What an answer in VS Code's chat holds: its items, in the order they are shown.

An item without a kind is Markdown; a tool's call and what came of it are one item. The rounds
that the answer's metadata lists say the same calls again, with their arguments and results.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from core.sources.genai_parts import json_text, text_or_none
from core.types import ToolCall, ToolStatus

Json = Mapping[str, Any]

# Known, and nothing of the conversation: marks of where things happened, buttons, progress.
_SILENT = frozenset(
    {
        "codeCitation",
        "codeblockUri",
        "command",
        "confirmation",
        "elicitation",
        "elicitationSerialized",
        "extensions",
        "externalEdits",
        "hook",
        "mcpServersStarting",
        "multiDiffData",
        "prepareToolInvocation",
        "progressMessage",
        "progressTask",
        "progressTaskSerialized",
        "pullRequest",
        "questionCarousel",
        "reference",
        "references",
        "treeData",
        "undoStop",
    }
)
_SAYS = frozenset({"markdownContent", "markdownVuln", "warning"})
_EDITS = frozenset({"notebookEditGroup", "textEditGroup"})
_CALLS = frozenset({"toolInvocation", "toolInvocationSerialized"})
_MOST_WRAPPED = 5
_DENIED = 0  # ToolConfirmKind.Denied
_SPACES = re.compile(r"\s")


@dataclass(slots=True)
class Answer:
    """The items of an answer, sorted by what they are."""

    text: str = ""
    reasoning: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    _parted: bool = False

    def say(self, text: str) -> None:
        """Add text. What a call stands between is two paragraphs, unless it is a sentence."""
        if self._parted and self.text and text:
            is_spaced = _SPACES.match(self.text[-1]) or _SPACES.match(text[0])
            self.text += text if is_spaced else f"\n\n{text}"
        else:
            self.text += text
        self._parted = self._parted and not text

    def part(self) -> None:
        """Note that something that is no text stands here."""
        self._parted = True


def answer_of(items: object, metadata: Json) -> Answer:
    """Return what the items of a response say; `metadata` is that of the request's result."""
    answer, rounds = Answer(), _rounds(metadata)
    for item in items if isinstance(items, list) else ():
        if isinstance(item, str):
            answer.say(item)
        elif isinstance(item, dict):
            _take(item, rounds, answer)
        else:
            answer.unknown.append(f"response {type(item).__name__}")
    return answer


def _take(item: Json, rounds: Mapping[str, tuple[str, str]], answer: Answer) -> None:
    kind = item.get("kind")
    if kind is None or (isinstance(kind, str) and kind in _SAYS):
        answer.say(markdown(item.get("value", item.get("content"))))
    elif kind == "inlineReference":
        answer.say(reference_name(item))
    elif kind == "thinking":
        answer.reasoning += _thoughts(item.get("value"))
        answer.part()
    elif isinstance(kind, str) and kind in _CALLS:
        answer.calls.append(_call(item, rounds))
        answer.part()
    elif isinstance(kind, str) and kind in _EDITS:
        answer.calls.append(_edit(item))
        answer.part()
    elif not isinstance(kind, str) or kind not in _SILENT:
        answer.unknown.append(f"response {kind}"[:100])


def markdown(value: object) -> str:
    """Return the text of a Markdown string, which is a text or an object that holds one."""
    text = value.get("value") if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""


def _thoughts(value: object) -> Iterator[str]:
    texts = value if isinstance(value, list) else (value,)
    yield from (text for text in texts if isinstance(text, str) and text.strip())


def reference_name(item: Json) -> str:
    """Return the name that stands for a file or symbol within a sentence."""
    target = item.get("inlineReference")
    name = text_or_none(item.get("name"))
    if name is None and isinstance(target, dict):
        name = text_or_none(target.get("name"))
        if name is None:
            path = path_of(target.get("location")) or path_of(target)
            name = PurePosixPath(path.replace("\\", "/")).name or path
    return name or ""


def path_of(target: object) -> str:
    """Return the path or address of a URI as VS Code writes it, '' where it is none.

    That is a text, an object of a URI's parts, or an object that holds one of those.
    """
    for _ in range(_MOST_WRAPPED):
        if isinstance(target, str):
            return unquote(target.removeprefix("file://")) if target[:5] == "file:" else target
        if not isinstance(target, dict):
            return ""
        texts = (text_or_none(target.get(key)) for key in ("fsPath", "path", "external"))
        target = next((text for text in texts if text), None) or target.get("uri")
    return ""


def _rounds(metadata: Json) -> dict[str, tuple[str, str]]:
    """The arguments and results of calls by their ids, as the model gave and got them."""
    found: dict[str, tuple[str, str]] = {}
    results = metadata.get("toolCallResults")
    results = results if isinstance(results, dict) else {}
    rounds = metadata.get("toolCallRounds")
    for each in rounds if isinstance(rounds, list) else ():
        calls = each.get("toolCalls") if isinstance(each, dict) else None
        for call in calls if isinstance(calls, list) else ():
            call_id = call.get("id") if isinstance(call, dict) else None
            if isinstance(call_id, str):
                found[call_id] = (json_text(call.get("arguments")), _result(results.get(call_id)))
    return found


def _result(value: object) -> str:
    """The text of a tool's result: a list of parts, each with a text or something else."""
    content = value.get("content") if isinstance(value, dict) else value
    if isinstance(content, str):
        return content
    texts = (markdown(part) for part in content) if isinstance(content, list) else ()
    return "\n".join(text for text in texts if text)


def _call(item: Json, rounds: Mapping[str, tuple[str, str]]) -> ToolCall:
    call_id = text_or_none(item.get("toolCallId"))
    name = text_or_none(item.get("toolId")) or "?"
    arguments, result = rounds.get(call_id or "", ("", ""))
    details = item.get("resultDetails")
    specific = item.get("toolSpecificData")
    specific = specific if isinstance(specific, dict) else {}
    if arguments in ("", "{}"):
        arguments = _arguments(item, specific, details)
    if not result:
        output = details.get("output") if isinstance(details, dict) else None
        terminal = specific.get("terminalCommandOutput")
        shown = terminal.get("text") if isinstance(terminal, dict) else None
        result = _result(output) or (shown if isinstance(shown, str) else "")
    result = result or markdown(item.get("pastTenseMessage"))
    return ToolCall(call_id, name, arguments, _status(item, specific), result=result)


def _arguments(item: Json, specific: Json, details: object) -> str:
    """What was asked of the tool, as far as the item itself tells."""
    given = details.get("input") if isinstance(details, dict) else None
    if isinstance(given, str) and given:
        return given
    if specific.get("kind") == "terminal":
        line = specific.get("commandLine")
        command = line.get("toolEdited") or line.get("original") if isinstance(line, dict) else None
        command = command or specific.get("command")
        if isinstance(command, str):
            return json_text({"command": command})
    if "rawInput" in specific:
        return json_text(specific["rawInput"])
    if isinstance(todos := specific.get("todoList"), list):
        return json_text({"todoList": todos})
    told = markdown(item.get("invocationMessage"))
    return json_text({"message": told}) if told else "{}"


def _status(item: Json, specific: Json) -> ToolStatus:
    confirmed = item.get("isConfirmed")
    kind = confirmed.get("type") if isinstance(confirmed, dict) else confirmed
    if isinstance(kind, int) and kind == _DENIED:  # as False is, of older versions
        return ToolStatus.FAILED
    details = item.get("resultDetails")
    ended = specific.get("terminalCommandState")
    code = ended.get("exitCode") if isinstance(ended, dict) else None
    if isinstance(details, dict) and details.get("isError") is True:
        return ToolStatus.FAILED
    if isinstance(code, int) and code != 0:
        return ToolStatus.FAILED
    done = item.get("isComplete") is True or code == 0
    return ToolStatus.SUCCEEDED if done else ToolStatus.UNKNOWN


def _edit(item: Json) -> ToolCall:
    """A group of edits to a file as the call that made it."""
    edits: list[str] = []
    todo: list[object] = [item.get("edits")]
    while todo:
        part = todo.pop()
        if isinstance(part, list):
            todo += reversed(part)
        elif isinstance(part, dict):
            edits += [text for text in (part.get("text"),) if isinstance(text, str) and text]
            todo.append(part.get("edit"))
    done = ToolStatus.SUCCEEDED if item.get("done") is True else ToolStatus.UNKNOWN
    given = json_text({"file": path_of(item.get("uri")), "text": "\n".join(edits)})
    return ToolCall(None, str(item["kind"]), given, done)
