"""The Dockerfile."""

import json
import re

from .common import ROOT, expect, read, version


def instructions(text):
    """The instructions as [(word, argument)], with continued lines joined and without comments."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    pairs = (line.split(None, 1) for line in joined.splitlines() if line.strip())
    return [(word.upper(), argument.strip()) for word, argument in pairs]


def dockerfile():
    """Checks the Dockerfile, and returns its last stage as a dictionary."""
    text = read("Dockerfile")
    stages = [[]]
    for word, argument in instructions(text):
        if word == "FROM":
            stages.append([])
        stages[-1].append((word, argument))
    settings, build, final = stages
    manifest = read("Cargo.toml")
    toolchain = re.search(r'rust-version = "([^"]+)"', manifest)[1]
    base = dict(argument.split("=", 1) for word, argument in settings)["RUST_IMAGE"]
    # A tag with a version of three numbers always has the same compiler.
    is_pinned = re.fullmatch(rf"rust:{toolchain}\.\d+-bookworm(@sha256:[0-9a-f]{{64}})?", base)
    expect(is_pinned, f"the image is not built with an exact version of Rust {toolchain}")
    expect("${RUST_IMAGE}" in build[0][1], "RUST_IMAGE is not the base of the build")
    expect("--platform=$BUILDPLATFORM" in build[0][1], "the build is emulated, not cross-compiled")
    expect(("ARG", f"VERSION={version()}") in final, f"the label of the image is not version {version()}")
    command = next(argument for word, argument in build if word == "RUN" and "cargo build" in argument)
    for flag in ("--locked", "--release", '--features "$FEATURES"'):
        expect(flag in command, f"the image is built without {flag}")

    one = dict(final)
    variables = dict(pair.split("=", 1) for word, pairs in final if word == "ENV" for pair in pairs.split())
    health = json.loads(re.search(r"CMD (\[.*\])", one["HEALTHCHECK"])[1])
    entry = json.loads(one["ENTRYPOINT"])
    copied = [argument.split() for word, argument in final if word == "COPY"]
    owner = {parts[-1]: part for parts in copied for part in parts if part.startswith("--chown=")}
    expect(entry[0] in [parts[-1] for parts in copied], f"{entry[0]} is not copied into the image")
    expect(health[0] == entry[0], "the health check runs another binary")
    expect(one["USER"] == "65532:65532", "the image does not run as 65532")
    volume = one["VOLUME"]
    expect(owner.get(volume) == f"--chown={one['USER']}", f"{volume} does not belong to the user")
    for name, place in variables.items():
        if place.removeprefix("fs:").startswith("/"):
            inside = f"{place.removeprefix('fs:')}/".startswith(f"{volume}/")
            expect(inside, f"{name} is outside {volume}: the rest of the root is read-only")
    port = variables["VIDRA_LISTEN"].rpartition(":")[2]
    expect(one["EXPOSE"] == port, "EXPOSE is not the port of VIDRA_LISTEN")
    expect("VIDRA_PUBLIC" not in variables, "an image must not be public by default")

    ignore = read(".dockerignore").splitlines()
    for word, argument in build + final:
        if word == "COPY" and "--from" not in argument:
            for source in argument.split()[:-1]:
                expect((ROOT / source).exists(), f"{source} is copied and does not exist")
                expect(f"!{source}" in ignore, f"{source} is copied and ignored")
    return {
        "entry": entry,
        "command": json.loads(one["CMD"]),
        "health": health,
        "volume": volume,
        "port": port,
        "variables": variables,
    }
