//! Shared by the examples: the client and the command-line arguments.

use vidra::{ApiKey, Builder, InProcess, Vidra};

/// A client of YouTube with the key in `YOUTUBE_API_KEY`. Without a key, or with `--demo`, the client uses a simulator
/// in this process, so that the examples run without a key and without a network.
pub(crate) fn builder() -> Builder {
    let key = std::env::var("YOUTUBE_API_KEY").ok().and_then(|key| ApiKey::new(&key));
    let wants_demo = std::env::args().any(|argument| argument == "--demo");
    match key.filter(|_| !wants_demo) {
        Some(key) => Vidra::builder().key(Some(key)),
        None => {
            eprintln!("(simulated data; set YOUTUBE_API_KEY to use YouTube)");
            let simulator = InProcess(vidra_sim::Simulator::new());
            Vidra::builder().key(ApiKey::new("demo-key")).transport(simulator)
        }
    }
}

/// The argument at this position, counted from 1 and without flags.
pub(crate) fn argument(position: usize) -> Option<String> {
    std::env::args().filter(|argument| !argument.starts_with("--")).nth(position)
}
