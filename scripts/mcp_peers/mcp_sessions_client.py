"""The package `mcp`, with the protocol version of most clients, which has sessions."""

from mcp_peers import mcp_client

NAME, PACKAGE = "mcp, sessions", "mcp"
RESUMES = True
REPORTS_PROGRESS = True


def connect(server):
    return mcp_client.connect(server, mode="legacy")
