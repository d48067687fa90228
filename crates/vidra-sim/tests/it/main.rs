//! The simulator as its users see it.

mod answers;
mod ask;
mod discovery;
mod errors;
mod faults;
mod keyless;
mod loopback;
mod paging;
mod quirks;
mod readme;
mod record;
mod recorded;
mod visit;
