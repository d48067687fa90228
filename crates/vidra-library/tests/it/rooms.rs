//! Imports point downwards only, in the order that the documentation of the crate lists.

#[test]
fn imports_point_downwards_only() {
    vidra_rooms::check(env!("CARGO_MANIFEST_DIR"));
}
