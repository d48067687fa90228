//! The platform's secrets, computed from the seed: keys, visitors, signatures and tokens.

use crate::hash::hash;
use crate::ident::base64url;

/// A text of that many base64 characters.
fn letters(seed: u64, kind: &str, length: usize) -> String {
    let words = (0..length as u64).step_by(8).map(|n| hash(seed, kind, &[n]).to_be_bytes());
    let mut text = base64url(&words.collect::<Vec<_>>().concat());
    text.truncate(length);
    text
}

/// The key on the watch page: 39 characters.
pub(crate) fn innertube_key(seed: u64) -> String {
    format!("AIzaSy{}", letters(seed, "innertube-key", 33))
}

/// A key of the same shape for something else.
pub(crate) fn decoy(seed: u64, n: u64) -> String {
    format!("AIzaSy{}", letters(hash(seed, "decoy", &[n]), "decoy", 33))
}

/// The visitor data of the watch page.
pub(crate) fn visitor(seed: u64) -> String {
    format!("Cgt{}%3D%3D", letters(seed, "visitor", 90))
}

/// A PO token, valid for one video.
pub(crate) fn po_token(seed: u64, video: &str) -> String {
    format!("Mn{}", letters(hash(seed, video, &[1]), "po-token", 158))
}

/// `ei`: the id of a player call, which is the same for a video within an hour.
pub(crate) fn event(seed: u64, video: &str, expire: i64) -> String {
    letters(hash(seed, video, &[expire.unsigned_abs()]), "event", 22)
}

/// Two hexadecimal numbers of 160 bits over the signed text.
pub(crate) fn signature(seed: u64, signed: &str) -> String {
    let half = |n: u64| {
        let words = [0, 1, 2].map(|m| format!("{:016X}", hash(seed, signed, &[n, m])));
        words.concat()[..40].to_owned()
    };
    format!("{}.{}", half(0), half(1))
}
