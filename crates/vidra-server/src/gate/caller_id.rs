//! The identity of a caller.

use std::sync::Arc;

use super::network::ClientNetwork;

/// A caller: its key, or its address without one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum CallerId {
    Key(Arc<str>),
    Address(ClientNetwork),
}
