"""Functions and constants that all checks of the deployment files use."""

import os
import pathlib
import socket
import subprocess

import peers

ROOT = peers.ROOT
VIDRA = pathlib.Path(os.environ.get("VIDRA_BIN", peers.TARGET / "debug" / "vidra")).resolve()
# How long a service may take to start or to stop.
PATIENCE = 30
# The time that a node needs to stop: vidra serve ends within 25 s after SIGTERM (docs/guide/operate.md).
GRACE_SECONDS = 30

faults = []


def expect(holds, what):
    if not holds:
        faults.append(what)


def read(path):
    return (ROOT / path).read_text("utf-8")


def version():
    """The version of the workspace, which is that of the image."""
    return next(line.split('"')[1] for line in read("Cargo.toml").splitlines() if line.startswith("version = "))


def lint(prefix, command):
    result = subprocess.run(command, capture_output=True, text=True)
    # `systemd-analyze verify` succeeds in spite of settings that it does not know.
    is_quiet = "verify" not in command or not result.stderr
    output = (result.stdout + result.stderr).strip()
    expect(result.returncode == 0 and is_quiet, f"{prefix}{pathlib.Path(command[0]).name}: {output}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def help_of(*command):
    return subprocess.run([VIDRA, *command, "--help"], capture_output=True, text=True)
