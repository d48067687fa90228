//! Tools for AI models over [`vidra::Vidra`].
//!
//! [`tools()`] lists the tools and [`call`] runs one. Every interface uses these two: MCP over standard input
//! and output ([`serve_stdio`]), MCP over HTTP ([`HttpService`]), and function calling of other programs
//! ([`Format`] writes the list for them).
//!
//! All tools only read, except `start_job`. Their answers contain text of third parties and mark it: a model must treat it as
//! data and never as instructions.
//!
//! ```
//! # async fn example(vidra: vidra::Vidra) {
//! let arguments = serde_json::json!({"video": "https://youtu.be/dQw4w9WgXcQ", "lang": "en"});
//! match vidra_mcp::call("get_transcript", arguments, &vidra_mcp::Call::new(&vidra)).await {
//!     Ok(reply) => println!("{}", reply.text),
//!     Err(error) => println!("{}", error.for_model()),
//! }
//! # }
//! ```
//!
//! # Rooms
//!
//! Imports point downwards only: a module imports modules below it in this list and nothing above it.
//! The test `rooms` reads this list and the imports of every file.
//!
//! - `http`: MCP over HTTP: sessions, their limits, and the events of streams
//! - `server`: the MCP server, independent of the transport
//! - `definitions`: [`Format`]: the list of tools in the format of each vendor
//! - `tools`: the table of tools and their implementations, one file per resource
//! - `call`: [`Call`]: who answers a call, what its caller may use, and how long it may take
//! - `reply`: [`Reply`]: structured data, and the same as compact text
//! - `arguments`: reads arguments, and explains faults so that a model can correct them
//! - `page`: how much fits into one answer
//! - `params`: the values that inputs are made of; invalid values end here
//! - `call_error`: [`CallError`]: why a call failed, as text that a model can act on
//! - `schema`: JSON Schemas of inputs and outputs

mod arguments;
mod call;
mod call_error;
mod definitions;
mod http;
mod page;
mod params;
mod reply;
mod schema;
mod server;
pub mod tools;

pub use call::{BatchLimit, Call, Progress, ProgressSender, ToolLibrary};
pub use call_error::{CallError, CallRefusal, OnFailure};
pub use definitions::Format;
pub use http::{Caller, HttpService, SessionLimits, TooManySessions};
pub use reply::Reply;
pub use server::serve_stdio;
pub use tools::{Offer, Tool, ToolList, call, tool, tools};
