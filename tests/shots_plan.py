"""The picture of a plan: its steps, with a sign and a word for how far each is."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.shots import Camera

_STEPS = (
    ("Read the log of the failed build and find the first error", "completed"),
    ("修复 lockfile 的解析：两个版本号写在同一行", "completed"),
    ("Regenerate the lockfile, and compare what changed in it with the lockfile of the last "
     "release, so that no version moves that nobody asked for", "in_progress"),
    ("Run the whole build again", "pending"),
    ("Publish to the internal registry (no access yet)", "blocked"),
    ("Rename the job", "cancelled"),
)  # fmt: skip


def lines() -> list[dict[str, object]]:
    """Return a conversation in which a model writes its plan down."""
    todos = [{"content": text, "status": status} for text, status in _STEPS]
    plan = {"explanation": "The parser first; the build waits for it.", "plan": todos}
    text = json.dumps(plan, ensure_ascii=False)
    call = {"id": "c1", "name": "update_plan", "arguments": text, "status": "succeeded"}
    said = (
        ("user", "The build fails since this morning. Can you look into it?", {}),
        ("assistant", "I will. This is the plan:", {"tool_calls": [call]}),
        ("tool", "Plan updated", {"tool_call_id": "c1", "tool_name": "update_plan",
                                  "tool_status": "succeeded"}),
        ("assistant", "The parser is fixed. The lockfile is next.", {}),
    )  # fmt: skip
    title = "A build that fails"
    return [{"session": "plan", "role": role, "title": title, "content": content} | more
            for role, content, more in said]  # fmt: skip


async def take(camera: "Camera") -> None:
    """Take it over the program that the camera drives: found by a word of a step."""
    path = camera.folder / "plan.jsonl"
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines())
    path.write_text(text, encoding="utf-8")
    await camera.bring_in(path)
    path.unlink()
    await camera.search("lockfile")
    await camera.open_hit("Regenerate")
    camera.window.message_bar.hide()
    await camera.take("plan")
