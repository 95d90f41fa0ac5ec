"""Pictures of the page of sources: watched, paused, failed, unknown records; report and why."""

import asyncio
import json
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app import theme
from app.views.report_sheet import ReportSheet
from core.history import watched

_SETTLE_S = 0.5


async def take_all(camera, home: Path) -> None:
    """Take them light and dark; the files that are broken for it lie in the demo's home."""
    program, window = camera.program, camera.window
    _break(home)
    program.imports.show_sources()
    await _until(lambda: window.models.sources.rowCount() > 0)
    await _until(lambda: program.watching.state.watching > 1)
    await _until(window.first_run.drift.isVisible)
    window.message_bar.hide()
    await program.store.write(watched.set_paused, str(home / ".hermes"), paused=True)
    program.watching.look_again()
    program.imports.show_sources()
    await _until(lambda: any(each.watch == "paused" for each in window.models.sources.rows()))
    await asyncio.sleep(1)
    _as_after_a_start(window)
    await camera.take("sources")
    window.drop_hint.cover()
    await camera.take("sources-drop")
    window.drop_hint.hide()
    codex = next(each for each in window.models.sources.rows() if each.found.kind == "codex")
    window.first_run.report_asked.emit(codex.source)
    await _sheet(camera, ReportSheet, "sources-report")
    for text, name in (("e6688396", "why-found"), ("a walnut cupboard", "why-missing")):
        program.why_missing.ask(text)
        await _until(lambda: program.why_missing.sheet is not None)
        await _until(lambda: program.why_missing.sheet.words())
        await _grab(camera, program.why_missing.sheet, name)
        program.why_missing.sheet.close()


def _break(home: Path) -> None:
    """Give Codex a broken line and a type of record that nobody knows, and an unread talk."""
    path = max((home / ".codex").rglob("rollout-*.jsonl"))
    new = {"timestamp": "2026-11-30T09:00:00Z", "type": "holo_item", "payload": {}}
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(new) + "\n" for _ in range(6))
        file.write('{"timestamp":"2026-11-30T09:00:01Z","type":"respo\n')
        file.write(json.dumps(new) + "\n")
    line = {"session": "w", "role": "user", "content": "a walnut cupboard for the hall"}
    (home / "exports" / "talks.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")


def _as_after_a_start(window) -> None:
    """Show what the page says when nothing was imported since the start."""
    model = window.models.sources
    for n, row in enumerate(model.rows()):
        if row.state == "imported":
            model.update(n, state="ready", note="", fraction=None)


async def _sheet(camera, kind: type, name: str) -> None:
    def found():
        return [each for each in QApplication.topLevelWidgets() if isinstance(each, kind)]

    await _until(found)
    await _grab(camera, found()[0], name)
    found()[0].close()


async def _grab(camera, sheet, name: str) -> None:
    await asyncio.sleep(_SETTLE_S)
    for dark, suffix in ((False, ""), (True, "-dark")):
        theme.apply(camera.app, dark=dark)
        await asyncio.sleep(_SETTLE_S)
        sheet.grab().save(str(camera.folder / f"{name}{suffix}.png"))
        camera.taken.append(f"{name}{suffix}")
    theme.apply(camera.app, dark=False)


async def _until(condition) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.02)
