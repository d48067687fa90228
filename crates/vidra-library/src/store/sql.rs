//! Statements: one way to write them for SQLite and PostgreSQL.
//!
//! All statements are in the part of SQL that both databases have, with `?` or `?1` as parameters. Where they differ,
//! [`Statements::dialect`] decides.

mod row;
mod value;

use vidra::Result;

pub(crate) use row::Row;
pub(super) use value::params;
pub(crate) use value::{Kind, Numbers, OwnedValue, Parameters, Texts, ToValue, Value};

/// The SQL of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// Ends a query whose rows the transaction changes depending on their content. SQLite has one writer at a time.
    pub(super) fn for_update(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR NO KEY UPDATE",
        }
    }

    /// Ends a query of rows that the transaction takes, and leaves out those that another one takes at this moment.
    pub(super) fn for_update_of_free_rows(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR UPDATE SKIP LOCKED",
        }
    }

    /// The numbers of a parameter of type [`Numbers`], as a query.
    pub(super) fn numbers(self) -> &'static str {
        match self {
            Self::Sqlite => "SELECT value FROM json_each(?)",
            Self::Postgres => "SELECT unnest(?)",
        }
    }
}

/// A connection to a database, in a transaction.
pub(crate) type Connection = dyn Statements;

/// Runs the statements of a transaction.
pub(crate) trait Statements {
    fn dialect(&self) -> Dialect;

    /// Runs a statement, and returns the number of changed rows.
    fn run(&self, sql: &str, values: &[&dyn ToValue]) -> Result<usize>;

    /// Calls `each` with every row until it returns `false`.
    fn each_row(
        &self,
        sql: &str,
        values: &[&dyn ToValue],
        each: &mut dyn FnMut(&Row<'_>) -> Result<bool>,
    ) -> Result<()>;

    /// Runs several statements without parameters.
    fn run_batch(&self, sql: &str) -> Result<()>;
}

impl dyn Statements {
    /// Runs a statement, and returns the number of changed rows.
    pub(super) fn execute(&self, sql: &str, parameters: impl Parameters) -> Result<usize> {
        parameters.with(|values| self.run(sql, values))
    }

    /// All rows of a query.
    pub(super) fn query_map<T>(
        &self,
        sql: &str,
        parameters: impl Parameters,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = vec![];
        self.query_while(sql, parameters, |row| {
            found.push(read(row)?);
            Ok(true)
        })?;
        Ok(found)
    }

    /// Calls `each` with every row of a query until it returns `false`.
    pub(super) fn query_while(
        &self,
        sql: &str,
        parameters: impl Parameters,
        mut each: impl FnMut(&Row<'_>) -> Result<bool>,
    ) -> Result<()> {
        parameters.with(|values| self.each_row(sql, values, &mut each))
    }

    /// The first row of a query. `None` without one.
    pub(super) fn query_optional<T>(
        &self,
        sql: &str,
        parameters: impl Parameters,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut found = None;
        self.query_while(sql, parameters, |row| {
            found = Some(read(row)?);
            Ok(false)
        })?;
        Ok(found)
    }

    /// The first row of a query that always has one.
    pub(super) fn query_row<T>(
        &self,
        sql: &str,
        parameters: impl Parameters,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        let found = self.query_optional(sql, parameters, read)?;
        found.ok_or_else(|| vidra::Error::internal("a query of the library has no row"))
    }
}
