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
                if name == "br" {
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

/// The name and length of a tag at the start of `text`, if it is one as the platform writes them:
/// links with their address, the others bare.
fn tag(text: &str) -> Option<(&str, usize)> {
    let end = text.find('>')?;
    let inside = &text[1..end];
    let name = match inside {
        "br" | "br/" | "br /" => "br",
        "b" | "/b" | "i" | "/i" | "s" | "/s" | "code" | "/code" | "/a" | "/span" => inside,
        _ if inside.starts_with("a href=\"") || inside.starts_with("a class=\"") => "a",
        _ if inside.starts_with("span class=\"") => "span",
        _ => return None,
    };
    Some((name, end + 1))
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
            ("", ""),
        ];
        for (html, text) in table {
            assert_eq!(to_text(html), text, "{html}");
        }
    }
}
