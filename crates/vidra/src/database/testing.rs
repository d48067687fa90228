//! Databases for tests.

use vidra_engines::{Postgres, shared_postgres};

use super::Database;

/// A database of its own for one test.
pub(crate) struct TestDatabase {
    pub(crate) server: &'static Postgres,
    pub(crate) name: String,
}

impl TestDatabase {
    /// `None` if PostgreSQL is not installed.
    pub(crate) fn new() -> Option<Self> {
        let server = shared_postgres()?;
        Some(Self { server, name: server.database() })
    }

    pub(crate) fn url(&self) -> String {
        self.server.url(&self.name)
    }

    pub(crate) async fn connect(&self) -> Database {
        Database::connect(&self.url()).await.unwrap()
    }

    pub(crate) fn sql(&self, sql: &str) -> String {
        self.server.sql(&self.name, sql)
    }

    /// Sets the clock of the database.
    pub(crate) fn set_clock(&self, time: &str) {
        self.sql(&format!(
            "CREATE OR REPLACE FUNCTION vidra.clock() RETURNS timestamptz LANGUAGE sql AS
            $$ SELECT timestamptz '{time}' $$"
        ));
    }
}
