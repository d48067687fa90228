"""pydantic-ai: the toolset of its agents."""

import contextlib
import json

import mcp
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from mcp_peers.session import Answer, ProtocolError, Stdio

NAME, PACKAGE = "pydantic-ai", "pydantic-ai-slim"
RESUMES = False
REPORTS_PROGRESS = False


class Session:
    def __init__(self, toolset, context, tools):
        self.toolset, self.context, self.tools = toolset, context, tools
        self.protocol = toolset.client.protocol_version

    async def list(self):
        return {
            name: {
                "inputSchema": tool.tool_def.parameters_json_schema,
                "description": tool.tool_def.description,
                "outputSchema": tool.tool_def.return_schema,
            }
            for name, tool in self.tools.items()
        }

    async def call(self, tool, arguments, on_progress=None):
        try:
            if tool in self.tools:
                known = self.tools[tool]
                output = await self.toolset.call_tool(tool, arguments, self.context, known)
            else:
                output = await self.toolset.direct_call_tool(tool, arguments)
        except ModelRetry as error:
            # The model sees both kinds of errors. By default the agent's run ends after one retry.
            cause = error.__cause__
            if isinstance(cause, mcp.MCPError):
                raise ProtocolError(cause.code, f"{error} {cause.data}") from error
            return Answer(error.message, True)
        # The model sees the structured form instead of the text.
        return Answer(json.dumps(output), False, output)


@contextlib.asynccontextmanager
async def connect(server):
    if isinstance(server, Stdio):
        transport = StdioTransport(
            server.command, server.args, env=server.env, log_file=server.log, keep_alive=False
        )
    else:
        transport = StreamableHttpTransport(server.url, headers=server.headers)
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    async with MCPToolset(transport) as toolset:
        yield Session(toolset, context, await toolset.get_tools(context))
