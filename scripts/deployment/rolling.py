"""A rolling restart: three nodes behind deploy/nginx.conf restart one after the other, and no request fails."""

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from .common import PATIENCE, VIDRA, expect, faults, free_port, read
from .compose import NGINX_CONF, listen_port
from .service import get

# Debian installs it outside of PATH for most users.
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
CLIENTS = 6
# How long the clients send requests before, between and after the restarts.
CALM_SECONDS = 0.5
# A node gets requests within this time after its start.
REJOIN_SECONDS = 5
PLAYLIST = "PLsize50"
JSON = {"content-type": "application/json"}


class Node:
    """One vidra process with its own folder."""

    def __init__(self, folder, platform, store):
        self.folder = folder
        self.address = f"127.0.0.1:{free_port()}"
        self.admin = f"127.0.0.1:{free_port()}"
        api, web = platform
        self.variables = {
            "YOUTUBE_API_KEY": "demo-key",
            "VIDRA_DATA_API_URL": api,
            "VIDRA_WEB_URL": web,
            "VIDRA_CACHE": store,
            "VIDRA_STATE_DIR": str(folder),
            "VIDRA_LISTEN": self.address,
            "VIDRA_ADMIN_LISTEN": self.admin,
            "VIDRA_TRUSTED_PROXY": "127.0.0.1",
            "VIDRA_QUOTA_LIMIT": "1000000",
        }
        self.process = None

    def start(self):
        with pathlib.Path(self.folder, "log").open("a") as log:
            self.process = subprocess.Popen(
                [VIDRA, "serve"], cwd=self.folder, env=self.variables, stdout=subprocess.DEVNULL, stderr=log
            )

    def wait_until_ready(self):
        until = time.monotonic() + PATIENCE
        health = [VIDRA, "health"]
        while subprocess.run(health, env=self.variables, cwd=self.folder, capture_output=True).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > until:
                log = pathlib.Path(self.folder, "log").read_text()
                raise RuntimeError(f"a node does not become ready: {log[-2000:]}")
            time.sleep(0.05)

    def served(self):
        """The requests that callers sent to this process."""
        text = get(f"http://{self.admin}/metrics")[1]
        counts = re.findall(r"(?m)^vidra_requests_total\{([^}]*)\} (\d+)", text)
        return sum(int(count) for labels, count in counts if "/api/" in labels)

    def wait_for_requests(self, name):
        # nginx avoids a node for fail_timeout (2 s) after a failed connection.
        until = time.monotonic() + REJOIN_SECONDS
        while not self.served():
            if time.monotonic() > until:
                faults.append(f"rolling restart: {name} gets no requests")
                return
            time.sleep(0.1)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        ended = self.process.wait(PATIENCE)
        expect(ended == 0, f"rolling restart: a node ends with {ended}")


class Client(threading.Thread):
    """Sends requests without a pause. Each round uses another address, because nginx distributes callers by address."""

    def __init__(self, number, port, ids, end):
        super().__init__(daemon=True)
        self.number, self.port, self.ids, self.end = number, port, ids, end
        self.sent = {}
        self.failures = []

    def requests(self, turn):
        ids = self.ids
        # Concurrent requests for the same video would share one fetch.
        video = ids[(turn + self.number * 5) % len(ids)]
        yield "cached GET", "GET", f"/api/video/{ids[0]}", None, {}
        yield "uncached GET", "GET", f"/api/video/{video}", None, {"cache-control": "no-cache"}
        yield "POST query", "POST", f"/api/playlist/{PLAYLIST}/query", {"range": {"end": 10}}, JSON
        batch = {"videos": [ids[0], video]}
        yield "POST batch", "POST", "/api/transcripts", batch, JSON | {"accept": "application/x-ndjson"}

    def run(self):
        turn = 0
        while not self.end.is_set():
            turn += 1
            source = (f"127.0.{self.number + 1}.{turn % 250 + 1}", 0)
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE, source_address=source)
            for request in self.requests(turn):
                self.send(connection, *request)
            connection.close()

    def send(self, connection, name, method, path, body, headers):
        self.sent[name] = self.sent.get(name, 0) + 1
        try:
            connection.request(method, path, body and json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
            if answer.status != 200 or not is_complete(name, text):
                self.failures.append(f"{name} {path}: {answer.status} {text[-300:]}")
        except (OSError, http.client.HTTPException) as error:
            self.failures.append(f"{name} {path}: {error!r}")
            # The next request opens a new connection.
            connection.close()


def is_complete(name, text):
    """Whether the body has all of its lines, and no line reports that the batch was interrupted."""
    try:
        lines = [json.loads(line) for line in text.splitlines() if line]
    except json.JSONDecodeError:
        return False
    return name != "POST batch" or (lines and lines[-1].get("type") == "summary")


def restart():
    """Restarts all nodes. Returns the summary for the report."""
    with tempfile.TemporaryDirectory() as folder:
        started = []
        try:
            return restart_in(pathlib.Path(folder), started)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            faults.append(f"rolling restart: {error}")
            return "rolling restart: not completed"
        finally:
            for process in reversed(started):
                if process.poll() is None:
                    process.terminate()
            for process in started:
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def restart_in(folder, started):
    platform = simulator(started)
    store = redis(folder, started)
    nodes = []
    for number in range(3):
        (place := folder / f"node-{number}").mkdir()
        nodes.append(Node(place, platform, store))
        nodes[-1].start()
        started.append(nodes[-1].process)
    for node in nodes:
        node.wait_until_ready()
    port = nginx(folder, nodes, started)
    ids = video_ids(port)
    end = threading.Event()
    clients = [Client(number, port, ids, end) for number in range(CLIENTS)]
    began = time.monotonic()
    for client in clients:
        client.start()
    try:
        one_after_the_other(nodes, started)
    finally:
        end.set()
        for client in clients:
            client.join(PATIENCE)
    took = time.monotonic() - began
    return report(clients, took)


def one_after_the_other(nodes, started):
    for number, node in enumerate(nodes, 1):
        time.sleep(CALM_SECONDS)
        node.wait_for_requests(f"node {number}")
        node.stop()
        time.sleep(CALM_SECONDS)
        node.start()
        started.append(node.process)
        node.wait_until_ready()
    for number, node in enumerate(nodes, 1):
        node.wait_for_requests(f"node {number} after its restart")
        callers = re.findall(r'"client":"([^"]+)"', pathlib.Path(node.folder, "log").read_text())
        # nginx connects from 127.0.0.1, and the clients from other addresses. The first request may be from video_ids.
        is_forwarded = "127.0.0.1" not in callers[1:]
        expect(callers and is_forwarded, f"rolling restart: node {number} logs the address of nginx as the caller's")


def report(clients, took):
    failures = [failure for client in clients for failure in client.failures]
    kinds = sorted({kind for client in clients for kind in client.sent})
    counts = {kind: sum(client.sent.get(kind, 0) for client in clients) for kind in kinds}
    for kind, count in counts.items():
        expect(count > 20, f"rolling restart: only {count} requests of the kind {kind}")
    expect(not failures, f"rolling restart: {len(failures)} requests failed, such as {failures[:3]}")
    each = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return f"rolling restart: {sum(counts.values())} requests in {took:.1f} s ({each}), {len(failures)} failed"


def simulator(started):
    """Starts the simulated platform. Returns the base URLs of its API and of its pages."""
    command = [VIDRA, "sim", "--listen", "127.0.0.1:0", "--quota", "1000000", "--latency-ms", "20"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    started.append(process)
    return process.stdout.readline().strip(), process.stdout.readline().strip()


def redis(folder, started):
    """Starts the shared cache: Redis instead of Valkey. Returns its URL."""
    port = free_port()
    settings = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(["redis-server", *settings], cwd=folder, stdout=subprocess.DEVNULL)
    started.append(process)
    wait_for(port, process)
    return f"redis://127.0.0.1:{port}"


def nginx(folder, nodes, started):
    """Starts nginx with deploy/nginx.conf, in which only addresses and folders are replaced. Returns its port."""
    port = free_port()
    text = read(NGINX_CONF).replace("/tmp/", f"{folder}/")
    text = text.replace(f"listen {listen_port()};", f"listen 127.0.0.1:{port};")
    for number, node in enumerate(nodes, 1):
        text = text.replace(f"vidra-{number}:3000", node.address)
    file = folder / "nginx.conf"
    file.write_text(text)
    # The workers of nginx must be able to write into a folder of this user.
    settings = "daemon off;" + (" user root;" if os.getuid() == 0 else "")
    log = folder / "nginx.log"
    with log.open("w") as errors:
        process = subprocess.Popen([NGINX, "-p", folder, "-e", "stderr", "-c", file, "-g", settings], stderr=errors)
    started.append(process)
    try:
        wait_for(port, process)
    except RuntimeError as error:
        raise RuntimeError(f"{error}: {log.read_text()}") from error
    return port


def wait_for(port, process):
    until = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{process.args[0]} does not start") from None
            time.sleep(0.05)


def video_ids(port):
    """The ids of some videos of the simulated platform."""
    status, text = get(f"http://127.0.0.1:{port}/api/charts/popular")
    if status != 200:
        raise RuntimeError(f"nginx answers {status}: {text}")
    return [item["id"] for item in json.loads(text)["items"]]
