//! `vidra transcript` and `vidra tracks`.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use clap::ValueEnum;
use vidra::format::clock;
use vidra::{Transcript, TranscriptLine, VideoId, to_srt, to_text, to_vtt};

use super::{Common, Ids, ItemsArgs, Kind, Wanted};
use crate::failure::{Exit, Failure};
use crate::output::{Form, Output, cards, read};
use crate::service::RestRequest;
use crate::values::{at_least_one, length};

#[derive(Debug, clap::Args)]
pub(crate) struct TranscriptArgs {
    #[command(flatten)]
    ids: Ids,

    /// Preferred languages, best first, separated by commas [default: the spoken language]
    #[arg(long, value_name = "CODES")]
    lang: Option<String>,

    /// Let YouTube translate the transcript to this language
    #[arg(long, value_name = "CODE")]
    translate: Option<String>,

    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    format: Format,

    /// Begin each line of text with its time, as a link
    #[arg(long)]
    timestamps: bool,

    /// Stop before the text exceeds this length, and print how to continue
    #[arg(long, value_name = "COUNT", value_parser = at_least_one)]
    max_chars: Option<usize>,

    /// Begin at this time: 90, 1:30 or 90s
    #[arg(long, value_name = "TIME", value_parser = length)]
    start: Option<Duration>,

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
    let form = args.common.output.form();
    args.check(form)?;
    let mut context = args.common.open()?;
    let has_headings = !args.ids.is_one() && args.format == Format::Txt;
    let write = |output: &mut Output, id: &str, body: Bytes| {
        match form {
            Form::Csv => return output.csv(id, &body),
            // Such lines are no longer lines of a transcript.
            _ if args.common.output.fields().is_some() => return output.json(id, &body),
            _ => {}
        }
        let (lines, rest) = args.part(id, read(&body)?)?;
        match form {
            Form::People if has_headings => output.foreign(&format!("# {id}\n"))?,
            Form::People => {}
            _ => {
                let body = serde_json::to_vec(&lines).map_err(|error| error.to_string())?;
                output.json(id, &body)?;
            }
        }
        if form == Form::People {
            output.foreign(&args.written(id, &lines))?;
        }
        if let Some(rest) = rest {
            output.notice(&rest);
        }
        Ok(())
    };
    let (ids, is_one) = (args.ids.all()?, args.ids.is_one());
    let wanted = Wanted::new(Kind::Captions, 0);
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
        if self.common.is_for_list() && (self.start.is_some() || self.max_chars.is_some()) {
            let message = "--start and --max-chars cannot be used with --csv or --fields";
            return Err(Failure::usage(message));
        }
        if form == Form::People && self.format != Format::Txt && !self.ids.is_one() {
            let message = "--format srt, vtt and json work only with one video; for several use vidra transcripts --out DIR";
            return Err(Failure::usage(message));
        }
        Ok(())
    }

    fn request(&self, id: &str) -> RestRequest {
        let is_csv = self.common.output.form() == Form::Csv;
        RestRequest::get("transcript")
            .segment(id)
            .parameter("format", (!is_csv).then_some("json"))
            .parameter("lang", self.lang.as_ref())
            .parameter("translate", self.translate.as_ref())
    }

    /// The lines from `--start` on, within `--max-chars`, and how to continue if lines are left. Fails if no line
    /// begins at `--start` or later.
    fn part(
        &self,
        id: &str,
        mut lines: Transcript,
    ) -> Result<(Transcript, Option<String>), Failure> {
        let start = self.start.unwrap_or_default();
        let last = lines.last().map(|line| line.offset.as_millis());
        lines.retain(|line| u128::from(line.offset.as_millis()) >= start.as_millis());
        if let Some(last) = last.filter(|_| lines.is_empty()) {
            let start = clock(start.as_secs());
            let message =
                format!("nothing is said after {start}: the last line begins at {}", moment(last));
            return Err(Failure::Message(Exit::Missing, message));
        }
        let Some(most) = self.max_chars else { return Ok((lines, None)) };
        let mut chars = 0;
        let fits = lines.iter().take_while(|line| {
            chars += self.line(id, line).chars().count();
            chars <= most
        });
        let count = fits.count();
        let rest = lines.get(count).map(|next| {
            let (all, moment) = (lines.len(), moment(next.offset.as_millis()));
            match count {
                0 => format!("not one line fits into {most} characters: raise --max-chars"),
                _ => format!("{count} of {all} lines; continue with --start {moment}"),
            }
        });
        lines.truncate(count);
        Ok((lines, rest))
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

/// A time with milliseconds, unless it is a whole second.
fn moment(millis: u64) -> String {
    let (seconds, rest) = (clock(millis / 1_000), millis % 1_000);
    if rest == 0 { seconds } else { format!("{seconds}.{rest:03}") }
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
    fn max_chars_truncates_and_start_continues() {
        let part = |flags: &[&str]| {
            let args = args(flags);
            args.written("dQw4w9WgXcQ", &args.part("dQw4w9WgXcQ", lines()).unwrap().0)
        };
        assert_eq!(part(&["--max-chars=19"]), "so nice\nto be here\n");
        assert_eq!(part(&["--max-chars=18"]), "so nice\n");
        assert_eq!(part(&["--start=1:01", "--max-chars=100"]), "to be here\nthank you\n");
        let rest = moment(61_500);
        assert_eq!(part(&[&format!("--start={rest}")]), "to be here\nthank you\n");
    }

    #[test]
    fn users_14_a_start_past_the_end_is_a_failure() {
        for (start, clock) in
            [("2h", "2:00:00"), ("18446744073709551615", "5124095576030431:00:15")]
        {
            let failure = args(&["--start", start]).part("dQw4w9WgXcQ", lines()).unwrap_err();
            let Failure::Message(Exit::Missing, message) = failure else { panic!("{failure:?}") };
            let expected =
                format!("nothing is said after {clock}: the last line begins at 1:02:03");
            assert_eq!(message, expected);
        }
        let nothing = args(&["--start=2h"]).part("dQw4w9WgXcQ", vec![]).unwrap();
        assert_eq!(nothing, (vec![], None), "an empty transcript has no end");
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
    }
}
