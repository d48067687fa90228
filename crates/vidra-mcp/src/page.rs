//! One page of an answer: as many items as fit into the limit of characters.

use serde::Serialize;

use crate::call_error::CallError;
use crate::params::{Cursor, MaxChars};

/// Items with their lines of text, up to a limit of characters. The limit is that of the text, which a model reads; the
/// structured data of the same items is longer.
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    pub(crate) lines: Vec<String>,
    /// The start of the next page, if there is one.
    pub(crate) next: Option<Cursor>,
    left: usize,
    is_begun: bool,
}

/// Characters reserved for everything around the items: summary, marks, cursor, an error.
const FRAME: usize = 800;

impl<T> Page<T> {
    /// An empty page of `max_chars` characters, of which `used` are taken already.
    pub(crate) fn new(max_chars: usize, used: usize) -> Self {
        let left = max_chars.saturating_sub(FRAME + used);
        Self { items: vec![], lines: vec![], next: None, left, is_begun: false }
    }

    /// The page of a list that begins at `cursor`. Fails if the list ends before it.
    pub(crate) fn of_list(
        items: impl ExactSizeIterator<Item = (T, String)>,
        cursor: Option<Cursor>,
        max_chars: MaxChars,
        used: usize,
    ) -> Result<Self, CallError> {
        let skip = Cursor::skip(cursor, items.len())?;
        let mut page = Self::new(max_chars.count(), used);
        if page.fill(items.skip(skip)) {
            page.next = Some(Cursor::at(skip + page.items.len()));
        }
        Ok(page)
    }

    /// Adds an item if it fits. Always adds the first one: its texts are limited, and an empty page would
    /// make no progress.
    pub(crate) fn add(&mut self, item: T, line: String) -> bool {
        let size = line.chars().count() + 1;
        if !self.take(size) {
            return false;
        }
        self.items.push(item);
        self.lines.push(line);
        true
    }

    /// Adds items until one does not fit. Returns whether items are left over.
    pub(crate) fn fill(&mut self, items: impl IntoIterator<Item = (T, String)>) -> bool {
        !items.into_iter().all(|(item, line)| self.add(item, line))
    }

    /// Takes up `chars` characters, if they fit.
    pub(crate) fn take(&mut self, chars: usize) -> bool {
        if chars > self.left && self.is_begun {
            return false;
        }
        self.is_begun = true;
        self.left = self.left.saturating_sub(chars);
        true
    }

    /// Whether `chars` characters would fit.
    pub(crate) fn fits(&self, chars: usize) -> bool {
        chars <= self.left || !self.is_begun
    }

    pub(crate) fn body(&self) -> String {
        self.lines.join("\n")
    }
}

/// The length of a value as JSON, in characters.
pub(crate) fn json_chars(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |json| json.chars().count())
}

/// The limit for one text of an item, in characters. As JSON it may be twice as long.
pub(crate) fn text_limit(max_chars: usize) -> usize {
    max_chars / 8
}

/// The first `most` characters of a text, and whether it is longer.
pub(crate) fn clip(text: &str, most: usize) -> (String, bool) {
    match text.char_indices().nth(most) {
        None => (text.to_owned(), false),
        Some((end, _)) => (format!("{}…", text[..end].trim_end()), true),
    }
}

/// A text as one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_takes_the_items_that_fit_and_at_least_one() {
        let mut page = Page::new(FRAME + 20, 0);
        let items = (0..10).map(|number| (number, "12345678".to_owned()));
        assert!(page.fill(items));
        assert_eq!(page.items, [0, 1]);

        let mut page = Page::new(0, 0);
        assert!(page.add("longer than nothing", String::new()));
        assert!(!page.add("", String::new()));
    }

    #[test]
    fn texts_are_truncated_at_character_boundaries() {
        assert_eq!(clip("äöü", 3), ("äöü".to_owned(), false));
        assert_eq!(clip("äöü", 2), ("äö…".to_owned(), true));
        assert_eq!(clip("", 0), (String::new(), false));
        assert_eq!(one_line(" a\n\tb  c "), "a b c");
    }
}
