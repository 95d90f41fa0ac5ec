"""The types of lines, items and events that Codex writes, as data.

What is in none of these sets is counted as unknown. The quiet ones are known and tell nothing
of their own: their text stands in another line, or they are about the program.
"""

CALLS = {
    "function_call": "",
    "custom_tool_call": "",
    "tool_call": "",
    "mcp_tool_call": "",
    "local_shell_call": "local_shell",
    "web_search_call": "web_search",
    "tool_search_call": "tool_search",
    "image_generation_call": "image_generation",
}
OUTPUTS = frozenset(
    [
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
        "mcp_tool_call_output",
        "tool_search_output",
        "tool_result",
        "function_result",
    ]
)
QUIET_ITEMS = frozenset(
    ["additional_tools", "compaction", "compaction_trigger", "context_compaction", "ghost_snapshot"]
)
QUIET_LINES = frozenset(
    [
        "session_meta",
        "world_state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
    ]
)
QUIET_EVENTS = frozenset(
    [
        "account/rateLimits/updated",
        "agent_message_delta",
        "agent_reasoning_delta",
        "agent_reasoning_section_break",
        "apply_patch_approval_request",
        "background_event",
        "codex/event/raw_item",
        "collab_agent_interaction_begin",
        "collab_agent_interaction_end",
        "collab_agent_spawn_begin",
        "collab_agent_spawn_end",
        "collab_close_begin",
        "collab_close_end",
        "collab_resume_begin",
        "collab_resume_end",
        "collab_waiting_begin",
        "collab_waiting_end",
        "context_compacted",
        "deprecation_notice",
        "dynamic_tool_call_request",
        "dynamic_tool_call_response",
        "elicitation_request",
        "entered_review_mode",
        "exec_approval_request",
        "exec_command_begin",
        "exec_command_end",
        "exec_command_output_delta",
        "exited_review_mode",
        "guardian_assessment",
        "guardian_warning",
        "hook_completed",
        "hook_started",
        "image_generation_begin",
        "image_generation_end",
        "item_started",
        "mcp_startup_complete",
        "mcp_startup_update",
        "mcp_tool_call_begin",
        "mcp_tool_call_end",
        "model_reroute",
        "model_verification",
        "patch_apply_begin",
        "patch_apply_end",
        "patch_apply_updated",
        "plan_delta",
        "plan_update",
        "raw_response_item",
        "request_permissions",
        "request_user_input",
        "session_configured",
        "shutdown_complete",
        "stream_error",
        "sub_agent_activity",
        "terminal_interaction",
        "thread_goal_updated",
        "thread_name_updated",
        "thread_settings_applied",
        "turn.completed",
        "turn_diff",
        "undo_completed",
        "undo_started",
        "view_image_tool_call",
        "warning",
        "web_search_begin",
        "web_search_end",
    ]
)
