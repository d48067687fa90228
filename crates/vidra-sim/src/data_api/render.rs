//! Renders JSON with the platform's member order, indentation and escapes: those of today or of 2019.

use serde_json::{Map, Value};

/// A style of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Two spaces, `items` before `pageInfo`.
    Today,
    /// No white space at all.
    Compact,
    /// One space, quoted etags, milliseconds, `pageInfo` before `items`, escaped angle brackets.
    Of2019,
}

/// Members in the order of the platform. Other members follow by name.
const ORDER: &[&str] = &[
    "error",
    "code",
    "message",
    "errors",
    "domain",
    "reason",
    "kind",
    "etag",
    "nextPageToken",
    "prevPageToken",
    "regionCode",
    "id",
    "publishedAt",
    "channelId",
    "title",
    "description",
    "snippet",
    "contentDetails",
    "status",
    "statistics",
    "topLevelComment",
    "url",
    "default",
    "medium",
    "high",
    "standard",
    "maxres",
    "width",
    "height",
    "totalResults",
    "resultsPerPage",
];

/// The bytes of a body.
pub(crate) fn render(mut body: Value, style: Style) -> Vec<u8> {
    if style == Style::Of2019 {
        convert_to_2019(&mut body);
    }
    let mut out = Vec::with_capacity(1 << 12);
    write(&mut out, &body, style, 0);
    if style != Style::Compact {
        out.push(b'\n');
    }
    out
}

fn rank(name: &str, style: Style) -> usize {
    // The members whose order changed over the years.
    let group = match (name, style) {
        ("errors", Style::Of2019) => 0,
        ("items", Style::Of2019) | ("pageInfo", Style::Today | Style::Compact) => 3,
        ("pageInfo", Style::Of2019) | ("items", _) => 2,
        _ => 1,
    };
    let position = ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    group * 2 * ORDER.len() + position
}

fn write(out: &mut Vec<u8>, value: &Value, style: Style, depth: usize) {
    match value {
        Value::Object(members) if !members.is_empty() => write_object(out, members, style, depth),
        Value::Array(entries) if !entries.is_empty() => {
            out.push(b'[');
            for (n, entry) in entries.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                line(out, style, depth + 1);
                write(out, entry, style, depth + 1);
            }
            line(out, style, depth);
            out.push(b']');
        }
        Value::String(text) => write_string(out, text, style),
        scalar => write_json(out, scalar),
    }
}

fn write_object(out: &mut Vec<u8>, members: &Map<String, Value>, style: Style, depth: usize) {
    let mut ordered: Vec<_> = members.iter().collect();
    ordered.sort_by_cached_key(|(name, _)| rank(name, style));
    out.push(b'{');
    for (n, (name, value)) in ordered.into_iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        line(out, style, depth + 1);
        write_string(out, name, style);
        out.extend_from_slice(if style == Style::Compact { b":" } else { b": " });
        write(out, value, style, depth + 1);
    }
    line(out, style, depth);
    out.push(b'}');
}

fn write_string(out: &mut Vec<u8>, text: &str, style: Style) {
    if style != Style::Of2019 {
        return write_json(out, text);
    }
    let mut quoted = Vec::new();
    write_json(&mut quoted, text);
    for byte in quoted {
        match byte {
            b'<' => out.extend_from_slice(b"\\u003c"),
            b'>' => out.extend_from_slice(b"\\u003e"),
            byte => out.push(byte),
        }
    }
}

fn write_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("text and scalars can be written to memory");
}

fn line(out: &mut Vec<u8>, style: Style, depth: usize) {
    let width = match style {
        Style::Compact => return,
        Style::Today => 2,
        Style::Of2019 => 1,
    };
    out.push(b'\n');
    out.resize(out.len() + width * depth, b' ');
}

/// Converts values to the formats of 2019.
fn convert_to_2019(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member.as_str().map(str::to_owned) {
                    Some(text) if name == "etag" => {
                        *member = format!("\"Wq3zVb7nT0sKxR1cY5dE8uLhGfA/{text}\"").into();
                    }
                    Some(text)
                        if name.ends_with("At") && text.ends_with('Z') && !text.contains('.') =>
                    {
                        *member = text.replace('Z', ".000Z").into();
                    }
                    _ => convert_to_2019(member),
                }
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(convert_to_2019),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(body: Value, style: Style) -> String {
        String::from_utf8(render(body, style)).expect("UTF-8")
    }

    #[test]
    fn render_styles_match_the_platform() {
        let body = json!({"pageInfo": {"totalResults": 1}, "items": [{"id": "<a>", "empty": [], "publishedAt": "2019-01-02T03:04:05Z"}], "etag": "x", "kind": "k"});
        assert_eq!(
            text(body.clone(), Style::Compact),
            r#"{"kind":"k","etag":"x","items":[{"id":"<a>","publishedAt":"2019-01-02T03:04:05Z","empty":[]}],"pageInfo":{"totalResults":1}}"#
        );
        let old = text(body, Style::Of2019);
        assert!(old.starts_with("{\n \"kind\": \"k\",\n \"etag\": \"\\\"Wq3z"), "{old}");
        assert!(old.contains(r#""\u003ca\u003e""#) && old.contains("05.000Z"), "{old}");
        assert!(old.find("pageInfo") < old.find("items"), "{old}");
    }
}
