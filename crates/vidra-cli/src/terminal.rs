//! Text for a terminal: its width, its styles, and the removal of control characters.

use std::borrow::Cow;

use anstyle::{AnsiColor, Style};
use terminal_size::{Height, Width, terminal_size_of};

pub(crate) const TITLE: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();
/// A word that was searched for.
pub(crate) const MATCH: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const LINK: Style = AnsiColor::Cyan.on_default().underline();

/// The width of the terminal on standard output, or else the value of `COLUMNS`.
pub(crate) fn width() -> Option<usize> {
    let terminal = terminal_size_of(std::io::stdout()).map(|(Width(width), _)| width.into());
    let from_env = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.or_else(from_env).filter(|width| *width > 0)
}

/// The number of lines of the terminal on standard output.
pub(crate) fn height() -> Option<usize> {
    terminal_size_of(std::io::stdout()).map(|(_, Height(height))| height.into())
}

/// Cleans a text and applies a style.
pub(crate) fn styled(style: Style, text: impl AsRef<str>) -> String {
    format!("{style}{}{style:#}", clean(text.as_ref()))
}

/// Replaces characters that move the cursor, change colours or reverse the reading direction, which
/// untrusted text could use to deceive. Line breaks and tabs stay.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let is_active = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    match text.contains(is_active) {
        true => text.chars().map(|c| if is_active(c) { '\u{fffd}' } else { c }).collect(),
        false => text.into(),
    }
}

/// Cleans a text and puts it on one line.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Wraps clean text, each line after `indent`. Colours do not count.
pub(crate) fn wrapped(text: &str, width: Option<usize>, indent: &str) -> String {
    // Lines of more than 100 characters are hard to read.
    let width = width.unwrap_or(100).clamp(20, 100);
    let options = textwrap::Options::new(width).initial_indent(indent).subsequent_indent(indent);
    textwrap::fill(text, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(
            clean("a\u{1b}[31mb\u{9b}c\u{202e}d\r\n\te"),
            "a\u{fffd}[31mb\u{fffd}c\u{fffd}d\u{fffd}\n\te"
        );
        assert_eq!(one_line(" a\n\tb "), "a b");
        assert!(matches!(clean("Três 二胡"), Cow::Borrowed(_)));
    }

    #[test]
    fn text_is_wrapped_with_its_indent() {
        assert_eq!(
            wrapped("one two three four five six", Some(20), "  "),
            "  one two three four\n  five six"
        );
    }
}
