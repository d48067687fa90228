//! The simulator as its users see it.

mod answers;
mod ask;
mod checklist;
mod discovery;
mod errors;
mod faults;
mod keyless;
mod loopback;
mod manners;
mod odd_texts;
mod pages;
mod paging;
mod proxies;
mod quirks;
mod readme;
mod record;
mod recorded;
mod recorded_keyless;
mod refusals;
mod rooms;
mod texts;
mod timed_text;
mod tracks;
mod visit;
