//! Language codes in canonical form.

use crate::error::{Error, Reason, Result};
use crate::ident::traits::{parse_traits, text_traits};

/// A language code in YouTube's spelling: `en`, `pt-BR`, `zh-Hans`. Parsing and deserialising also accept
/// other spellings such as `zh_cn`.
///
/// ```
/// let code: vidra::LanguageCode = "zh_cn".parse().unwrap();
/// assert_eq!(code.as_str(), "zh-CN");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LanguageCode(String);

impl LanguageCode {
    /// Parses a code in any spelling.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        let code = text.replace('_', "-");
        let clean = code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let fits = clean && (2..=20).contains(&code.len());
        let message = "must be a language code such as en, pt-BR or zh-Hans";
        fits.then(|| Self(spelled(&code))).ok_or_else(|| Error::new(Reason::InvalidInput, message))
    }

    /// The code in YouTube's spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

parse_traits! {
    LanguageCode: "language code" by |text| LanguageCode::parse(text).ok(),
}

text_traits!(LanguageCode => "");

/// Converts the language to lower case, a script to title case and a region to upper case.
fn spelled(code: &str) -> String {
    let parts = code.split('-').enumerate().map(|(index, part)| match (index, part.len()) {
        (1.., 2) => part.to_ascii_uppercase(),
        (1.., 4) => part[..1].to_ascii_uppercase() + &part[1..].to_ascii_lowercase(),
        _ => part.to_ascii_lowercase(),
    });
    parts.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_spelled_as_the_platform_spells_them() {
        let table = [
            ("FR", "fr"),
            ("fil", "fil"),
            ("pt-br", "pt-BR"),
            ("PT_PT", "pt-PT"),
            ("zh-HANS", "zh-Hans"),
            ("ZH-hant-tw", "zh-Hant-TW"),
            ("ES-419", "es-419"),
            ("sr-latn", "sr-Latn"),
            ("ca-VALENCIA", "ca-valencia"),
            ("en-", "en-"),
        ];
        for (written, spelled) in table {
            assert_eq!(written.parse::<LanguageCode>().unwrap().as_str(), spelled);
        }
    }
}
