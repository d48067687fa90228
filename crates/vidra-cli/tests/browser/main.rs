//! Tests the pages in a real Chromium with demo data. The checks are the Node scripts beside this file;
//! this file starts the services that they need. The test needs a browser, so it is skipped unless
//! `VIDRA_REQUIRE_PEERS` is set, as in `scripts/test`.

#[path = "../../../vidra/tests/it/midnight.rs"]
mod midnight;
#[expect(dead_code, reason = "shared with the other suite, which uses more of it")]
#[path = "../it/process.rs"]
mod process;

use std::path::Path;
use std::process::Command;

use process::{Service, vidra};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn browser_checks_pass() {
    if std::env::var_os("VIDRA_REQUIRE_PEERS").is_none() {
        println!("skipped: VIDRA_REQUIRE_PEERS is not set");
        return;
    }
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [demo, paced, keyed] = folders.each_ref().map(tempfile::TempDir::path);
    let printed =
        vidra(keyed).args(["keys", "add", "alice", "--caller-keys-file", "keys.json"]).output();
    let key = String::from_utf8(printed.unwrap().stdout).unwrap();
    // The demo has no state folder, and so no library by default.
    let library = ("VIDRA_DATABASE", "sqlite:library.db");
    let demo = Service::start(vidra(demo).envs([("VIDRA_DEMO", "true"), library]));
    // A pace at which a batch pauses, so that a test can stop it midway.
    let pace = [("VIDRA_DEMO", "true"), ("VIDRA_EGRESS_BURST", "5"), ("VIDRA_EGRESS_PACE", "60")];
    let paced = Service::start(vidra(paced).envs(pace));
    let settings = [("VIDRA_DEMO", "true"), ("VIDRA_CALLER_KEYS_FILE", "keys.json"), library];
    let keyed = Service::start(vidra(keyed).envs(settings));
    let mut command = Command::new(Path::new(ROOT).join("scripts/browser"));
    command.arg(Path::new(ROOT).join("crates/vidra-cli/tests/browser/all.mjs"));
    for (name, service) in [("DEMO", &demo), ("PACED", &paced), ("KEYED", &keyed)] {
        command.env(name, format!("http://{}", service.address));
    }
    let output = command.env("KEY", key.trim()).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    println!("{stdout}");
}
