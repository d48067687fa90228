"""fastmcp. Its package `fastmcp-slim[client]` is the client of `fastmcp`, without the server."""

import contextlib

import mcp
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

from mcp_peers.mcp_client import as_answer, as_sent
from mcp_peers.session import ProtocolError, Stdio

NAME, PACKAGE = "fastmcp", "fastmcp-slim"
RESUMES = False
REPORTS_PROGRESS = True


class Session:
    def __init__(self, client):
        self.client, self.protocol = client, client.protocol_version

    async def list(self):
        return {tool.name: as_sent(tool) for tool in await self.client.list_tools()}

    async def call(self, tool, arguments, on_progress=None):
        try:
            # By default the client raises an exception for an error result.
            result = await self.client.call_tool(
                tool, arguments, progress_handler=on_progress, raise_on_error=False
            )
        except mcp.MCPError as error:
            raise ProtocolError(error.code, f"{error} {error.data}") from error
        return as_answer(result)


@contextlib.asynccontextmanager
async def connect(server):
    if isinstance(server, Stdio):
        transport = StdioTransport(
            server.command, server.args, env=server.env, log_file=server.log, keep_alive=False
        )
    else:
        transport = StreamableHttpTransport(server.url, headers=server.headers)
    async with Client(transport) as client:
        yield Session(client)
