"""How much of one message an answer may take, whatever it holds."""

from dataclasses import replace

from core.types import Message, ToolCall

REASONING_CHARS = 500
ARGUMENT_CHARS = 500
"""The most characters of the arguments of each tool call."""

RESULT_CHARS = 1000
"""The most characters of what came of each call, where the source keeps that with it."""

TOOL_CALLS = 8
MEDIA_REFS = 8
REF_CHARS = 200
"""The most characters of a tool's name or of what names a file."""


def capped(message: Message) -> Message:
    """Return the message with all but its content and its names cut, and said to be.

    Its content was cut where it was read, to what its place in the answer allows.
    """
    reasoning = message.reasoning
    is_long = reasoning is not None and len(reasoning) > REASONING_CHARS
    return replace(
        message,
        reasoning=reasoning[:REASONING_CHARS] if reasoning is not None else None,
        reasoning_length=len(reasoning) if is_long and reasoning is not None else None,
        tool_calls=tuple(map(_capped_call, message.tool_calls[:TOOL_CALLS])),
        more_tool_calls=max(0, len(message.tool_calls) - TOOL_CALLS),
        tool_name=message.tool_name[:REF_CHARS] if message.tool_name else message.tool_name,
        media_refs=tuple(ref[:REF_CHARS] for ref in message.media_refs[:MEDIA_REFS]),
    )


def _capped_call(call: ToolCall) -> ToolCall:
    arguments, result = len(call.arguments), len(call.result)
    return replace(
        call,
        name=call.name[:REF_CHARS],
        arguments=call.arguments[:ARGUMENT_CHARS],
        arguments_length=arguments if arguments > ARGUMENT_CHARS else None,
        result=call.result[:RESULT_CHARS],
        result_length=result if result > RESULT_CHARS else None,
    )
