//! Removes tags from text.

use std::borrow::Cow;

/// Removes the tags that `is_tag` accepts, and replaces each `br` with a line break. It runs in
/// linear time on any input.
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

/// The text before the `>`. `None` if a `<` comes first, where another tag may begin.
fn inside_tag(after: &str) -> Option<&str> {
    let end = after.find(['<', '>']).filter(|end| after[*end..].starts_with('>'))?;
    Some(&after[..end])
}
