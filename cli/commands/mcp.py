"""`answerbus mcp`."""

from __future__ import annotations

from cli.options import DATA, Data, InProcess, Url


def mcp(url: Url = "", data: Data = DATA, in_process: InProcess = False) -> None:
    """Serve the Model Context Protocol over standard input and output, for an agent that starts this command."""
    from cli.client import connect
    from cli.late_client import LateClient
    from cli.output import run

    async def work() -> None:
        from mcp.server.stdio import stdio_server

        from services.gateway.protocols.mcp.server import build

        # The agent is answered while the platform still starts, as agents wait a few seconds only.
        connection = connect(url, data, in_process=in_process, quiet=True)
        async with stdio_server() as (incoming, outgoing), LateClient(connection) as client:
            server = build(lambda _: client)
            await server.run(incoming, outgoing, server.create_initialization_options())

    run(work)
