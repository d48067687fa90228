//! Generates `docs/reference/configuration.md` and `docs/reference/cli.md` from the command line.

use std::fmt::Write;

use clap::{Arg, Command, Subcommand};

use crate::args::{Args, EXIT_CODES};
use crate::client::SETTINGS;
use crate::commands::Data;
use crate::serve::LIBRARY_SETTINGS;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/");

const CONFIGURATION: &str = "\
# Configuration

Every flag of `vidra serve` except `--verbose` has an environment variable. A flag wins over its variable, and a variable over the
[config file](../guide/command-line.md#keep-settings-in-a-file). `vidra serve` also reads a `.env` file in its working
directory. [deploy.md](../guide/deploy.md) and [operate.md](../guide/operate.md)
describe how to use these settings, [cli.md](cli.md) lists the flags of the other commands.

A number can be short: `1k`, `1.5M`. An address can be a port of loopback: `:3000`, `3000`, `localhost:3000`. A time has a unit: `300ms`, `10s`, `2m`, `1h`, `7d`. A boolean variable is false if it is empty, `0`, `false`, `no`,
`off`, `n` or `f`; every other value is true.

A test generates this page from the command line:
`VIDRA_UPDATE_DOCS=1 cargo test -p vidra-cli --all-features --bin vidra reference`.
";

const VARIABLES: &str = "
## Variables without a flag

| variable | default | meaning |
|---|---|---|
| `YOUTUBE_API_KEY` | | Key of the YouTube Data API. There is no flag for it, because other users of the machine can read arguments |
| `RUST_LOG` | `info`; `error` for data commands | Log level on standard error, also per module |
| `NO_COLOR` | | No colours, if it is set |
| `PAGER` | `less -FRX` | Program that shows long output of data commands on a terminal; none if it is empty or `cat` |
| `XDG_CONFIG_HOME` | `~/.config` | The config file is `vidra/config.toml` below it |
| `XDG_STATE_HOME` | `~/.local/state` | The state folder is `vidra` below it |
| `XDG_CACHE_HOME` | `~/.cache` | The cache folder of data commands is `vidra` below it |
";

const CLI: &str = "\
# Command line

[command-line.md](../guide/command-line.md) shows how to use the commands. `vidra COMMAND --help` prints the same
text as this page.

A test generates this page from the command line:
`VIDRA_UPDATE_DOCS=1 cargo test -p vidra-cli --all-features --bin vidra reference`.
";

/// Run with `VIDRA_UPDATE_DOCS=1` and all features to rewrite the files.
#[test]
fn reference_documents_are_up_to_date() {
    let mut args = Args::whole();
    args.build();
    for (name, current) in [("configuration.md", configuration(&args)), ("cli.md", cli(&args))] {
        let file = format!("{FOLDER}{name}");
        if std::env::var_os("VIDRA_UPDATE_DOCS").is_some() {
            match cfg!(feature = "otel") {
                true => std::fs::write(&file, &current).unwrap(),
                false => panic!("the reference is written with --all-features"),
            }
        }
        let mut written = std::fs::read_to_string(&file).unwrap();
        if !cfg!(feature = "otel") {
            let is_there = |line: &&str| !line.starts_with("| `--otlp-endpoint");
            written = written.split_inclusive('\n').filter(is_there).collect();
        }
        assert!(
            written == current,
            "docs/reference/{name} is out of date: VIDRA_UPDATE_DOCS=1 rewrites it"
        );
    }
}

fn configuration(args: &Command) -> String {
    let serve = args.find_subcommand("serve").unwrap();
    let mut text = CONFIGURATION.to_owned();
    let headings =
        [(None, "Service"), (Some(LIBRARY_SETTINGS), LIBRARY_SETTINGS), (Some(SETTINGS), SETTINGS)];
    for (heading, title) in headings {
        let _ = write!(
            text,
            "\n## {title}\n\n| flag | variable | default | meaning |\n|---|---|---|---|\n"
        );
        for arg in flags(serve).filter(|arg| arg.get_help_heading() == heading) {
            let Described { variable, default, help } = describe(arg);
            let flag = arg.get_long().unwrap();
            let _ = writeln!(text, "| `--{flag}` | {variable} | {default} | {help} |");
        }
    }
    text + VARIABLES
}

fn cli(args: &Command) -> String {
    let mut text = CLI.to_owned();
    let is_data = |command: &Command| Data::has_subcommand(command.get_name());
    let commands = || args.get_subcommands().filter(|command| command.get_name() != "help");
    text += "\n## All commands\n\nEvery command takes these flags, before or after its name:\n";
    text += &table(flags(args));
    text += "\n## Data commands\n\nEvery data command takes these flags, and the settings of\n\
        [YouTube, quota and cache](configuration.md#youtube-quota-and-cache):\n";
    // It has no flags of its own.
    let common: Vec<&Arg> = own_flags(args.find_subcommand("link").unwrap()).collect();
    text += &table(common.iter().copied());
    for command in commands().filter(|command| is_data(command)) {
        let is_own = |arg: &&Arg| common.iter().all(|other| other.get_id() != arg.get_id());
        let own = |command: &Command| {
            table(command.get_positionals().chain(own_flags(command).filter(is_own)))
        };
        text += &section(command, "###", &own(command));
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            text += &section(below, "####", &own(below));
        }
    }
    text += "\n## Other commands\n";
    for command in commands().filter(|command| !is_data(command)) {
        let flags = match command.get_name() {
            "serve" => "\n[configuration.md](configuration.md) lists its flags.\n".to_owned(),
            "mcp" => "\nIt takes `--demo`, `--all-tools`, `--database` and the settings of\n\
                [YouTube, quota and cache](configuration.md#youtube-quota-and-cache).\n"
                .to_owned(),
            _ => table(command.get_positionals().chain(own_flags(command))),
        };
        text += &section(command, "###", &flags);
        for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
            let flags = command.get_positionals().chain(own_flags(command));
            text += &section(command, "####", &table(flags));
        }
    }
    let codes = EXIT_CODES.lines().skip(1).map(|line| {
        let (code, meaning) = line.trim().split_once("  ").unwrap();
        format!("| {code} | {meaning} |\n")
    });
    text += "\n## Exit codes\n\n| code | meaning |\n|---|---|\n";
    text.extend(codes);
    text
}

fn section(command: &Command, level: &str, flags: &str) -> String {
    let mut command = command.clone();
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let about = command.get_about().unwrap();
    let examples = command.get_after_long_help().unwrap().to_string();
    let examples = examples.lines().skip(1).map(str::trim).collect::<Vec<_>>().join("\n");
    let name = command.get_name();
    format!("\n{level} {name}\n\n{about}.\n\n```text\n{usage}\n\n{examples}\n```\n{flags}")
}

fn table<'a>(args: impl Iterator<Item = &'a Arg>) -> String {
    let mut rows = String::new();
    for arg in args {
        let Described { variable, default, help } = describe(arg);
        let short = arg.get_short().map_or(String::new(), |short| format!("-{short}, "));
        let name = match (arg.get_long(), arg.get_value_names()) {
            (Some(flag), Some([value, ..])) if arg.get_action().takes_values() => {
                format!("{short}--{flag} {value}")
            }
            (Some(flag), _) => format!("{short}--{flag}"),
            (None, _) => arg.get_value_names().unwrap()[0].to_string(),
        };
        let _ = writeln!(rows, "| `{name}` | {variable} | {default} | {help} |");
    }
    if rows.is_empty() {
        return rows;
    }
    format!("\n| argument | variable | default | meaning |\n|---|---|---|---|\n{rows}")
}

fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_shown = |arg: &&Arg| {
        let is_usual = matches!(arg.get_id().as_str(), "help" | "version");
        !is_usual && !arg.is_hide_set() && arg.get_long().is_some()
    };
    command.get_arguments().filter(is_shown)
}

/// Without the settings that many commands share, and without those of all commands.
fn own_flags(command: &Command) -> impl Iterator<Item = &Arg> {
    flags(command).filter(|arg| arg.get_help_heading() != Some(SETTINGS) && !arg.is_global_set())
}

struct Described {
    variable: String,
    default: String,
    help: String,
}

/// The help of an argument, its variable and its default. If clap does not know the last two, they are
/// in brackets at the end of the help.
fn describe(arg: &Arg) -> Described {
    let takes_values = arg.get_action().takes_values();
    // The details are a paragraph of their own.
    let help = arg.get_long_help().or(arg.get_help()).unwrap().to_string();
    let help = help.replace('|', "\\|");
    let (summary, details) = help.split_once("\n\n").unwrap_or((&help, ""));
    let mut parts = summary.split(" [").map(|part| part.trim_end_matches(']'));
    let mut help = parts.next().unwrap().to_owned();
    if !details.is_empty() {
        let _ = write!(help, ". {}", details.replace('\n', " "));
    }
    let bracketed = |name: &str| parts.clone().find_map(|part| part.strip_prefix(name));
    let values = arg.get_possible_values();
    if takes_values && !values.is_empty() {
        let names: Vec<String> =
            values.iter().map(|value| format!("`{}`", value.get_name())).collect();
        let _ = write!(help, ". Values: {}", names.join(", "));
    }
    let variable = arg.get_env().and_then(|name| name.to_str()).or_else(|| bracketed("env: "));
    let variable = variable.map(|name| format!("`{name}`")).unwrap_or_default();
    let known = arg.get_default_values().first().and_then(|value| value.to_str());
    let default = match known.filter(|value| takes_values && !value.is_empty()) {
        Some(value) => format!("`{value}`"),
        None if !takes_values && !variable.is_empty() => "off".to_owned(),
        None => bracketed("default: ").unwrap_or_default().to_owned(),
    };
    Described { variable, default, help }
}
