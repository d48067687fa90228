//! The dependencies between the crates of the workspace.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Checks that the crates depend downwards only and that `order`, from the top down, names every crate in
/// `folder` except `tools`: crates for tests and benchmarks, on which no crate of `order` may depend.
///
/// Dev-dependencies do not count.
///
/// # Panics
///
/// With a list of all faults, one per line. Also when a manifest cannot be read.
pub fn check(folder: &Path, order: &[&str], tools: &[&str]) {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let crates: BTreeSet<String> = entries.map(|name| name.into_string().unwrap()).collect();
    let known: BTreeSet<String> = order.iter().chain(tools).map(|name| (*name).into()).collect();
    assert_eq!(crates, known, "the order names every crate");
    let mut found = vec![];
    for name in order {
        let manifest = folder.join(name).join("Cargo.toml");
        let text = fs::read_to_string(&manifest)
            .unwrap_or_else(|error| panic!("{}: {error}", manifest.display()));
        found.extend(faults(order, tools, name, &text));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// The faults in the dependencies of a crate.
fn faults(order: &[&str], tools: &[&str], name: &str, manifest: &str) -> Vec<String> {
    let height = |name: &str| order.iter().position(|other| *other == name);
    let mut faults = vec![];
    for dependency in dependencies(manifest) {
        if tools.contains(&dependency) {
            faults.push(format!("{name} depends on {dependency}, which is a tool"));
        } else if height(dependency).is_some_and(|other| Some(other) <= height(name)) {
            faults.push(format!("{name} depends on {dependency}, which lies above it"));
        }
    }
    faults
}

/// The names of all dependencies that are built into a crate or run for its build.
fn dependencies(manifest: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut is_counted = false;
    for line in manifest.lines() {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.split(']').next().unwrap_or_default();
            let parts = || table.split('.');
            is_counted = parts().next_back().is_some_and(is_counted_table);
            // A table for one dependency: `[dependencies.name]`.
            let own = parts().rev().nth(1).filter(|table| is_counted_table(table));
            found.extend(own.and_then(|_| parts().next_back()));
        } else if is_counted && let Some((key, _)) = line.split_once('=') {
            found.extend(key.trim().split('.').next().filter(|key| !key.starts_with('#')));
        }
    }
    found
}

fn is_counted_table(table: &str) -> bool {
    matches!(table, "dependencies" | "build-dependencies")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_the_workspace_depend_downwards_only() {
        let order =
            ["vidra-cli", "vidra-server", "vidra-mcp", "vidra-library", "vidra", "vidra-sim"];
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        check(folder, &order, &["vidra-bench", "vidra-engines", "vidra-rooms"]);
    }

    #[test]
    fn upward_dependencies_are_found_in_every_syntax() {
        let table = [
            ("[dependencies]\nbottom.workspace = true", true),
            ("[dependencies]\nserde = \"1\"\n# top = \"1\"", true),
            ("[dev-dependencies]\ntop.workspace = true\ntool.workspace = true", true),
            ("[dev-dependencies.top]\npath = \"../top\"", true),
            ("[features]\ntop = [\"dep:serde\"]", true),
            ("[dependencies]\ntop.workspace = true", false),
            ("[dependencies]\ntop = { workspace = true, optional = true }", false),
            ("[dependencies.top]\npath = \"../top\"", false),
            ("[target.'cfg(unix)'.dependencies]\ntop.workspace = true", false),
            ("[build-dependencies]\ntop.workspace = true", false),
            ("[dependencies]\ntool.workspace = true", false),
        ];
        for (manifest, is_allowed) in table {
            let found = faults(&["top", "middle", "bottom"], &["tool"], "middle", manifest);
            assert_eq!(found.is_empty(), is_allowed, "{manifest}: {found:?}");
        }
    }
}
