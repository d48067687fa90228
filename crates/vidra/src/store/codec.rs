//! The binary encoding of a record, for stores that hold bytes.
//!
//! ```text
//! 0   4  "vdra"
//! 4   1  version of this layout
//! 5   1  flags: 1 = a refusal, 2 = cheap
//! 6   2  schema of the body
//! 8   4  length of the key
//! 12  8  length of the body
//! 20  8  stored_at
//! 28  8  keep_until
//! 36     key, body
//!     4  CRC-32 of all before
//! ```
//!
//! Numbers are little-endian. The key is part of the encoding, because names of records can collide
//! in a store.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::{Record, StoreError};

const MAGIC: &[u8; 4] = b"vdra";
const VERSION: u8 = 2;
pub(super) const HEADER: usize = 36;
const CHECKSUM: usize = 4;
const REFUSAL: u8 = 1;
const CHEAP: u8 = 2;

impl Record {
    /// Encodes the record with `key` and a checksum.
    ///
    /// # Panics
    ///
    /// Panics if the key has 4 GB or more.
    pub fn encode(&self, key: &str) -> Bytes {
        let mut out = BytesMut::with_capacity(encoded_len(key, self));
        out.put_slice(MAGIC);
        out.put_u8(VERSION);
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.put_u8(flag(self.is_refusal, REFUSAL) | flag(self.is_cheap, CHEAP));
        out.put_u16_le(self.schema);
        out.put_u32_le(u32::try_from(key.len()).expect("a key of less than 4 GB"));
        out.put_u64_le(self.body.len() as u64);
        out.put_u64_le(self.stored_at);
        out.put_u64_le(self.keep_until);
        out.put_slice(key.as_bytes());
        out.put_slice(&self.body);
        out.put_u32_le(crc32fast::hash(&out));
        out.freeze()
    }

    /// Decodes the output of [`Record::encode`]. The body is a slice of `bytes`. Returns `None` if
    /// the record belongs to another key or uses the layout of another release.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`] if the bytes are damaged.
    pub fn decode(bytes: &Bytes, key: &str) -> Result<Option<Self>, StoreError> {
        decode(bytes, key).ok_or(StoreError::Corrupt)
    }
}

/// The length of the output of [`Record::encode`].
pub(super) fn encoded_len(key: &str, record: &Record) -> usize {
    HEADER + key.len() + record.body.len() + CHECKSUM
}

/// Reads `keep_until` from the header alone. The header is not verified, because the checksum is at
/// the end. A wrong eviction costs only one fetch.
#[cfg(unix)]
pub(super) fn keep_until(bytes: &[u8]) -> Option<u64> {
    let header = bytes.get(..HEADER)?;
    let is_ours = header.starts_with(MAGIC) && header[4] == VERSION;
    is_ours.then(|| (&header[28..]).get_u64_le())
}

fn decode(bytes: &Bytes, key: &str) -> Option<Option<Record>> {
    let content = bytes.len().checked_sub(CHECKSUM).filter(|length| *length >= HEADER)?;
    let mut header = &bytes[..HEADER];
    if !header.starts_with(MAGIC) {
        return None;
    }
    // Every layout ends with this checksum.
    if (&bytes[content..]).get_u32_le() != crc32fast::hash(&bytes[..content]) {
        return None;
    }
    if header[4] != VERSION {
        // A record of another release.
        return Some(None);
    }
    let flags = header[5];
    if flags & !(REFUSAL | CHEAP) != 0 {
        return None;
    }
    header.advance(6);
    let schema = header.get_u16_le();
    let key_end = HEADER.checked_add(header.get_u32_le() as usize)?;
    let body_end = key_end.checked_add(usize::try_from(header.get_u64_le()).ok()?)?;
    let (stored_at, keep_until) = (header.get_u64_le(), header.get_u64_le());
    if body_end != content {
        return None;
    }
    if bytes[HEADER..key_end] != *key.as_bytes() {
        return Some(None);
    }
    let body = bytes.slice(key_end..body_end);
    Some(Some(Record {
        stored_at,
        keep_until,
        is_refusal: flags & REFUSAL != 0,
        is_cheap: flags & CHEAP != 0,
        schema,
        body,
    }))
}
