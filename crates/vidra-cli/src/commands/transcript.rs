//! `vidra transcript` and `vidra tracks`.

use std::fmt::Write as _;

use bytes::Bytes;
use clap::ValueEnum;
use vidra::format::clock;
use vidra::{Transcript, TranscriptLine, VideoId, to_srt, to_text, to_vtt};

use super::part::{TrackArgs, precise_clock};
use super::{Common, Ids, ItemsArgs, Kind, Wanted};
use crate::failure::Failure;
use crate::output::{Form, Output, cards, read};
use crate::service::RestRequest;
use crate::values::at_least_one;

#[derive(Debug, clap::Args)]
pub(crate) struct TranscriptArgs {
    #[command(flatten)]
    ids: Ids,

    #[command(flatten)]
    track: TrackArgs,

    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    format: Format,

    /// Begin each line of text with its time, as a link
    #[arg(long)]
    timestamps: bool,

    /// Stop before the text exceeds this length, and print how to continue
    #[arg(long, value_name = "COUNT", value_parser = at_least_one)]
    max_chars: Option<usize>,

    #[command(flatten)]
    common: Common,
}

/// The output format of a transcript.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum Format {
    /// Plain text, one caption per line.
    #[default]
    Txt,
    /// SubRip subtitles.
    Srt,
    /// WebVTT subtitles.
    Vtt,
    /// Lines with their times.
    Json,
}

impl Format {
    /// The file name extension.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Txt => "txt",
            Self::Srt => "srt",
            Self::Vtt => "vtt",
            Self::Json => "json",
        }
    }

    pub(super) fn written(self, lines: &[TranscriptLine]) -> String {
        match self {
            Self::Txt => to_text(lines),
            Self::Srt => to_srt(lines),
            Self::Vtt => to_vtt(lines),
            Self::Json => serde_json::to_string(lines).unwrap_or_default() + "\n",
        }
    }
}

pub(super) async fn tracks(args: &ItemsArgs) -> Result<(), Failure> {
    let request = |id: &str| RestRequest::get("transcript").segment(id).segment("tracks");
    args.common.show_each(Wanted::new(Kind::Captions, 0), &args.ids, request, cards::tracks).await
}

pub(super) async fn write(args: &TranscriptArgs) -> Result<(), Failure> {
    args.check(args.common.output.form())?;
    let mut context = args.common.open()?;
    let (ids, is_one) = (args.ids.all()?, args.ids.is_one());
    let wanted = Wanted::new(Kind::Captions, 0);
    let write = |output: &mut Output, id: &str, body: Bytes| args.print(output, id, &body);
    context.each(wanted, &ids, is_one, |id| args.request(id), write).await
}

impl TranscriptArgs {
    /// Rejects flags that exclude each other.
    fn check(&self, form: Form) -> Result<(), Failure> {
        if self.timestamps && (form != Form::People || self.format != Format::Txt) {
            return Err(Failure::usage(
                "--timestamps works only with text: remove --format and --json",
            ));
        }
        if self.max_chars.is_some() && matches!(self.format, Format::Srt | Format::Vtt) {
            return Err(Failure::usage("--max-chars works only with text and JSON"));
        }
        if form != Form::People && self.format != Format::Txt {
            return Err(Failure::usage("--format cannot be used with --json, --ndjson or --csv"));
        }
        if self.common.is_for_list() && self.max_chars.is_some() {
            return Err(Failure::usage("--max-chars cannot be used with --csv or --fields"));
        }
        if form == Form::People && self.format != Format::Txt && !self.ids.is_one() {
            let message = "--format srt, vtt and json work only with one video; for several use vidra transcripts --out DIR";
            return Err(Failure::usage(message));
        }
        self.track.part.check()
    }

    /// Only the service has the line breaks of captions, so that it writes the subtitles.
    fn request(&self, id: &str) -> RestRequest {
        let format = match (self.common.output.form(), self.format) {
            // The header selects it.
            (Form::Csv, _) => None,
            (_, Format::Srt | Format::Vtt) => Some(self.format.extension()),
            (_, Format::Txt | Format::Json) => Some("json"),
        };
        self.track.request(id, None).parameter("format", format)
    }

    /// Prints the answer of the service. Fails if it is a part without captions.
    fn print(&self, output: &mut Output, id: &str, body: &[u8]) -> Result<(), Failure> {
        let form = output.form;
        if let Some(silence) = self.track.part.silence().filter(|_| self.is_empty(form, body)) {
            return Err(silence);
        }
        match (form, self.format) {
            (Form::Csv, _) => return output.csv(id, body),
            // Such lines are no longer lines of a transcript.
            _ if self.common.output.fields().is_some() => return output.json(id, body),
            (_, Format::Srt | Format::Vtt) => {
                return output.foreign(&String::from_utf8_lossy(body));
            }
            _ => {}
        }
        let (lines, rest) = self.limited(id, read(body)?);
        if form == Form::People {
            if self.format == Format::Txt && !self.ids.is_one() {
                output.foreign(&format!("# {id}\n"))?;
            }
            output.foreign(&self.written(id, &lines))?;
        } else {
            let body = serde_json::to_vec(&lines).map_err(|error| error.to_string())?;
            output.json(id, &body)?;
        }
        if let Some(rest) = rest {
            output.notice(&rest);
        }
        Ok(())
    }

    /// Whether an answer has no captions.
    fn is_empty(&self, form: Form, body: &[u8]) -> bool {
        match (form, self.format) {
            (Form::Csv, _) => body.iter().filter(|byte| **byte == b'\n').count() <= 1,
            (_, format @ (Format::Srt | Format::Vtt)) => body == format.written(&[]).as_bytes(),
            _ => body == b"[]",
        }
    }

    /// The lines within `--max-chars`, and how to continue if lines are left.
    fn limited(&self, id: &str, mut lines: Transcript) -> (Transcript, Option<String>) {
        let Some(most) = self.max_chars else { return (lines, None) };
        let mut chars = 0;
        let fits = lines.iter().take_while(|line| {
            chars += self.line(id, line).chars().count();
            chars <= most
        });
        let count = fits.count();
        let rest = lines.get(count).map(|next| {
            let (all, start) = (lines.len(), precise_clock(next.offset));
            match count {
                0 => format!("not one line fits into {most} characters: raise --max-chars"),
                _ => format!("{count} of {all} lines; continue with --start {start}"),
            }
        });
        lines.truncate(count);
        (lines, rest)
    }

    fn written(&self, id: &str, lines: &[TranscriptLine]) -> String {
        match self.format {
            Format::Txt => lines.iter().map(|line| self.line(id, line)).collect(),
            format => format.written(lines),
        }
    }

    /// A line of text.
    fn line(&self, id: &str, line: &TranscriptLine) -> String {
        let mut text = String::new();
        if self.timestamps {
            let seconds = line.offset.as_millis() / 1_000;
            let video = VideoId::parse(id).map(|id| id.to_string()).unwrap_or_default();
            let _ = write!(text, "[{}](https://youtu.be/{video}?t={seconds}) ", clock(seconds));
        }
        text + &to_text(std::slice::from_ref(line))
    }
}

#[cfg(test)]
mod tests {
    use vidra::Cue;

    use super::super::parsed;
    use super::*;

    fn args(flags: &[&str]) -> TranscriptArgs {
        parsed(&[&["transcript", "dQw4w9WgXcQ"], flags].concat())
    }

    fn lines() -> Transcript {
        let line = |text: &str, start| {
            let cue = Cue::new(start, 1_000, text);
            TranscriptLine::new(cue, &"en".into())
        };
        vec![line("so nice", 900), line("to be\nhere", 61_500), line("thank you", 3_723_000)]
    }

    #[test]
    fn timestamps_are_rendered_as_links() {
        let args = args(&["--timestamps"]);
        let text = args.written("https://youtu.be/dQw4w9WgXcQ", &lines());
        let expected = "[0:00](https://youtu.be/dQw4w9WgXcQ?t=0) so nice\n\
             [1:01](https://youtu.be/dQw4w9WgXcQ?t=61) to be here\n\
             [1:02:03](https://youtu.be/dQw4w9WgXcQ?t=3723) thank you\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn max_chars_truncates_and_names_the_next_start() {
        let part = |flags: &[&str]| {
            let args = args(flags);
            let (lines, rest) = args.limited("dQw4w9WgXcQ", lines());
            (args.written("dQw4w9WgXcQ", &lines), rest.unwrap_or_default())
        };
        let table = [
            ("--max-chars=19", "so nice\nto be here\n", "continue with --start 1:02:03"),
            ("--max-chars=18", "so nice\n", "1 of 3 lines; continue with --start 1:01.500"),
            ("--max-chars=3", "", "not one line fits into 3 characters: raise --max-chars"),
            ("--max-chars=100", "so nice\nto be here\nthank you\n", ""),
        ];
        for (flag, text, rest) in table {
            let (written, hint) = part(&[flag]);
            assert_eq!(written, text, "{flag}");
            assert!(hint.ends_with(rest) && hint.is_empty() == rest.is_empty(), "{flag}: {hint}");
        }
    }

    #[test]
    fn an_answer_without_captions_is_recognised_in_every_format() {
        for (flags, form, empty) in [
            (&[][..], Form::People, "[]"),
            (&["--format=srt"], Form::People, ""),
            (&["--format=vtt"], Form::People, "WEBVTT\n"),
            (&["--csv"], Form::Csv, "text,duration,offset,lang\r\n"),
        ] {
            let args = args(flags);
            assert!(args.is_empty(form, empty.as_bytes()), "{flags:?}");
            let full = format!("{empty}more\n");
            assert!(!args.is_empty(form, full.as_bytes()), "{flags:?}");
        }
    }

    #[test]
    fn conflicting_flags_are_rejected() {
        assert!(args(&["--timestamps"]).check(Form::People).is_ok());
        assert!(args(&["--timestamps"]).check(Form::Json).is_err());
        assert!(args(&["--timestamps", "--format=srt"]).check(Form::People).is_err());
        assert!(args(&["--format=srt"]).check(Form::Ndjson).is_err());
        assert!(args(&["--format=srt", "--max-chars=9"]).check(Form::People).is_err());
        assert!(args(&["--format=srt", "aaaaaaaaaaa"]).check(Form::People).is_err());
        assert!(args(&["aaaaaaaaaaa"]).check(Form::People).is_ok());
        assert!(args(&["--start=9", "--csv"]).check(Form::Csv).is_ok(), "the service cuts");
        assert!(args(&["--max-chars=9", "--csv"]).check(Form::Csv).is_err());
    }
}
