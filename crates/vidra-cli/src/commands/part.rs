//! Flags that choose the captions of a video, and a part of it.

use vidra::format::clock;
use vidra::{CaptionKind, Seconds, TimeRange};

use crate::failure::{Exit, Failure};
use crate::service::RestRequest;
use crate::values::{moment, words_of};

/// The kind of captions, and a part of the video.
#[derive(Debug, clap::Args)]
pub(crate) struct PartArgs {
    /// Only captions by people, or only recognised speech [default: both, people first]
    #[arg(long, value_name = "KIND", value_parser = words_of(CaptionKind::ALL))]
    pub(super) captions: Option<String>,

    /// Begin at this time: 90, 1:30 or 90s
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(super) start: Option<Seconds>,

    /// End at this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(super) end: Option<Seconds>,
}

/// The track of one transcript, and a part of the video.
#[derive(Debug, clap::Args)]
pub(crate) struct TrackArgs {
    /// Preferred languages, best first, separated by commas [default: the spoken language]
    #[arg(long, value_name = "CODES")]
    lang: Option<String>,

    /// Let YouTube translate the transcript to this language
    #[arg(long, value_name = "CODE")]
    translate: Option<String>,

    #[command(flatten)]
    pub(super) part: PartArgs,
}

impl PartArgs {
    /// Rejects a part that ends before it begins.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let range = TimeRange::new(self.start, self.end);
        range.map(drop).map_err(|_| Failure::usage("--end must be after --start"))
    }

    /// The failure of a part without captions. `None` if the command requests the whole video, which may have none.
    pub(super) fn silence(&self) -> Option<Failure> {
        let part = match (self.start.map(precise_clock), self.end.map(precise_clock)) {
            (None, None) => return None,
            (Some(start), None) => format!("after {start}"),
            (None, Some(end)) => format!("before {end}"),
            (Some(start), Some(end)) => format!("from {start} to {end}"),
        };
        Some(Failure::Message(Exit::Missing, format!("nothing is said {part}")))
    }
}

impl TrackArgs {
    /// `GET /api/transcript/{id}`, or the form of it that `form` names.
    pub(super) fn request(&self, id: &str, form: Option<&str>) -> RestRequest {
        let request = RestRequest::get("transcript").segment(id);
        let request = form.map_or(request.clone(), |form| request.segment(form));
        let PartArgs { captions, start, end } = &self.part;
        request
            .parameter("lang", self.lang.as_ref())
            .parameter("translate", self.translate.as_ref())
            .parameter("captions", captions.as_ref())
            .parameter("start", *start)
            .parameter("end", *end)
    }
}

/// A time with milliseconds, unless it is a whole second.
pub(super) fn precise_clock(time: Seconds) -> String {
    let (seconds, rest) = (clock(time.as_millis() / 1_000), time.as_millis() % 1_000);
    if rest == 0 { seconds } else { format!("{seconds}.{rest:03}") }
}

#[cfg(test)]
mod tests {
    use super::super::parsed;
    use super::*;

    fn part(flags: &[&str]) -> PartArgs {
        parsed(&[&["transcript"], flags].concat())
    }

    #[test]
    fn a_part_has_a_beginning_and_an_end() {
        assert!(part(&["--start=1:30", "--end=2m"]).check().is_ok());
        assert!(part(&["--end=0.5"]).check().is_ok());
        assert!(part(&["--start=90", "--end=1:30"]).check().is_err());
    }

    #[test]
    fn users_14_silence_names_the_part() {
        let table = [
            (&["--start=2h"][..], "nothing is said after 2:00:00"),
            (&["--end=0.25"], "nothing is said before 0:00.250"),
            (&["--start=1:30", "--end=100"], "nothing is said from 1:30 to 1:40"),
        ];
        for (flags, expected) in table {
            let Some(Failure::Message(Exit::Missing, message)) = part(flags).silence() else {
                panic!("{flags:?}")
            };
            assert_eq!(message, expected);
        }
        assert!(part(&[]).silence().is_none(), "a whole transcript may be empty");
    }
}
