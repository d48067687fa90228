//! The platform's HTML to plain text.

use std::borrow::Cow;

/// Text as the platform shows it, without the markup it adds: line breaks become line breaks, its
/// own few tags go, entities are decoded. A `<` that begins none of those tags was written by a
/// person and stays.
pub(crate) fn to_text(html: &str) -> String {
    htmlize::unescape(without_tags(html, is_platform_tag)).into_owned()
}

/// The text without those tags whose inside is said to be one, and a line break for each `br`.
/// Takes time in proportion to the text, whatever is in it: nothing is looked at twice.
pub(crate) fn without_tags(html: &str, is_tag: impl Fn(&str) -> bool) -> Cow<'_, str> {
    let Some(first) = html.find('<') else { return Cow::Borrowed(html) };
    let mut text = String::with_capacity(html.len());
    text.push_str(&html[..first]);
    let mut rest = &html[first..];
    while let Some(after) = rest.strip_prefix('<') {
        match inside_tag(after).filter(|inside| is_tag(inside)) {
            Some(inside) => {
                if inside.trim_end_matches(['/', ' ']).eq_ignore_ascii_case("br") {
                    text.push('\n');
                }
                rest = &after[inside.len() + 1..];
            }
            None => {
                text.push('<');
                rest = after;
            }
        }
        let words = rest.find('<').unwrap_or(rest.len());
        text.push_str(&rest[..words]);
        rest = &rest[words..];
    }
    Cow::Owned(text)
}

/// What stands before the `>`. A `<` before it is where another tag may begin, so this is none.
fn inside_tag(after: &str) -> Option<&str> {
    let end = after.find(['<', '>']).filter(|end| after[*end..].starts_with('>'))?;
    Some(&after[..end])
}

/// Tags as the platform writes them: links with their address, the others bare.
fn is_platform_tag(inside: &str) -> bool {
    const BARE: [&str; 13] =
        ["br", "br/", "br /", "b", "/b", "i", "/i", "s", "/s", "code", "/code", "/a", "/span"];
    const BEGINNINGS: [&str; 3] = ["a href=\"", "a class=\"", "span class=\""];
    BARE.contains(&inside) || BEGINNINGS.iter().any(|beginning| inside.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::to_text;

    #[test]
    fn markup_goes_and_words_stay() {
        let table = [
            ("plain", "plain"),
            ("one<br>two<br />three", "one\ntwo\nthree"),
            (
                r#"<a href="https://x.example/?a=1&amp;t=00m13s">0:13</a> so &quot;good&quot;"#,
                "0:13 so \"good\"",
            ),
            ("it&#39;s <b>bold</b> &amp; <i>nice</i>", "it's bold & nice"),
            ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
            ("I <3 you", "I <3 you"),
            ("a <wbr> b", "a <wbr> b"),
            ("unclosed <a href=", "unclosed <a href="),
            ("so <i think you are> right", "so <i think you are> right"),
            ("<<b>twice</b <b>>", "<twice</b >"),
            ("", ""),
        ];
        for (html, text) in table {
            assert_eq!(to_text(html), text, "{html}");
        }
    }
}
