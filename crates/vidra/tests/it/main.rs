//! The library from outside. One binary, so that it links once.

mod format;
mod ident;
mod network;
mod operations;
mod recorded;
mod selection;
mod sim;
mod timedtext;
mod upstream;
