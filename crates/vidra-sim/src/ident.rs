//! Identifiers in the platform's formats, which can be decoded.
//!
//! An identifier encodes its coordinates (a channel's number, a video's index, …) with a bijection that
//! depends on the seed. Decoding inverts the bijection and checks a mark, so the simulator rejects
//! identifiers that it did not issue without a list of the issued ones.

use crate::hash::{hash, mix, unmix};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The bits of a coordinate. Three coordinates of 20 bits and a mark fit into 64 bits.
pub(crate) const COORDINATE: u32 = 20;
const COORDINATE_MASK: u64 = (1 << COORDINATE) - 1;

/// base64 with the URL alphabet and no padding, as in all identifiers of the platform.
pub(crate) fn base64url(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for n in 0..=chunk.len() {
            out.push(char::from(ALPHABET[(word >> (18 - 6 * n)) as usize & 63]));
        }
    }
    out
}

/// The first eight bytes of eleven base64 characters; `None` for other characters.
fn first_word(text: &str) -> Option<u64> {
    let mut bits: u128 = 0;
    for c in text.get(..11)?.bytes() {
        let value = ALPHABET.iter().position(|a| *a == c)?;
        bits = bits << 6 | value as u128;
    }
    Some((bits >> 2) as u64)
}

/// Encodes and decodes the identifiers of one seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mint {
    seed: u64,
}

impl Mint {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed }
    }

    fn key(self, kind: &str) -> u64 {
        hash(self.seed, kind, &[])
    }

    /// Encodes two coordinates and a 24-bit mark.
    fn seal(self, kind: &str, at: (u32, u32)) -> u64 {
        let key = self.key(kind);
        let payload = (key >> 40) << 40 | u64::from(at.0) << COORDINATE | u64::from(at.1);
        mix(payload ^ mix(key))
    }

    fn unseal(self, kind: &str, word: u64) -> Option<(u32, u32)> {
        let key = self.key(kind);
        let payload = unmix(word) ^ mix(key);
        let at =
            ((payload >> COORDINATE & COORDINATE_MASK) as u32, (payload & COORDINATE_MASK) as u32);
        (payload >> 40 == key >> 40).then_some(at)
    }

    /// Appends `words` 64-bit words to the sealed one, so that decoding checks all of a longer identifier.
    fn long(self, kind: &str, at: (u32, u32), words: u64) -> String {
        let mut bytes = self.seal(kind, at).to_be_bytes().to_vec();
        for n in 0..words {
            let word = hash(self.seed, kind, &[u64::from(at.0), u64::from(at.1), n]);
            bytes.extend(word.to_be_bytes());
        }
        base64url(&bytes)
    }

    /// The identifier of a video: 11 characters.
    pub(crate) fn video(self, at: (u32, u32)) -> String {
        base64url(&self.seal("video", at).to_be_bytes())
    }

    pub(crate) fn read_video(self, id: &str) -> Option<(u32, u32)> {
        let at = self.unseal("video", first_word(id)?)?;
        (self.video(at) == id).then_some(at)
    }

    /// The 22 characters after `UC` (and after `UU`).
    pub(crate) fn channel_tail(self, no: u32) -> String {
        self.long("channel", (no, 0), 1)
    }

    pub(crate) fn read_channel_tail(self, tail: &str) -> Option<u32> {
        let (no, _) = self.unseal("channel", first_word(tail)?)?;
        (self.channel_tail(no) == tail).then_some(no)
    }

    /// The 32 characters after `PL`.
    pub(crate) fn playlist_tail(self, at: (u32, u32)) -> String {
        self.long("playlist", at, 2)
    }

    pub(crate) fn read_playlist_tail(self, tail: &str) -> Option<(u32, u32)> {
        let at = self.unseal("playlist", first_word(tail)?)?;
        (self.playlist_tail(at) == tail).then_some(at)
    }

    /// The identifier of a thread. Identifiers from before 2018 (`old`) end in `gCoAEC`.
    pub(crate) fn thread(self, video: (u32, u32), index: u32, old: bool) -> String {
        let key = self.key("thread");
        let payload = (key >> 60) << 60
            | u64::from(video.0) << (2 * COORDINATE)
            | u64::from(video.1) << COORDINATE
            | u64::from(index);
        let body = base64url(&mix(payload ^ mix(key)).to_be_bytes());
        let check = hash(self.seed, "thread-check", &[payload]);
        let letter = |set: &[u8; 4]| char::from(set[(check & 3) as usize]);
        if old {
            return format!("Ug{}{body}gCoAEC", letter(b"ghij"));
        }
        let rest = base64url(&check.to_be_bytes());
        format!("Ug{}{body}{}4AaABAg", letter(b"wxyz"), &rest[..5])
    }

    /// The video and the index of a thread, which may not exist.
    pub(crate) fn read_thread(self, id: &str) -> Option<((u32, u32), u32)> {
        let key = self.key("thread");
        let payload = unmix(first_word(id.strip_prefix("Ug")?.get(1..)?)?) ^ mix(key);
        let part = |shift: u32| (payload >> shift & COORDINATE_MASK) as u32;
        let found = ((part(2 * COORDINATE), part(COORDINATE)), part(0));
        let known = payload >> 60 == key >> 60
            && [false, true].iter().any(|old| self.thread(found.0, found.1, *old) == id);
        known.then_some(found)
    }

    /// The 22 characters after the dot in a reply's identifier.
    pub(crate) fn reply_tail(self, parent: &str, index: u32) -> String {
        let key = hash(self.seed, parent, &[]);
        let word = mix(u64::from(index) ^ key);
        base64url(&[word.to_be_bytes(), hash(word, "reply", &[]).to_be_bytes()].concat())
    }

    pub(crate) fn read_reply_tail(self, parent: &str, tail: &str) -> Option<u32> {
        let index = unmix(first_word(tail)?) ^ hash(self.seed, parent, &[]);
        let index = u32::try_from(index).ok()?;
        (self.reply_tail(parent, index) == tail).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_round_trip_and_have_the_platform_length() {
        let mint = Mint::new(3);
        for n in [0, 1, 49, 19_999, 0xf_ffff] {
            let at = (n, 0xf_ffff - n);
            let video = mint.video(at);
            assert_eq!((video.len(), mint.read_video(&video)), (11, Some(at)));
            let channel = mint.channel_tail(n);
            assert_eq!((channel.len(), mint.read_channel_tail(&channel)), (22, Some(n)));
            let list = mint.playlist_tail(at);
            assert_eq!((list.len(), mint.read_playlist_tail(&list)), (32, Some(at)));
            let thread = mint.thread(at, n, false);
            assert_eq!((thread.len(), mint.read_thread(&thread)), (26, Some((at, n))));
            let old = mint.thread(at, n, true);
            assert_eq!((old.len(), mint.read_thread(&old)), (20, Some((at, n))));
            let reply = mint.reply_tail(&thread, n);
            assert_eq!((reply.len(), mint.read_reply_tail(&thread, &reply)), (22, Some(n)));
        }
    }

    #[test]
    fn foreign_identifiers_are_unknown() {
        let mint = Mint::new(3);
        for id in ["dQw4w9WgXcQ", "aaaaaaaaaaa", "", "short", "äöüäöüäöü"] {
            assert_eq!(mint.read_video(id), None, "{id}");
        }
        assert_eq!(Mint::new(4).read_video(&mint.video((1, 2))), None);
        assert_eq!(mint.read_reply_tail("UgA", &mint.reply_tail("UgB", 1)), None);
    }
}
