//! Classes of characters: scripts without spaces, and the ends of sentences.

/// Chinese characters, Japanese kana, and their punctuation.
pub(super) fn is_cjk(c: char) -> bool {
    matches!(
        c,
        '\u{2e80}'..='\u{312f}'
            | '\u{3190}'..='\u{a4cf}'
            | '\u{f900}'..='\u{faff}'
            | '\u{fe30}'..='\u{fe4f}'
            | '\u{ff00}'..='\u{ff9f}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// Korean syllables and letters.
pub(super) fn is_hangul(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}')
}

/// Scripts of South-East Asia that have letters but no spaces between words: Thai, Lao, Tibetan,
/// Burmese and Khmer.
pub(super) fn is_unspaced_alphabet(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{19e0}'..='\u{19ff}')
}

/// A character of a script that writes words without spaces between them.
pub(super) fn is_unspaced(c: char) -> bool {
    is_cjk(c) || is_unspaced_alphabet(c)
}

/// A mark that ends a sentence wherever it stands, even if no space follows.
pub(super) fn is_wide_sentence_end(c: char) -> bool {
    matches!(
        c,
        '。' | '！' | '？' | '｡' | '．'          // Chinese and Japanese
            | '؟' | '۔'                          // Arabic and Urdu
            | '।' | '॥'                          // Hindi and other languages of India
            | '։'                                // Armenian
            | '။' | '។' | '៕' | '།'              // Burmese, Khmer, Tibetan
            | '።' | '፧'                          // Amharic
            | '‽' | '⁇' | '⁈' | '⁉'
    )
}

/// A mark that ends a sentence at the end of a word.
fn is_sentence_end(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…') || is_wide_sentence_end(c)
}

/// A mark that can follow the end of a sentence: quotes and brackets.
pub(super) fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | ')'
            | ']'
            | '}'
            | '”'
            | '’'
            | '»'
            | '›'
            | '“'
            | '」'
            | '』'
            | '）'
            | '】'
            | '》'
            | '〉'
            | '］'
            | '〕'
    )
}

/// Whether a text or a word ends a sentence.
pub(super) fn ends_sentence(text: &str) -> bool {
    let last = text.trim_end().trim_end_matches(is_closer).chars().next_back();
    last.is_some_and(is_sentence_end)
}
