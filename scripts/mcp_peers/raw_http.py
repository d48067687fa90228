"""Drops the response stream of a call, and reads the answer from a second stream, without any client library."""

import http.client
import json
import urllib.parse

from mcp_peers import calls
from mcp_peers.dropping_proxy import parts

NAME, VERSION = "plain HTTP", "2025-11-25"


class Session:
    def __init__(self, url, headers):
        self.url = urllib.parse.urlsplit(url)
        self.headers = {
            **headers,
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }
        hello = {"protocolVersion": VERSION, "capabilities": {}}
        hello["clientInfo"] = {"name": "plain", "version": "1"}
        response = self.request("POST", self.message("initialize", hello))
        assert response.status == 200, response.read()
        self.headers["mcp-session-id"] = response.getheader("mcp-session-id")
        self.headers["mcp-protocol-version"] = VERSION
        response.read()
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert self.request("POST", ready).status == 202

    def message(self, method, params):
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    def request(self, method, message=None, **headers):
        connection = http.client.HTTPConnection(self.url.netloc, timeout=20)
        body = None if message is None else json.dumps(message)
        connection.request(method, self.url.path, body, {**self.headers, **headers})
        return connection.getresponse()

    def call(self, tool, arguments):
        """The response stream of a call."""
        params = {"name": tool, "arguments": arguments}
        return self.request("POST", self.message("tools/call", params))

    def resume(self, event):
        """The answer, from a second stream."""
        response = self.request("GET", **{"last-event-id": event})
        assert response.status == 200, (response.status, response.read())
        answer = answer_of(parts(response))
        response.close()
        return answer


def field(event, name):
    for line in event.decode().splitlines():
        if line.startswith(f"{name}:"):
            return line.partition(":")[2].strip()
    return ""


def answer_of(events):
    for event in events:
        if data := field(event, "data"):
            message = json.loads(data)
            if "result" in message:
                return message["result"]["content"][0]["text"]
    raise AssertionError("the stream ended without an answer")


def check(urls, moment):
    session = Session(urls["url"], urls["headers"])
    response = session.call(calls.SLOW_TOOL, {"video": calls.DROPPED_VIDEO})
    events = parts(response)
    first = next(events)
    # The priming event has the id of the stream and no data.
    assert field(first, "id") and not field(first, "data"), first
    expected = None
    if moment == "finished":
        expected = answer_of(events)
    # The connection closes.
    response.close()
    answer = session.resume(field(first, "id"))
    assert "youtube-data" in answer and expected in (None, answer), answer
    assert session.request("DELETE").status in (200, 204)


def row(transport, urls):
    """A row of the table."""
    results = {}
    for name, moment in (("drop", "running"), ("lose", "finished")):
        if moment == "finished" and not calls.RESUMES_FINISHED:
            results[name] = "off"
            continue
        try:
            check(urls, moment)
            results[name] = "ok"
        except Exception as error:
            results[name] = f"{moment}: {error!r}"
    common = {"client": NAME, "version": "", "protocol": VERSION, "transport": transport}
    return {**common, "results": results}
