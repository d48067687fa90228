//! The pages in a real Chromium, over the demo world. What is looked at is written beside this file, for
//! Node; here the services are started that it looks at. Left out unless `VIDRA_REQUIRE_PEERS` is set, as
//! `scripts/test` does, because it needs a browser.

#[path = "../../../vidra/tests/it/midnight.rs"]
mod midnight;
#[expect(dead_code, reason = "it is the other suite's, which needs more of it")]
#[path = "../it/process.rs"]
mod process;

use std::path::Path;
use std::process::Command;

use process::{Service, vidra};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn pages_do_what_they_should() {
    if std::env::var_os("VIDRA_REQUIRE_PEERS").is_none() {
        println!("left out: VIDRA_REQUIRE_PEERS is not set");
        return;
    }
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [demo, paced, keyed] = folders.each_ref().map(tempfile::TempDir::path);
    let printed =
        vidra(keyed).args(["keys", "add", "alice", "--caller-keys-file", "keys.json"]).output();
    let key = String::from_utf8(printed.unwrap().stdout).unwrap();
    let demo = Service::start(vidra(demo).env("VIDRA_DEMO", "true"));
    // A batch that comes to a halt by itself, so that it can be stopped midway.
    let pace = [("VIDRA_DEMO", "true"), ("VIDRA_EGRESS_BURST", "5"), ("VIDRA_EGRESS_PACE", "60")];
    let paced = Service::start(vidra(paced).envs(pace));
    let asks = [("VIDRA_DEMO", "true"), ("VIDRA_CALLER_KEYS_FILE", "keys.json")];
    let keyed = Service::start(vidra(keyed).envs(asks));
    let mut command = Command::new(Path::new(ROOT).join("scripts/browser"));
    command.arg(Path::new(ROOT).join("crates/vidra-cli/tests/browser/all.mjs"));
    for (name, service) in [("DEMO", &demo), ("PACED", &paced), ("KEYED", &keyed)] {
        command.env(name, format!("http://{}", service.address));
    }
    let output = command.env("KEY", key.trim()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    println!("{told}");
}
