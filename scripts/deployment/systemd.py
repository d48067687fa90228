"""The systemd units."""

import pathlib
import tempfile

from .common import VIDRA, expect, lint, read

# The greatest exposure level, of 100, by `systemd-analyze security`. The service needs the network and ports below 1024.
MOST_EXPOSURE = 14


def unit():
    text = read("deploy/vidra.service")
    settings = [line.split("=", 1) for line in text.splitlines() if "=" in line and line[0] != "#"]
    one = dict(settings)
    expect(one["ExecStart"].split()[0] == "/usr/local/bin/vidra", "unit: its binary is not that of the guide")
    variables = [pair.split("=", 1) for name, value in settings if name == "Environment" for pair in value.split()]
    # systemd copies a credential when the service starts, so that a reload would read the old file.
    expect("LoadCredential" not in one, "unit: a credential cannot be reloaded")
    # `vidra serve` ends with 2 if its settings are wrong.
    expect(one["RestartPreventExitStatus"] == "2", "unit: systemd restarts a service with wrong settings")
    expect(one["Type"] == "notify" and int(one["WatchdogSec"]) > 0, "unit: systemd is not notified")
    expect(one["AmbientCapabilities"] == "CAP_NET_BIND_SERVICE", "unit: it cannot bind port 443")
    expect(one["EnvironmentFile"].startswith("-"), "unit: the settings are not optional")
    for name, value in variables:
        for specifier, folder in (("%S/", one["StateDirectory"]), ("%C/", one["CacheDirectory"])):
            if specifier in value:
                expect(value.endswith(specifier + folder), f"unit: {name} is not in the service's folder")
    with tempfile.TemporaryDirectory() as folder:
        # The binary need not be installed for this check.
        file = pathlib.Path(folder, "vidra.service")
        file.write_text(text.replace("/usr/local/bin/vidra", str(VIDRA)))
        sockets = pathlib.Path(folder, "vidra.socket")
        sockets.write_text(read("deploy/vidra.socket"))
        lint("", ["systemd-analyze", "verify", "--man=no", file, sockets])
        exposure = f"--threshold={MOST_EXPOSURE}"
        lint("", ["systemd-analyze", "security", "--no-pager", "--offline=true", exposure, file])
