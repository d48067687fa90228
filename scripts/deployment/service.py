"""Checks of a running service, the dashboard and the alerts."""

import json
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from .common import PATIENCE, VIDRA, expect, faults, free_port, read


def get(url, **more):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, **more), timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def running(image):
    """Starts the service with the settings of the image, except for demo data and temporary folders."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"127.0.0.1:{free_port()}"
        variables = {
            name: value.replace(image["volume"], folder) for name, value in image["variables"].items()
        } | {"VIDRA_LISTEN": address, "VIDRA_DEMO": "true"}
        health = [VIDRA, *image["health"][1:]]
        log = pathlib.Path(folder, "log")
        with log.open("w") as errors:
            service = subprocess.Popen(
                [VIDRA, *image["command"]], cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=errors
            )
        try:
            until = time.monotonic() + PATIENCE
            while (checked := subprocess.run(health, env=variables, capture_output=True)).returncode != 0:
                if service.poll() is not None or time.monotonic() > until:
                    faults.append(f"the service does not become healthy: {checked.stderr} {log.read_text()}")
                    return
                time.sleep(0.1)
            dashboard(f"http://{address}")
            service.send_signal(signal.SIGTERM)
            expect(service.wait(PATIENCE) == 0, f"the service does not stop: {log.read_text()}")
            checked = subprocess.run(health, env=variables, capture_output=True)
            expect(checked.returncode == 1, f"the health check of a stopped service ends with {checked.returncode}")
            for name in ("state", "cache"):
                has_files = any(path.is_file() for path in pathlib.Path(folder, name).rglob("*"))
                expect(has_files, f"no file was stored in {image['volume']}/{name}")
        finally:
            if service.poll() is None:
                service.kill()
                service.wait()


def dashboard(base):
    """The service exports every metric and label of the dashboard and of the alerts."""
    from ruamel.yaml import YAML

    document = json.loads(read("deploy/grafana-dashboard.json"))
    panels = document["panels"]
    ids = [panel["id"] for panel in panels]
    expect(len(ids) == len(set(ids)), "dashboard: two panels have the same id")
    cells = [
        (x, y)
        for position in (panel["gridPos"] for panel in panels)
        for x in range(position["x"], position["x"] + position["w"])
        for y in range(position["y"], position["y"] + position["h"])
    ]
    expect(len(cells) == len(set(cells)), "dashboard: panels overlap")
    expressions = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    expressions += [it["query"] for it in document["templating"]["list"] if it["type"] == "query"]
    alerts = YAML(typ="safe").load(read("deploy/alerts.yml"))
    expressions += [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]

    # One request of each kind, so that every metric has a sample.
    for path in ("/api/video/quirkNoLike", "/api/video/quirkNoLike", "/api/transcript/txManualAsr"):
        expect(get(base + path)[0] == 200, f"the demo does not answer {path}")
    get(base + "/api/video/quirkGone__")
    get(base + "/api/playlist/PLquirkMixed/transcript", method="POST")
    status, text = get(base + "/metrics")
    expect(status == 200, f"/metrics answers {status}")
    known = {name: set() for name in re.findall(r"(?m)^# TYPE (\w+) ", text)}
    for name in re.findall(r"(?m)^# TYPE (\w+) histogram", text):
        known |= {name + suffix: set() for suffix in ("_bucket", "_sum", "_count")}
    for name, labels in re.findall(r"(?m)^(\w+)(?:\{(.*)\})? ", text):
        known.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    for expression in expressions:
        used = re.findall(r"\b((?:vidra|process)_\w+)", expression)
        for name in used:
            expect(name in known, f"dashboard: the service does not export {name}")
        # Prometheus adds the first two, and every histogram has the third.
        labels = {"job", "instance", "le"}.union(*(known.get(name, ()) for name in used))
        has_series = all(known.get(name) or name.startswith("process_") for name in used)
        groups = re.findall(r"\bby \(([^)]*)\)", expression)
        used_labels = {label.strip() for group in groups for label in group.split(",")}
        used_labels.update(re.findall(r"(\w+)=~?\"", expression))
        if has_series:
            expect(used_labels <= labels, f"dashboard: unknown labels: {used_labels - labels} in {expression}")
