#![doc = include_str!("../README.md")]
//!
//! ## Where things are
//!
//! `simulator` is the way of a request, `route` the URL table, `data_api` what each method answers,
//! `web` what the platform shows without a key, `proxy` a way to it,
//! `world` what there is to answer about, `quirk` the documented oddities, `fault` what can be made
//! to go wrong, `listen` the same on a socket, `program` the same as a command.

mod control;
mod data_api;
mod fault;
mod hash;
mod ident;
mod listen;
pub mod program;
pub mod proxy;
mod query;
mod quirk;
mod record;
mod route;
mod simulator;
mod token;
mod tour;
mod web;
mod world;

pub use fault::{Action, Fault, Junk, Parameter};
pub use listen::Listening;
pub use quirk::{Kind, QUIRKS, Quirk, markdown};
pub use record::{Record, Seen, Units};
pub use route::Endpoint;
pub use simulator::{Builder, Dropped, Simulator};
pub use tour::{Stop, tour};
