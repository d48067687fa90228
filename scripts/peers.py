"""Programs from PyPI that our own are held against, in virtual environments under the target folder."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()


def environment(packages):
    """Makes the environment where it is missing, and only then is it under its name."""
    # Named after the versions, so that new ones are installed beside the old.
    place = TARGET / "peers" / "-".join(packages).replace("==", "-")
    if place.exists():
        return place
    making = place.with_name(f"{place.name}.{os.getpid()}")
    subprocess.run([sys.executable, "-m", "venv", making], check=True)
    pip = [making / "bin" / "python", "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--disable-pip-version-check", *packages], check=True)
    try:
        making.rename(place)
    except OSError:
        # Somebody else was first.
        if not place.exists():
            raise
    return place


def enter(packages):
    """Goes on as the same script inside the environment."""
    place = environment(packages)
    if pathlib.Path(sys.prefix) != place:
        python = place / "bin" / "python"
        os.execv(python, [python, *sys.argv])
    return place
