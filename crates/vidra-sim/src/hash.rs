//! Numbers computed from a seed. The simulator has no stateful generator, only functions of (seed,
//! kind, index), so that item 19,999 of a playlist costs as much as item 0.

/// Spreads 64 bits over 64 bits (the finalizer of splitmix64). Bijective: see [`unmix`].
pub(crate) const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The inverse of [`mix`]. It decodes identifiers without a table of all of them.
pub(crate) const fn unmix(mut x: u64) -> u64 {
    x = (x ^ (x >> 31) ^ (x >> 62)).wrapping_mul(0x3196_42b2_d24d_8ec3);
    x = (x ^ (x >> 27) ^ (x >> 54)).wrapping_mul(0x96de_1b17_3f11_9089);
    x ^ (x >> 30) ^ (x >> 60)
}

/// A number for a kind of item and its coordinates.
pub(crate) fn hash(seed: u64, kind: &str, at: &[u64]) -> u64 {
    let start = mix(seed ^ 0x9e37_79b9_7f4a_7c15);
    let named = kind.bytes().fold(start, |h, b| mix(h ^ u64::from(b)));
    at.iter().fold(named, |h, n| mix(h.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ n))
}

/// A deterministic sequence of random numbers for one item.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// The generator of one item. It always returns the same numbers in the same order.
    pub(crate) fn new(seed: u64, kind: &str, at: &[u64]) -> Self {
        Self(hash(seed, kind, at))
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next().checked_rem(n).unwrap_or(0)
    }

    /// True with a probability of `percent` %.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the entries.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        let at = self.below(from.len() as u64);
        from[at as usize]
    }

    /// A number between `low` and about `low * 2^(doublings + 1)` with a skewed distribution: small numbers
    /// are frequent and large ones rare.
    pub(crate) fn skewed(&mut self, low: u64, doublings: u64) -> u64 {
        let steps = self.below(doublings + 1).min(self.below(doublings + 1));
        let floor = low << steps;
        floor + self.below(floor.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmix_inverts_mix() {
        for n in (0..1000).map(|n| hash(7, "test", &[n])).chain([0, 1, u64::MAX]) {
            assert_eq!(unmix(mix(n)), n);
            assert_eq!(mix(unmix(n)), n);
        }
    }

    #[test]
    fn hash_depends_on_seed_kind_and_coordinates() {
        let one = hash(1, "video", &[1, 2]);
        assert_ne!(one, hash(2, "video", &[1, 2]));
        assert_ne!(one, hash(1, "audio", &[1, 2]));
        assert_ne!(one, hash(1, "video", &[2, 1]));
        assert_ne!(one, hash(1, "video", &[1, 2, 0]));
    }
}
