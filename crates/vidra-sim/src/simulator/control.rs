//! `/_sim/`: the controls of the simulator over HTTP, for tests in other processes. Neither recorded nor
//! billed.

use super::Simulator;
use crate::fault::Fault;
use crate::response::reply;
use axum::body::Body;
use http::{Method, Response};
use serde::Deserialize;
use serde_json::json;

/// The body of `POST /_sim/block`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    after: u64,
    egress: Option<String>,
}

const JSON: &str = "application/json";

/// Answers a control request.
pub(crate) fn answer(
    simulator: &Simulator,
    method: &Method,
    path: &str,
    body: &[u8],
) -> Response<Body> {
    match (method.as_str(), path) {
        ("GET", "/_sim/record") => reply(200, JSON, json!(simulator.record()).to_string().into()),
        ("DELETE", "/_sim/record") => {
            simulator.reset_record();
            reply(204, JSON, Body::empty())
        }
        ("POST", "/_sim/faults") => match serde_json::from_slice::<Fault>(body) {
            Ok(fault) => {
                simulator.inject(fault);
                reply(204, JSON, Body::empty())
            }
            Err(error) => reply(400, JSON, json!({"error": error.to_string()}).to_string().into()),
        },
        ("DELETE", "/_sim/faults") => {
            simulator.clear_faults();
            reply(204, JSON, Body::empty())
        }
        ("POST", "/_sim/block") => match serde_json::from_slice::<Block>(body) {
            Ok(Block { after, egress: Some(egress) }) => {
                simulator.block_egress_after(&egress, after);
                reply(204, JSON, Body::empty())
            }
            Ok(Block { after, egress: None }) => {
                simulator.block_after(after);
                reply(204, JSON, Body::empty())
            }
            Err(error) => reply(400, JSON, json!({"error": error.to_string()}).to_string().into()),
        },
        ("DELETE", "/_sim/block") => {
            simulator.unblock();
            reply(204, JSON, Body::empty())
        }
        _ => reply(
            404,
            JSON,
            json!({"error": "GET or DELETE /_sim/record, POST or DELETE /_sim/faults or /_sim/block"})
                .to_string()
                .into(),
        ),
    }
}
