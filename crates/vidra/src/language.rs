//! The code of a language, as callers write it.

use std::fmt;
use std::str::FromStr;

/// A language's code: `en`, `pt-BR`, `zh-Hans`. Some write `zh_CN`; the platform's codes have only
/// hyphens, and so has this.
///
/// ```
/// let code: vidra::LanguageCode = "zh_CN".parse().unwrap();
/// assert_eq!(code.as_str(), "zh-CN");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageCode(String);

impl LanguageCode {
    /// The code with hyphens.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LanguageCode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let code = text.replace('_', "-");
        let clean = code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let fits = clean && (2..=20).contains(&code.len());
        fits.then_some(Self(code)).ok_or("must be a language code such as en, pt-BR or zh-Hans")
    }
}

impl fmt::Display for LanguageCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
