"""The interface of a client's file.

- `connect(server)`: an asynchronous context manager that returns a session. `server` is a `Stdio` or an `Http`.
- A session has `protocol` (the version), `async list()` and `async call(tool, arguments, on_progress)`.
- `RESUMES`: whether the client reads an answer from a second stream after it lost the first.
- `REPORTS_PROGRESS`: whether `call` uses `on_progress`.

For an agent framework, the file uses the code path of the agent loop, so that the checks see the text for the model.
"""

import dataclasses
import pathlib


@dataclasses.dataclass
class Stdio:
    """A service that the client starts."""

    command: str
    args: list[str]
    env: dict[str, str]
    log: pathlib.Path


@dataclasses.dataclass
class Http:
    """A service that runs."""

    url: str
    headers: dict[str, str]


@dataclasses.dataclass
class Answer:
    """The result of a call."""

    # The text that a model would see.
    text: str
    # None if the client hides it.
    is_error: bool | None
    structured: dict | None = None


class ProtocolError(Exception):
    """The call ended with a JSON-RPC error."""

    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code = code


class RejectedByClient(Exception):
    """The client rejected the arguments and sent no request."""
