//! Text for a terminal: how wide it is, and nothing in it that would tell a terminal what to do.

use std::borrow::Cow;

use anstyle::{AnsiColor, Style};
use terminal_size::{Width, terminal_size_of};

pub(crate) const TITLE: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const LINK: Style = AnsiColor::Cyan.on_default().underline();

/// The width of the terminal that is written to; where that is none, what `COLUMNS` says.
pub(crate) fn width() -> Option<usize> {
    let terminal = terminal_size_of(std::io::stdout()).map(|(Width(width), _)| width.into());
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.or_else(told).filter(|width| *width > 0)
}

/// In a style, and cleaned.
pub(crate) fn styled(style: Style, text: impl AsRef<str>) -> String {
    format!("{style}{}{style:#}", clean(text.as_ref()))
}

/// Without characters that move the cursor, change colours, or turn the reading direction around: text
/// from strangers could otherwise show what is not there. Line breaks and tabs stay.
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

/// On one line.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Clean text, broken into lines that fit, each after `indent`. Colours take up no room.
pub(crate) fn wrapped(text: &str, width: Option<usize>, indent: &str) -> String {
    // Longer lines than this are hard to read, wherever there is room for them.
    let width = width.unwrap_or(100).clamp(20, 100);
    let options = textwrap::Options::new(width).initial_indent(indent).subsequent_indent(indent);
    textwrap::fill(text, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_do_not_command_the_terminal() {
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
