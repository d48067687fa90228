//! What the examples share: where they ask, and what for.

use vidra::{ApiKey, Builder, InProcess, Vidra};

/// A client of YouTube with the key in `YOUTUBE_API_KEY`. Without one, or with `--demo`, a client of the
/// simulator: it runs in this process, and the examples can be tried without a key and without a network.
pub(crate) fn builder() -> Builder {
    let key = std::env::var("YOUTUBE_API_KEY").ok().and_then(|key| ApiKey::new(&key));
    let wants_demo = std::env::args().any(|argument| argument == "--demo");
    match key.filter(|_| !wants_demo) {
        Some(key) => Vidra::builder().key(Some(key)),
        None => {
            eprintln!("(a made-up world; for YouTube itself set YOUTUBE_API_KEY)");
            let simulator = InProcess(vidra_sim::Simulator::new());
            Vidra::builder().key(ApiKey::new("demo-key")).transport(simulator)
        }
    }
}

/// The argument at this place, counted from 1, flags aside.
pub(crate) fn argument(place: usize) -> Option<String> {
    std::env::args().filter(|argument| !argument.starts_with("--")).nth(place)
}
