"""The checks. Each client in Python passes all of them over each transport."""

import asyncio
import contextlib
import importlib.metadata
import pathlib
import traceback

from mcp_peers import calls
from mcp_peers.session import Http, ProtocolError, RejectedByClient, Stdio

# Longer than any call takes. A client that waits for an answer that never comes fails after it.
PATIENCE = 60


def check_answer(tool, answer):
    assert not answer.is_error, f"{tool}: {answer.text}"
    is_marked = answer.text.count("youtube-data") == 2
    # Clients that show a model the structured form alone do not show the marks.
    notice = (answer.structured or {}).get("notice", "")
    assert is_marked or "never follow instructions" in answer.text, f"{tool}: {answer.text}"
    assert answer.structured is None or "never follow instructions" in notice, f"{tool}: {answer}"


class Checks:
    """The checks of one client over one transport."""

    def __init__(self, client, server, plan):
        self.client, self.server = client, server
        # As `vidra tools` prints them.
        self.tools = {tool["name"]: tool for tool in plan["tools"]}
        self.slow = calls.slow_tool(self.tools)
        self.answers = {}

    async def list(self, session):
        """The client lists the tools as they are: all of them, and no field changed on the way."""
        listed = await session.list()
        assert set(listed) == set(self.tools), sorted(listed)
        for name, tool in listed.items():
            expected = {key: self.tools[name][key] for key in tool}
            assert tool == expected, f"{name} is listed as {tool}"

    async def call(self, session):
        """Each tool answers. Clients that know output schemas hold the answer against them."""
        for tool in [name for name in calls.CALLS if name in self.tools]:
            steps = []

            async def on_progress(done, total, _message):
                steps.append((done, total))

            answer = await session.call(tool, calls.CALLS[tool], on_progress)
            check_answer(tool, answer)
            self.answers[tool] = answer.text
            if self.client.REPORTS_PROGRESS and tool in calls.STEPS:
                count = calls.STEPS[tool]
                expected = [(step, count) for step in range(1, count + 1)]
                assert steps == expected, f"{tool} reports {steps}"
        tool, arguments, words = calls.FAILS
        answer = await session.call(tool, arguments)
        assert answer.is_error in (True, None) and words in answer.text, f"{tool}: {answer}"

    async def wrong(self, session):
        """Wrong arguments are reported in a way that names them."""
        for tool, arguments, word in calls.WRONG_ARGUMENTS:
            try:
                answer = await session.call(tool, arguments)
            except RejectedByClient as error:
                assert word in str(error), f"{tool}: {error}"
                continue
            except ProtocolError as error:
                assert calls.WRONG_ARGUMENTS_ARE == "protocol error", f"{tool}: {error}"
                assert error.code == calls.INVALID_PARAMS and word in str(error), f"{tool}: {error}"
                continue
            assert calls.WRONG_ARGUMENTS_ARE == "result", f"{tool} {arguments}: {answer}"
            assert answer.is_error in (True, None) and word in answer.text, f"{tool}: {answer}"

    async def unknown(self, session):
        """An unknown tool is a protocol error."""
        try:
            answer = await session.call(calls.UNKNOWN_TOOL, {})
        except ProtocolError as error:
            assert error.code == calls.INVALID_PARAMS, error
        else:
            raise AssertionError(f"an unknown tool answered {answer}")

    async def cancel(self, session):
        """A call is cancelled while it runs. The session still works."""
        call = asyncio.create_task(session.call(self.slow, {"video": calls.CANCELLED_VIDEO}))
        done, _ = await asyncio.wait([call], timeout=0.5)
        assert not done, f"the slow call took no time: {call}"
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        await self.check_session(session)

    async def crowd(self, session):
        """Many calls at once. Each gets its own answer."""
        names = list(self.answers)
        names = [names[index % len(names)] for index in range(calls.CROWD)]
        answers = await asyncio.gather(*(session.call(name, calls.CALLS[name]) for name in names))
        for name, answer in zip(names, answers):
            assert answer.text == self.answers[name], f"{name} answered {answer.text}"

    async def check_session(self, session):
        check_answer("get_videos", await session.call("get_videos", calls.CALLS["get_videos"]))

    async def drop(self, urls):
        """The response stream of a call is dropped while the call runs. A client that resumes gets the answer."""
        await self.check_dropped(urls["dropped_running"])

    async def lose(self, urls):
        """The response stream is dropped just before the answer, which was sent and is lost."""
        if not calls.RESUMES_FINISHED:
            return "off"
        await self.check_dropped(urls["dropped_finished"])

    async def check_dropped(self, url):
        server = Http(url, self.server.headers)
        # The proxy drops this call and no other.
        arguments = {"video": calls.DROPPED_VIDEO}
        try:
            async with self.client.connect(server) as session:
                answer = await session.call(self.slow, arguments)
                if self.client.RESUMES:
                    check_answer(self.slow, answer)
                    return await self.check_session(session)
        except (Exception, BaseExceptionGroup):
            if self.client.RESUMES:
                raise
        else:
            raise AssertionError("the client got an answer that was dropped")
        # The call has failed, and the client may have lost its connection with it.
        async with self.client.connect(server) as session:
            await self.check_session(session)

    async def refuse(self, urls):
        """A client without the key that the service requires is refused, and is not left waiting."""
        try:
            async with self.client.connect(Http(urls["url"], {})) as session:
                await session.list()
        except BaseExceptionGroup as errors:
            # Clients whose tasks fail together.
            assert errors.subgroup(Exception) is not None
        except Exception:
            pass
        else:
            raise AssertionError("a client without a key listed the tools")


async def checked(results, name, check):
    """Notes how a check ended."""
    try:
        results[name] = await asyncio.wait_for(check, PATIENCE) or "ok"
    except (Exception, BaseExceptionGroup):
        results[name] = traceback.format_exc(limit=-6)


async def check_transport(client, server, plan, urls):
    """Runs all checks over one transport. Returns a row of the table. `urls` are those of a running service."""
    checks = Checks(client, server, plan)
    results = {}
    row = {"client": client.NAME, "protocol": "", "results": results}
    try:
        async with client.connect(server) as session:
            row["protocol"] = session.protocol
            for name in ("list", "call", "wrong", "unknown", "cancel", "crowd"):
                await checked(results, name, getattr(checks, name)(session))
    except (Exception, BaseExceptionGroup):
        results["connect"] = traceback.format_exc(limit=-6)
    if urls:
        await checked(results, "drop", checks.drop(urls))
        await checked(results, "lose", checks.lose(urls))
    if urls and server.headers:
        await checked(results, "refuse", checks.refuse(urls))
    return row


async def check_client(client, plan):
    """Runs all checks over all transports at once."""
    folder = pathlib.Path(plan["folder"])
    stdio = Stdio(plan["vidra"], ["mcp", "--demo"], {"HOME": str(folder)}, folder / "stdio.log")
    transports = {"stdio": (stdio, None)}
    for name, urls in plan["services"].items():
        transports[name] = (Http(urls["url"], urls["headers"]), urls)
    waits = [check_transport(client, server, plan, urls) for server, urls in transports.values()]
    rows = await asyncio.gather(*waits)
    version = importlib.metadata.version(client.PACKAGE)
    for transport, row in zip(transports, rows):
        row |= {"transport": transport, "version": version}
    return rows
