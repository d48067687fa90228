//! A ZIP archive that is written from its beginning to its end.
//!
//! Archive crates keep several hundred bytes for each file until the end. This one keeps the directory as it will be
//! written, about a hundred bytes for each file, which matters for a job with 50,000 transcripts.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use vidra::{Error, Result};

/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
const DEFLATED: u16 = 8;

/// The versions of the format that readers need: for compressed files, and for large archives.
const VERSION: u16 = 20;
const VERSION_64: u16 = 45;

/// The value of a field whose number is in the extra field of large archives.
const IN_EXTRA: u32 = u32::MAX;

/// Writes files one after the other, and the directory at the end. It uses the extensions for large archives (ZIP64)
/// where they are necessary.
#[derive(Default)]
pub(super) struct ZipWriter {
    /// The bytes that nobody took.
    pending: Vec<u8>,
    /// The number of bytes before `pending`.
    taken: u64,
    directory: Vec<u8>,
    files: u64,
}

impl ZipWriter {
    /// Adds a file.
    pub(super) fn add(
        &mut self,
        name: &str,
        content: &[u8],
        modified: Option<Timestamp>,
    ) -> Result<()> {
        let mut encoder = DeflateEncoder::new(vec![], Compression::default());
        let packed = encoder.write_all(content).and_then(|()| encoder.finish());
        let packed = packed.map_err(Error::internal)?;
        let too_large = |_| Error::internal("a file of an archive is larger than 4 GB");
        let sizes = [&packed, content].map(|it| u32::try_from(it.len()));
        let [packed_size, size] = sizes;
        let entry = Entry {
            name,
            crc: crc32fast::hash(content),
            packed_size: packed_size.map_err(too_large)?,
            size: size.map_err(too_large)?,
            modified: dos_time(modified),
        };
        let offset = self.taken + self.pending.len() as u64;
        let out = &mut self.pending;
        out.extend(0x0403_4b50_u32.to_le_bytes());
        entry.write_common(out, VERSION, 0);
        out.extend(name.as_bytes());
        out.extend(packed);
        entry.write_directory(&mut self.directory, offset);
        self.files += 1;
        Ok(())
    }

    /// Writes the directory, which is the end of the archive.
    pub(super) fn finish(&mut self) {
        let start = self.taken + self.pending.len() as u64;
        let size = self.directory.len() as u64;
        self.pending.append(&mut self.directory);
        let files = self.files;
        let is_large =
            files >= u64::from(u16::MAX) || start >= IN_EXTRA.into() || size >= IN_EXTRA.into();
        let out = &mut self.pending;
        if is_large {
            out.extend(0x0606_4b50_u32.to_le_bytes());
            // The size of the rest of this record.
            out.extend(44_u64.to_le_bytes());
            out.extend(VERSION_64.to_le_bytes());
            out.extend(VERSION_64.to_le_bytes());
            // The number of this disk, and of that with the directory.
            out.extend([0; 8]);
            for number in [files, files, size, start] {
                out.extend(number.to_le_bytes());
            }
            out.extend(0x0706_4b50_u32.to_le_bytes());
            out.extend(0_u32.to_le_bytes());
            out.extend((start + size).to_le_bytes());
            // The number of disks.
            out.extend(1_u32.to_le_bytes());
        }
        out.extend(0x0605_4b50_u32.to_le_bytes());
        out.extend([0; 4]);
        let count = u16::try_from(files).unwrap_or(u16::MAX);
        out.extend(count.to_le_bytes());
        out.extend(count.to_le_bytes());
        for number in [size, start] {
            out.extend(u32::try_from(number).unwrap_or(IN_EXTRA).to_le_bytes());
        }
        // No comment.
        out.extend([0; 2]);
    }

    /// Takes the bytes so far.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.taken += self.pending.len() as u64;
        std::mem::take(&mut self.pending)
    }
}

struct Entry<'a> {
    name: &'a str,
    crc: u32,
    packed_size: u32,
    size: u32,
    /// Time and date.
    modified: [u16; 2],
}

impl Entry<'_> {
    /// Writes the fields that a file has in front of its content and in the directory.
    fn write_common(&self, out: &mut Vec<u8>, version: u16, extra: u16) {
        for number in [version, UTF8, DEFLATED, self.modified[0], self.modified[1]] {
            out.extend(number.to_le_bytes());
        }
        for number in [self.crc, self.packed_size, self.size] {
            out.extend(number.to_le_bytes());
        }
        // Names have at most 250 bytes.
        out.extend((self.name.len() as u16).to_le_bytes());
        out.extend(extra.to_le_bytes());
    }

    fn write_directory(&self, out: &mut Vec<u8>, offset: u64) {
        let near = u32::try_from(offset).ok().filter(|it| *it != IN_EXTRA);
        let (version, extra) = if near.is_some() { (VERSION, 0) } else { (VERSION_64, 12) };
        out.extend(0x0201_4b50_u32.to_le_bytes());
        // The version that wrote it.
        out.extend(version.to_le_bytes());
        self.write_common(out, version, extra);
        // No comment, the first disk, no attributes.
        out.extend([0; 10]);
        out.extend(near.unwrap_or(IN_EXTRA).to_le_bytes());
        out.extend(self.name.as_bytes());
        if near.is_none() {
            out.extend(1_u16.to_le_bytes());
            out.extend(8_u16.to_le_bytes());
            out.extend(offset.to_le_bytes());
        }
    }
}

/// A time and a date as archives have them, in UTC. The earliest one if there is none.
fn dos_time(at: Option<Timestamp>) -> [u16; 2] {
    const EARLIEST: [u16; 2] = [0, (1 << 5) | 1];
    let Some(at) = at.map(|at| at.to_zoned(TimeZone::UTC)) else { return EARLIEST };
    let number = |it: i8| u16::try_from(it).unwrap_or(0);
    let Some(year) = at.year().checked_sub(1980).and_then(|it| u16::try_from(it).ok()) else {
        return EARLIEST;
    };
    let time = (number(at.hour()) << 11) | (number(at.minute()) << 5) | (number(at.second()) / 2);
    let date = (year.min(127) << 9) | (number(at.month()) << 5) | number(at.day());
    [time, date]
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use zip::ZipArchive;

    use super::*;

    fn read(bytes: Vec<u8>) -> ZipArchive<Cursor<Vec<u8>>> {
        ZipArchive::new(Cursor::new(bytes)).unwrap()
    }

    #[test]
    fn archives_are_read_back() {
        let mut zip = ZipWriter::default();
        let at = "2026-11-17T18:30:59Z".parse().unwrap();
        zip.add("二胡 [a].txt", "text".repeat(1000).as_bytes(), Some(at)).unwrap();
        let mut bytes = zip.take();
        zip.add("empty", b"", None).unwrap();
        zip.finish();
        bytes.extend(zip.take());
        let mut archive = read(bytes);
        assert_eq!(archive.len(), 2);
        let mut text = String::new();
        let mut file = archive.by_name("二胡 [a].txt").unwrap();
        file.read_to_string(&mut text).unwrap();
        let modified = file.last_modified().unwrap();
        let time = (modified.year(), modified.month(), modified.day(), modified.hour());
        assert_eq!((text.len(), time), (4000, (2026, 11, 17, 18)));
        drop(file);
        assert_eq!(archive.by_name("empty").unwrap().size(), 0);
    }

    #[test]
    fn many_files_need_a_large_archive() {
        let mut zip = ZipWriter::default();
        for number in 0..70_000 {
            zip.add(&number.to_string(), b"x", None).unwrap();
        }
        zip.finish();
        let mut archive = read(zip.take());
        assert_eq!(archive.len(), 70_000);
        assert_eq!(archive.by_name("69999").unwrap().size(), 1);
    }

    /// The content before the file is not there, so only the fields are checked.
    #[test]
    fn a_file_beyond_4_gb_has_its_place_in_the_extra_field() {
        let mut zip = ZipWriter { taken: 5 << 30, ..ZipWriter::default() };
        zip.add("far", b"x", None).unwrap();
        let _ = zip.take();
        let directory = zip.directory.clone();
        zip.finish();
        let end = zip.take();
        assert_eq!(directory[42..46], IN_EXTRA.to_le_bytes());
        assert_eq!(directory[directory.len() - 8..], (5_u64 << 30).to_le_bytes());
        assert!(end.windows(4).any(|it| it == 0x0606_4b50_u32.to_le_bytes()), "the large end");
    }
}
