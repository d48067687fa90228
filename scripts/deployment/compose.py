"""compose.yaml and compose.scale.yaml, with the nginx in front of its nodes."""

import ipaddress
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from .common import GRACE_SECONDS, PATIENCE, ROOT, VIDRA, expect, help_of, lint, read

SCALE = "compose.scale.yaml"
NGINX_CONF = "deploy/nginx.conf"


def one_machine(image):
    for name, document in variants("compose.yaml"):
        all_services(name, document)
        node(name, document, "vidra", image)
        published(name, document, "vidra", image["port"])


def three_nodes(image):
    for name, document in variants(SCALE):
        all_services(name, document)
        for service in nodes_of(document):
            node(name, document, service, image)
        together(name, document, image)
        published(name, document, "nginx", listen_port())
    nginx_conf(document, image)
    database_in_env_file()


def variants(name):
    """Yields both variants of a file: unchanged, and with caller keys."""
    from ruamel.yaml import YAML

    text = read(name)
    with_callers = re.sub(r"# callers: ", "", re.sub(r"(?m)^ *VIDRA_(PUBLIC|ALLOWED_HOST): .*\n", "", text))
    expect("VIDRA_CALLER_KEYS_FILE" in with_callers and with_callers != text, f"{name}: no lines for caller keys")
    with tempfile.TemporaryDirectory() as folder:
        for variant, content in ((name, text), (f"with-callers.{name}", with_callers)):
            file = pathlib.Path(folder, variant)
            file.write_text(content)
            linter = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
            lint(f"{variant}: ", [*linter, file])
            yield variant, YAML(typ="safe").load(content)


def nodes_of(document):
    return [name for name, settings in document["services"].items() if settings["image"] == "vidra"]


def secrets_of(service):
    """The secrets of a service, as {path in the container: name}."""
    long = [it if isinstance(it, dict) else {"source": it} for it in service.get("secrets", [])]
    return {os.path.join("/run/secrets", it.get("target", it["source"])): it["source"] for it in long}


def all_services(name, document):
    """Checks that apply to every container."""

    def holds(it, what):
        expect(it, f"{name}: {what}")

    for service, settings in document["services"].items():
        holds(settings.get("read_only") is True, f"{service} may write to its root")
        holds(settings.get("cap_drop") == ["ALL"], f"{service} keeps capabilities")
        holds("no-new-privileges:true" in settings.get("security_opt", []), f"{service} may gain privileges")
        for limit in ("mem_limit", "pids_limit", "healthcheck", "restart", "logging"):
            holds(limit in settings, f"{service} has no {limit}")
        is_pinned = re.search(r":\d+\.\d+(\.\d+)?-", settings["image"])
        holds("build" in settings or is_pinned, f"{service} has an image without an exact version")
        holds("build" in settings or "user" in settings, f"{service} may run as root")
        used = {"networks": settings.get("networks", []), "secrets": secrets_of(settings).values()}
        used["services"] = settings.get("depends_on", [])
        for kind, users in used.items():
            for it in users:
                holds(it in document[kind], f"{service} uses {it} of {kind}, which does not exist")
        for mount in settings.get("volumes", []):
            source = mount.split(":")[0]
            # The folder of callers is created by the operator.
            is_there = source == "./callers" or (source.startswith("./") and (ROOT / source).exists())
            holds(is_there or source in document["volumes"], f"{service} mounts {source}, which does not exist")
        for variable, file in settings.get("environment", {}).items():
            if variable.endswith("_FILE"):
                is_mounted = any(os.path.dirname(file) == mount.split(":")[1] for mount in settings["volumes"])
                is_there = file in secrets_of(settings) or is_mounted
                holds(is_there, f"{variable} of {service} names no secret and no mounted file")
    holds(not re.search(r"://[^/\s:@]*:[^@/\s]+@", str(document)), "a URL contains a password")
    for secret, settings in document["secrets"].items():
        holds(settings["file"].startswith("./secrets/"), f"the secret {secret} is not in a folder that git ignores")


def node(name, document, service, image):
    """Checks that apply to every container of vidra."""

    def holds(it, what):
        expect(it, f"{name}: {service}: {what}")

    vidra = document["services"][service]
    variables = vidra["environment"]
    mounts = dict(reversed(mount.split(":")[:2]) for mount in vidra["volumes"])
    holds(mounts.get(image["volume"]) in document["volumes"], f"no volume for {image['volume']}")
    holds(vidra["healthcheck"]["test"] == ["CMD", *image["health"]], "health is not checked as in the image")
    store = re.fullmatch(r"redis://([a-z]+):6379", variables["VIDRA_CACHE"])
    is_service = store is not None and store[1] in document["services"]
    holds(is_service, "VIDRA_CACHE names no service")
    if is_service:
        only = list(document["services"][store[1]]["networks"])
        is_internal = len(only) == 1 and document["networks"][only[0]].get("internal") is True
        holds(is_internal and only[0] in vidra["networks"], "the store is reachable from other networks, or not at all")
    holds(vidra["stop_grace_period"] == f"{GRACE_SECONDS}s", "stop_grace_period is too short")


def published(name, document, service, port):
    """Only this service is published, and without caller keys only on loopback."""
    for other, settings in document["services"].items():
        expect(other == service or "ports" not in settings, f"{name}: {other} is published")
    is_public = any("VIDRA_PUBLIC" in document["services"][it]["environment"] for it in nodes_of(document))
    for entry in document["services"][service]["ports"]:
        host, _, inner = entry.rpartition(":")
        expect(inner == port, f"{name}: {entry} leads to no port of {service}")
        expect(host.startswith("127.0.0.1:") or not is_public, f"{name}: public without keys on every address")


def together(name, document, image):
    """Checks that apply to the three nodes and nginx together."""

    def holds(it, what):
        expect(it, f"{name}: {what}")

    services = document["services"]
    nodes = nodes_of(document)
    holds(len(nodes) == 3, f"there are {len(nodes)} nodes")
    settings = [{key: it for key, it in services[node].items() if key not in ("volumes", "networks")} for node in nodes]
    holds(all(it == settings[0] for it in settings), "the nodes have different settings")
    states = {mount.split(":")[0] for node in nodes for mount in services[node]["volumes"] if image["volume"] in mount}
    holds(len(states) == len(nodes), "nodes share a state volume")
    addresses = {node: services[node]["networks"]["front"]["ipv4_address"] for node in [*nodes, "nginx"]}
    subnet = ipaddress.ip_network(document["networks"]["front"]["ipam"]["config"][0]["subnet"])
    holds(len(set(addresses.values())) == 4, "two containers have the same address")
    holds(all(ipaddress.ip_address(it) in subnet for it in addresses.values()), "an address is outside the subnet")
    of_nodes = {node: addresses[node] for node in nodes}
    holds(services["nginx"]["extra_hosts"] == of_nodes, "extra_hosts of nginx are not the addresses of the nodes")
    trusted = services[nodes[0]]["environment"].get("VIDRA_TRUSTED_PROXY")
    holds(trusted == addresses["nginx"], "the nodes do not trust exactly nginx")
    # The Dockerfile sets no working folder, so it is the root.
    holds("WORKDIR" not in read("Dockerfile").rpartition("FROM scratch")[2], "the image has a working folder")
    holds(secrets_of(services[nodes[0]]).get("/.env") == "vidra-env", "no .env in the working folder of the nodes")
    first = dict(variants("compose.yaml"))["compose.yaml"]
    same_image = services["valkey"]["image"] == first["services"]["valkey"]["image"]
    holds(same_image, "the image of Valkey is not that of compose.yaml")


def listen_port():
    return re.search(r"(?m)^ +listen (\d+);", read(NGINX_CONF))[1]


def nginx_conf(document, image):
    """nginx.conf lists the nodes and agrees with the timeouts of vidra. rolling.py runs it, which checks its syntax."""
    text = read(NGINX_CONF)
    upstreams = dict(re.findall(r"upstream (\w+) \{(.*?)\n    \}", text, re.S))
    for name, content in upstreams.items():
        servers = re.findall(r"(?m)^ +server ([^ ;]+)", content)
        known = [f"{node}:{image['port']}" for node in nodes_of(document)]
        expect(servers == known, f"{NGINX_CONF}: {name} leads to {servers}")
    seconds = {"s": 1, "m": 60}

    def limit(directive):
        found = re.findall(rf"(?m)^ +{directive} (\d+)([sm]);", text)
        return [int(number) * seconds[unit] for number, unit in found]

    def default(flag):
        number, unit = re.search(rf"--{flag} <TIME>.*?default: (\d+)([sm])", help_of("serve").stdout, re.S).groups()
        return int(number) * seconds[unit]

    for_requests, for_batches = limit("proxy_read_timeout")
    (idle,) = limit("keepalive_timeout")
    expect(idle < default("idle-timeout"), f"{NGINX_CONF}: vidra closes idle connections first")
    expect(for_requests > default("request-timeout"), f"{NGINX_CONF}: nginx gives up on requests too early")
    expect(for_batches > default("batch-timeout"), f"{NGINX_CONF}: nginx gives up on batches too early")


def database_in_env_file():
    """vidra reads the .env of the command in the comment, and accepts its URL."""
    line = re.search(r'echo "(VIDRA_DATABASE=.*?)"', read(SCALE))
    if line is None:
        expect(False, f"{SCALE}: no command in a comment writes VIDRA_DATABASE")
        return
    text, password = line[1].replace("$(cat secrets/postgres-password)", "0123456789abcdef"), "0123456789abcdef"
    expect(password in text, f"{SCALE}: VIDRA_DATABASE has no password")
    with tempfile.TemporaryDirectory() as folder:
        # A port that refuses connections, instead of the server of the network.
        pathlib.Path(folder, ".env").write_text(text.replace("@postgres/", "@127.0.0.1:1/"))
        command = [VIDRA, "serve", "--listen", "127.0.0.1:0", "--state-dir", folder]
        ended = subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, timeout=PATIENCE)
        expect(ended.returncode == 4, f"{SCALE}: with its .env vidra ends with {ended.returncode}: {ended.stderr}")
        expect("PostgreSQL at 127.0.0.1:1" in ended.stderr, f"{SCALE}: its .env is not read: {ended.stderr}")
