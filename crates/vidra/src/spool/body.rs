//! A large answer that is complete: its segments, and how they are read.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, TryStreamExt, stream};

use super::PIECE_BYTES;
use super::budget::{AnswerMemory, BudgetShare};
use crate::error::{Error, Result};

/// A document in memory, or in a temporary file if it is large. Clones share it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Body {
    /// The document in memory, and its share of the budget if it is large.
    Memory(Bytes, Option<Arc<AnswerMemory>>),
    /// The document in a temporary file.
    File(Arc<SpooledBody>),
}

/// A document in a temporary file, which is removed with the last clone.
pub struct SpooledBody {
    file: File,
    segments: Vec<Segment>,
    length: u64,
    _share: BudgetShare,
}

/// A piece of a document.
pub(super) enum Segment {
    Text(Bytes),
    Spooled { at: u64, length: usize },
}

impl Segment {
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Spooled { length, .. } => *length as u64,
        }
    }
}

impl Body {
    /// The number of bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes, _) => bytes.len() as u64,
            Self::File(body) => body.length,
        }
    }

    /// Loads the document into memory.
    ///
    /// # Errors
    ///
    /// [`Reason::Internal`] if the temporary file cannot be read.
    pub(crate) async fn into_bytes(self) -> Result<Bytes> {
        match self {
            Self::Memory(bytes, _) => Ok(bytes),
            Self::File(body) => {
                let whole = BytesMut::with_capacity(usize::try_from(body.length).unwrap_or(0));
                let whole = body.pieces().try_fold(whole, |mut whole, piece| async move {
                    whole.extend_from_slice(&piece);
                    Ok(whole)
                });
                Ok(whole.await.map_err(Error::internal)?.freeze())
            }
        }
    }
}

impl SpooledBody {
    /// A document of these segments. Its share of the disk ends with it.
    pub(super) fn new(file: File, segments: Vec<Segment>, length: u64, share: BudgetShare) -> Self {
        Self { file, segments, length, _share: share }
    }

    /// The number of bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Reads the document in pieces of at most 256 KB, on threads that may wait for the disk. An error of the file
    /// ends the stream.
    pub fn pieces(self: Arc<Self>) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
        let start = Some((self, Position::default(), BytesMut::new()));
        stream::unfold(start, |state| async move {
            let (body, mut position, mut buffer) = state?;
            // Reuses the memory of the previous piece if that was sent. Pieces are allocated here and not on the thread that reads,
            // because mimalloc would keep 4 MB for each of these threads.
            buffer.reserve(PIECE_BYTES.min(usize::try_from(body.length).unwrap_or(PIECE_BYTES)));
            let reading = tokio::task::spawn_blocking(move || {
                let piece = body.read(&mut position, &mut buffer);
                (body, position, buffer, piece)
            });
            let (body, position, buffer, piece) = match reading.await {
                Ok(read) => read,
                Err(error) => return Some((Err(io::Error::other(error)), None)),
            };
            match piece {
                Ok(piece) if piece.is_empty() => None,
                Ok(piece) => Some((Ok(piece), Some((body, position, buffer)))),
                Err(error) => Some((Err(error), None)),
            }
        })
    }

    /// Reads the piece at this position and moves on. Empty at the end.
    fn read(&self, position: &mut Position, buffer: &mut BytesMut) -> io::Result<Bytes> {
        while let Some(segment) = self.segments.get(position.segment) {
            let free = PIECE_BYTES - buffer.len();
            let left = usize::try_from(segment.length()).unwrap_or(usize::MAX) - position.offset;
            let wanted = left.min(free);
            match segment {
                Segment::Text(text) => {
                    buffer.extend_from_slice(&text[position.offset..position.offset + wanted]);
                }
                Segment::Spooled { at, .. } => {
                    let start = buffer.len();
                    buffer.resize(start + wanted, 0);
                    read_at(&self.file, &mut buffer[start..], at + position.offset as u64)?;
                }
            }
            position.offset += wanted;
            if wanted < left {
                break;
            }
            *position = Position { segment: position.segment + 1, offset: 0 };
        }
        Ok(buffer.split().freeze())
    }
}

impl std::fmt::Debug for SpooledBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpooledBody").field("length", &self.length).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Position {
    segment: usize,
    /// Bytes of the segment that were read.
    offset: usize,
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                buffer = &mut buffer[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}
