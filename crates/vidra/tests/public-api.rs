//! Compares the public names of the library with `public-api.txt`: changes there affect its users.
//! `VIDRA_UPDATE_DOCS=1 cargo test -p vidra --all-features --test public-api` updates the file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// The format of rustdoc's JSON that `public-api` reads. It changes with every few releases of Rust.
const FORMAT: u64 = 57;

#[test]
fn public_names_match_the_list() {
    let json = rustdoc_json();
    let body = fs::read_to_string(&json).expect("rustdoc has written JSON");
    let read: Value = serde_json::from_str(&body).expect("JSON");
    if read["format_version"] != FORMAT {
        let message = format!(
            "rustdoc writes format {}, and public-api reads {FORMAT}: use the version of public-api for this Rust",
            read["format_version"]
        );
        assert!(env::var_os("VIDRA_REQUIRE_PEERS").is_none(), "{message}");
        return eprintln!("skipped: {message}");
    }
    let names = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .expect("the names can be listed")
        .to_string();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("public-api.txt");
    if env::var_os("VIDRA_UPDATE_DOCS").is_some() {
        return fs::write(file, names).expect("the file can be written");
    }
    let known = fs::read_to_string(file).expect("the file is there");
    let gone = only_in(&known, &names).map(|line| format!("- {line}\n"));
    let new = only_in(&names, &known).map(|line| format!("+ {line}\n"));
    let differences: String = gone.chain(new).collect();
    assert!(
        known == names,
        "the public names have changed:\n{differences}CONTRIBUTING.md explains what to do",
    );
}

#[test]
fn l7_every_exhaustive_type_is_in_the_table_of_decision_29() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = fs::read_to_string(library.join("public-api.txt")).expect("the file is there");
    let page = library.join("../../docs/decisions/29-types-that-grow.md");
    let page = fs::read_to_string(page).expect("the decision is there");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let decided: BTreeSet<&str> = rows.map(|(name, _)| last(name)).collect();
    assert_eq!(exhaustive(&names), decided, "left: the types, right: the table");
}

/// The exhaustive types with public fields or variants.
fn exhaustive(names: &str) -> BTreeSet<&str> {
    let kinds = ["pub struct ", "pub enum "];
    let declared =
        names.lines().filter_map(|line| kinds.iter().find_map(|it| line.strip_prefix(it)));
    let has_members = |declared: &&str| {
        let member = format!("\npub {}::", path(declared));
        declared.contains("(pub ") || names.contains(&member)
    };
    declared.filter(has_members).map(|declared| last(path(declared))).collect()
}

/// The path of a type, without its parameters and fields.
fn path(declared: &str) -> &str {
    declared.split(['<', '(']).next().unwrap_or(declared)
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// The lines of one text that are not in the other.
fn only_in<'a>(one: &'a str, other: &'a str) -> impl Iterator<Item = &'a str> {
    one.lines().filter(|line| !other.lines().any(|known| known == *line))
}

/// Runs rustdoc with every feature except that of the schemas, which are derived for all models.
fn rustdoc_json() -> PathBuf {
    let library = Path::new(env!("CARGO_MANIFEST_DIR"));
    let test = env::current_exe().expect("a path");
    let target = test.ancestors().nth(3).expect("tests are in target/debug/deps");
    let mut cargo = Command::new(env!("CARGO"));
    // Cargo sets variables about its package for a test. Build scripts depend on them, so they would
    // rebuild the dependencies here, and again in the build that started the test.
    let variables = env::vars_os().map(|(name, _)| name);
    for name in variables.filter(|name| name.to_string_lossy().starts_with("CARGO_PKG_")) {
        cargo.env_remove(name);
    }
    let status = cargo
        .env_remove("CARGO_MANIFEST_DIR")
        .env_remove("CARGO_MANIFEST_PATH")
        .args([
            "rustdoc",
            "--quiet",
            "--locked",
            "--lib",
            "--features",
            "blocking,redis",
            "--target-dir",
        ])
        .arg(target)
        .args(["--", "-Z", "unstable-options", "--output-format", "json"])
        .current_dir(library)
        .env("RUSTDOC", library.join("../../scripts/rustdoc-json"))
        .status()
        .expect("cargo runs");
    assert!(status.success(), "rustdoc fails");
    target.join("doc/vidra.json")
}
