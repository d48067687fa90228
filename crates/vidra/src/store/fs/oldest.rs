//! Selects the files to evict in one pass and with bounded memory.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::folder::Location;

/// A file and the time of its last use.
pub(super) struct Aged {
    pub(super) used: i64,
    pub(super) size: u64,
    pub(super) location: Location,
}

/// The smallest set of least recently used files that together have at least `enough` bytes.
pub(super) struct Oldest {
    enough: u64,
    held: u64,
    /// A max-heap: the most recently used file is on top.
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

    /// Returns the files, the least recently used one first.
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
