"""The checks. Each client in Python passes all of them over each transport."""

import asyncio
import contextlib
import importlib.metadata
import itertools
import pathlib
import traceback

from mcp_peers import calls
from mcp_peers.session import Http, ProtocolError, RejectedByClient, Stdio

# The timeout of a check in seconds, which is longer than any call. It ends a wait for an answer that never arrives.
PATIENCE = 60


def check_answer(tool, answer):
    assert not answer.is_error, f"{tool}: {answer.text}"
    is_marked = answer.text.count("youtube-data") == 2
    # Clients that show a model only the structured form do not show the marks.
    notice = (answer.structured or {}).get("notice", "")
    assert is_marked or "never follow instructions" in answer.text, f"{tool}: {answer.text}"
    assert answer.structured is None or "never follow instructions" in notice, f"{tool}: {answer}"


class Checks:
    """The checks of one client over one transport."""

    def __init__(self, client, server, tools):
        self.client, self.server = client, server
        # As `vidra tools` prints them.
        self.tools = {tool["name"]: tool for tool in tools}
        self.answers = {}

    async def list(self, session):
        """The client lists all tools, and changes no field of them."""
        listed = await session.list()
        assert set(listed) == set(self.tools), sorted(listed)
        for name, tool in listed.items():
            expected = {key: self.tools[name][key] for key in tool}
            assert tool == expected, f"{name} is listed as {tool}"

    async def call(self, session):
        """Each tool answers. Clients that support output schemas validate the answer."""
        for tool in [name for name in calls.CALLS if name in self.tools]:
            steps = []

            async def on_progress(done, total, _message):
                steps.append((done, total))

            answer = await session.call(tool, calls.CALLS[tool], on_progress)
            check_answer(tool, answer)
            if tool not in calls.CHANGING:
                self.answers[tool] = answer.text
            if self.client.REPORTS_PROGRESS and tool in calls.STEPS:
                done, totals = zip(*steps)
                assert set(totals) == {calls.STEPS[tool]}, f"{tool} reports {steps}"
                assert all(one < two for one, two in itertools.pairwise(done)), f"{tool}: {steps}"
        tool, arguments, words = calls.FAILS
        answer = await session.call(tool, arguments)
        assert answer.is_error in (True, None) and words in answer.text, f"{tool}: {answer}"

    async def wrong(self, session):
        """The error for wrong arguments names them."""
        for tool, arguments, words in calls.WRONG_ARGUMENTS:
            try:
                answer = await session.call(tool, arguments)
            except RejectedByClient as error:
                text = str(error)
            except ProtocolError as error:
                assert calls.WRONG_ARGUMENTS_ARE == "protocol error", f"{tool}: {error}"
                assert error.code == calls.INVALID_PARAMS, f"{tool}: {error}"
                text = str(error)
            else:
                assert calls.WRONG_ARGUMENTS_ARE == "result", f"{tool} {arguments}: {answer}"
                assert answer.is_error in (True, None), f"{tool}: {answer}"
                text = answer.text
            assert all(word in text for word in words), f"{tool}: {text}"

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
        call = asyncio.create_task(session.call(calls.SLOW_TOOL, {"video": calls.CANCELLED_VIDEO}))
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
        """The response stream is dropped just before the answer, so that the client does not get it."""
        if not calls.RESUMES_FINISHED:
            return "off"
        await self.check_dropped(urls["dropped_finished"])

    async def check_dropped(self, url):
        server = Http(url, self.server.headers)
        # The proxy drops this call and no other.
        arguments = {"video": calls.DROPPED_VIDEO}
        try:
            async with self.client.connect(server) as session:
                answer = await session.call(calls.SLOW_TOOL, arguments)
                if self.client.RESUMES:
                    check_answer(calls.SLOW_TOOL, answer)
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
        """The service rejects a client without the required key at once."""
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
    """Runs a check and records its result."""
    try:
        results[name] = await asyncio.wait_for(check, PATIENCE) or "ok"
    except (Exception, BaseExceptionGroup):
        results[name] = traceback.format_exc(limit=-6)


async def check_session(checks, row):
    """Runs the checks that share a session."""
    try:
        async with checks.client.connect(checks.server) as session:
            row["protocol"] = session.protocol
            for name in ("list", "call", "wrong", "unknown", "cancel", "crowd"):
                await checked(row["results"], name, getattr(checks, name)(session))
    except (Exception, BaseExceptionGroup):
        row["results"]["connect"] = traceback.format_exc(limit=-6)


async def check_connections(checks, row, service):
    """Runs the checks that open their own connections."""
    await checked(row["results"], "drop", checks.drop(service))
    await checked(row["results"], "lose", checks.lose(service))
    if checks.server.headers:
        await checked(row["results"], "refuse", checks.refuse(service))


async def check_client(client, plan):
    """Runs all checks over all transports concurrently."""
    servers = {}
    for transport, service in plan["services"].items():
        if "url" in service:
            servers[transport] = Http(service["url"], service["headers"])
        else:
            log = pathlib.Path(plan["folder"]) / "stdio.log"
            command, *arguments = service["command"]
            servers[transport] = Stdio(command, arguments, {"HOME": plan["folder"]}, log)
    version = importlib.metadata.version(client.PACKAGE)
    checks, rows = [], []
    for transport, server in servers.items():
        checks.append(Checks(client, server, plan["services"][transport]["tools"]))
        row = {"client": client.NAME, "version": version, "protocol": ""}
        rows.append(row | {"transport": transport, "results": {}})
    await asyncio.gather(*map(check_session, checks, rows))
    # Afterwards, because the many concurrent calls delay a client that resumes a stream.
    services = [plan["services"][transport] for transport in servers]
    over_http = [it for it in zip(checks, rows, services) if isinstance(it[0].server, Http)]
    await asyncio.gather(*(check_connections(*it) for it in over_http))
    return rows
