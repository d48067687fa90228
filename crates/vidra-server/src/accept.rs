//! The media types that a request accepts, as RFC 9110 reads `Accept`.

use axum::http::{HeaderMap, header};

use crate::extract::list_items;

/// Another name of a media type that callers write.
const ALIASES: [(&str, &str); 1] = [("text/srt", "application/x-subrip")];

/// One item of `Accept`: a media type, or a wildcard.
#[derive(Debug, Clone, Copy, PartialEq)]
struct MediaRange<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: f32,
}

/// How `Accept` rates a media type. A greater one is preferred.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct Rating {
    /// Whether it is named, or its `type/*`. Callers add `*/*` to get any answer rather than none.
    is_named: bool,
    quality: f32,
    precision: u8,
    /// Of equals the first one named wins.
    position: i32,
}

impl<'a> MediaRange<'a> {
    /// `None` if the item is malformed. Such an item has no effect.
    fn parse(item: &'a str) -> Option<Self> {
        let mut parts = item.split(';').map(str::trim);
        let name = match parts.next()? {
            // Old clients of Java write it for every type.
            "*" => "*/*",
            name => ALIASES
                .iter()
                .find(|(alias, _)| alias.eq_ignore_ascii_case(name))
                .map_or(name, |(_, name)| name),
        };
        let (kind, subtype) = name.split_once('/')?;
        let quality = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim_end().eq_ignore_ascii_case("q").then(|| value.trim_start().parse().ok())?
        });
        Some(Self { kind, subtype, quality: quality.unwrap_or(1.0) })
    }

    /// How precisely the item names a type: 2 by its name, 1 by `type/*`, 0 by `*/*`. `None` if it does not.
    fn precision(self, media_type: &str) -> Option<u8> {
        let (kind, subtype) = media_type.split_once('/')?;
        match (self.kind, self.subtype) {
            ("*", "*") => Some(0),
            (named, "*") => named.eq_ignore_ascii_case(kind).then_some(1),
            (named, form) => {
                let is_same =
                    named.eq_ignore_ascii_case(kind) && form.eq_ignore_ascii_case(subtype);
                is_same.then_some(2)
            }
        }
    }
}

fn ranges(headers: &HeaderMap) -> impl Iterator<Item = MediaRange<'_>> {
    list_items(headers, header::ACCEPT).filter_map(MediaRange::parse)
}

/// The rating of a type by the item that names it most precisely.
fn rating(headers: &HeaderMap, media_type: &str) -> Option<Rating> {
    let matching = ranges(headers).zip(0..).filter_map(|(range, index)| {
        let precision = range.precision(media_type)?;
        let is_named = precision > 0;
        Some(Rating { is_named, quality: range.quality, precision, position: -index })
    });
    matching.reduce(|best, next| if next.precision > best.precision { next } else { best })
}

/// Whether a request accepts a media type, which may have parameters. A request without `Accept`, or with nothing
/// readable in it, accepts every type.
pub(crate) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let media_type = media_type.split(';').next().unwrap_or_default();
    match rating(headers, media_type) {
        Some(rating) => rating.quality > 0.0,
        None => ranges(headers).next().is_none(),
    }
}

/// The type that `Accept` prefers among `types`: one that it names, or else one that `*/*` allows. Of equals it is the
/// first one. `None` if it accepts none of them.
pub(crate) fn preferred_type<T: Copy>(headers: &HeaderMap, types: &[(&str, T)]) -> Option<T> {
    let rated = types.iter().filter_map(|(name, it)| Some((rating(headers, name)?, *it)));
    let accepted = rated.filter(|(rating, _)| rating.quality > 0.0);
    accepted.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, it)| it)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn accept(lines: &[&str]) -> HeaderMap {
        let lines = lines.iter().map(|line| (header::ACCEPT, HeaderValue::from_str(line).unwrap()));
        lines.collect()
    }

    #[test]
    fn a_type_is_accepted_by_its_most_precise_range() {
        let table: [(&[&str], bool); 20] = [
            (&[], true),
            (&[""], true),
            (&["*/*"], true),
            (&["*; q=.2"], true),
            (&["text/*"], true),
            (&["TEXT/VTT"], true),
            (&["text/vtt; charset=utf-8; q=0.1"], true),
            (&["application/json, text/vtt"], true),
            (&["application/json", "text/vtt"], true),
            (&["text/html, */*;q=0.1"], true),
            (&["nonsense"], true),
            (&["application/json"], false),
            (&["application/*"], false),
            (&["text/plain, nonsense"], false),
            (&["text/vtt;q=0"], false),
            (&["text/vtt;Q=0.0, */*"], false),
            (&["*/*, text/vtt ; q = 0"], false),
            (&["text/*;q=0, */*"], false),
            (&["text/*;q=0, text/vtt"], true),
            (&["*/*;q=0"], false),
        ];
        for (lines, expected) in table {
            assert_eq!(accepts(&accept(lines), "text/vtt; charset=utf-8"), expected, "{lines:?}");
        }
        assert!(accepts(&accept(&["text/srt"]), "application/x-subrip"));
    }

    #[test]
    fn a_named_type_comes_first_then_the_best_quality_then_the_most_precise_name() {
        let types = [("application/json", 'j'), ("text/plain", 't'), ("text/vtt", 'v')];
        let table = [
            ("*/*", Some('j')),
            ("text/*", Some('t')),
            ("text/vtt, application/json", Some('v')),
            ("application/json, text/vtt", Some('j')),
            ("*/*, text/vtt", Some('v')),
            ("text/vtt;q=0.5, application/json;q=0.9", Some('j')),
            ("text/vtt;q=0.5, */*", Some('v')),
            ("text/*, application/json;q=0.5", Some('t')),
            ("application/json;q=0, */*", Some('t')),
            ("application/xml", None),
            ("text/vtt;q=0", None),
        ];
        for (line, expected) in table {
            assert_eq!(preferred_type(&accept(&[line]), &types), expected, "{line}");
        }
    }
}
