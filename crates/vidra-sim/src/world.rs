//! The seeded world: channels, playlists, videos, comments and captions, each computed on demand.

pub(crate) mod caption;
pub(crate) mod cast;
pub(crate) mod change;
pub(crate) mod channel;
pub(crate) mod clock;
pub(crate) mod comment;
pub(crate) mod playlist;
pub(crate) mod text;
pub(crate) mod video;

use crate::hash::{Dice, hash};
use crate::ident::Mint;
use change::Present;

/// Coordinates of a video: the number of its channel and its index there. The newest video is 0.
pub(crate) type VideoKey = (u32, u32);

/// One world at one moment. Worlds with the same seed are equal in every byte at the same moment.
#[derive(Clone, Debug)]
pub(crate) struct World {
    seed: u64,
    pub(crate) mint: Mint,
    present: Present,
}

impl World {
    /// The world before anything changes.
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, mint: Mint::new(seed), present: Present::default() }
    }

    /// The random number generator of one item.
    pub(crate) fn dice(&self, kind: &str, at: &[u64]) -> Dice {
        Dice::new(self.seed, kind, at)
    }

    /// A 20-byte fingerprint in 27 characters: the shape of the platform's newer etags.
    pub(crate) fn etag(&self, text: &str) -> String {
        let words = [0, 1, 2].map(|n| hash(self.seed, text, &[n]).to_be_bytes());
        crate::ident::base64url(&words.concat()[..20])
    }
}
