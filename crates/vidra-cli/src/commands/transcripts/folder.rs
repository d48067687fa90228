//! A folder of transcripts: a file for each video and format, and a manifest that says what is there and
//! what is not. The files are the truth; the manifest is written anew at the beginning and at the end.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;
use vidra::{PlaylistId, VideoId, VideoTranscript};

use super::super::transcript::Format;
use crate::failure::{Exit, Failure};

/// What the folder holds.
const MANIFEST: &str = "manifest.json";

/// What is being written has such a name until it is whole.
const PART: &str = ".part";

/// The most bytes of a title in a name: with id, language and ending it stays below the 255 that file
/// systems allow.
const MOST_OF_TITLE: usize = 180;

/// Reasons that do not pass by themselves: such a video is not tried again unless that is asked for.
const FOR_GOOD: [&str; 8] = [
    "video_unavailable",
    "video_private",
    "captions_disabled",
    "language_unavailable",
    "age_restricted",
    "region_blocked",
    "members_only",
    "unplayable",
];

/// An open folder.
pub(super) struct Folder {
    path: PathBuf,
    formats: BTreeSet<Format>,
    manifest: Manifest,
}

/// What is there, and what is not.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    playlist_id: String,
    /// The languages that were asked for; empty for what is spoken.
    lang: String,
    /// How many entries the playlist has.
    total_videos: u64,
    succeeded: usize,
    failed: usize,
    videos: Vec<Saved>,
}

/// A video in the manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Saved {
    position: u64,
    pub(super) video_id: String,
    pub(super) title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    lang: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    files: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

impl Folder {
    /// Opens the folder, or makes it. It is for one playlist and one choice of languages.
    pub(super) fn open(
        path: &Path,
        playlist: &PlaylistId,
        lang: Option<&str>,
        formats: BTreeSet<Format>,
    ) -> Result<Self, Failure> {
        let shown = path.display();
        fs::create_dir_all(path).map_err(|error| format!("cannot make {shown}: {error}"))?;
        let lang = lang.unwrap_or_default();
        let manifest = match fs::read(path.join(MANIFEST)) {
            Ok(json) => serde_json::from_slice(&json).map_err(|_| {
                format!("{shown}/{MANIFEST} is not one of ours: take another folder")
            })?,
            Err(_) => Manifest {
                playlist_id: playlist.to_string(),
                lang: lang.to_owned(),
                total_videos: 0,
                succeeded: 0,
                failed: 0,
                videos: vec![],
            },
        };
        if manifest.playlist_id != playlist.as_str() || manifest.lang != lang {
            let Manifest { playlist_id, lang, .. } = manifest;
            let how =
                if lang.is_empty() { "no --lang".to_owned() } else { format!("--lang {lang}") };
            let message =
                format!("{shown} is for {playlist_id} with {how}: take another folder for another");
            return Err(Failure::usage(message));
        }
        let mut folder = Self { path: path.to_owned(), formats, manifest };
        folder.look()?;
        Ok(folder)
    }

    /// Brings the manifest in line with what is there, and takes away what was left half written.
    fn look(&mut self) -> Result<(), Failure> {
        let mut there: HashMap<String, BTreeSet<String>> = HashMap::new();
        let entries = fs::read_dir(&self.path).map_err(|error| self.trouble("read", &error))?;
        for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
            if name.ends_with(PART) && name.starts_with('.') {
                let _ = fs::remove_file(self.path.join(name));
            } else if let Some(id) = video_of(&name) {
                there.entry(id.to_owned()).or_default().insert(name);
            }
        }
        for saved in &mut self.manifest.videos {
            saved.files = there.remove(&saved.video_id).unwrap_or_default();
        }
        // What a run that was killed has written.
        for (video_id, files) in there {
            let title = files.first().and_then(|name| name.split(" [").next());
            let title = title.unwrap_or_default().to_owned();
            let saved = Saved { position: 0, video_id, title, lang: None, files, error: None };
            self.manifest.videos.push(saved);
        }
        Ok(())
    }

    /// Videos that are not asked for: all their files are there, or there will be none.
    pub(super) fn known(&self, retry_failed: bool) -> HashSet<String> {
        let is_known = |saved: &&Saved| match &saved.error {
            Some(error) => !retry_failed && is_for_good(error),
            None => self.formats.iter().all(|format| {
                let ending = format!(".{}", format.extension());
                saved.files.iter().any(|name| name.ends_with(&ending))
            }),
        };
        self.manifest.videos.iter().filter(is_known).map(|saved| saved.video_id.clone()).collect()
    }

    /// Writes what came of a video.
    pub(super) fn save(&mut self, result: VideoTranscript) -> Result<(), Failure> {
        let VideoTranscript { video_id, title, position, lines, error, .. } = result;
        let lang =
            lines.as_deref().and_then(|lines| lines.first()).map(|line| line.lang.to_string());
        let mut files = BTreeSet::new();
        if let Some(lines) = &lines {
            let stem = file_stem(&title, &video_id, lang.as_deref());
            for format in &self.formats {
                let name = format!("{stem}.{}", format.extension());
                self.write(&name, format.written(lines).as_bytes())?;
                files.insert(name);
            }
        }
        let is_same = |saved: &Saved| match video_id.as_str() {
            "" => saved.video_id.is_empty() && saved.position == position,
            id => saved.video_id == id,
        };
        let videos = &mut self.manifest.videos;
        let before = videos.iter().position(is_same).map(|index| videos.swap_remove(index));
        // In formats that were not asked for this time.
        files.extend(before.into_iter().flat_map(|saved| saved.files));
        videos.push(Saved { position, video_id, title, lang, files, error });
        Ok(())
    }

    /// Notes how many entries the playlist has.
    pub(super) fn total(&mut self, total: u64) {
        self.manifest.total_videos = total;
    }

    pub(super) fn failed(&self) -> impl Iterator<Item = &Saved> {
        self.manifest.videos.iter().filter(|saved| saved.error.is_some())
    }

    pub(super) fn write_manifest(&mut self) -> Result<(), Failure> {
        let failed = self.failed().count();
        let manifest = &mut self.manifest;
        manifest.videos.sort_by_key(|saved| saved.position);
        (manifest.failed, manifest.succeeded) = (failed, manifest.videos.len() - failed);
        self.write(MANIFEST, &self.manifest())
    }

    /// The manifest as JSON.
    pub(super) fn manifest(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(&self.manifest).unwrap_or_default()
    }

    /// What is there in the end, of which so many were asked for now.
    pub(super) fn summary(&self, asked: usize) -> String {
        let Manifest { succeeded, failed, .. } = self.manifest;
        let what = if asked == 0 { "nothing was missing" } else { "done" };
        format!("{what}: {succeeded} transcripts and {failed} failed in {}\n", self.path.display())
    }

    /// Whole or not at all: a file has its name only once it is written.
    fn write(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        // Of its own, short enough whatever the name is.
        let part = self.path.join(format!(".vidra-{}{PART}", std::process::id()));
        let written = fs::File::create(&part)
            .and_then(|mut file| file.write_all(content))
            .and_then(|()| fs::rename(&part, self.path.join(name)));
        written.map_err(|error| {
            let _ = fs::remove_file(&part);
            self.trouble("write to", &error)
        })
    }

    fn trouble(&self, what: &str, error: &std::io::Error) -> Failure {
        Failure::Because(Exit::Missing, format!("cannot {what} {}: {error}", self.path.display()))
    }
}

/// The machine's word stands in brackets at the end.
fn is_for_good(error: &str) -> bool {
    let word = error.rsplit_once('(').and_then(|(_, word)| word.strip_suffix(')'));
    word.is_some_and(|word| FOR_GOOD.contains(&word))
}

/// The video that a file's name tells.
fn video_of(name: &str) -> Option<&str> {
    let (stem, ending) = name.rsplit_once('.')?;
    let is_ours = |format: &Format| format.extension() == ending;
    let (_, rest) = stem.rsplit_once('[')?;
    let (id, _) = rest.split_once(']')?;
    let is_id = VideoId::parse(id).is_ok_and(|parsed| parsed.as_str() == id);
    (is_id && Format::value_variants().iter().any(is_ours)).then_some(id)
}

/// `Title [id].lang`: readable, and safe on every file system.
fn file_stem(title: &str, id: &str, lang: Option<&str>) -> String {
    let is_risky = |c: char| {
        c.is_control()
            || matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' | '[' | ']')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let safe: String = title.chars().map(|c| if is_risky(c) { ' ' } else { c }).collect();
    let words = safe.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut name = String::new();
    // Dots and hyphens at the beginning would hide a file, or make a flag of it.
    for grapheme in words.trim_start_matches(['.', '-', ' ']).graphemes(true) {
        if name.len() + grapheme.len() > MOST_OF_TITLE {
            break;
        }
        name += grapheme;
    }
    let name = name.trim_end();
    let space = if name.is_empty() { "" } else { " " };
    let is_code =
        |lang: &&str| lang.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let lang = lang.filter(is_code).map(|lang| format!(".{lang}")).unwrap_or_default();
    format!("{name}{space}[{id}]{lang}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable_and_safe() {
        let id = "dQw4w9WgXcQ";
        let table = [
            ("Saudade em Três – full session", "Saudade em Três – full session [dQw4w9WgXcQ].en"),
            ("../../etc/passwd", "etc passwd [dQw4w9WgXcQ].en"),
            ("AC/DC: \"Live\" <1991>?", "AC DC Live 1991 [dQw4w9WgXcQ].en"),
            ("[Official] a\u{202e}b\n", "Official a b [dQw4w9WgXcQ].en"),
            (".-hidden", "hidden [dQw4w9WgXcQ].en"),
            ("", "[dQw4w9WgXcQ].en"),
        ];
        for (title, stem) in table {
            assert_eq!(file_stem(title, id, Some("en")), stem, "{title}");
        }
        assert_eq!(file_stem("a", id, Some("../x")), "a [dQw4w9WgXcQ]");
        let long = file_stem(&"二胡🎻".repeat(100), id, Some("zh-Hans"));
        assert!(long.len() < 220 && long.contains("二胡🎻 ["), "{long}");
    }

    #[test]
    fn failures_for_good_are_told_by_their_word() {
        assert!(is_for_good("Video has no captions: dQw4w9WgXcQ (captions_disabled)"));
        assert!(!is_for_good("YouTube blocks requests from this address (blocked)"));
        assert!(!is_for_good("captions_disabled"));
    }

    #[test]
    fn the_files_are_the_truth_and_halves_are_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        let playlist = PlaylistId::parse("PLa").unwrap();
        let open = |formats: &[Format]| {
            Folder::open(dir.path(), &playlist, None, formats.iter().copied().collect()).unwrap()
        };
        for name in
            ["A [1 [dQw4w9WgXcQ].en.srt", "B [aaaaaaaaaaa].srt", "notes.srt", ".vidra-1.part"]
        {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let srt = open(&[Format::Srt]).known(false);
        assert_eq!(srt, HashSet::from(["dQw4w9WgXcQ".to_owned(), "aaaaaaaaaaa".to_owned()]));
        assert!(!dir.path().join(".vidra-1.part").exists());
        assert!(open(&[Format::Srt, Format::Vtt]).known(false).is_empty());
    }

    #[test]
    fn a_folder_is_for_one_playlist_and_one_choice_of_languages() {
        let dir = tempfile::tempdir().unwrap();
        let open = |id: &str, lang| {
            let id = PlaylistId::parse(id).unwrap();
            Folder::open(dir.path(), &id, lang, BTreeSet::from([Format::Txt]))
        };
        open("PLa", Some("de")).unwrap().write_manifest().unwrap();
        assert!(open("PLa", Some("de")).is_ok());
        assert!(open("PLa", None).is_err() && open("PLb", Some("de")).is_err());
    }
}
