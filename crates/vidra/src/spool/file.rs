//! The temporary file of an answer while it is built.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::Notify;
use tokio::task::{JoinHandle, spawn_blocking};

use super::{PIECE_BYTES, Spool};

/// The number of pieces of one file that may wait for the disk.
const MAX_WAITING: usize = 4;

/// A temporary file that a thread of its own writes, so that a slow disk holds up no other work.
pub(super) struct FileWriter {
    buffer: Vec<u8>,
    pieces: Sender<Vec<u8>>,
    waiting: Arc<Waiting>,
    writing: JoinHandle<io::Result<File>>,
}

/// The pieces that wait for the disk.
#[derive(Default)]
struct Waiting {
    count: AtomicUsize,
    changed: Notify,
}

/// Wakes a waiting builder when the thread ends, however it ends.
struct NoneWaiting(Arc<Waiting>);

impl Drop for NoneWaiting {
    fn drop(&mut self) {
        self.0.count.store(0, Ordering::Release);
        self.0.changed.notify_one();
    }
}

impl FileWriter {
    /// Creates the file. A later write, or the end, returns the error of a failure.
    pub(super) fn create(spool: &Spool) -> Self {
        let (pieces, received) = channel();
        let waiting = Arc::new(Waiting::default());
        let (spool, none_waiting) = (spool.clone(), NoneWaiting(Arc::clone(&waiting)));
        let writing = spawn_blocking(move || {
            let written = write_all(&spool.folder, &received, &none_waiting.0);
            if written.is_err() {
                spool.is_failing.store(true, Ordering::Relaxed);
            }
            written
        });
        Self { buffer: Vec::with_capacity(PIECE_BYTES), pieces, waiting, writing }
    }

    /// Adds bytes. It never waits: [`Self::has_room`] does.
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
        self.waiting.count.fetch_add(1, Ordering::AcqRel);
        self.pieces.send(piece).map_err(|_| io::Error::other("the temporary file failed"))
    }

    /// Waits while the disk is slower than the answer is built.
    pub(super) async fn has_room(&self) {
        while self.waiting.count.load(Ordering::Acquire) > MAX_WAITING {
            self.waiting.changed.notified().await;
        }
    }

    /// Waits until everything is written, and returns the file.
    pub(super) async fn finish(mut self) -> io::Result<File> {
        // The thread knows why it failed.
        let _ = self.send();
        drop(self.pieces);
        self.writing.await?
    }
}

fn write_all(folder: &Path, pieces: &Receiver<Vec<u8>>, waiting: &Waiting) -> io::Result<File> {
    let mut file = tempfile::tempfile_in(folder)?;
    for piece in pieces {
        file.write_all(&piece)?;
        waiting.count.fetch_sub(1, Ordering::AcqRel);
        waiting.changed.notify_one();
    }
    Ok(file)
}
