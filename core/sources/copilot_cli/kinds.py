"""The types of events that Copilot CLI writes, as data.

From the published schema of its SDK (github/copilot-sdk, session-events.ts) and from real files
of 0.0.420 to 1.0.77. What is in none of these sets is counted as unknown.
"""

FACTS = frozenset(
    {
        "session.compaction_complete",
        "session.context_changed",
        "session.model_change",
        "session.resume",
        "session.shutdown",
        "session.snapshot_rewind",
        "session.start",
        "session.title_changed",
        "subagent.started",
    }
)
"""Events that say something of the session or of other events."""

SPOKEN = frozenset(
    {
        "assistant.message",
        "assistant.reasoning",
        "system.message",
        "system.notification",
        "tool.execution_complete",
        "tool.execution_start",
        "user.message",
    }
)

EVENTS = {
    "abort": "Aborted",
    "session.compaction_complete": "Conversation compacted",
    "session.context_cleared": "Context cleared",
    "session.error": "Error",
    "session.handoff": "Handed off",
    "session.warning": "Warning",
    "subagent.failed": "The subagent failed",
}
"""Events that are shown as a line of their own, and what it says where the event has no words."""

SILENT = frozenset(
    {
        "assistant.idle",
        "assistant.intent",
        "assistant.message_delta",
        "assistant.message_start",
        "assistant.reasoning_delta",
        "assistant.server_tool_progress",
        "assistant.streaming_delta",
        "assistant.tool_call_delta",
        "assistant.turn_end",
        "assistant.turn_start",
        "assistant.usage",
        "auto_mode_switch.completed",
        "auto_mode_switch.requested",
        "capabilities.changed",
        "command.completed",
        "command.execute",
        "command.queued",
        "commands.changed",
        "elicitation.completed",
        "elicitation.requested",
        "exit_plan_mode.completed",
        "exit_plan_mode.requested",
        "external_tool.completed",
        "external_tool.requested",
        "hook.end",
        "hook.progress",
        "hook.start",
        "mcp.oauth_completed",
        "mcp.oauth_required",
        "model.call_failure",
        "model.call_finished",
        "pending_messages.modified",
        "permission.completed",
        "permission.requested",
        "sampling.completed",
        "sampling.requested",
        "session.auto_mode_resolved",
        "session.background_tasks_changed",
        "session.compaction_start",
        "session.custom_agents_updated",
        "session.extensions_loaded",
        "session.idle",
        "session.info",
        "session.mcp_server_status_changed",
        "session.mcp_servers_loaded",
        "session.mode_changed",
        "session.permissions_changed",
        "session.plan_changed",
        "session.remote_steerable_changed",
        "session.skills_loaded",
        "session.task_complete",
        "session.todos_changed",
        "session.tools_updated",
        "session.truncation",
        "session.usage_checkpoint",
        "session.usage_info",
        "session.workspace_file_changed",
        "skill.invoked",
        "subagent.completed",
        "subagent.configured",
        "subagent.deselected",
        "subagent.selected",
        "tool.execution_partial_result",
        "tool.execution_progress",
        "tool.search_activated",
        "tool.user_requested",
        "user_input.completed",
        "user_input.requested",
    }
)
"""Known, and told by another event or about the program alone."""

KNOWN = FACTS | SPOKEN | SILENT | frozenset(EVENTS)

INJECTED_SOURCES = ("autopilot", "schedule", "skill", "system")
"""How `source` of a `user.message` begins where no person typed it."""
