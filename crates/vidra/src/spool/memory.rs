//! The bytes of an answer in memory while it is built.

use std::sync::Arc;

use super::PIECE_BYTES;
use super::budget::{Budget, BudgetShare};

/// A buffer of pieces. The budget counts their capacity. A single growing buffer would be copied at each growth, with both copies
/// in memory.
pub(super) struct Pieces {
    budget: Arc<Budget>,
    /// All but the last have exactly [`PIECE_BYTES`]: `copy` relies on it.
    pieces: Vec<(Vec<u8>, BudgetShare)>,
    length: u64,
}

impl Pieces {
    pub(super) fn new(budget: &Arc<Budget>) -> Self {
        Self { budget: Arc::clone(budget), pieces: vec![], length: 0 }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Appends as much of `bytes` as the budget allows. Returns the rest.
    pub(super) fn write<'a>(&mut self, mut bytes: &'a [u8]) -> &'a [u8] {
        while !bytes.is_empty() {
            let free = |(piece, _): &(Vec<u8>, _)| piece.capacity().min(PIECE_BYTES) - piece.len();
            if self.pieces.last().is_none_or(|last| free(last) == 0) && !self.grow(bytes.len()) {
                break;
            }
            let Some(last) = self.pieces.last_mut() else { break };
            let (head, rest) = bytes.split_at(free(last).min(bytes.len()));
            last.0.extend_from_slice(head);
            self.length += head.len() as u64;
            bytes = rest;
        }
        bytes
    }

    /// Makes room for at least one of `wanted` bytes. Returns `false` if the budget refuses.
    fn grow(&mut self, wanted: usize) -> bool {
        // The first piece grows by doubling, so that a short answer takes less than a whole piece.
        if let [(only, share)] = &mut self.pieces[..]
            && only.capacity() < PIECE_BYTES
        {
            let capacity = (only.capacity() + wanted.max(only.capacity())).min(PIECE_BYTES);
            let can_grow = share.grow((capacity - only.capacity()) as u64);
            if can_grow {
                only.reserve_exact(capacity - only.len());
            }
            return can_grow;
        }
        let capacity = if self.pieces.is_empty() { wanted.min(PIECE_BYTES) } else { PIECE_BYTES };
        let mut share = BudgetShare::none(&self.budget);
        let can_grow = share.grow(capacity as u64);
        if can_grow {
            self.pieces.push((Vec::with_capacity(capacity), share));
        }
        can_grow
    }

    /// Appends `length` bytes from position `at` to `body`.
    pub(super) fn copy(&self, at: u64, length: usize, body: &mut Vec<u8>) {
        let (mut at, mut left) = (usize::try_from(at).unwrap_or(usize::MAX), length);
        while left > 0 {
            let piece = &self.pieces[at / PIECE_BYTES].0[at % PIECE_BYTES..];
            let now = piece.len().min(left);
            body.extend_from_slice(&piece[..now]);
            (at, left) = (at + now, left - now);
        }
    }

    /// The pieces in their order.
    pub(super) fn into_pieces(self) -> Vec<(Vec<u8>, BudgetShare)> {
        self.pieces
    }
}
