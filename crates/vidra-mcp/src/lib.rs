//! The AI tools: what a model can ask of [`vidra::Vidra`], and how it is told.
//!
//! [`tools()`] lists them and [`call`] runs one, whatever the door: MCP over standard input and output
//! ([`serve_stdio`]), MCP over HTTP ([`HttpService`]), a function-calling loop of somebody else
//! ([`Format`] prints the list for it, the service runs a call).
//!
//! All of them read and none of them writes. What they give was written by strangers, and says so:
//! a model must take it for data, and never for instructions.
//!
//! ```
//! # async fn example(vidra: vidra::Vidra) {
//! let arguments = serde_json::json!({"video": "https://youtu.be/dQw4w9WgXcQ", "lang": "en"});
//! match vidra_mcp::call("transcribe_video", arguments, &vidra_mcp::Call::new(&vidra)).await {
//!     Ok(reply) => println!("{}", reply.text),
//!     Err(error) => println!("{}", error.for_model()),
//! }
//! # }
//! ```
//!
//! # Map
//!
//! [`mod@tools`]: the table, and a file for each kind of thing; each tool is its input, its output and what
//! lies between. `params`: the values that inputs are made of; what is malformed ends there.
//! `page`: how much fits, and where the rest begins. `reply`: the text beside the data, and failures
//! in words. `schema`: types to JSON Schema, and the list in the words of each vendor. `server` and
//! `http`: the protocol.

mod http;
mod page;
mod params;
mod reply;
mod schema;
mod server;
pub mod tools;

pub use http::{Caller, HttpService, SessionLimits, TooManySessions};
pub use reply::{CallError, Reply};
pub use schema::Format;
pub use server::serve_stdio;
pub use tools::{BatchPlaces, Call, Step, Steps, Tool, call, tool, tools};
