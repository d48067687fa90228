//! The temporary file of an answer while it is built.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use super::budget::BudgetShare;
use super::{PIECE_BYTES, Spool};

/// The number of pieces of one file that may wait for the disk, without those that count for the budget of memory.
const MAX_WAITING: usize = 4;

/// A temporary file. A blocking thread writes the pieces that wait, and then ends its job: an answer whose builder waits for
/// YouTube needs no thread.
pub(super) struct FileWriter {
    buffer: Vec<u8>,
    writing: Arc<Writing>,
}

/// The state that the builder and the thread share.
struct Writing {
    spool: Spool,
    state: Mutex<State>,
    /// Wakes the builder, which alone waits for it.
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// The pieces that wait for the disk.
    waiting: VecDeque<Piece>,
    /// Whether a thread writes. It has the file then.
    is_running: bool,
    /// `None` before the first write.
    file: Option<File>,
    error: Option<io::Error>,
}

impl State {
    /// The number of waiting pieces that do not count for the budget of memory.
    fn uncounted(&self) -> usize {
        self.waiting.iter().filter(|Piece(_, memory)| memory.is_none()).count()
    }
}

/// A part of the file, and the memory that it counts for until it is written.
struct Piece(Vec<u8>, Option<BudgetShare>);

impl FileWriter {
    /// The file is created with the first write. A later write, or the end, returns the error of a failure.
    pub(super) fn new(spool: &Spool) -> Self {
        let (spool, state) = (spool.clone(), Mutex::default());
        let writing = Arc::new(Writing { spool, state, changed: Notify::new() });
        Self { buffer: Vec::new(), writing }
    }

    /// Adds bytes. It never waits: [`Self::has_room`] does.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() > PIECE_BYTES {
            self.send()?;
        }
        if self.buffer.capacity() == 0 {
            self.buffer.reserve_exact(PIECE_BYTES);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Adds bytes that count for `memory` until they are written, without copying them.
    pub(super) fn write_counted(&mut self, bytes: Vec<u8>, memory: BudgetShare) -> io::Result<()> {
        self.send()?;
        self.push(Piece(bytes, Some(memory)))
    }

    /// Hands the buffer over to the thread.
    fn send(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.buffer) {
            piece if piece.is_empty() => Ok(()),
            piece => self.push(Piece(piece, None)),
        }
    }

    fn push(&self, piece: Piece) -> io::Result<()> {
        let mut state = self.writing.state();
        if state.error.is_some() {
            return Err(io::Error::other("the temporary file failed"));
        }
        state.waiting.push_back(piece);
        if !std::mem::replace(&mut state.is_running, true) {
            let writing = Arc::clone(&self.writing);
            spawn_blocking(move || writing.write_waiting());
        }
        Ok(())
    }

    /// Waits while the disk is slower than the answer is built.
    pub(super) async fn has_room(&self) {
        while self.writing.state().uncounted() > MAX_WAITING {
            self.writing.changed.notified().await;
        }
    }

    /// Waits until everything is written, and returns the file.
    pub(super) async fn finish(mut self) -> io::Result<File> {
        // An empty piece creates the file of an answer without bytes. The error of an earlier piece is returned below.
        let last = std::mem::take(&mut self.buffer);
        let _ = self.push(Piece(last, None));
        loop {
            {
                let mut state = self.writing.state();
                if let Some(error) = state.error.take() {
                    return Err(error);
                }
                if !state.is_running
                    && let Some(file) = state.file.take()
                {
                    return Ok(file);
                }
            }
            self.writing.changed.notified().await;
        }
    }
}

impl Writing {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes until no piece waits.
    fn write_waiting(&self) {
        let written = catch_unwind(AssertUnwindSafe(|| self.try_write_waiting()));
        let panicked = |_| Err(io::Error::other("the write of a temporary file panicked"));
        if let Err(error) = written.unwrap_or_else(panicked) {
            self.spool.is_failing.store(true, Ordering::Relaxed);
            let mut state = self.state();
            state.waiting.clear();
            (state.is_running, state.error) = (false, Some(error));
        }
        self.changed.notify_one();
    }

    fn try_write_waiting(&self) -> io::Result<()> {
        let known = self.state().file.take();
        let mut file = match known {
            Some(file) => file,
            None => tempfile::tempfile_in(&*self.spool.folder)?,
        };
        loop {
            let Piece(bytes, _memory) = {
                let mut state = self.state();
                match state.waiting.pop_front() {
                    Some(piece) => piece,
                    None => {
                        (state.is_running, state.file) = (false, Some(file));
                        return Ok(());
                    }
                }
            };
            file.write_all(&bytes)?;
            self.changed.notify_one();
        }
    }
}
