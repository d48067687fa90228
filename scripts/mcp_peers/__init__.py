"""Third-party clients, and the checks that they must pass with the tools of vidra.

| file | contents |
|---|---|
| `calls.py` | the calls: one entry for each tool, the wrong arguments, the slow call |
| `checks.py` | the checks, which are the same for each client in Python |
| `session.py` | the interface of a client's file: `connect`, and a session with `list` and `call` |
| `*_client.py` | one client each |
| `typescript.mjs` | the client of npm, with the same checks |
| `schemas.py` | validates the output of `vidra tools` as JSON Schema |
| `dropping_proxy.py` | a proxy that drops the response streams of tool calls |
| `raw_http.py` | drops and resumes response streams without any client library |

`scripts/mcp-clients` starts the services and runs each client in the environment with its packages. Only `*_client.py`
and `schemas.py` import packages; everything else uses only the standard library.
"""
