"""The package `mcp`, with the newest protocol, which has no sessions."""

import contextlib

import httpx2
import mcp
from mcp.client.streamable_http import streamable_http_client

from mcp_peers.session import Answer, ProtocolError, Stdio

NAME, PACKAGE = "mcp", "mcp"
# The newest protocol has no streams to resume.
RESUMES = False
REPORTS_PROGRESS = True


class Session:
    def __init__(self, client):
        self.client, self.protocol = client, client.protocol_version

    async def list(self):
        # The first page must have all tools, because some clients do not request a second one.
        listed = (await self.client.list_tools()).tools
        return {tool.name: as_sent(tool) for tool in listed}

    async def call(self, tool, arguments, on_progress=None):
        try:
            result = await self.client.call_tool(tool, arguments, progress_callback=on_progress)
        except mcp.MCPError as error:
            raise ProtocolError(error.code, f"{error} {error.data}") from error
        return as_answer(result)


def as_sent(model):
    return model.model_dump(by_alias=True, exclude_none=True, mode="json")


def as_answer(result):
    return Answer(result.content[0].text, result.is_error, result.structured_content)


@contextlib.asynccontextmanager
async def connect(server, mode="auto"):
    async with contextlib.AsyncExitStack() as stack:
        if isinstance(server, Stdio):
            # A log line on standard output would break the protocol.
            env = server.env | {"RUST_LOG": "trace"}
            start = mcp.StdioServerParameters(command=server.command, args=server.args, env=env)
            log = stack.enter_context(server.log.open("w"))
            transport = mcp.stdio_client(start, errlog=log)
        else:
            timeout = httpx2.Timeout(30, read=300)
            http = httpx2.AsyncClient(headers=server.headers, timeout=timeout)
            await stack.enter_async_context(http)
            transport = streamable_http_client(server.url, http_client=http)
        unexpected = []

        async def watch(message):
            if isinstance(message, Exception):
                unexpected.append(message)

        client = mcp.Client(transport, mode=mode, message_handler=watch)
        yield Session(await stack.enter_async_context(client))
        assert not unexpected, unexpected
        if isinstance(server, Stdio):
            assert "TRACE" in server.log.read_text("utf-8"), "the log has no trace lines"
