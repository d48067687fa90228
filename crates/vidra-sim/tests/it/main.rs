//! The simulator through its public interface.

mod answers;
mod checklist;
mod discovery;
mod errors;
mod faults;
mod fetch;
mod keyless;
mod keyless_client;
mod loopback;
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
mod violations;
