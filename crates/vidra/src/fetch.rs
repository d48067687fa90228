//! How each model is asked for: which calls, and what their answers mean.

pub(crate) mod channel;
pub(crate) mod comment;
pub(crate) mod playlist;
pub(crate) mod region;
pub(crate) mod transcript;
pub(crate) mod video;
