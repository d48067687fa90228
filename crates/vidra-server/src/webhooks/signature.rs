//! The signature of messages, after Standard Webhooks.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// The beginning of a secret in a file.
const PREFIX: &str = "whsec_";

/// The secret that a destination shares with the service.
#[derive(Clone)]
pub struct Secret(hmac::Key);

impl Secret {
    /// Parses `whsec_` and 24 to 64 bytes as base64.
    ///
    /// # Errors
    ///
    /// For any other text. The error does not quote it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bytes = text.trim().strip_prefix(PREFIX).and_then(|it| STANDARD.decode(it).ok());
        let wrong = || format!("a secret is {PREFIX} and 24 to 64 bytes as base64");
        let bytes = bytes.filter(|it| (24..=64).contains(&it.len())).ok_or_else(wrong)?;
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// The signature of a message.
    pub(super) fn sign(&self, id: &str, time: &str, body: &str) -> String {
        let signed = format!("{id}.{time}.{body}");
        format!("v1,{}", STANDARD.encode(hmac::sign(&self.0, signed.as_bytes())))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Standard Webhooks libraries.
    #[test]
    fn signatures_follow_the_standard() {
        let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature =
            secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_bad_secret_is_not_quoted() {
        for text in ["", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_c2hvcnQ=", "whsec_!"]
        {
            let error = Secret::parse(text).unwrap_err();
            assert!(error.starts_with("a secret is whsec_ and"), "{error}");
            assert!(text.len() < 8 || !error.contains(text));
        }
    }
}
