//! Errors of the command line, as one line with advice.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use vidra::{Link, VideoId};

use crate::spelling::nearest;
use crate::terminal::one_line;

/// Words that people try, and the command that does it.
const WORDS: [(&[&str], &str); 9] = [
    (&["version"], "vidra --version"),
    (&["info", "show", "get", "watch"], "vidra video"),
    (&["captions", "subtitles", "subs", "subtitle"], "vidra transcript ID --format srt"),
    (&["download", "export"], "vidra transcripts PLAYLIST --out DIR"),
    (&["user", "handle", "creator"], "vidra channel"),
    (&["find"], "vidra search QUERY, or vidra search-videos QUERY for YouTube"),
    (&["charts", "chart", "trending"], "vidra popular"),
    (&["threads"], "vidra comments"),
    (&["start", "run", "server", "daemon"], "vidra serve"),
];

/// An error of clap, with advice, as one line. `given` is the command line without the program.
pub(crate) fn in_one_line(error: &clap::Error, whole: &Command, given: &[String]) -> String {
    let (command, name) = command_of(whole, given);
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let message = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            let names = command.get_subcommands().map(Command::get_name);
            let tip = match nearest(word, names) {
                _ if command.get_name() == "vidra" && command_for(word).is_some() => {
                    command_for(word)
                }
                Some(name) => Some(format!("the nearest is '{name}'")),
                None => None,
            };
            with_tip(format!("there is no command '{word}'"), tip)
        }
        ErrorKind::UnknownArgument => {
            let flag = context(ContextKind::InvalidArg).unwrap_or_default();
            unknown_flag(flag, whole, command, given)
        }
        _ => explained(error),
    };
    let message = match error.get(ContextKind::InvalidValue).and_then(hidden) {
        Some(secret) => message.replace(secret, "***"),
        None => without_passwords(&message),
    };
    format!("{}; see {name} --help", one_line(&message))
}

/// The message of clap without usage and advice.
fn explained(error: &clap::Error) -> String {
    let text = error.to_string();
    let message = text.split("\n\nUsage:").next().unwrap_or_default();
    let message = message.split("\n\nFor more information").next().unwrap_or_default();
    // Without clap's tips: its similar values are often not.
    let message = message.split("\n\n  tip:").next().unwrap_or_default();
    let message = message.trim_start_matches("error:").replace("\n\n", "; ");
    match message.split_once("\n  [possible values: ") {
        Some((what, values)) => {
            format!("{what}; expected one of: {}", values.trim_end_matches(']'))
        }
        None => message,
    }
}

fn with_tip(message: String, tip: Option<String>) -> String {
    match tip {
        Some(tip) => format!("{message}; {tip}"),
        None => message,
    }
}

/// What to type instead of a word that is no command.
fn command_for(word: &str) -> Option<String> {
    let known = WORDS.iter().find(|(words, _)| words.contains(&word));
    if let Some((_, command)) = known {
        return Some(format!("try {command}"));
    }
    let Link { video, playlist, channel, .. } = Link::parse(word).ok()?;
    // An 11-letter word may be an id, but is rarely meant as one.
    let is_word = word.bytes().all(|byte| byte.is_ascii_lowercase());
    let (what, command) = match (video, playlist, channel) {
        _ if is_word => return None,
        (Some(_), _, _) => ("video", "video"),
        (None, Some(_), _) => ("playlist", "playlist"),
        _ => ("channel", "channel"),
    };
    Some(format!("that is a {what}: vidra {command} {word}"))
}

fn unknown_flag(flag: &str, whole: &Command, command: &Command, given: &[String]) -> String {
    let Some(name) = flag.strip_prefix("--") else {
        // clap reads an id that begins with a hyphen as short flags, and reports the first.
        let id = given.iter().find(|word| word.starts_with(flag) && VideoId::parse(word).is_ok());
        return match id {
            Some(id) => {
                format!("there is no flag '{id}'; put an id that begins with a hyphen after --")
            }
            None if flag.starts_with('-') => {
                let takes_query = command.get_arguments().any(|arg| arg.get_id() == "query");
                let name = command.get_name();
                let tip = format!("put the whole query in quotes: vidra {name} 'this -that'");
                with_tip(format!("there is no flag '{flag}'"), takes_query.then_some(tip))
            }
            None => {
                let is_value = |words: &[String]| matches!(words, [json, value] if json == "--json" && value == flag);
                let tip = given.windows(2).any(is_value).then(|| {
                    "--json takes no value: choose members with --fields in lists, or with --jq"
                        .to_owned()
                });
                with_tip(format!("unexpected argument '{flag}'"), tip)
            }
        };
    };
    let name = name.split('=').next().unwrap_or_default();
    let longs = |command: &Command| -> Vec<String> {
        command.get_arguments().filter_map(|arg| arg.get_long().map(str::to_owned)).collect()
    };
    let own = longs(command);
    if own.iter().any(|long| long == name) {
        return format!(
            "--{name} belongs after the command: vidra {} --{name}",
            command.get_name()
        );
    }
    let others: Vec<&str> = whole
        .get_subcommands()
        .filter(|other| longs(other).iter().any(|long| long == name))
        .map(Command::get_name)
        .collect();
    let tip = match (nearest(name, own.iter().map(String::as_str)), others.as_slice()) {
        (_, [one]) => Some(format!("it is a flag of vidra {one}")),
        (_, [first, .., last]) => {
            Some(format!("it is a flag of other commands, such as vidra {first} and {last}"))
        }
        (Some(near), []) => Some(format!("the nearest is '--{near}'")),
        (None, []) => None,
    };
    with_tip(format!("there is no flag '--{name}'"), tip)
}

/// The command that the line names, and its name with those of its parents.
fn command_of<'a>(whole: &'a Command, given: &[String]) -> (&'a Command, String) {
    let (mut command, mut name) = (whole, whole.get_name().to_owned());
    for word in given {
        if let Some(next) = command.find_subcommand(word) {
            command = next;
            name = format!("{name} {word}");
        }
    }
    (command, name)
}

/// A refused value that may contain a password, in whatever place.
fn hidden(value: &ContextValue) -> Option<&str> {
    match value {
        ContextValue::String(value) if value.contains('@') && value.contains(':') => Some(value),
        // The query of a URL may have a token.
        ContextValue::String(value) if value.contains("://") && value.contains(['?', '#']) => {
            Some(value)
        }
        _ => None,
    }
}

/// The text without the user and password of URLs in it. Errors end up in logs.
fn without_passwords(text: &str) -> String {
    let mut parts = text.split("://");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // The last @ before the host ends: a password may contain one.
        let authority = part.find(['/', '?', '#', '\'', '"', ' ']).unwrap_or(part.len());
        clean.push_str("://");
        match part[..authority].rfind('@') {
            Some(at) => clean.extend(["***", &part[at..]]),
            None => clean.push_str(part),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn review_s11_errors_repeat_no_password() {
        let table = [
            ("invalid value 'ftp://me:secret@host/x' for", "invalid value 'ftp://***@host/x' for"),
            ("a://u:p@ss@h b://h/@ c://x", "a://***@h b://h/@ c://x"),
            ("no URL, me@host", "no URL, me@host"),
        ];
        for (text, clean) in table {
            assert_eq!(without_passwords(text), clean);
        }
    }

    #[test]
    fn review_s11_refused_values_with_secrets_are_hidden() {
        let is_hidden = |value: &str| hidden(&ContextValue::String(value.to_owned())).is_some();
        for value in ["user:secret@host:80", "http://h/?token=secret", "http://h/x#secret"] {
            assert!(is_hidden(value), "{value}");
        }
        for value in ["http://h/path", "what?", "@name"] {
            assert!(!is_hidden(value), "{value}");
        }
    }

    #[test]
    fn users_14_words_and_links_lead_to_their_command() {
        let table = [
            ("version", Some("try vidra --version")),
            (
                "https://youtu.be/fda4eREcaTQ",
                Some("that is a video: vidra video https://youtu.be/fda4eREcaTQ"),
            ),
            ("@fermata", Some("that is a channel: vidra channel @fermata")),
            ("PLsize50", Some("that is a playlist: vidra playlist PLsize50")),
            ("transcribes", None),
            ("nope", None),
        ];
        for (word, command) in table {
            assert_eq!(command_for(word).as_deref(), command, "{word}");
        }
    }
}
