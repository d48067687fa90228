//! Statements on a connection to SQLite.

use rusqlite::CachedStatement;
use rusqlite::types::{ToSqlOutput, ValueRef};
use vidra::{Error, Result};

use super::error::sql;
use crate::store::sql::{Dialect, Row, Statements, ToValue, Value};

impl Statements for rusqlite::Connection {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn run(&self, text: &str, values: &[&dyn ToValue]) -> Result<usize> {
        prepared(self, text, values)?.raw_execute().map_err(sql)
    }

    fn each_row(
        &self,
        text: &str,
        values: &[&dyn ToValue],
        each: &mut dyn FnMut(&Row<'_>) -> Result<bool>,
    ) -> Result<()> {
        let mut statement = prepared(self, text, values)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(sql)? {
            if !each(&Row::Sqlite(row))? {
                break;
            }
        }
        Ok(())
    }

    fn run_batch(&self, text: &str) -> Result<()> {
        self.execute_batch(text).map_err(sql)
    }
}

/// A statement with its parameters.
fn prepared<'a>(
    connection: &'a rusqlite::Connection,
    text: &str,
    values: &[&dyn ToValue],
) -> Result<CachedStatement<'a>> {
    let mut statement = connection.prepare_cached(text).map_err(sql)?;
    if statement.parameter_count() != values.len() {
        return Err(Error::internal("a statement of the library has other parameters"));
    }
    for (index, value) in (1..).zip(values) {
        let value = match value.value() {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(number),
            Value::Boolean(is_true) => ValueRef::Integer(i64::from(is_true)),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
            Value::Integers(numbers) => {
                let json = serde_json::to_string(numbers).map_err(Error::internal)?;
                statement.raw_bind_parameter(index, json).map_err(sql)?;
                continue;
            }
            Value::Texts(_) => return Err(Error::internal("SQLite has no arrays")),
        };
        statement.raw_bind_parameter(index, ToSqlOutput::Borrowed(value)).map_err(sql)?;
    }
    Ok(statement)
}
