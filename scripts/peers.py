"""Programs from PyPI and npm that our own are held against, in folders under the target folder."""

import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()


def made(packages, make):
    """The folder of these packages, made where it is missing, and only then is it under its name."""
    # Named after the versions, so that new ones are installed beside the old.
    name = "-".join(packages).replace("==", "-").replace("/", "-").replace("@", "-").strip("-")
    place = TARGET / "peers" / name
    if place.exists():
        return place
    making = place.with_name(f"{place.name}.{os.getpid()}")
    make(making)
    try:
        making.rename(place)
    except OSError:
        # Somebody else was first.
        if not place.exists():
            raise
    return place


def environment(packages):
    """A virtual environment with packages from PyPI."""

    def make(place):
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [place / "bin" / "python", "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "--disable-pip-version-check", *packages], check=True)

    return made(packages, make)


def from_npm(packages):
    """A folder with packages from npm."""

    def make(place):
        place.mkdir(parents=True)
        npm = ["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", place]
        subprocess.run([*npm, *packages], check=True, stdout=subprocess.DEVNULL)

    return made(packages, make)


def enter(packages):
    """Goes on as the same script inside the environment."""
    place = environment(packages)
    if pathlib.Path(sys.prefix) != place:
        python = place / "bin" / "python"
        os.execv(python, [python, *sys.argv])
    return place


def listening(service, log):
    """The address of a service that logs as JSON into a file, as soon as it has one."""
    while service.poll() is None:
        if found := re.search(r'"address":"([^"]+)"', log.read_text("utf-8")):
            return found[1]
        time.sleep(0.05)
    sys.exit(f"the service did not start:\n{log.read_text('utf-8')}")
