"""The kinds of history by name, as data: help texts name them without loading their readers."""

KINDS = (
    "aider",
    "chatgpt",
    "claude-ai",
    "claude-code",
    "codex",
    "copilot-cli",
    "cursor",
    "gemini-cli",
    "goose",
    "hermes",
    "jsonl",
    "librechat",
    "moviepilot",
    "open-webui",
    "opencode",
    "pi",
    "picobot",
    "qwen-code",
    "vscode-chat",
)
"""What `import --kind` takes; `detect.READERS` has the reader of each."""
