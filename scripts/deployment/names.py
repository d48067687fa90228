"""The names of flags, variables and subcommands."""

import re

from .common import ROOT, expect, help_of, read


def names(image):
    """Every subcommand, flag and variable in the files and guides exists."""
    guides = sorted(str(file.relative_to(ROOT)) for file in ROOT.glob("docs/guide/*.md"))
    units = ["deploy/vidra.service", "deploy/vidra.socket"]
    manifests = sorted(str(file.relative_to(ROOT)) for file in ROOT.glob("deploy/kubernetes/*.yaml"))
    files = ["Dockerfile", "compose.yaml", "compose.scale.yaml", "deploy/nginx.conf"]
    files += [*manifests, *units, "README.md", *guides]
    help_text = [help_of(*command).stdout for command in (["serve"], ["health"], ["cache", "stats"], ["video"])]
    known = set(re.findall(r"\bVIDRA_[A-Z_]+\b", "".join(help_text)))
    for file in files:
        # Features of optional builds are marked in the same line.
        help_text = "\n".join(line for line in read(file).splitlines() if "--features otel" not in line)
        for name in sorted(set(re.findall(r"\bVIDRA_[A-Z_]*[A-Z]\b", help_text))):
            expect(name in known, f"{file}: the service has no {name}")
    start = re.search(r"(?m)^ExecStart=\S+ (.*)$", read("deploy/vidra.service"))[1].split()
    for command in (image["command"], image["health"][1:], start):
        subcommand, *flags = command
        help_text = help_of(subcommand)
        expect(help_text.returncode == 0, f"there is no vidra {subcommand}")
        for flag in flags:
            if flag.startswith("--"):
                expect(flag.split("=")[0] in help_text.stdout, f"vidra {subcommand} has no {flag}")
