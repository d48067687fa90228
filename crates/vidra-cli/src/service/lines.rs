//! Splits the bytes of a stream of server-sent events into the data of its events.

use bytes::{Bytes, BytesMut};

/// Splits bytes into lines.
#[derive(Default)]
pub(super) struct LineBuffer {
    bytes: BytesMut,
    /// How many bytes are known to contain no line feed, so that a long line in many pieces is searched
    /// once.
    searched: usize,
}

impl LineBuffer {
    pub(super) fn push(&mut self, data: &[u8]) {
        self.bytes.extend_from_slice(data);
    }

    /// The data of the next whole event: the service writes it on one line.
    pub(super) fn next_data(&mut self) -> Option<Bytes> {
        std::iter::from_fn(|| self.next()).find_map(|line| event_data(&line))
    }

    /// The next whole line, without its line feed.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        let found = self.bytes[self.searched..].iter().position(|byte| *byte == b'\n');
        let Some(found) = found else {
            self.searched = self.bytes.len();
            return None;
        };
        let end = self.searched + found;
        self.searched = 0;
        Some(self.bytes.split_to(end + 1).freeze().slice(..end))
    }

    /// The length of the line that has not ended yet.
    pub(super) fn unfinished(&self) -> usize {
        self.bytes.len()
    }
}

/// The value of a line `data: …`; `None` for other fields, comments and empty lines.
fn event_data(line: &Bytes) -> Option<Bytes> {
    let data = line.strip_prefix(b"data:")?;
    Some(line.slice_ref(data.strip_prefix(b" ").unwrap_or(data)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragmented_line_is_scanned_once() {
        let mut lines = LineBuffer::default();
        let mut sum = 0;
        for _ in 0..100 {
            lines.push(b"0123456789");
            sum += lines.unfinished() - lines.searched;
            assert_eq!(lines.next(), None);
        }
        assert_eq!((sum, lines.unfinished()), (1_000, 1_000));
        lines.push(b"\n\nab\nc");
        assert_eq!(lines.next().unwrap().len(), 1_000);
        assert_eq!(lines.next().unwrap(), "");
        assert_eq!(lines.next().unwrap(), "ab");
        assert_eq!(lines.next(), None);
        lines.push(b"\n");
        assert_eq!(lines.next().unwrap(), "c");
    }

    #[test]
    fn only_event_data_is_returned() {
        let table = [
            ("data: {}", Some("{}")),
            ("data:{}", Some("{}")),
            ("data:  x", Some(" x")),
            ("event: result", None),
            ("id: 1", None),
            (":", None),
            ("", None),
        ];
        for (line, data) in table {
            assert_eq!(event_data(&line.into()), data.map(Bytes::from), "{line}");
        }
    }
}
