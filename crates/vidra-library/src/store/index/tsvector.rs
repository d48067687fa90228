//! The tables of an index in PostgreSQL.
//!
//! A `tsvector` is made of our own tokens, and not by a text search configuration: both databases find the same.

use std::collections::BTreeMap;
use std::fmt::Write;

use vidra::Result;

use crate::store::sql::{Connection, Numbers, Texts, params};

/// The most bytes of tokens and their positions in one row. PostgreSQL refuses a `tsvector` of a mebibyte.
const MOST_BYTES: usize = 900_000;

/// Creates the tables of an index.
pub(super) fn create(connection: &Connection, number: i64) -> Result<()> {
    for table in ["passages", "seams", "words"] {
        connection.run_batch(&format!(
            "CREATE TABLE search_{table}_{number} (rowid bigint PRIMARY KEY, tokens tsvector NOT NULL);
            CREATE INDEX ON search_{table}_{number} USING gin (tokens) WITH (gin_pending_list_limit = 64)"
        ))?;
    }
    connection.run_batch(&format!(
        "CREATE TABLE search_layouts_{number} (transcript bigint PRIMARY KEY, starts bytea NOT NULL)"
    ))
}

/// Adds rows with these tokens, which are separated by spaces.
pub(in crate::store) fn add(
    connection: &Connection,
    table: &str,
    rows: &[(i64, &str)],
) -> Result<()> {
    let insert = format!(
        "INSERT INTO {table} (rowid, tokens) SELECT rowid, CAST(tokens AS tsvector) FROM unnest(?, ?) AS new (rowid, tokens)"
    );
    let numbers = Numbers(rows.iter().map(|(row, _)| *row).collect());
    let texts = Texts(rows.iter().map(|(_, tokens)| literal(tokens)).collect());
    connection.execute(&insert, params![numbers, texts]).map(drop)
}

/// Removes the tables of an index.
pub(super) fn remove(connection: &Connection, number: i64) -> Result<()> {
    connection.run_batch(&format!(
        "DROP TABLE search_passages_{number}; DROP TABLE search_seams_{number}; DROP TABLE search_words_{number};
        DROP TABLE search_layouts_{number}"
    ))
}

/// Tokens that are separated by spaces as a `tsvector`, with their positions.
fn literal(tokens: &str) -> String {
    let mut positions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut bytes = 0;
    for (position, token) in (1..).zip(tokens.split(' ').filter(|it| !it.is_empty())) {
        let known = positions.entry(token).or_default();
        bytes += if known.is_empty() { token.len() + 5 } else { 2 };
        if bytes > MOST_BYTES {
            break;
        }
        known.push(position);
    }
    let mut text = String::with_capacity(tokens.len() * 2);
    for (token, positions) in positions.iter().filter(|(_, positions)| !positions.is_empty()) {
        text.push_str(&quoted(token));
        for (index, position) in positions.iter().enumerate() {
            let separator = if index == 0 { ':' } else { ',' };
            let _ = write!(text, "{separator}{position}");
        }
        text.push(' ');
    }
    text
}

/// A token in quotes, as `tsvector` and `tsquery` need it.
pub(in crate::store) fn quoted(token: &str) -> String {
    format!("'{}'", token.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_has_each_token_once_with_its_positions() {
        assert_eq!(literal("b a b"), "'a':2 'b':1,3 ");
        assert_eq!(literal("it's \\ x"), "'\\\\':2 'it''s':1 'x':3 ");
        assert_eq!(literal(""), "");
        let long = vec!["x".repeat(100); 3].join(" ");
        assert_eq!(literal(&long).matches("xxx:").count(), 0);
        let many: Vec<String> = (0..20_000).map(|n| format!("{n:060}")).collect();
        assert!(literal(&many.join(" ")).len() < (1 << 20) + 300_000);
    }
}
