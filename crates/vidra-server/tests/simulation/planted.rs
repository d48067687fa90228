//! The planted mistakes of `scripts/chaos --regressions` fit today's source.

use std::fs;
use std::path::Path;

/// A patch that no longer applies is a mistake that nobody plants.
#[test]
fn every_planted_mistake_applies() {
    let server = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut patches = 0;
    for entry in fs::read_dir(server.join("tests/simulation/regressions")).unwrap() {
        let path = entry.unwrap().path();
        let patch = fs::read_to_string(&path).unwrap();
        let files = patch.split("\n+++ b/").skip(1);
        assert!(files.clone().count() > 0, "{}: no file", path.display());
        for file in files {
            let (name, hunks) = file.split_once('\n').unwrap();
            let source = fs::read_to_string(server.join("../..").join(name)).unwrap();
            for before in hunks.split("\n@@ ").map(before) {
                assert!(source.contains(&before), "{}: not in {name}:\n{before}", path.display());
            }
        }
        patches += 1;
    }
    assert!(patches >= 20, "{patches} patches");
}

/// The lines that a hunk expects: its context, and the lines that it removes.
fn before(hunk: &str) -> String {
    let lines = hunk.split_inclusive('\n').skip(1);
    let lines = lines.take_while(|line| !line.starts_with("diff --git "));
    let before = lines.filter(|line| !line.starts_with('+'));
    before.map(|line| line.strip_prefix([' ', '-']).unwrap_or(line)).collect()
}
