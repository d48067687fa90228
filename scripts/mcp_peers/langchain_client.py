"""langchain-mcp-adapters: the tools as an agent of LangChain uses them.

Over HTTP without a key it opens a session for each call, which is the default. With a key, and over standard input and
output, it uses one session for all calls.
"""

import contextlib

import anyio
import mcp
from langchain_core.tools import ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import convert_mcp_tool_to_langchain_tool, load_mcp_tools

from mcp_peers.session import Answer, Http, ProtocolError, Stdio

NAME, PACKAGE = "langchain", "langchain-mcp-adapters"
RESUMES = True
REPORTS_PROGRESS = False


class Session:
    def __init__(self, protocol, tools, make):
        self.protocol, self.make = protocol, make
        self.tools = {tool.name: tool for tool in tools}

    async def list(self):
        return {
            name: {"description": tool.description, "inputSchema": tool.args_schema}
            for name, tool in self.tools.items()
        }

    async def call(self, tool, arguments, on_progress=None):
        # An agent would not call a tool that is not listed. The check does.
        runnable = self.tools.get(tool) or self.make(tool)
        call = {"type": "tool_call", "id": "1", "name": tool, "args": arguments}
        try:
            message = await runnable.ainvoke(call)
        except mcp.McpError as error:
            raise ProtocolError(error.error.code, f"{error} {error.error.data}") from error
        except ToolException as error:
            return Answer(str(error), True)
        structured = (message.artifact or {}).get("structured_content")
        return Answer(message.content[0]["text"], message.status == "error", structured)


@contextlib.asynccontextmanager
async def open_session(server):
    if isinstance(server, Stdio):
        connection = {
            "transport": "stdio",
            "command": server.command,
            "args": server.args,
            "env": server.env,
        }
    else:
        connection = {"transport": "http", "url": server.url, "headers": server.headers}
    client = MultiServerMCPClient({"vidra": connection})
    async with client.session("vidra", auto_initialize=False) as session:
        protocol = (await session.initialize()).protocolVersion
        if isinstance(server, Http) and not server.headers:
            tools = await client.get_tools()
            session = None
        else:
            tools = await load_mcp_tools(session)
            connection = None

        def make(name):
            tool = mcp.Tool(name=name, inputSchema={"type": "object", "properties": {}})
            return convert_mcp_tool_to_langchain_tool(session, tool, connection=connection)

        yield Session(protocol, tools, make)


@contextlib.asynccontextmanager
async def connect(server):
    closing = False
    try:
        async with open_session(server) as session:
            yield session
            closing = True
    except BaseExceptionGroup as errors:
        # The client does not send the cancellation of a call to the service. So the answer may arrive while the client
        # closes its session, and the client then raises this error.
        _, others = errors.split(anyio.BrokenResourceError)
        if others or not closing:
            raise
