"""An import of the window stands in the ledger, be it finished or cancelled."""

import asyncio

from core.errors import SourceError
from core.sources import ingest
from core.upkeep import operations
from tests.gui.conftest import until
from tests.gui.talks import talk


def lines(run, program):
    async def ended():
        while True:
            found = await program.store.read(operations.listing, kinds=("import",))
            if all(line.state != "running" for line in found):
                return found
            await asyncio.sleep(0.01)

    return run(ended())


def test_an_import_by_the_window_has_its_line(run, program, tmp_path):
    place = talk(tmp_path / "one" / "talk.jsonl", "talk", "ochre", "umber")

    async def whole():
        await program.start()
        program.imports.import_paths([place])
        await until(lambda: program.imports.running)
        await until(lambda: not program.imports.running)

    run(whole())
    (line,) = lines(run, program)
    assert (line.state, line.actor) == ("succeeded", "you")
    assert line.arguments["paths"] == [str(place)]
    assert line.receipt == {"new": 2, "changed": 0, "skipped": 0, "failed": 0, "conflicts": 0}
    assert "ochre" not in repr(line)


def test_a_cancelled_import_ends_as_failed_with_what_it_stored(run, program, tmp_path):
    place = talk(tmp_path / "big" / "long.jsonl", "long", *(f"line {n}" for n in range(5000)))
    panel = program.window.first_run.panel

    async def cancelled():
        await program.start()
        program.imports.progressed.connect(
            lambda now: now.messages and not now.paused and panel.pause.click()
        )
        program.imports.import_paths([place])
        await until(lambda: panel.pause.text().strip() == "Go on")
        panel.cancel.click()
        await until(lambda: not program.imports.running)

    run(cancelled())
    (line,) = lines(run, program)
    assert (line.state, line.outcome) == (
        "failed",
        "stopped before its end; what it stored is kept",
    )
    assert 0 < line.receipt["new"] < 5000


def test_an_import_that_ends_by_an_error_says_it(run, program, tmp_path, monkeypatch):
    place = talk(tmp_path / "one" / "talk.jsonl", "talk", "ochre")

    def refuse(*_args):
        raise SourceError("it cannot be read")

    monkeypatch.setattr(ingest.Import, "plan", refuse)

    async def whole():
        await program.start()
        program.imports.import_paths([place])
        await until(lambda: program.imports.running)
        await until(lambda: not program.imports.running)

    run(whole())
    (line,) = lines(run, program)
    assert (line.state, line.outcome) == ("failed", "it cannot be read")
