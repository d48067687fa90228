//! The library from outside. One binary, so that it links once.

mod admission;
mod allowance;
mod batch;
mod breakers;
mod cache;
mod concurrency;
mod faults;
mod format;
mod ident;
mod leaving;
mod midnight;
mod network;
mod operations;
mod players;
mod recorded;
mod reports;
mod selection;
mod sim;
mod store;
mod timedtext;
mod transcripts;
mod upstream;
