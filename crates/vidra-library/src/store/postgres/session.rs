//! A transaction on a connection to PostgreSQL.
//!
//! Statements run on a thread that may block, and wait there for the runtime, which drives the connection.

use std::cell::{Cell, RefCell};
use std::error::Error as _;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use deadpool_postgres::Object;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};
use tokio_postgres::Statement;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use vidra::{Error, Reason, Result, Sessions};

use crate::store::error::{RETRY_AFTER, search_timed_out};
use crate::store::sql::{Dialect, Kind, Row, Statements, ToValue, Value};

/// The longest wait for an answer. The server ends a statement before, unless it hangs.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(25);

/// The longest wait for an answer of a check of the whole library.
const LONG_TIMEOUT: Duration = Duration::from_secs(3600);

/// How many prepared statements a connection caches. Searches with many different filters have many statements.
const MOST_STATEMENTS: usize = 512;

/// How a transaction begins.
#[derive(Debug)]
pub(super) struct Begin {
    pub(super) sql: String,
    /// The end of a search.
    pub(super) deadline: Option<Instant>,
    /// Whether its statements may take minutes.
    pub(super) is_long: bool,
    /// Whether it waits for the server to begin.
    pub(super) is_connecting: Arc<AtomicBool>,
}

impl Begin {
    pub(super) fn new(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), deadline: None, is_long: false, is_connecting: Arc::default() }
    }
}

/// A transaction.
pub(super) struct Session {
    /// `None` after its end.
    client: Option<Object>,
    sessions: Arc<Sessions>,
    runtime: Handle,
    /// The end of a search.
    deadline: Option<Instant>,
    /// The longest wait for an answer.
    answer_timeout: Duration,
    /// Whether the connection cannot be used again.
    is_broken: Cell<bool>,
    /// The first error of a statement. After it the transaction cannot be committed, also if the caller ignores it.
    failure: RefCell<Option<Error>>,
}

impl Session {
    /// Begins a transaction. It blocks.
    pub(super) fn begin(sessions: Arc<Sessions>, runtime: Handle, begin: &Begin) -> Result<Self> {
        begin.is_connecting.store(true, Ordering::Relaxed);
        let connected = runtime.block_on(sessions.connection());
        let session = Self {
            client: Some(connected.map_err(|error| unavailable(&error))?),
            sessions,
            runtime,
            deadline: begin.deadline,
            answer_timeout: if begin.is_long { LONG_TIMEOUT } else { ANSWER_TIMEOUT },
            is_broken: Cell::default(),
            failure: RefCell::default(),
        };
        session.wait(|client| client.batch_execute(&begin.sql))?;
        begin.is_connecting.store(false, Ordering::Relaxed);
        Ok(session)
    }

    /// Commits the transaction if its work is done, and undoes it otherwise. It blocks.
    pub(super) fn end<T>(mut self, done: Result<T>) -> Result<T> {
        // A search that is late has to end its transaction too.
        self.deadline = None;
        let done = done.and_then(|done| self.failure.take().map_or(Ok(done), Err));
        let ended = match done {
            Ok(done) => self.wait(|client| client.batch_execute("COMMIT")).map(|()| done),
            Err(error) => {
                if !self.is_broken.get() {
                    let _ = self.wait(|client| client.batch_execute("ROLLBACK"));
                }
                Err(error)
            }
        };
        if let Some(client) = self.client.take() {
            if self.is_broken.get() {
                // Its connection may be in the middle of a transaction.
                drop(Object::take(client));
            } else {
                if ended.is_ok() {
                    self.sessions.answered();
                }
                if client.statement_cache.size() > MOST_STATEMENTS {
                    client.statement_cache.clear();
                }
            }
        }
        ended
    }

    /// Waits for the answer to a statement, and remembers an error.
    fn wait<'a, T, F>(&'a self, statement: impl FnOnce(&'a Object) -> F) -> Result<T>
    where
        F: Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    {
        if self.deadline.is_some_and(|it| it <= Instant::now()) {
            return Err(search_timed_out());
        }
        let Some(client) = &self.client else {
            return Err(Error::internal("the transaction has ended"));
        };
        let answer = match self
            .runtime
            .block_on(async { timeout(self.answer_timeout, statement(client)).await })
        {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) if self.is_late(&error) => Err(search_timed_out()),
            Ok(Err(error)) => {
                self.is_broken.set(self.is_broken.get() || error.code().is_none());
                Err(failed(&self.sessions, &error))
            }
            Err(_elapsed) => {
                self.is_broken.set(true);
                Err(unavailable(&self.sessions.timed_out()))
            }
        };
        if let Err(error) = &answer {
            self.failure.borrow_mut().get_or_insert_with(|| error.clone());
        }
        answer
    }

    /// Whether the server has ended a search at its limit.
    fn is_late(&self, error: &tokio_postgres::Error) -> bool {
        self.deadline.is_some() && error.code() == Some(&SqlState::QUERY_CANCELED)
    }

    fn prepared(&self, sql: &str, values: &[&dyn ToValue]) -> Result<Statement> {
        let types: Vec<Type> = values.iter().map(|value| type_of(value.kind())).collect();
        let sql = with_numbered_parameters(sql);
        self.wait(|client| client.prepare_typed_cached(&sql, &types))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Only after a panic between two statements: the transaction is still open.
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }
}

impl Statements for Session {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn run(&self, sql: &str, values: &[&dyn ToValue]) -> Result<usize> {
        let statement = self.prepared(sql, values)?;
        let parameters = values.iter().map(|value| Parameter(value.value()));
        let changed = self.wait(|client| client.execute_raw(&statement, parameters))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn each_row(
        &self,
        sql: &str,
        values: &[&dyn ToValue],
        each: &mut dyn FnMut(&Row<'_>) -> Result<bool>,
    ) -> Result<()> {
        let statement = self.prepared(sql, values)?;
        let parameters: Vec<Parameter<'_>> =
            values.iter().map(|it| Parameter(it.value())).collect();
        let parameters: Vec<&(dyn ToSql + Sync)> =
            parameters.iter().map(|it| it as &(dyn ToSql + Sync)).collect();
        let rows = self.wait(|client| client.query(&statement, &parameters))?;
        for row in &rows {
            if !each(&Row::Postgres(row))? {
                break;
            }
        }
        Ok(())
    }

    fn run_batch(&self, sql: &str) -> Result<()> {
        self.wait(|client| client.batch_execute(sql))
    }
}

/// The error of a failed statement. Its message names neither the server nor the statement.
pub(super) fn failed(sessions: &Sessions, error: &tokio_postgres::Error) -> Error {
    let is_passing = |code: &SqlState| {
        // A lock that another transaction holds, a statement at its limit, a full disk, and errors of the server's system.
        let is_of_the_system = code.code().starts_with("58") || code.code().starts_with("XX");
        is_of_the_system
            || [
                SqlState::LOCK_NOT_AVAILABLE,
                SqlState::T_R_DEADLOCK_DETECTED,
                SqlState::T_R_SERIALIZATION_FAILURE,
                SqlState::QUERY_CANCELED,
                SqlState::DISK_FULL,
                SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
            ]
            .contains(code)
    };
    let noted = sessions.error(error);
    match error.code() {
        Some(code) if is_passing(code) => unavailable(&noted),
        _ if noted.reason() == Reason::DatabaseUnavailable => unavailable(&noted),
        _ => noted,
    }
}

/// The error of a database that does not answer, as one of the library.
pub(super) fn unavailable(error: &Error) -> Error {
    let message = "The database of the library does not answer";
    let unavailable = Error::new(Reason::LibraryUnavailable, message)
        .with_retry_after(Some(error.retry_after().unwrap_or(RETRY_AFTER)));
    match error.source().map(ToString::to_string) {
        Some(source) => unavailable.with_source(source),
        None => unavailable,
    }
}

fn type_of(kind: Kind) -> Type {
    match kind {
        Kind::Integer => Type::INT8,
        Kind::Boolean => Type::BOOL,
        Kind::Text => Type::TEXT,
        Kind::Bytes => Type::BYTEA,
        Kind::Integers => Type::INT8_ARRAY,
        Kind::Texts => Type::TEXT_ARRAY,
    }
}

/// A statement with `$1` in place of `?1`, and with numbers in place of `?` alone. No literal of a statement has a question
/// mark.
fn with_numbered_parameters(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len() + 8);
    let mut next = 1;
    let mut rest = sql;
    while let Some(at) = rest.find('?') {
        text.push_str(&rest[..at]);
        text.push('$');
        rest = &rest[at + 1..];
        if !rest.starts_with(|it: char| it.is_ascii_digit()) {
            let _ = write!(text, "{next}");
            next += 1;
        }
    }
    text.push_str(rest);
    text
}

/// A value as PostgreSQL receives it.
#[derive(Debug)]
struct Parameter<'a>(Value<'a>);

impl ToSql for Parameter<'_> {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) => number.to_sql(of, out),
            Value::Boolean(is_true) => is_true.to_sql(of, out),
            // PostgreSQL has no text with this character, and no title needs it.
            Value::Text(text) if text.contains('\0') => text.replace('\0', "").to_sql(of, out),
            Value::Text(text) => text.to_sql(of, out),
            Value::Bytes(bytes) => bytes.to_sql(of, out),
            Value::Integers(numbers) => numbers.to_sql(of, out),
            Value::Texts(texts) => texts.to_sql(of, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered() {
        let table = [
            ("SELECT 1", "SELECT 1"),
            ("a = ? AND b = ?", "a = $1 AND b = $2"),
            ("a = ?2 AND b = ?1 OR c = ?12", "a = $2 AND b = $1 OR c = $12"),
        ];
        for (sql, expected) in table {
            assert_eq!(with_numbered_parameters(sql), expected);
        }
    }
}
