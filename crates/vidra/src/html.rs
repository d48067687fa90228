//! The platform's HTML to plain text.

/// Text as the platform shows it, without the markup it adds: line breaks become line breaks, its
/// own few tags go, entities are decoded. A `<` that begins none of those tags was written by a
/// person and stays.
pub(crate) fn to_text(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        match tag(rest) {
            Some((name, end)) => {
                if name.eq_ignore_ascii_case("br") {
                    text.push('\n');
                }
                rest = &rest[end..];
            }
            None => {
                text.push('<');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    htmlize::unescape(text).into_owned()
}

/// The name and length of a tag at the start of `text`, if it is one that the platform writes.
fn tag(text: &str) -> Option<(&str, usize)> {
    const TAGS: [&str; 7] = ["a", "b", "br", "code", "i", "s", "span"];
    let end = text.find('>')?;
    let inside = text[1..end].trim_start_matches('/');
    let name = inside.split([' ', '/', '\n']).next()?;
    TAGS.iter().any(|tag| name.eq_ignore_ascii_case(tag)).then_some((name, end + 1))
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
            ("", ""),
        ];
        for (html, text) in table {
            assert_eq!(to_text(html), text, "{html}");
        }
    }
}
