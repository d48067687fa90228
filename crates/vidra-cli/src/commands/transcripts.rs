//! `vidra transcripts`: the transcripts of a playlist, of a channel or of a list of videos, into a folder or to
//! standard output.

mod batch;
mod contents;
mod fill;
mod folder;
mod name;
mod part_file;
mod print;
mod source;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use vidra::{Error, VideoId, VideoTranscript};

use self::contents::Contents;
use self::fill::Filling;
use self::folder::Folder;
use self::print::print;
use self::source::Source;
use super::part::PartArgs;
use super::transcript::Format;
use super::{CommandContext, Common, Ids};
use crate::database::DatabaseArgs;
use crate::failure::{FailedItem, Failure, FailureGroups, ItemKind};
use crate::output::Form;
use crate::service::Service;
use crate::signals::Signals;
use crate::values::{count_in, date};

#[derive(Debug, clap::Args)]
#[command(mut_arg("ids", |it| it.required_unless_present_any(["ids_file", "job"])))]
pub(crate) struct TranscriptsArgs {
    #[command(flatten)]
    ids: Ids,

    /// Write the results of this job so far; fetches nothing
    #[arg(
        long,
        value_name = "JOB",
        requires = "out",
        conflicts_with_all = ["ids", "ids_file", "lang", "translate", "captions", "start", "end", "since", "from", "to"]
    )]
    job: Option<String>,

    #[command(flatten)]
    database: DatabaseArgs,

    /// Write one file per video and format into this folder
    ///
    /// Existing files are not fetched again
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Output formats, separated by commas
    #[arg(
        long,
        short,
        value_enum,
        value_delimiter = ',',
        default_value = "txt",
        requires = "out",
        value_name = "FORMATS"
    )]
    format: Vec<Format>,

    /// Preferred languages, best first, separated by commas [default: the spoken language]
    ///
    /// Repeat the flag for transcripts in several languages, each in a folder of its own below --out
    #[arg(long, value_name = "CODES")]
    lang: Vec<String>,

    /// Let YouTube translate the transcripts to this language
    ///
    /// Repeat the flag for several languages, each in a folder of its own below --out
    #[arg(long, value_name = "CODE")]
    translate: Vec<String>,

    #[command(flatten)]
    part: PartArgs,

    /// Number of concurrent fetches
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = count_in::<u32>(1..=20))]
    concurrency: u32,

    /// First position in the playlist or list, from 1
    #[arg(long, value_name = "POSITION", value_parser = count_in::<u64>(1..=u64::MAX))]
    from: Option<u64>,

    /// Last position in the playlist or list
    #[arg(long, value_name = "POSITION", value_parser = count_in::<u64>(1..=u64::MAX))]
    to: Option<u64>,

    /// Only videos of a playlist or channel of this day or time or later; days are in UTC
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<String>,

    /// Also retry permanent failures
    ///
    /// Private videos, and videos without captions, are such failures
    #[arg(long, requires = "out")]
    retry_failed: bool,

    #[command(flatten)]
    common: Common,
}

/// The languages of one run through the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Language<'a> {
    /// The preferred languages.
    lang: Option<&'a str>,
    translate: Option<&'a str>,
}

impl Language<'_> {
    /// The name of its folder, if there are several.
    fn folder(self) -> String {
        let lang = self.lang.map(|lang| lang.replace(['/', '\\'], "_"));
        let translate = self.translate.map(|lang| format!("to-{}", lang.replace(['/', '\\'], "_")));
        [lang, translate].into_iter().flatten().collect::<Vec<_>>().join("-")
    }
}

pub(super) async fn write(args: &TranscriptsArgs) -> Result<(), Failure> {
    if args.from.zip(args.to).is_some_and(|(from, to)| from > to) {
        return Err(Failure::usage("--from is greater than --to"));
    }
    args.part.check()?;
    let languages = args.languages();
    args.common.reject_list_flags("--format, --jq, or vidra transcript")?;
    if args.out.is_none() && languages.len() > 1 {
        return Err(Failure::usage(
            "several --lang or --translate need --out: each gets a folder there",
        ));
    }
    let mut context = match args.job {
        Some(_) => args.common.open_with_library(&args.database).await?,
        None => args.common.open()?,
    };
    let done = args.run(&languages, &mut context).await;
    context.end(done).await
}

impl TranscriptsArgs {
    /// One run for each combination of `--lang` and `--translate`.
    fn languages(&self) -> Vec<Language<'_>> {
        fn given(flags: &[String]) -> Vec<Option<&str>> {
            if flags.is_empty() { vec![None] } else { flags.iter().map(|it| Some(&**it)).collect() }
        }
        let translations = given(&self.translate);
        let of_lang = |lang| {
            translations.iter().map(move |translate| Language { lang, translate: *translate })
        };
        given(&self.lang).into_iter().flat_map(of_lang).collect()
    }

    /// Finds the source and fetches its transcripts.
    async fn run(
        &self,
        languages: &[Language<'_>],
        context: &mut CommandContext,
    ) -> Result<(), Failure> {
        let source = Source::find(self, context).await?;
        let invalid = source.invalid_ids();
        invalid.print(ItemKind::Id);
        match &self.out {
            None => print(self, languages[0], &source, context).await,
            Some(out) => self.fill_folders(out, languages, &source, invalid, context).await,
        }
    }

    /// Fills a folder for each language, one after the other. `failures` are those of invalid ids.
    async fn fill_folders(
        &self,
        out: &Path,
        languages: &[Language<'_>],
        source: &Source,
        mut failures: FailureGroups,
        context: &mut CommandContext,
    ) -> Result<(), Failure> {
        let signals = Signals::listen()?;
        let mut has_transcripts = false;
        for language in languages {
            let path =
                if languages.len() > 1 { out.join(language.folder()) } else { out.to_owned() };
            let contents = Contents::new(source, *language, &self.part);
            let formats: BTreeSet<Format> = self.format.iter().copied().collect();
            let mut folder = Folder::open(&path, &contents, formats)?;
            let mut of_folder = FailureGroups::default();
            let filling = Filling::new(self, *language, context, &mut folder, &mut of_folder);
            let done = filling.run(source, &signals).await;
            let written = folder.write_manifest();
            let done = done.and_then(|results| written.map(|()| results));
            of_folder.print(ItemKind::Entry);
            failures.join(of_folder);
            let results = done.as_ref().copied().ok();
            match context.output.form {
                Form::People => context.output.foreign(&folder.summary(results))?,
                _ => context.output.document(&folder.manifest())?,
            }
            done?;
            has_transcripts |= folder.has_transcripts();
        }
        let exit = failures.exit(has_transcripts);
        exit.map_or(Ok(()), |exit| Err(Failure::Reported(exit)))
    }
}

/// A result of a batch that failed with `error`.
fn failed_item(service: &Service, result: &VideoTranscript, error: &Error) -> FailedItem {
    let VideoTranscript { position, video_id, title, .. } = result;
    let why = error.message();
    let title = if title.is_empty() { "entry" } else { title };
    let video_id = video_id.as_ref().map_or("", VideoId::as_str);
    let name = format!("{position}. {title} [{video_id}]");
    let advice = service.advice(error.reason());
    let message = [Some(why), advice].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let (reason, retry_after) = (Some(error.reason()), error.retry_after());
    FailedItem { label: position.to_string(), name, message, reason, retry_after }
}

/// The advice after an interruption.
const REPEAT: &str = "run the same command again for the rest";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_15_each_combination_of_languages_has_a_folder() {
        let language = |lang, translate| Language { lang, translate };
        let table = [
            (language(Some("de"), None), "de"),
            (language(Some("de,en"), None), "de,en"),
            (language(None, Some("fr")), "to-fr"),
            (language(Some("../x"), Some("fr")), ".._x-to-fr"),
        ];
        for (language, folder) in table {
            assert_eq!(language.folder(), folder);
        }
    }
}
