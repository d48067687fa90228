//! `vidra library copy`: from a file to PostgreSQL.

use vidra_library::CopyStep;

use super::{print, print_json};
use crate::database::{DatabaseLocation, Place};
use crate::failure::{Failure, print_error};
use crate::values::Secret;

/// A copy writes a line each time after so many rows.
const COPY_LINES: u64 = 10_000;

pub(super) async fn run(
    from: &DatabaseLocation,
    to: &DatabaseLocation,
    as_json: bool,
) -> Result<(), Failure> {
    let (DatabaseLocation::File(path), DatabaseLocation::Postgres(Secret(url))) = (from, to) else {
        let message = "a library is copied from a file to PostgreSQL: --from sqlite:PATH --to postgres://...; \
            export and import lead back";
        return Err(Failure::usage(message));
    };
    let source = Place::File(path.clone()).require()?.open().await?;
    let target = Place::Postgres(url).open().await?;
    let mut shown = 0;
    // A line now and then: a page has 200 rows at most.
    let mut is_time = |count: u64| {
        let is_time = count / COPY_LINES != shown && count >= COPY_LINES;
        shown = count / COPY_LINES;
        is_time
    };
    let copied = target.library.copy_from(&source.library, |step| match step {
        CopyStep::Copied(table, rows) if is_time(rows) => {
            print_error(&format!("{table}: {rows} rows copied"));
        }
        CopyStep::Indexed(count) if is_time(count) => {
            print_error(&format!("{count} transcripts indexed"));
        }
        _ => {}
    });
    let copied = copied.await;
    let copied = target.done(copied)?;
    if as_json {
        return print_json(&copied);
    }
    let rows: u64 = copied.tables.iter().map(|(_, rows)| rows).sum();
    let tables: Vec<String> =
        copied.tables.iter().map(|(name, rows)| format!("  {name} {rows}\n")).collect();
    print(&format!(
        "{}copied {rows} rows of {} tables to {}, and compared them\n",
        tables.concat(),
        copied.tables.len(),
        target.shown
    ))
}
