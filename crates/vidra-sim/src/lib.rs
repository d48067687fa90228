#![doc = include_str!("../README.md")]
//!
//! # Rooms
//!
//! Imports point downwards only: a module imports modules below it in this list and nothing above it.
//! The test `rooms` reads this list and the imports of every file.
//!
//! - `program`: the simulator as a command: `vidra-sim` and `vidra sim`
//! - `tour`: a short list of things to try in the world of seed 1
//! - `listen`: the simulator on a socket
//! - `proxy`: a forward proxy for tests: HTTP, tunnels and SOCKS5
//! - `simulator`: [`Simulator`]: record, key, quota, fault, answer; the control interface
//! - `web`: the keyless interface: watch page, player, timed text, feeds, consent, blocks
//! - `fault`: [`Fault`]: rules that make calls fail, and broken bodies
//! - `record`: [`Record`]: the received requests and the billed quota
//! - `data_api`: the Data API v3: from a query to JSON
//! - `platform`: the state that answers depend on: the world, the clock, the calls per video
//! - `call`: a parsed request
//! - `response`: HTTP responses, and [`Dropped`] connections
//! - `token`: page tokens
//! - `world`: the generated channels, videos, playlists, comments and captions
//! - `quirk`: [`QUIRKS`]: the documented oddities
//! - `query`: the decoded query string
//! - `route`: [`Endpoint`] and the URL table
//! - `ident`: identifiers that encode their coordinates
//! - `hash`: numbers computed from a seed

mod call;
mod data_api;
mod fault;
mod hash;
mod ident;
mod listen;
mod platform;
#[cfg(feature = "program")]
pub mod program;
pub mod proxy;
mod query;
mod quirk;
mod record;
mod response;
mod route;
mod simulator;
mod token;
mod tour;
mod web;
mod world;

pub use fault::{Action, Fault, Junk, Parameter};
pub use listen::Listening;
pub use quirk::{Kind, QUIRKS, Quirk, markdown};
pub use record::{Record, RecordedRequest, Units};
pub use response::Dropped;
pub use route::Endpoint;
pub use simulator::{Builder, Simulator, UnknownPlaylist, UnknownVideo};
pub use tour::{Stop, tour};
pub use web::block::Block;
pub use world::change::{Change, PlaylistChange};
