//! Names of transcript files: readable and safe, with the id of the video.

use unicode_segmentation::UnicodeSegmentation;

/// The most bytes of a title in a name. With id, language and extension the name stays below 255 bytes, the
/// limit of file systems.
const MOST_OF_TITLE: usize = 180;

/// The name of a transcript's file without its extension: `Title [id].lang`, readable and safe on every file system.
///
/// ```
/// let stem = vidra_library::file_stem("AC/DC: Live", "dQw4w9WgXcQ", Some("en"));
/// assert_eq!(stem, "AC DC Live [dQw4w9WgXcQ].en");
/// ```
pub fn file_stem(title: &str, id: &str, lang: Option<&str>) -> String {
    let is_risky = |c: char| {
        c.is_control()
            || matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' | '[' | ']')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let safe: String = title.chars().map(|c| if is_risky(c) { ' ' } else { c }).collect();
    let words = safe.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut name = String::new();
    // A leading dot would hide the file, and a leading hyphen would make its name a flag.
    for grapheme in words.trim_start_matches(['.', '-', ' ']).graphemes(true) {
        if name.len() + grapheme.len() > MOST_OF_TITLE {
            break;
        }
        name += grapheme;
    }
    let name = name.trim_end();
    let space = if name.is_empty() { "" } else { " " };
    let is_code =
        |lang: &&str| lang.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let lang = lang.filter(is_code).map(|lang| format!(".{lang}")).unwrap_or_default();
    format!("{name}{space}[{id}]{lang}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_readable_and_safe() {
        let id = "dQw4w9WgXcQ";
        let table = [
            ("Saudade em Três – full session", "Saudade em Três – full session [dQw4w9WgXcQ].en"),
            ("../../etc/passwd", "etc passwd [dQw4w9WgXcQ].en"),
            ("AC/DC: \"Live\" <1991>?", "AC DC Live 1991 [dQw4w9WgXcQ].en"),
            ("[Official] a\u{202e}b\n", "Official a b [dQw4w9WgXcQ].en"),
            (".-hidden", "hidden [dQw4w9WgXcQ].en"),
            ("", "[dQw4w9WgXcQ].en"),
        ];
        for (title, stem) in table {
            assert_eq!(file_stem(title, id, Some("en")), stem, "{title}");
        }
        assert_eq!(file_stem("a", id, Some("../x")), "a [dQw4w9WgXcQ]");
        let long = file_stem(&"二胡🎻".repeat(100), id, Some("zh-Hans"));
        assert!(long.len() < 220 && long.contains("二胡🎻 ["), "{long}");
    }
}
