//! CSV (RFC 4180) as the service writes it.

use csv::{ReaderBuilder, Terminator, Writer, WriterBuilder};

use super::{FROM, unreadable};
use crate::failure::Failure;

/// The table with the requested item in the first column of each row.
pub(super) fn with_source(id: &str, body: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut rows = ReaderBuilder::new().has_headers(false).from_reader(body);
    let mut writer = writer();
    for (index, row) in rows.byte_records().enumerate() {
        let row = row.map_err(|_| unreadable())?;
        let first = if index == 0 { FROM } else { id };
        let cells = std::iter::once(first.as_bytes()).chain(row.iter());
        writer.write_record(cells).map_err(|_| unreadable())?;
    }
    writer.into_inner().map_err(|_| unreadable())
}

fn writer() -> Writer<Vec<u8>> {
    WriterBuilder::new().terminator(Terminator::CRLF).from_writer(vec![])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_names_its_source() {
        let table = "id,title\r\na,\"two\nlines, \"\"quoted\"\"\"\r\nb,\r\n";
        let expected = "from,id,title\r\nPLa,a,\"two\nlines, \"\"quoted\"\"\"\r\nPLa,b,\r\n";
        assert_eq!(with_source("PLa", table.as_bytes()).unwrap(), expected.as_bytes());
        assert_eq!(with_source("a,b", b"id\r\nx\r\n").unwrap(), b"from,id\r\n\"a,b\",x\r\n");
        assert_eq!(with_source("PLa", b"id\r\n").unwrap(), b"from,id\r\n", "an empty list");
    }
}
