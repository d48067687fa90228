//! The table in the README equals the table in the code.

#[test]
fn the_readme_lists_every_documented_id() {
    let readme = include_str!("../../README.md");
    let table = vidra_sim::markdown();
    assert!(readme.contains(&table), "README.md is out of date; its table should be:\n\n{table}");
}
