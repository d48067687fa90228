"""Installs programs from PyPI and npm, which test vidra, into folders under the target folder."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()


def made(packages, make):
    """The folder of these packages, installed if it is missing."""
    # The name contains the versions, so that new versions get a new folder.
    name = "-".join(packages).replace("==", "-").replace("/", "-").replace("@", "-").strip("-")
    return made_as(name, make)


def made_as(name, make):
    """Installs into a temporary folder and renames it, so that a folder with its final name is complete."""
    place = TARGET / "peers" / name
    if place.exists():
        return place
    making = place.with_name(f"{place.name}.{os.getpid()}")
    make(making)
    try:
        making.rename(place)
    except OSError:
        # Another process has installed the same packages meanwhile.
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


def locked(lock):
    """A virtual environment with the packages of a lock file, which lists all of them."""

    def make(place):
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [place / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps"]
        # Modules are compiled when they are imported, and most are never imported.
        pip += ["--no-compile", "--disable-pip-version-check", "--requirement", lock]
        subprocess.run(pip, check=True)

    return made_as(f"{lock.stem}-{digest(lock)}", make)


def frozen(place, packages):
    """The text of a lock file with the newest versions of these packages."""
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    pip = [place / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", *packages], check=True)
    return subprocess.run([*pip, "freeze"], check=True, text=True, capture_output=True).stdout


def locked_npm(lock):
    """A folder with the packages of a folder with a package-lock.json."""

    def make(place):
        place.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(lock / name, place)
        npm = ["npm", "ci", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", place]
        subprocess.run(npm, check=True, stdout=subprocess.DEVNULL)

    return made_as(f"{lock.name}-{digest(lock / 'package-lock.json')}", make)


def lock_npm(lock, packages):
    """Writes a folder with a package-lock.json of the newest versions of these packages."""
    lock.mkdir(parents=True, exist_ok=True)
    for old in lock.iterdir():
        old.unlink()
    (lock / "package.json").write_text(json.dumps({"private": True}))
    # Without the URLs of packages, which would be those of the registry in the settings of this machine.
    npm = ["npm", "install", "--silent", "--package-lock-only", "--omit-lockfile-registry-resolved"]
    npm += ["--no-fund", "--no-audit", "--save-exact", "--prefix", lock, *packages]
    subprocess.run(npm, check=True, stdout=subprocess.DEVNULL)


def digest(lock):
    return hashlib.sha256(lock.read_bytes()).hexdigest()[:12]


def enter(packages):
    """Restarts this script with the interpreter of the environment."""
    place = environment(packages)
    if pathlib.Path(sys.prefix) != place:
        python = place / "bin" / "python"
        os.execv(python, [python, *sys.argv])
    return place


def listening(service, log):
    """Waits until a service that logs JSON into a file reports its address, and returns that."""
    while service.poll() is None:
        if found := re.search(r'"address":"([^"]+)"', log.read_text("utf-8")):
            return found[1]
        time.sleep(0.05)
    sys.exit(f"the service did not start:\n{log.read_text('utf-8')}")
