//! Shows long text page by page, on a terminal.

use std::env;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use tokio::signal::unix::{SignalKind, signal};

/// The usual pager: it ends by itself if the text fits, keeps colours, and leaves the text on the screen.
const USUAL: &str = "less -FRX";

/// The exit code of a shell that does not find the program.
const NOT_FOUND: i32 = 127;

/// The pager of the user. `None` if `PAGER` is empty or `cat`.
pub(super) fn command() -> Option<String> {
    let pager = env::var("PAGER").unwrap_or_else(|_| USUAL.to_owned());
    Some(pager.trim().to_owned()).filter(|pager| !pager.is_empty() && pager != "cat")
}

/// Shows `text` in the pager and waits until the user closes it. Without a usable pager it goes to standard
/// output. It is not an error if the user closes the pager early.
pub(super) fn show(pager: &str, text: &[u8]) -> io::Result<()> {
    // Ctrl-C is for the pager from now on. Otherwise this process would end and leave the terminal to two readers.
    let _handled = signal(SignalKind::interrupt());
    let mut command = Command::new("sh");
    command.arg("-c").arg(pager).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else { return io::stdout().write_all(text) };
    let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(text));
    let ended = child.wait()?;
    match written {
        _ if ended.code() == Some(NOT_FOUND) => io::stdout().write_all(text),
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Whether the text is longer than the terminal.
pub(super) fn is_long(text: &[u8], width: usize, height: usize) -> bool {
    let rows = text.split(|byte| *byte == b'\n').map(|line| {
        let line = anstream::adapter::strip_bytes(line).into_vec();
        let columns = unicode_width::UnicodeWidthStr::width(&*String::from_utf8_lossy(&line));
        columns.div_ceil(width.max(1)).max(1)
    });
    // One row is for the prompt of the shell.
    rows.sum::<usize>() > height.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_count_as_several_and_colours_do_not() {
        assert!(!is_long(b"a\nb\n", 80, 4) && is_long(b"a\nb\n", 80, 3));
        assert!(is_long(b"aaaaaaaaaa\n", 4, 4) && !is_long(b"aaaaaaaaaa\n", 10, 4));
        assert!(!is_long(b"\x1b[1maaaaaaaaaa\x1b[0m\n", 10, 4));
    }
}
