"""The Kubernetes manifests, checked without a cluster."""

import pathlib
import re

from .common import GRACE_SECONDS, ROOT, expect, read, version

FOLDER = "deploy/kubernetes"
GUIDE = "docs/guide/scale-out.md"
# The oldest and the newest release whose schemas the manifests must match.
RELEASES = ("1.30", "1.37")
KINDS = {"ConfigMap", "StatefulSet", "Service", "PodDisruptionBudget", "NetworkPolicy"}


def holds(it, what):
    expect(it, f"{FOLDER}: {what}")


def manifests(image):
    from ruamel.yaml import YAML

    documents = []
    for file in sorted(pathlib.Path(ROOT, FOLDER).glob("*.yaml")):
        for document in YAML(typ="safe").load_all(file.read_text("utf-8")):
            documents.append(document)
            schema(file.name, document)
    kinds = {document["kind"] for document in documents}
    # The operator creates the Secret; the repository contains none.
    holds(kinds == KINDS, f"the kinds are {sorted(kinds)}")
    nodes = only(documents, "StatefulSet")
    settings = only(documents, "ConfigMap")["data"]
    labels = nodes["spec"]["template"]["metadata"]["labels"]
    container = nodes["spec"]["template"]["spec"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    holds(nodes["spec"]["selector"]["matchLabels"] == labels, "the StatefulSet selects other pods than it creates")
    pod(nodes, image)
    probes(container, ports, settings, image)
    variables(nodes, settings)
    services(documents, nodes, labels, ports)
    budget = only(documents, "PodDisruptionBudget")["spec"]
    policy = only(documents, "NetworkPolicy")["spec"]
    for name, selector in (("budget", budget["selector"]), ("policy", policy["podSelector"])):
        holds(selector["matchLabels"] == labels, f"the {name} selects other pods")
    holds(budget["maxUnavailable"] < nodes["spec"]["replicas"], "the disruption budget lets all nodes stop at once")
    allowed = [port["port"] for rule in policy["ingress"] for port in rule["ports"]]
    holds(sorted(allowed) == sorted(ports), f"the policy allows {allowed}")
    is_open = [port["port"] for rule in policy["ingress"] if "from" not in rule for port in rule["ports"]]
    holds("admin" not in is_open, "the policy opens the admin listener to every pod")


def schema(name, document):
    import kubernetes_validate

    for release in RELEASES:
        try:
            used = kubernetes_validate.validate(document, release, strict=True)
        except kubernetes_validate.ValidationError as error:
            path = ".".join(str(part) for part in error.absolute_path)
            holds(False, f"{name}: Kubernetes {release}: {path}: {error.message}")
        except kubernetes_validate.SchemaNotFoundError as error:
            holds(False, f"{name}: {error.message}")
        else:
            holds(used == release, f"{name}: no schema of Kubernetes {release} exists")


def only(documents, kind):
    (document,) = (document for document in documents if document["kind"] == kind)
    return document


def pod(nodes, image):
    """The pod is as restricted as the containers of compose.yaml."""
    from ruamel.yaml import YAML

    spec = nodes["spec"]["template"]["spec"]
    container = spec["containers"][0]
    user, group = re.search(r"(?m)^USER (\d+):(\d+)$", read("Dockerfile")).groups()
    identity = spec["securityContext"]
    holds(identity["runAsNonRoot"] is True, "a node may run as root")
    same = (str(identity["runAsUser"]), str(identity["runAsGroup"]), str(identity["fsGroup"])) == (user, group, group)
    holds(same, "a node does not run as the user of the image")
    holds(identity["seccompProfile"] == {"type": "RuntimeDefault"}, "a node may use every system call")
    restricted = container["securityContext"]
    holds(restricted["readOnlyRootFilesystem"] is True, "a node may write to its root")
    holds(restricted["allowPrivilegeEscalation"] is False, "a node may gain privileges")
    holds(restricted["capabilities"] == {"drop": ["ALL"]}, "a node keeps capabilities")
    holds(spec["automountServiceAccountToken"] is False, "a node gets a token of the cluster")
    holds(spec["enableServiceLinks"] is False, "Kubernetes sets variables that look like settings")
    holds(spec["terminationGracePeriodSeconds"] == GRACE_SECONDS, "terminationGracePeriodSeconds is too short")
    compose = YAML(typ="safe").load(read("compose.scale.yaml"))["services"]["vidra-1"]
    memory = container["resources"]["limits"]["memory"].removesuffix("i").lower()
    holds(memory == compose["mem_limit"], "the memory limit is not that of compose.scale.yaml")
    holds(container["image"].endswith(f"/vidra:{version()}"), f"the image is not version {version()}")
    holds("command" not in container and "args" not in container, "a node does not run the command of the image")
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    claims = [claim["metadata"]["name"] for claim in nodes["spec"]["volumeClaimTemplates"]]
    holds(mounts.get(image["volume"]) in claims, f"no volume of each node for {image['volume']}")


def probes(container, ports, settings, image):
    holds(str(ports["http"]) == image["port"], "the port http is not the port of the image")
    operator = settings["VIDRA_ADMIN_LISTEN"].rpartition(":")[2]
    holds(str(ports["admin"]) == operator, "the port admin is not that of VIDRA_ADMIN_LISTEN")
    paths = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    for probe, path in paths.items():
        # The port http may need TLS.
        holds(container[probe]["httpGet"] == {"path": path, "port": "admin"}, f"{probe} requests another path")


def variables(nodes, settings):
    """Callers need keys, and all secrets come from the Secret that the guide creates."""
    spec = nodes["spec"]["template"]["spec"]
    container = spec["containers"][0]
    holds("VIDRA_PUBLIC" not in settings, "the service is public without keys")
    (source,) = container["envFrom"]
    holds(source == {"configMapRef": {"name": "vidra"}}, "the settings are not those of the ConfigMap")
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    files, keys = {}, set()
    for volume in spec["volumes"]:
        for item in volume["secret"]["items"]:
            files[f"{mounts[volume['name']]}/{item['path']}"] = item["key"]
            keys.add((volume["secret"]["secretName"], item["key"]))
    for name, value in settings.items():
        if name.endswith("_FILE"):
            holds(value in files, f"{name} is no file of the Secret")
        holds("://" not in value, f"{name} is a URL, which may contain a password, in a ConfigMap")
    for variable in container["env"]:
        reference = variable.get("valueFrom", {}).get("secretKeyRef")
        holds(reference, f"{variable['name']} belongs in the ConfigMap")
        if reference:
            keys.add((reference["name"], reference["key"]))
    created = re.search(r"kubectl create secret generic (\S+)((?: \\\n|.)*)", read(GUIDE))
    given = {(created[1], key) for key in re.findall(r"--from-\w+=([^= \n]+)=", created[2])} if created else set()
    holds(keys == given, f"{GUIDE} creates {sorted(given)}, and the nodes need {sorted(keys)}")


def services(documents, nodes, labels, ports):
    found = {it["metadata"]["name"]: it["spec"] for it in documents if it["kind"] == "Service"}
    wanted = {"vidra": labels, "vidra-nodes": labels}
    selectors = {name: spec["selector"] for name, spec in found.items()}
    holds(selectors == wanted, f"the services select {selectors}")
    for name, spec in found.items():
        for port in spec["ports"]:
            holds(port["targetPort"] in ports, f"the service {name} leads to no port")
    governing = found.get(nodes["spec"]["serviceName"], {})
    holds(governing.get("clusterIP") == "None", "the nodes have no names")
    holds(found["vidra"].get("sessionAffinity") == "ClientIP", "the requests of one caller reach several nodes")
