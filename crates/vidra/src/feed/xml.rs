//! The elements of a feed, as a stream of texts and attributes with their paths.
//!
//! The parser resolves only numeric references and the five predefined entities of XML. It rejects a
//! DOCTYPE, which could define more.

use std::borrow::Cow;

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::FeedError;

/// Feeds nest five levels deep.
const MAX_DEPTH: usize = 32;

/// An element has at most five attributes.
const MAX_ATTRIBUTES: usize = 64;

/// Receives the elements of a feed. `path` leads from the root, which it omits, to the element.
pub(super) trait Visitor {
    /// An element begins.
    fn begin(&mut self, path: &[&str]) -> Result<(), FeedError>;

    /// An attribute of an element that has begun.
    fn attribute(&mut self, path: &[&str], name: &str, value: &str);

    /// An element ends. `text` is its own text.
    fn end(&mut self, path: &[&str], text: &str);
}

/// Reads a document whose root element is `<feed>`.
pub(super) fn read(text: &str, visitor: &mut impl Visitor) -> Result<(), FeedError> {
    let mut xml = Reader::from_str(text);
    xml.config_mut().allow_dangling_amp = true;
    if is_empty_root(&mut xml)? {
        return Ok(());
    }
    // The open elements below the root, each with its text.
    let mut open: Vec<(String, String)> = vec![];
    loop {
        let event = xml.read_event().map_err(malformed)?;
        match event {
            Event::Start(ref tag) | Event::Empty(ref tag) => {
                if open.len() == MAX_DEPTH {
                    return Err(malformed("it is nested too deeply"));
                }
                open.push((tag.name().0.to_owned(), String::new()));
                begin(&open, tag, visitor)?;
                if matches!(event, Event::Empty(_)) {
                    end(&mut open, visitor);
                }
            }
            Event::Text(part) => push(&mut open, &part.xml10_content()),
            Event::CData(part) => push(&mut open, &part.xml10_content()),
            Event::GeneralRef(reference) => push(&mut open, &resolved(&reference)),
            Event::End(_) if open.is_empty() => return Ok(()),
            Event::End(_) => end(&mut open, visitor),
            Event::DocType(_) => return Err(malformed("it has a DOCTYPE")),
            Event::Eof => return Err(malformed("it is cut off")),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
}

/// Reads up to the root element. Any other root is not a feed, whatever other errors the body has.
fn is_empty_root(xml: &mut Reader<&[u8]>) -> Result<bool, FeedError> {
    loop {
        let (tag, is_empty) = match xml.read_event() {
            Ok(Event::Start(tag)) => (tag, false),
            Ok(Event::Empty(tag)) => (tag, true),
            Ok(Event::DocType(_) | Event::Eof) | Err(_) => return Err(FeedError::NotAFeed),
            Ok(_) => continue,
        };
        return if tag.name().0 == "feed" { Ok(is_empty) } else { Err(FeedError::NotAFeed) };
    }
}

fn path(open: &[(String, String)]) -> Vec<&str> {
    open.iter().map(|(name, _)| name.as_str()).collect()
}

fn begin(
    open: &[(String, String)],
    tag: &BytesStart<'_>,
    visitor: &mut impl Visitor,
) -> Result<(), FeedError> {
    let path = path(open);
    visitor.begin(&path)?;
    // Unchecked, because the check for duplicates takes quadratic time.
    for (index, attribute) in tag.attributes().with_checks(false).enumerate() {
        if index == MAX_ATTRIBUTES {
            return Err(malformed("too many attributes"));
        }
        let attribute = attribute.map_err(malformed)?;
        // A lone ampersand stays as it is written.
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        let value = value.unwrap_or(Cow::Borrowed(&attribute.value));
        visitor.attribute(&path, attribute.key.0, &value);
    }
    Ok(())
}

fn end(open: &mut Vec<(String, String)>, visitor: &mut impl Visitor) {
    if let Some((_, text)) = open.last() {
        visitor.end(&path(open), text);
    }
    open.pop();
}

fn push(open: &mut [(String, String)], part: &str) {
    if let Some((_, text)) = open.last_mut() {
        text.push_str(part);
    }
}

fn resolved(reference: &BytesRef<'_>) -> String {
    match reference.resolve_char_ref() {
        Ok(Some(c)) => c.to_string(),
        Err(_) => char::REPLACEMENT_CHARACTER.to_string(),
        Ok(None) => match resolve_predefined_entity(reference) {
            Some(text) => text.to_owned(),
            // Not an XML reference: the author wrote an ampersand, and later a semicolon.
            None => format!("&{};", &**reference),
        },
    }
}

pub(super) fn malformed(why: impl std::fmt::Display) -> FeedError {
    FeedError::Malformed(why.to_string())
}
