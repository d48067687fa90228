//! The library from outside. One binary, so that it links once.

mod network;
mod operations;
mod selection;
mod sim;
mod upstream;
