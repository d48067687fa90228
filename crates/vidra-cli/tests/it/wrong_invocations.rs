//! A table of wrong invocations with their messages.

use std::process::Stdio;

use crate::process::vidra;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/wrong-invocations.txt");

/// The arguments of a line. Double quotes hold words together.
fn arguments(line: &str) -> Vec<String> {
    let parts = line.split('"').enumerate().flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    parts.collect()
}

#[test]
fn users_14_wrong_invocations_have_helpful_messages() {
    let folder = tempfile::tempdir().unwrap();
    let table = std::fs::read_to_string(TABLE).unwrap();
    let mut written = String::new();
    let (mut lines, mut count) = (table.lines(), 0);
    while let Some(line) = lines.next() {
        written += &format!("{line}\n");
        let Some(invocation) = line.strip_prefix("$ vidra ") else { continue };
        let mut command = vidra(folder.path());
        let output = command.args(arguments(invocation)).stdin(Stdio::null()).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{invocation}: {message}");
        assert!(output.stdout.is_empty(), "{invocation}");
        assert_eq!(message.lines().count(), 1, "{invocation}: {message}");
        assert!(!message.contains("secret"), "{invocation}: {message}");
        written += &message;
        lines.next();
        count += 1;
    }
    assert!(count >= 60, "{count} invocations");
    if std::env::var_os("VIDRA_UPDATE_DOCS").is_some() {
        std::fs::write(TABLE, &written).unwrap();
    }
    assert_eq!(written, std::fs::read_to_string(TABLE).unwrap());
}
