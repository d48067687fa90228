//! The temporary file of an answer while it is built.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{JoinHandle, block_in_place, spawn_blocking};

use super::{PIECE_BYTES, Spool};

/// The number of pieces that may wait for the disk, for each file.
const WAITING_PIECES: usize = 4;

/// A temporary file that a thread of its own writes, so that a slow disk holds up no other work.
pub(super) struct FileWriter {
    buffer: Vec<u8>,
    pieces: SyncSender<Vec<u8>>,
    writing: JoinHandle<io::Result<File>>,
}

impl FileWriter {
    /// Creates the file. The next write, or the end, returns the error of a failure.
    pub(super) fn create(spool: &Spool) -> Self {
        let (pieces, waiting) = sync_channel(WAITING_PIECES);
        let spool = spool.clone();
        let writing = spawn_blocking(move || {
            let written = write_all(&spool.folder, &waiting);
            if written.is_err() {
                spool.is_failing.store(true, Ordering::Relaxed);
            }
            written
        });
        Self { buffer: Vec::with_capacity(PIECE_BYTES), pieces, writing }
    }

    /// Adds bytes. It waits only if the disk is slower than the answer is built.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() > PIECE_BYTES {
            self.send()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Hands the buffer over to the thread.
    fn send(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.buffer, Vec::with_capacity(PIECE_BYTES));
        let is_sent = match self.pieces.try_send(piece) {
            Ok(()) => true,
            Err(TrySendError::Full(piece)) => blocking(|| self.pieces.send(piece)).is_ok(),
            Err(TrySendError::Disconnected(_)) => false,
        };
        if is_sent { Ok(()) } else { Err(io::Error::other("the temporary file failed")) }
    }

    /// Waits until everything is written, and returns the file.
    pub(super) async fn finish(mut self) -> io::Result<File> {
        // The thread knows why it failed.
        let _ = self.send();
        drop(self.pieces);
        self.writing.await?
    }
}

fn write_all(folder: &Path, pieces: &Receiver<Vec<u8>>) -> io::Result<File> {
    let mut file = tempfile::tempfile_in(folder)?;
    for piece in pieces {
        file.write_all(&piece)?;
    }
    Ok(file)
}

/// Waits for a thread. A runtime with several threads lets another one do the work of this one.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}
