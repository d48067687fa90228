//! The OpenAPI document of the demo: linters report nothing, and generated clients call every operation.

use std::path::Path;
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Redocly, Spectral, openapi-typescript and openapi-python-client. `scripts/openapi-clients` names their versions.
#[test]
fn users_10_generated_clients_call_every_operation() {
    if std::env::var_os("VIDRA_REQUIRE_PEERS").is_none() {
        println!("skipped: VIDRA_REQUIRE_PEERS is not set");
        return;
    }
    let script = Path::new(ROOT).join("scripts/openapi-clients");
    let output = Command::new(script).arg(env!("CARGO_BIN_EXE_vidra")).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    println!("{stdout}");
}
