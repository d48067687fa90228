//! The library from outside. One binary, so that it links once.

mod admission;
mod allowance;
mod batch;
#[cfg(feature = "blocking")]
mod blocking;
mod bounds;
mod breakers;
mod cache;
mod comment_search;
mod composites;
mod concurrency;
mod faults;
mod format;
mod ident;
mod interrupted;
mod key;
mod leaving;
mod lists;
mod midnight;
mod network;
mod operations;
mod parts;
mod players;
mod recorded;
mod reports;
mod rooms;
mod selection;
mod sharing;
mod sim;
mod store;
mod test_double;
mod timedtext;
mod transcripts;
mod upstream;
