"""Runs one client. `python -m mcp_peers fastmcp` reads the plan of scripts/mcp-clients from standard input."""

import asyncio
import importlib
import json
import sys

from mcp_peers import checks

NAME = sys.argv[1]
MODULE = importlib.import_module(f"mcp_peers.{NAME}")
print(json.dumps(asyncio.run(checks.check_client(MODULE, json.load(sys.stdin)))))
