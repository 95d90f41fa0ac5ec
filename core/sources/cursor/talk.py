"""A conversation of Cursor's agent while its messages are read in order."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from core.sources.cursor.blocks import Blocks, Result, blocks_of, typed
from core.sources.headline import derived_title
from core.sources.instants import UNKNOWN, Instant
from core.sources.loose import Json, json_text, text
from core.sources.records import MessageRecord, SessionRecord, UnknownRecord
from core.sources.uids import Uids
from core.types import MessageState, Origin, Role, SessionKind, TitleSource, ToolStatus

_ROLES = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "system": Role.SYSTEM,
}


@dataclass(slots=True)
class Talk:
    """One session. Its title comes from the first prompt where the source has none."""

    record: SessionRecord
    at: Instant = UNKNOWN
    _uids: Uids = field(init=False)

    def __post_init__(self) -> None:
        self._uids = Uids(self.record.native_id)

    def records(
        self, named: str, value: Json, content: object, position: int, raw_ref: str,
        native_id: str | None = None,
    ) -> Iterator[MessageRecord | UnknownRecord]:  # fmt: skip
        """Yield the results in a message, what was sent along with it, and the message itself."""
        role = _ROLES.get(named, Role.SYSTEM)
        if named not in _ROLES:
            yield UnknownRecord(f"role {named}"[:100])
        blocks = blocks_of(content, raw_ref)
        yield from (UnknownRecord(what) for what in blocks.unknown)
        main = self._message(role, value, blocks, position, raw_ref, native_id, json_text(content))
        for number, result in enumerate(blocks.results, 1):
            yield _as_message(result, main, number)
        content, added = main.content, ""
        if role == Role.USER:
            content, added = typed(blocks.texts)
        if added and content:
            yield replace(
                main,
                uid=f"{main.uid}:context",
                content=added,
                origin=Origin.INJECTED,
                media_refs=(),
            )
            position += len(blocks.results) + 1
        origin = Origin.INJECTED if added and not content else main.origin
        main = replace(main, content=content or added, origin=origin, position=position)
        says = main.content or main.reasoning or main.tool_calls or main.media_refs
        if says:
            yield main
        elif not blocks.results:
            yield replace(main, state=MessageState.HIDDEN)

    def _message(
        self,
        role: Role,
        value: Json,
        blocks: Blocks,
        position: int,
        raw_ref: str,
        native_id: str | None,
        words: str,
    ) -> MessageRecord:
        origin = {
            Role.USER: Origin.HUMAN, Role.ASSISTANT: Origin.MODEL, Role.TOOL: Origin.TOOL
        }.get(role, Origin.INJECTED)  # fmt: skip
        if role == Role.USER and self.record.kind == SessionKind.SUBAGENT:
            origin = Origin.MODEL
        return MessageRecord(
            self.record.native_id,
            self._uids.of(native_id, role, words),
            role,
            blocks.content,
            origin,
            position=position,
            created_at_ms=self.at[0],
            time_quality=self.at[1],
            model=text(value, "model") if role == Role.ASSISTANT else None,
            reasoning=blocks.reasoning,
            tool_calls=tuple(blocks.calls) if role == Role.ASSISTANT else (),
            media_refs=tuple(blocks.media),
            raw_ref=raw_ref,
        )

    def titled(self, message: MessageRecord) -> SessionRecord | None:
        """Return the session once more where this message is the first that gives it a title."""
        spoken = message.role == Role.USER and message.origin in (Origin.HUMAN, Origin.MODEL)
        title = derived_title(message.content) if spoken and self.record.title is None else None
        if title is None:
            return None
        self.record = replace(self.record, title=title, title_source=TitleSource.DERIVED)
        return self.record


def _as_message(result: Result, main: MessageRecord, number: int) -> MessageRecord:
    return replace(
        main,
        uid=f"{main.uid}:{result.call_id or number}",
        role=Role.TOOL,
        content=result.said,
        origin=Origin.TOOL,
        position=(main.position or 0) + number - 1,
        model=None,
        reasoning=None,
        tool_calls=(),
        tool_call_id=result.call_id,
        tool_name=result.name,
        tool_status=ToolStatus.FAILED if result.failed else ToolStatus.SUCCEEDED,
        media_refs=result.media,
    )
