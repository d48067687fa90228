//! Checks the layers of the workspace in tests.
//!
//! The top-level modules of a crate are its rooms. The crate lists them from the top down in the
//! documentation of its root file, under the heading `# Rooms`, one line each:
//!
//! ```text
//! //! - `name`: what it is
//! ```
//!
//! A room may import itself and the rooms below it. [`check`] compares the list with the modules and
//! the imports of every file. [`check_crates`] does the same for the crates of the workspace.
//!
//! The scanner reads text and not syntax: it finds `crate::` and `super::` in uses and in expressions,
//! and ignores comments. A path that a macro builds escapes it.
//!
//! # Rooms
//!
//! - `modules`: the imports between the modules of one crate
//! - `crates`: the dependencies between the crates

mod crates;
mod modules;

pub use crates::check as check_crates;
pub use modules::check;
