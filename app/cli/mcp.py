"""`backscroll mcp`: the door for agents, an MCP server over stdin and stdout."""

import argparse
from typing import Any

from app.cli.arguments import DONE
from app.cli.output import Output
from app.cli.store_access import store_path


def add_to(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "mcp",
        parents=[shared],
        help="let agents search: an MCP server on stdin and stdout",
        description="Answer the MCP tools session_search, project_history_search, read_message,"
        " project_session_move and get_operation from the store of one profile, on stdin and"
        " stdout, until stdin is closed. An agent starts this itself.",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, _output: Output) -> int:
    """Serve until the client is gone."""
    from app.cli.mcp_server import serve  # the protocol's libraries take most of a second

    serve(store_path(args))
    return DONE
