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
use super::words::{Mark, Offset};

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
    /// The starts of segments, and of the text between them.
    marks: Vec<Mark>,
    /// Whether a segment has ended and none has begun since.
    after_segment: bool,
}

impl Open {
    fn start_segment(&mut self, offset: Offset) {
        if self.marks.is_empty() {
            self.marks.reserve(8);
        }
        self.mark(offset);
    }

    fn mark(&mut self, offset: Offset) {
        // The text is shorter than the body, whose size is limited.
        self.marks.push(Mark { at: self.text.len() as u32, offset });
        self.after_segment = false;
    }

    fn push(&mut self, text: &str) {
        if self.after_segment {
            self.mark(Offset::Unknown);
        }
        self.text.push_str(text);
    }
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
            Event::End(tag) => {
                if body.end(tag.name().0)? {
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
            (Some(open), "s") => open.start_segment(segment_time(tag)),
            // All other elements inside a cue: the parser reads their text in place.
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
            open.push(text);
        }
    }

    fn reference(&mut self, reference: &BytesRef<'_>) {
        let Some(open) = &mut self.open else { return };
        match reference.resolve_char_ref() {
            Ok(Some(c)) => open.push(c.encode_utf8(&mut [0; 4])),
            Err(_) => open.push("\u{fffd}"),
            Ok(None) => match resolve_predefined_entity(reference) {
                Some(text) => open.push(text),
                // Not an XML reference: the author wrote an ampersand, and later a semicolon.
                None => ["&", reference, ";"].into_iter().for_each(|text| open.push(text)),
            },
        }
    }

    /// Returns whether the root element has ended.
    fn end(&mut self, name: &str) -> Result<bool, Unreadable> {
        if let Some(open) = self.open.take_if(|open| open.depth == self.depth) {
            let Open { start, duration, text, marks, .. } = open;
            match self.dialect {
                Dialect::Seconds => self.track.push(start, duration, &unescaped(&text), &[])?,
                Dialect::Millis => self.track.push(start, duration, &text, &marks)?,
            }
        } else if let (Some(open), "s") = (&mut self.open, name) {
            open.after_segment = true;
        }
        self.depth -= 1;
        Ok(self.depth == 0)
    }

    fn cue(&self, tag: &BytesStart<'_>) -> Result<Open, Unreadable> {
        let mut cue = Open {
            depth: self.depth,
            start: None,
            duration: None,
            text: String::new(),
            marks: vec![],
            after_segment: false,
        };
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

/// The time of a segment. Unlike the time of a cue it is not necessary, so no value of it is an
/// error.
fn segment_time(tag: &BytesStart<'_>) -> Offset {
    for attribute in tag.attributes().with_checks(false).take(MAX_ATTRIBUTES) {
        match attribute {
            Ok(attribute) if attribute.key.0 == "t" => {
                let millis = attribute.value.parse().ok().or_else(|| decimal(&attribute.value, 0));
                return millis.map_or(Offset::Unknown, Offset::from_millis);
            }
            Ok(_) => {}
            Err(_) => return Offset::Unknown,
        }
    }
    Offset::Omitted
}
