"""Clients that we did not write, and what they must be able to do with our tools.

| file | holds |
|---|---|
| `calls.py` | the calls: one entry for each tool, the wrong arguments, the slow call |
| `checks.py` | the checks, which are the same for each client in Python |
| `session.py` | what a client's file has to provide: `connect`, and a session with `list` and `call` |
| `*_client.py` | one client each |
| `typescript.mjs` | the client of npm, with the same checks |
| `schemas.py` | `vidra tools` against JSON Schema |
| `dropping_proxy.py` | a proxy that loses the answers of tools |
| `raw_http.py` | the same loss, without any client library |

`scripts/mcp-clients` starts the services and runs each client in the environment that has it. Only `*_client.py` and
`schemas.py` import packages; everything else needs Python alone.
"""
