//! One spelling for each word: case, accents and vowel marks that writers may leave out are removed.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Appends the folded word to `out`, at most `max` characters of it.
///
/// - Case: full folding, with `ß` as `ss`, `ς` as `σ`, and both Turkish letters `ı` and `İ` as `i`.
/// - Accents are removed from Latin, Greek and Cyrillic letters. Cyrillic letters of their own such as `й` and `ї` stay,
///   and `ё` is `е`.
/// - Arabic and Hebrew vowel marks are removed, because most texts leave them out.
/// - Marks of other scripts are part of the word.
pub(super) fn fold_word(word: &str, max: usize, out: &mut String) {
    if word.is_ascii() {
        out.extend(word.chars().take(max).map(|it| it.to_ascii_lowercase()));
        return;
    }
    let mut folded = String::with_capacity(word.len());
    let mut base = None;
    for character in word.nfkd().filter(|it| !is_ignored(*it)) {
        if is_combining_mark(character) {
            // A mark without a letter before it is no part of the word.
            if base.is_some_and(|base| is_part_of_word(base, character)) {
                folded.push(character);
            }
            continue;
        }
        if !character.is_alphanumeric() {
            continue;
        }
        // Marks of a capital letter, such as the dot of `İ`, come after it.
        let lower = character.to_lowercase().find(|it| !is_combining_mark(*it));
        let lower = lower.unwrap_or(character);
        base = Some(lower);
        match spelling(lower) {
            Some(plain) => folded.push_str(plain),
            None => folded.push(lower),
        }
    }
    out.extend(folded.nfc().take(max));
}

/// Whether a mark makes another letter, and is no accent that can be left out.
fn is_part_of_word(base: char, mark: char) -> bool {
    match (base, mark) {
        // й ў, ї, ѓ ќ
        ('и' | 'у', '\u{0306}') | ('і', '\u{0308}') | ('г' | 'к', '\u{0301}') => true,
        (base, _) if has_accents(base) => false,
        (_, mark) => !is_vowel_mark(mark),
    }
}

/// Whether accents of this letter are left out: Latin, Greek and Cyrillic.
fn has_accents(base: char) -> bool {
    matches!(base,
        'a'..='z' | '\u{00C0}'..='\u{024F}' | '\u{1E00}'..='\u{1EFF}'
        | '\u{0370}'..='\u{03FF}' | '\u{1F00}'..='\u{1FFF}' | '\u{0400}'..='\u{052F}')
}

/// A mark of a vowel in Arabic or Hebrew.
fn is_vowel_mark(mark: char) -> bool {
    matches!(mark,
        '\u{0610}'..='\u{061A}' | '\u{064B}'..='\u{0652}' | '\u{0656}'..='\u{065F}' | '\u{0670}'
        | '\u{06D6}'..='\u{06ED}' | '\u{08D3}'..='\u{08FF}'
        | '\u{0591}'..='\u{05BD}' | '\u{05BF}' | '\u{05C1}' | '\u{05C2}' | '\u{05C4}' | '\u{05C5}' | '\u{05C7}')
}

/// Letters that no normalisation takes apart, but that people write without their stroke or as two letters.
fn spelling(letter: char) -> Option<&'static str> {
    Some(match letter {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'ħ' => "h",
        'ŧ' => "t",
        'þ' => "th",
        'ı' => "i",
        'ς' => "σ",
        _ => return None,
    })
}

/// Characters without a sound or a shape of their own: format characters, and the Arabic stroke that only stretches a
/// word.
pub(crate) fn is_ignored(character: char) -> bool {
    matches!(character,
        '\u{00AD}' | '\u{0640}' | '\u{061C}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}')
}

pub(super) fn is_hebrew(character: char) -> bool {
    matches!(character, '\u{05D0}'..='\u{05EA}' | '\u{05EF}'..='\u{05F2}' | '\u{0591}'..='\u{05C7}')
}

/// Whether the script of a letter or mark has no spaces between words.
pub(crate) fn is_continuous(character: char) -> bool {
    matches!(character,
        // Thai, Lao, Burmese and Khmer, without their digits.
        '\u{0E00}'..='\u{0E4E}' | '\u{0E80}'..='\u{0ECF}' | '\u{0EDC}'..='\u{0EDF}'
        | '\u{1000}'..='\u{103F}' | '\u{1050}'..='\u{108F}' | '\u{109A}'..='\u{109F}'
        | '\u{A9E0}'..='\u{A9EF}' | '\u{A9FA}'..='\u{A9FE}' | '\u{AA60}'..='\u{AA7F}'
        | '\u{1780}'..='\u{17DD}'
        // Japanese: hiragana, katakana, and their half-width forms.
        | '\u{3041}'..='\u{309F}' | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}'
        | '\u{FF66}'..='\u{FF9F}'
        // Chinese characters, and numerals that NFKC maps to them.
        | '\u{3038}'..='\u{303A}' | '\u{3192}'..='\u{3195}' | '\u{3220}'..='\u{3229}' | '\u{3280}'..='\u{3289}'
        | '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}')
}
