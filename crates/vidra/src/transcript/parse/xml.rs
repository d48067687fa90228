//! srv1, srv2 and srv3.
//!
//! The parser resolves only numeric references and the five predefined entities of XML. It rejects
//! a DOCTYPE, which could define more. It ignores comments, window definitions and pens.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::super::cue::Cue;
use super::Unreadable;
use super::text::unescaped;
use super::track::{Track, decimal};

/// The formats nest four levels deep.
const MAX_DEPTH: usize = 32;

/// A cue has at most seven attributes.
const MAX_ATTRIBUTES: usize = 64;

/// The dialect, from the root element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// `<transcript><text start="1.5" dur="2">`: seconds, and text escaped twice.
    Seconds,
    /// `<timedtext><text t="1500" d="2000">` and `<timedtext format="3"><body><p t="1500">`:
    /// milliseconds, and text escaped once.
    Millis,
}

/// A cue without its end tag so far.
struct Open {
    depth: usize,
    start: Option<u64>,
    duration: Option<u64>,
    text: String,
}

pub(super) fn read(text: &str) -> Result<Vec<Cue>, Unreadable> {
    let mut xml = Reader::from_str(text);
    // srv1 escapes twice. Text that was escaped only once contains lone ampersands.
    xml.config_mut().allow_dangling_amp = true;
    let dialect = root(&mut xml)?;
    let Some(dialect) = dialect else { return Ok(vec![]) };
    let mut body = Body { dialect, depth: 1, open: None, track: Track::default() };
    loop {
        match xml.read_event().map_err(malformed)? {
            Event::Start(tag) => body.start(&tag)?,
            Event::Empty(tag) => body.empty(&tag),
            Event::Text(text) => body.text(&text),
            Event::CData(text) => body.text(&text),
            Event::GeneralRef(reference) => body.reference(&reference),
            Event::End(_) => {
                if body.end()? {
                    return Ok(body.track.finish());
                }
            }
            Event::DocType(_) => return Err(doctype()),
            Event::Eof => return Err(Unreadable::Malformed("it is cut off".to_owned())),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
}

/// Reads up to the root element. `None` if it is empty. An unknown root is not timedtext, whatever
/// other errors the body has.
fn root(xml: &mut Reader<&[u8]>) -> Result<Option<Dialect>, Unreadable> {
    loop {
        let (tag, is_empty) = match xml.read_event() {
            Ok(Event::Start(tag)) => (tag, false),
            Ok(Event::Empty(tag)) => (tag, true),
            Ok(Event::DocType(name)) if !name.get(..4).is_some_and(is_html) => {
                return Err(doctype());
            }
            Ok(Event::DocType(_) | Event::Eof) | Err(_) => return Err(Unreadable::NotTimedText),
            Ok(_) => continue,
        };
        let dialect = match tag.name().0 {
            "transcript" => Dialect::Seconds,
            "timedtext" => Dialect::Millis,
            _ => return Err(Unreadable::NotTimedText),
        };
        return Ok((!is_empty).then_some(dialect));
    }
}

fn is_html(name: &str) -> bool {
    name.eq_ignore_ascii_case("html")
}

fn doctype() -> Unreadable {
    Unreadable::Malformed("it has a DOCTYPE".to_owned())
}

fn malformed(error: impl std::fmt::Display) -> Unreadable {
    Unreadable::Malformed(error.to_string())
}

/// The parser inside the root element.
struct Body {
    dialect: Dialect,
    depth: usize,
    open: Option<Open>,
    track: Track,
}

impl Body {
    fn start(&mut self, tag: &BytesStart<'_>) -> Result<(), Unreadable> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Unreadable::Malformed("it is nested too deeply".to_owned()));
        }
        match (&mut self.open, tag.name().0) {
            (Some(open), "br") => open.text.push('\n'),
            // `<s>` and all other elements inside a cue: the parser reads their text in place.
            (Some(_), _) => {}
            (None, "p" | "text") => self.open = Some(self.cue(tag)?),
            (None, _) => {}
        }
        Ok(())
    }

    /// A cue without an end tag has no text.
    fn empty(&mut self, tag: &BytesStart<'_>) {
        if let (Some(open), "br") = (&mut self.open, tag.name().0) {
            open.text.push('\n');
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(open) = &mut self.open {
            open.text.push_str(text);
        }
    }

    fn reference(&mut self, reference: &BytesRef<'_>) {
        let Some(open) = &mut self.open else { return };
        match reference.resolve_char_ref() {
            Ok(Some(c)) => open.text.push(c),
            Err(_) => open.text.push(char::REPLACEMENT_CHARACTER),
            Ok(None) => match resolve_predefined_entity(reference) {
                Some(text) => open.text.push_str(text),
                // Not an XML reference: the author wrote an ampersand, and later a semicolon.
                None => open.text.extend(["&", reference, ";"]),
            },
        }
    }

    /// Returns whether the root element has ended.
    fn end(&mut self) -> Result<bool, Unreadable> {
        if let Some(open) = self.open.take_if(|open| open.depth == self.depth) {
            let text = match self.dialect {
                Dialect::Seconds => &unescaped(&open.text),
                Dialect::Millis => open.text.as_str(),
            };
            self.track.push(open.start, open.duration, text)?;
        }
        self.depth -= 1;
        Ok(self.depth == 0)
    }

    fn cue(&self, tag: &BytesStart<'_>) -> Result<Open, Unreadable> {
        let mut cue = Open { depth: self.depth, start: None, duration: None, text: String::new() };
        // Unchecked, because the check for duplicates takes quadratic time.
        for (index, attribute) in tag.attributes().with_checks(false).enumerate() {
            if index == MAX_ATTRIBUTES {
                return Err(Unreadable::Malformed("too many attributes".to_owned()));
            }
            let attribute = attribute.map_err(malformed)?;
            match (self.dialect, attribute.key.0) {
                (Dialect::Seconds, "start") => cue.start = decimal(&attribute.value, 3),
                (Dialect::Seconds, "dur") => cue.duration = decimal(&attribute.value, 3),
                (Dialect::Millis, "t") => cue.start = decimal(&attribute.value, 0),
                (Dialect::Millis, "d") => cue.duration = decimal(&attribute.value, 0),
                _ => {}
            }
        }
        Ok(cue)
    }
}
