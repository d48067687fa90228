//! The library from outside. One binary, so that it links once.

mod admission;
mod allowance;
mod batch;
mod breakers;
mod cache;
mod composites;
mod concurrency;
mod faults;
mod format;
mod ident;
mod key;
mod leaving;
mod midnight;
mod network;
mod operations;
mod players;
mod recorded;
mod reports;
mod rooms;
mod selection;
mod sharing;
mod sim;
mod store;
mod timedtext;
mod transcripts;
mod upstream;
