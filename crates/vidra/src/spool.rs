//! Large answers that are built before they are sent. They stay in memory within a budget that all answers share,
//! and go to temporary files beyond it.

mod body;
mod budget;
mod file;
mod memory;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;

use crate::error::{Error, Reason, Result};
use body::Segment;
use budget::{Budget, BudgetShare};
use file::FileWriter;
use memory::Pieces;

pub use body::{Body, SpooledBody};
pub use budget::AnswerMemory;

/// The maximum size of a piece, in memory and of one read or write of a file.
const PIECE_BYTES: usize = 256 * 1024;

/// How much more memory a decoded list takes than its JSON.
const DECODED_FACTOR: u64 = 3;

/// The number of elements that are written before other tasks run. It takes about a millisecond.
pub(crate) const ELEMENTS_AT_ONCE: usize = 100;

/// Answers of up to this size leave the budget when they are complete: others hold them by then, and count them.
pub(crate) const SMALL_BYTES: usize = 1 << 20;

/// The budgets of the answers that are being built. Clones share them.
#[derive(Clone)]
pub(crate) struct Spool {
    memory: Arc<Budget>,
    disk: Arc<Budget>,
    folder: Arc<PathBuf>,
    /// Whether the last write of a temporary file failed.
    is_failing: Arc<AtomicBool>,
}

impl Spool {
    /// Budgets of this many bytes. Temporary files are in `folder`, without a name, so that none is left behind
    /// even if the process is killed.
    pub(crate) fn new(max_memory: u64, max_disk: u64, folder: PathBuf) -> Self {
        Self {
            memory: Budget::new(max_memory),
            disk: Budget::new(max_disk),
            folder: Arc::new(folder),
            is_failing: Arc::default(),
        }
    }

    /// Whether the last write of a temporary file failed. The next large answer tries again.
    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Begins the list of an answer.
    pub(crate) fn list(&self) -> SpooledList {
        let content = Content::Memory(Pieces::new(&self.memory));
        SpooledList { spool: self.clone(), content, length: 0, elements: vec![] }
    }

    /// Reserves memory to decode `body`. A body that would need more than there is gets all that it leaves.
    /// A small one needs none.
    ///
    /// # Errors
    ///
    /// [`Reason::Overloaded`] if other answers use the memory.
    pub(crate) fn reserve_to_decode(&self, body: &Body) -> Result<AnswerMemory> {
        let mut share = BudgetShare::none(&self.memory);
        let own = if let Body::Memory(_, Some(_)) = body { body.length() } else { 0 };
        let wanted = match body.length() {
            length if length <= SMALL_BYTES as u64 => 0,
            length => (DECODED_FACTOR * length).min(self.memory.max.saturating_sub(own)),
        };
        match share.grow(wanted) {
            true => Ok(AnswerMemory(share)),
            false => Err(no_room(io::ErrorKind::OutOfMemory.into())),
        }
    }

    /// Bytes of memory and of disk in use.
    pub(crate) fn usage(&self) -> (u64, u64) {
        (self.memory.used(), self.disk.used())
    }
}

/// The long list of a JSON document. Its elements are written in any order, and sent in another. It also
/// builds a plain text, which is sent in the order in which it is written.
pub(crate) struct SpooledList {
    spool: Spool,
    content: Content,
    length: u64,
    /// Where each element begins, and its length. A comma follows each of them.
    elements: Vec<(u64, usize)>,
}

enum Content {
    Memory(Pieces),
    File(FileWriter, BudgetShare),
}

impl SpooledList {
    /// Writes an element. Returns its number, which begins at 0.
    ///
    /// # Errors
    ///
    /// [`Reason::Overloaded`] if both budgets are exhausted, or the file cannot be written.
    pub(crate) fn push(&mut self, element: &impl Serialize) -> Result<usize> {
        let mut json = serde_json::to_vec(element).map_err(Error::internal)?;
        json.push(b',');
        self.write(&json).map_err(no_room)?;
        self.elements.push((self.length, json.len() - 1));
        self.length += json.len() as u64;
        Ok(self.elements.len() - 1)
    }

    /// Writes a part of an answer that is no JSON document.
    ///
    /// # Errors
    ///
    /// As [`SpooledList::push`].
    pub(crate) fn push_text(&mut self, text: &[u8]) -> Result<()> {
        self.write(text).map_err(no_room)?;
        self.length += text.len() as u64;
        Ok(())
    }

    /// Lets other tasks run, and waits as [`SpooledList::has_room`] does. Builders of long lists call it after each
    /// [`ELEMENTS_AT_ONCE`] elements.
    pub(crate) async fn give_way(&self) {
        tokio::task::yield_now().await;
        self.has_room().await;
    }

    /// Waits while the disk is slower than the list is built, so that few pieces wait for it in memory.
    pub(crate) async fn has_room(&self) {
        if let Content::File(file, _) = &self.content {
            file.has_room().await;
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if let Content::Memory(memory) = &mut self.content {
            bytes = memory.write(bytes);
            if bytes.is_empty() {
                return Ok(());
            }
            self.move_to_file()?;
        }
        if let Content::File(file, share) = &mut self.content {
            if !share.grow(bytes.len() as u64) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            file.write(bytes)?;
        }
        Ok(())
    }

    /// Moves all bytes to a temporary file. Later writes go there.
    fn move_to_file(&mut self) -> io::Result<()> {
        let Content::Memory(memory) = &mut self.content else { return Ok(()) };
        let mut share = BudgetShare::none(&self.spool.disk);
        if !share.grow(memory.length()) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let memory = std::mem::replace(memory, Pieces::new(&self.spool.memory));
        self.content = Content::File(FileWriter::new(&self.spool), share);
        let Content::File(file, _) = &mut self.content else { return Ok(()) };
        // Each piece leaves the budget of memory with its write.
        memory
            .into_pieces()
            .into_iter()
            .try_for_each(|(piece, share)| file.write_counted(piece, share))
    }

    /// Completes the answer: the JSON of `document` with these elements in its empty list `name`.
    ///
    /// # Errors
    ///
    /// [`Reason::Overloaded`] if both budgets are exhausted, or the file cannot be written.
    pub(crate) async fn finish(
        self,
        document: &impl Serialize,
        name: &str,
        order: &[usize],
    ) -> Result<Body> {
        let document = serde_json::to_string(document).map_err(Error::internal)?;
        // No text contains this: it would have a backslash before the second quote.
        let list = format!("\"{name}\":[]");
        let at =
            document.find(&list).ok_or_else(|| Error::internal("a document without its list"))?;
        let (head, tail) = document.split_at(at + list.len() - 1);
        let segments = self.segments(head, order, tail);
        self.complete(segments).await
    }

    /// Completes an answer that is all the text so far.
    ///
    /// # Errors
    ///
    /// As [`SpooledList::finish`].
    pub(crate) async fn finish_text(self) -> Result<Body> {
        let length = usize::try_from(self.length).map_err(Error::internal)?;
        self.complete(vec![Segment::Spooled { at: 0, length }]).await
    }

    async fn complete(mut self, segments: Vec<Segment>) -> Result<Body> {
        let length = segments.iter().map(Segment::length).sum();
        let mut share = BudgetShare::none(&self.spool.memory);
        if let Content::Memory(_) = &self.content
            && !share.grow(length)
        {
            self.move_to_file().map_err(no_room)?;
        }
        match self.content {
            Content::Memory(memory) => {
                let mut body = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
                for segment in segments {
                    match segment {
                        Segment::Text(text) => body.extend_from_slice(&text),
                        Segment::Spooled { at, length } => memory.copy(at, length, &mut body),
                    }
                }
                drop(memory);
                Ok(in_memory(body, share))
            }
            Content::File(file, share) => {
                let file = file.finish().await.map_err(no_room)?;
                self.spool.is_failing.store(false, Ordering::Relaxed);
                Ok(Body::File(Arc::new(SpooledBody::new(file, segments, length, share))))
            }
        }
    }

    /// The pieces of the document in their order. Neighbours are one piece.
    fn segments(&self, head: &str, order: &[usize], tail: &str) -> Vec<Segment> {
        let text = |text: &str| Segment::Text(Bytes::copy_from_slice(text.as_bytes()));
        let mut segments = vec![text(head)];
        for (number, element) in order.iter().enumerate() {
            let (start, length) = self.elements[*element];
            // The last element loses its comma.
            let length = length + usize::from(number + 1 < order.len());
            match segments.last_mut() {
                Some(Segment::Spooled { at, length: before }) if *at + *before as u64 == start => {
                    *before += length;
                }
                _ => segments.push(Segment::Spooled { at: start, length }),
            }
        }
        segments.push(text(tail));
        segments
    }
}

/// A body in memory. It holds its own size of the budget, unless it is small.
fn in_memory(body: Vec<u8>, mut share: BudgetShare) -> Body {
    let kept = if body.len() > SMALL_BYTES { body.len() as u64 } else { 0 };
    share.shrink_to(kept);
    let memory = (kept > 0).then(|| Arc::new(AnswerMemory(share)));
    Body::Memory(Bytes::from(body.into_boxed_slice()), memory)
}

const NO_ROOM: &str = "The answer is too large to be built now";

/// Some other answers are sent by then.
const RETRY_AFTER: Duration = Duration::from_secs(5);

fn no_room(error: io::Error) -> Error {
    let error = Error::new(Reason::Overloaded, NO_ROOM).with_source(error);
    error.with_retry_after(Some(RETRY_AFTER))
}
