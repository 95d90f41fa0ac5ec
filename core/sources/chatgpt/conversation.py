"""One conversation of a ChatGPT export as a session and its messages."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from core.sources.chatgpt.content import Json, Said, said_by, status_of, tool_called
from core.sources.chatgpt.tree import Nodes, walk
from core.sources.headline import derived_title
from core.sources.instants import instant, instant_ms
from core.sources.message_tree import Step
from core.sources.records import MessageRecord, SessionRecord, UnknownRecord
from core.types import MessageState, Origin, Role, TitleSource, ToolCall

NO_TITLES = {"new chat", "new conversation"}
"""Titles of conversations that were never given one."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_KEPT = (
    "gizmo_id",
    "gizmo_type",
    "conversation_template_id",
    "conversation_origin",
    "is_starred",
    "is_do_not_remember",
    "is_temporary_chat",
    "memory_scope",
    "plugin_ids",
    "voice",
)
_ROLES = {
    "user": (Role.USER, Origin.HUMAN),
    "assistant": (Role.ASSISTANT, Origin.MODEL),
    "tool": (Role.TOOL, Origin.TOOL),
    "system": (Role.SYSTEM, Origin.SYNTHETIC),
}


class Conversation:
    """A conversation as exported. `raw_ref` says where its bytes are.

    `unknown` lists what was not understood of the conversation itself.
    """

    def __init__(self, value: Json, raw_ref: str) -> None:
        self.value = value
        self.raw_ref = raw_ref
        self.unknown: list[str] = []
        self._updated_at_ms = instant_ms(value.get("update_time"))
        self._nodes: Nodes = self._usable_nodes()
        told = _text(value.get("id")) or _text(value.get("conversation_id"))
        self.native_id: str = told or self._derived_id()

    def records(self) -> Iterator[SessionRecord | MessageRecord | UnknownRecord]:
        """Yield the session, then every message of every branch in the tree's order."""
        messages, unknown = [], [UnknownRecord(what) for what in self.unknown]
        for step in walk(self._nodes, self.value.get("current_node")):
            message = self._nodes[step.key].get("message")
            if isinstance(message, dict):
                said = said_by(message)
                messages.append(self._message(step, message, said))
                unknown += [UnknownRecord(what) for what in said.unknown]
                if _role_of(message) not in _ROLES:
                    unknown.append(UnknownRecord(f"role {_role_of(message)}"))
        yield self._session(messages)
        yield from messages
        yield from unknown

    def _usable_nodes(self) -> Nodes:
        mapping = self.value.get("mapping")
        if not isinstance(mapping, dict):
            if mapping is not None:
                self.unknown.append("mapping")
            return {}
        self.unknown += ["node" for node in mapping.values() if not isinstance(node, dict)]
        return {key: node for key, node in mapping.items() if isinstance(node, dict)}

    def _derived_id(self) -> str:
        """An id for a conversation without one: of its first node, which no edit changes."""
        first = next(iter(self._nodes), None)
        told = [first] if first else [self.value.get("title"), self.value.get("create_time")]
        return "derived-" + hashlib.blake2b(json.dumps(told).encode(), digest_size=12).hexdigest()

    def _session(self, messages: list[MessageRecord]) -> SessionRecord:
        value = self.value
        title, source = _text(value.get("title")), TitleSource.MODEL
        if title is None or title.strip().lower() in NO_TITLES:
            prompts = (derived_title(m.content) for m in messages if _is_prompt(m))
            title = next((t for t in prompts if t), None)
            source = TitleSource.DERIVED if title else TitleSource.NONE
        kept = {k: value[k] for k in _KEPT if value.get(k) not in (None, False, "", [])}
        return SessionRecord(
            self.native_id,
            title=title,
            title_source=source,
            model=_text(value.get("default_model_slug")),
            started_at_ms=instant_ms(value.get("create_time")),
            updated_at_ms=self._updated_at_ms,
            archived=value.get("is_archived") is True,
            pinned=value.get("is_starred") is True,
            metadata=json.dumps(kept, ensure_ascii=False) if kept else None,
            is_snapshot=True,
        )

    def _message(self, step: Step, message: Json, said: Said) -> MessageRecord:
        role, origin = _ROLES.get(_role_of(message), (Role.SYSTEM, Origin.SYNTHETIC))
        metadata = _mapping(message.get("metadata"))
        if said.is_context or metadata.get("is_user_system_message") is True:
            origin = Origin.INJECTED
        elif said.is_event:
            origin = Origin.SYNTHETIC
        uid, text = self._uid(step.key), said.text
        calls: tuple[ToolCall, ...] = ()
        tool = tool_called(message) if role == Role.ASSISTANT else None
        if tool:
            calls, text = (ToolCall(uid, tool, text),), ""
        at = instant(message.get("create_time"))
        author = _mapping(message.get("author"))
        model = _text(metadata.get("model_slug")) or _text(self.value.get("default_model_slug"))
        is_tool = role == Role.TOOL
        return MessageRecord(
            self.native_id,
            uid,
            role,
            text,
            origin,
            position=step.position,
            state=_state(step, message, said, metadata),
            created_at_ms=at[0],
            time_quality=at[1],
            model=model if role == Role.ASSISTANT else None,
            reasoning="\n\n".join(said.reasoning) or None,
            tool_calls=calls,
            tool_call_id=self._call_answered(step) if is_tool else None,
            tool_name=_text(author.get("name")) if is_tool else None,
            tool_status=status_of(message, said) if is_tool else None,
            media_refs=tuple(said.media),
            raw_ref=self.raw_ref,
            as_of_ms=self._updated_at_ms,
        )

    def _uid(self, key: str) -> str:
        """A node's id where it is unique in the world, else with the conversation's before it."""
        return key if _UUID.fullmatch(key) else f"{self.native_id}:{key}"

    def _call_answered(self, step: Step) -> str | None:
        """The call that a tool's message hangs below; several may answer one call."""
        key, passed = step.parent, {step.key}
        while key is not None and key not in passed:
            passed.add(key)
            node = self._nodes[key]
            message = _mapping(node.get("message"))
            role = _role_of(message)
            if role == "assistant":
                return self._uid(key) if tool_called(message) else None
            if role == "user":
                return None
            parent = node.get("parent")
            key = parent if isinstance(parent, str) and parent in self._nodes else None
        return None


def _state(step: Step, message: Json, said: Said, metadata: Json) -> MessageState:
    """Hidden is what ChatGPT does not show and what shows nothing, on any branch."""
    shows_nothing = not (said.text.strip() or said.reasoning or said.media)
    scaffold = _role_of(message) == "system" and message.get("weight") == 0
    hidden = metadata.get("is_visually_hidden_from_conversation") is True
    user_context = said.is_context and _role_of(message) == "user"
    if hidden or shows_nothing or scaffold or user_context:
        return MessageState.HIDDEN
    return MessageState.ACTIVE if step.on_path else MessageState.OFF_BRANCH


def _is_prompt(message: MessageRecord) -> bool:
    return (message.role, message.origin, message.state) == (
        Role.USER,
        Origin.HUMAN,
        MessageState.ACTIVE,
    )


def _role_of(message: Json) -> str:
    role = _mapping(message.get("author")).get("role")
    return role if isinstance(role, str) else "none"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
