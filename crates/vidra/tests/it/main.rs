//! The library from outside. One binary, so that it links once.

mod admission;
mod allowance;
mod background;
mod batch;
#[cfg(feature = "blocking")]
mod blocking;
mod bounds;
mod breakers;
mod cache;
mod chunks;
mod comment_search;
mod composites;
mod concurrency;
mod details;
mod egress_state;
mod entries;
mod faults;
mod feed;
mod feeds;
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
mod record_lists;
mod recorded;
mod reports;
mod rooms;
mod search;
mod selection;
#[cfg(feature = "postgres")]
mod several_machines;
mod shared_fetches;
mod sharing;
mod sim;
mod store;
mod test_double;
mod timedtext;
mod transcripts;
mod upstream;
