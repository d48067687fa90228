//! Text for comparison: in lower case and without accents.

use unicode_normalization::UnicodeNormalization;

/// The text in lower case and without accents: `École` is `ecole`. Marks of other scripts, such as the vowels of
/// Devanagari, stay: they are letters there.
pub(crate) fn folded(text: &str) -> String {
    let is_accent = |c: &char| ('\u{300}'..='\u{36f}').contains(c);
    let lower = text.nfd().filter(|c| !is_accent(c)).flat_map(char::to_lowercase);
    // Lower case may add accents: the Turkish dotted İ is an i with a dot.
    let plain = lower.filter(|c| !is_accent(c)).map(|c| if c == 'ς' { 'σ' } else { c });
    plain.nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn case_and_accents_do_not_count() {
        let table = [
            ("École", "ecole"),
            ("E\u{301}cole", "ecole"),
            ("ÅNGSTRÖM", "angstrom"),
            ("İstanbul", "istanbul"),
            ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
            ("Ёлка й", "елка и"),
            ("हिन्दी", "हिन्दी"),
            ("한국어", "한국어"),
            ("が", "が"),
            ("Straße", "straße"),
        ];
        for (text, expected) in table {
            assert_eq!(folded(text), expected, "{text}");
        }
    }
}
