//! The id of a job.

use std::fmt;

use serde::{Serialize, Serializer};
use vidra::{Error, Reason, Result};

/// The id of a job: 128 random bits, so that nobody can guess the id of another caller's job.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(u128);

impl JobId {
    /// A new random id.
    ///
    /// # Errors
    ///
    /// [`Reason::Internal`] if the system has no source of randomness.
    pub(crate) fn random() -> Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(Error::internal)?;
        Ok(Self(u128::from_be_bytes(bytes)))
    }

    /// Parses an id.
    ///
    /// # Errors
    ///
    /// [`Reason::JobNotFound`] for any other text: a job with such an id cannot exist.
    pub fn parse(text: &str) -> Result<Self> {
        let is_id = text.len() == 32
            && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let number = is_id.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        number.map(Self).ok_or_else(Self::not_found)
    }

    /// The error for an id without a job, and for the job of another caller.
    pub(crate) fn not_found() -> Error {
        Error::new(Reason::JobNotFound, "There is no such job")
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for JobId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_32_lowercase_hexadecimal_digits() {
        let id = JobId::random().unwrap();
        assert_eq!(JobId::parse(&id.to_string()).unwrap(), id);
        assert_eq!(JobId(10).to_string(), "0000000000000000000000000000000a");
        for text in ["", "a", "+0000000000000000000000000000000a", &"A".repeat(32), &"é".repeat(16)]
        {
            assert_eq!(JobId::parse(text).unwrap_err().reason(), Reason::JobNotFound, "{text}");
        }
    }
}
