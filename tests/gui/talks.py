"""Small conversations for tests of the whole program, and what it shows of them."""

import json
from pathlib import Path


def talk(path: Path, session: str, *texts: str, **first) -> Path:
    """Write a conversation in the neutral format: user and assistant in turn."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for n, text in enumerate(texts):
            line = {
                "session": session,
                "id": f"{session}-{n}",
                "role": "assistant" if n % 2 else "user",
                "content": text,
                "created_at": f"2026-11-2{n % 9}T10:0{n % 10}:00Z",
            }
            file.write(json.dumps(line | (first if n == 0 else {}), ensure_ascii=False) + "\n")
    return path


def talk_files(folder: Path) -> Path:
    """Write four small conversations."""
    talk(
        folder / "a.jsonl",
        "films",
        "电影订阅每次刷新都会重复下载",
        "先占位再入队",
        title="电影订阅",
    )
    talk(folder / "b.jsonl", "osaka", "we land in Osaka at nine", "then take the train")
    talk(folder / "c.jsonl", "mail", "退订链接没有反应", "改成一次性令牌", cwd="/home/dev/mailer")
    talk(folder / "d.jsonl", "plan", "Osaka is in the plan, Osaka again", "noted")
    return folder


def sessions(program) -> list[str]:
    model = program.window.models.sessions
    return [model.session(row).title for row in range(model.rowCount())]


def hits(program) -> list[str]:
    model = program.window.models.hits
    found = [model.hit(row) for row in range(model.rowCount())]
    return [hit.message for hit in found if hit is not None]
