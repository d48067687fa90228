"""openai-agents: the function tools that its agents get from an MCP server."""

import contextlib
import json

import mcp
from agents.exceptions import UserError
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp, MCPUtil
from agents.tool_context import ToolContext

from mcp_peers.session import Answer, ProtocolError, RejectedByClient, Stdio

NAME, PACKAGE = "openai-agents", "openai-agents"
RESUMES = False
REPORTS_PROGRESS = False


class Session:
    def __init__(self, server, tools):
        self.server, self.tools = server, {tool.name: tool for tool in tools}
        self.protocol = server.session.protocol_version

    async def list(self):
        return {
            name: {"inputSchema": tool.params_json_schema, "description": tool.description}
            for name, tool in self.tools.items()
        }

    async def call(self, tool, arguments, on_progress=None):
        # An agent would not call a tool that is not listed. The check does.
        function = self.tools.get(tool) or self.function(tool)
        arguments = json.dumps(arguments)
        context = ToolContext(None, tool_name=tool, tool_call_id="1", tool_arguments=arguments)
        try:
            output = await function.on_invoke_tool(context, arguments)
        except mcp.MCPError as error:
            raise ProtocolError(error.code, f"{error} {error.data}") from error
        except UserError as error:
            if "missing required parameters" in str(error):
                raise RejectedByClient(str(error)) from error
            raise
        # This client does not show a model whether a result is an error.
        return Answer(output["text"], None)

    def function(self, name):
        tool = mcp.Tool(name=name, input_schema={"type": "object", "properties": {}})
        return MCPUtil.to_function_tool(tool, self.server, False, failure_error_function=None)


@contextlib.asynccontextmanager
async def connect(server):
    # The default of five seconds is too short for a transcript or a playlist of thousands of videos.
    options = {"client_session_timeout_seconds": 60, "cache_tools_list": True}
    if isinstance(server, Stdio):
        params = {"command": server.command, "args": server.args, "env": server.env}
        connection = MCPServerStdio(params, **options)
    else:
        params = {"url": server.url, "headers": server.headers, "timeout": 60}
        connection = MCPServerStreamableHttp(params, **options)
    async with connection:
        # By default a protocol error becomes text for the model. Here it is raised, so that the checks see it.
        tools = await MCPUtil.get_function_tools(
            connection, False, None, None, failure_error_function=None
        )
        yield Session(connection, tools)
