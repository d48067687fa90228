"""A proxy that drops the response stream of one call, as a network can do at any time.

The first part of the path selects the moment: `/running/mcp` after the first event, `/finished/mcp` instead of the
answer. The proxy forwards all other requests, also the one with which a client resumes the stream.
"""

import contextlib
import http.client
import http.server
import threading

from mcp_peers import calls

# Hop-by-hop headers.
HOP = {"connection", "content-length", "transfer-encoding", "keep-alive"}


class Dropped(Exception):
    """The stream was dropped on purpose."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def relay(self):
        _, moment, path = self.path.split("/", 2)
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if b'"tools/call"' not in body or calls.DROPPED_VIDEO.encode() not in body:
            moment = None
        # The newest protocol sends no event before the answer.
        timeout = 1 if moment == "running" else 60
        upstream = http.client.HTTPConnection(self.server.upstream, timeout=timeout)
        self.close_connection = True
        with contextlib.closing(upstream):
            try:
                self.pass_on(upstream, path, body, moment)
            except (Dropped, TimeoutError):
                # The chunked body has no last chunk, so that a client can detect that it is incomplete.
                self.server.dropped += 1

    def pass_on(self, upstream, path, body, moment):
        headers = {key: value for key, value in self.headers.items() if key.lower() not in HOP}
        upstream.request(self.command, f"/{path}", body or None, headers)
        response = upstream.getresponse()
        self.send_response(response.status)
        for key, value in response.getheaders():
            if key.lower() not in HOP:
                self.send_header(key, value)
        self.send_header("transfer-encoding", "chunked")
        self.send_header("connection", "close")
        self.end_headers()
        for part in parts(response):
            if moment == "finished" and b'"result"' in part:
                raise Dropped
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            if moment == "running":
                raise Dropped
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_DELETE = relay


def parts(response):
    """The events of a stream as they arrive, or a whole body."""
    if not response.getheader("content-type", "").startswith("text/event-stream"):
        if body := response.read():
            yield body
        return
    event = b""
    while line := response.readline():
        event += line
        if not line.strip():
            yield event
            event = b""


class Proxy(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, upstream):
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream = upstream
        # The number of dropped streams.
        self.dropped = 0
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        # Clients may disconnect at any time.
        pass
