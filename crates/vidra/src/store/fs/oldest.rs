//! The files to evict, found in one pass over all of them without remembering all of them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::folder::Place;

/// A file and when it was last used.
pub(super) struct Aged {
    pub(super) used: i64,
    pub(super) size: u64,
    pub(super) place: Place,
}

/// The files used longest ago that together have at least `enough` bytes, and no more of them than
/// that takes.
pub(super) struct Oldest {
    enough: u64,
    held: u64,
    /// The one used last is on top.
    files: BinaryHeap<Aged>,
}

impl Oldest {
    pub(super) fn new(enough: u64) -> Self {
        Self { enough, held: 0, files: BinaryHeap::new() }
    }

    pub(super) fn add(&mut self, file: Aged) {
        self.held += file.size;
        self.files.push(file);
        while let Some(newest) = self.files.peek()
            && self.held - newest.size >= self.enough
        {
            self.held -= newest.size;
            self.files.pop();
        }
    }

    /// The one used longest ago comes first.
    pub(super) fn into_files(self) -> Vec<Aged> {
        self.files.into_sorted_vec()
    }
}

impl Ord for Aged {
    fn cmp(&self, other: &Self) -> Ordering {
        self.used.cmp(&other.used)
    }
}

impl PartialOrd for Aged {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Aged {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Aged {}
