"""An agent: the MCP package's own client, talking to the server in a process of its own."""

import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.e2e.conftest import ROOT, Program

T = TypeVar("T")
PAYLOAD_CHARS = 16_000


@dataclass(frozen=True)
class Answer:
    """What a tool answered: its text, and whether it is an error."""

    text: str
    is_error: bool

    @property
    def json(self) -> Any:
        assert not self.is_error, self.text
        return json.loads(self.text)


@dataclass(frozen=True)
class Agent:
    """A connected client."""

    client: Client

    async def __call__(self, tool: str, /, **arguments: Any) -> Answer:
        result = await self.client.call_tool(tool, arguments)
        (content,) = result.content
        assert result.structured_content is None
        assert len(content.text) <= PAYLOAD_CHARS
        return Answer(content.text, bool(result.is_error))

    async def search(self, **arguments: Any) -> Any:
        return (await self("session_search", **arguments)).json

    async def pages(self, **arguments: Any) -> list[Any]:
        """Every page of an answer."""
        found = [await self.search(**arguments)]
        while found[-1]["cursor"] is not None:
            found.append(await self.search(**arguments, cursor=found[-1]["cursor"]))
        return found


def parameters(program: Program, *options: str | Path, env: Any = None) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "app", "mcp", *map(str, options)],
        env=program.environment() | (env or {}),
        cwd=ROOT,
    )


def as_agent(
    program: Program,
    work: Callable[[Agent], Awaitable[T]],
    *options: str | Path,
    mode: str = "auto",
    env: Any = None,
) -> T:
    """Return what `work` returns, done with a server that is started for it and ends with it."""

    async def run() -> T:
        async def never(*_: Any) -> Any:
            raise AssertionError("the server asked for a model")

        log_path = program.home / "mcp-stderr.log"
        with log_path.open("w", encoding="utf-8") as log:
            server = stdio_client(parameters(program, *options, env=env), errlog=log)
            async with Client(server, mode=mode, sampling_callback=never) as client:
                with anyio.fail_after(90):
                    result = await work(Agent(client))
        told = log_path.read_text(encoding="utf-8")
        assert "Traceback" not in told, told
        return result

    return anyio.run(run)


def joined(pages: list[Any]) -> Any:
    """The whole answer, put together from its pages."""
    whole = {key: value for key, value in pages[0].items() if key != "cursor"}
    for page in pages[1:]:
        for part in page["results"]:
            if not part.pop("continued", False):
                whole["results"].append(part)
                continue
            last = whole["results"][-1]
            assert last["session"] == part.pop("session")
            for section, more in part.items():
                last[section] += more
    return whole
