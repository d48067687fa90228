//! A folder of transcripts: one file per video and format, and a manifest of results and failures. The files
//! are authoritative; the manifest is rewritten at the start, during the run and at the end.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use vidra::{Error, ErrorKind, Reason, VideoId, VideoTranscript};

use super::super::transcript::Format;
use super::contents::Contents;
use super::fill::Known;
use super::name::{file_stem, language_of, video_of};
use super::part_file::{self, OURS, PART};
use crate::failure::{Exit, Failure};

/// The name of the manifest.
const MANIFEST: &str = "manifest.json";

/// The manifest is rewritten after so many videos, so that failures are known also after a run was killed.
const BETWEEN_MANIFESTS: usize = 50;

/// An open folder.
pub(super) struct Folder {
    path: PathBuf,
    formats: BTreeSet<Format>,
    manifest: Manifest,
    /// How many results arrived since the manifest was written.
    unwritten: usize,
    /// The folder itself, locked during the run.
    _lock: fs::File,
}

/// The manifest of a folder.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    #[serde(flatten)]
    contents: Contents,
    /// How many entries the playlist or list has.
    total_videos: u64,
    succeeded: usize,
    failed: usize,
    videos: Vec<Saved>,
}

/// A video in the manifest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Saved {
    /// 0 if it is unknown.
    position: u64,
    video_id: String,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    lang: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    files: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The code of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Whether it failed in this run.
    #[serde(skip)]
    failed_now: bool,
}

impl Folder {
    /// Opens or creates the folder. It belongs to one playlist, one choice of languages and one part of each video.
    pub(super) fn open(
        path: &Path,
        contents: &Contents,
        formats: BTreeSet<Format>,
    ) -> Result<Self, Failure> {
        let shown = path.display();
        fs::create_dir_all(path).map_err(|error| format!("cannot create {shown}: {error}"))?;
        let lock = fs::File::open(path).map_err(|error| format!("cannot open {shown}: {error}"))?;
        if let Err(fs::TryLockError::WouldBlock) = lock.try_lock() {
            return Err(Failure::usage(format!("{shown} is in use by another run")));
        }
        let manifest: Manifest = match fs::read(path.join(MANIFEST)) {
            Ok(json) => serde_json::from_slice(&json).map_err(|_| {
                format!("{shown}/{MANIFEST} was not written by vidra: use a different folder")
            })?,
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Failure::usage(format!("cannot read {shown}/{MANIFEST}: {error}")));
            }
            Err(_) => Manifest { contents: contents.clone(), ..Manifest::default() },
        };
        if manifest.contents != *contents {
            let described = manifest.contents.described();
            let message =
                format!("{shown} holds the transcripts of {described}: use a different folder");
            return Err(Failure::usage(message));
        }
        let path = path.to_owned();
        let mut folder = Self { path, formats, manifest, unwritten: 0, _lock: lock };
        folder.look()?;
        Ok(folder)
    }

    /// Updates the manifest from the files, and deletes incomplete files.
    fn look(&mut self) -> Result<(), Failure> {
        // Sorted, because new files enter the manifest in this order.
        let mut there: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let entries = fs::read_dir(&self.path).map_err(|error| self.trouble("read", &error))?;
        for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
            if name.starts_with(OURS) && name.ends_with(PART) {
                let _ = fs::remove_file(self.path.join(name));
            } else if let Some(id) = video_of(&name) {
                there.entry(id.to_owned()).or_default().insert(name);
            }
        }
        if self.manifest.contents.is_list() {
            // Invalid ids of an earlier list. Those of this run are recorded again.
            self.manifest.videos.retain(|saved| !saved.video_id.is_empty());
        }
        for saved in &mut self.manifest.videos {
            saved.files = there.remove(&saved.video_id).unwrap_or_default();
        }
        // Files of a run that was killed before it wrote the manifest.
        for (video_id, files) in there {
            let title = files.first().and_then(|name| name.split(" [").next());
            let title = title.unwrap_or_default().to_owned();
            let lang = files.first().and_then(|name| language_of(name)).map(str::to_owned);
            self.manifest.videos.push(Saved { video_id, title, lang, files, ..Saved::default() });
        }
        Ok(())
    }

    /// Videos that need no fetch: they have all their files, or failed permanently.
    pub(super) fn known(&self, retry_failed: bool) -> Vec<Known> {
        let is_known = |saved: &&Saved| {
            let has = |format: &Format| {
                let ending = format!(".{}", format.extension());
                saved.files.iter().any(|name| name.ends_with(&ending))
            };
            let is_hopeless = || saved.reason.as_deref().is_some_and(is_lasting);
            self.formats.iter().all(has) || (!retry_failed && is_hopeless())
        };
        let known = self.manifest.videos.iter().filter(is_known);
        known
            .filter_map(|saved| Some((saved.position, VideoId::parse(&saved.video_id).ok()?)))
            .collect()
    }

    /// Records the current positions of videos in the playlist.
    pub(super) fn set_positions(&mut self, ids: &[VideoId]) {
        self.manifest.total_videos = self.manifest.total_videos.max(ids.len() as u64);
        let known: Vec<Known> = (1..).zip(ids.iter().copied()).collect();
        self.set_known_positions(&known);
    }

    /// Records the current positions of these videos.
    pub(super) fn set_known_positions(&mut self, known: &[Known]) {
        let mut positions: HashMap<&str, u64> = HashMap::new();
        for (position, id) in known {
            positions.entry(id.as_str()).or_insert(*position);
        }
        for saved in &mut self.manifest.videos {
            saved.position = positions.get(&*saved.video_id).copied().unwrap_or(saved.position);
        }
    }

    /// Writes the files of a result, or records its failure.
    pub(super) fn save(&mut self, result: VideoTranscript) -> Result<(), Failure> {
        let VideoTranscript { video_id, title, position, transcript, .. } = result;
        let video_id = video_id.map(|id| id.to_string()).unwrap_or_default();
        let first_line = transcript.as_ref().ok().and_then(|it| it.lines().first());
        let mut lang = first_line.map(|line| line.lang.to_string());
        let mut files = BTreeSet::new();
        if let Ok(transcript) = &transcript {
            let stem = file_stem(&title, &video_id, lang.as_deref());
            for format in &self.formats {
                let name = format!("{stem}.{}", format.extension());
                self.write(&name, format.written(transcript.lines()).as_bytes())?;
                files.insert(name);
            }
        }
        let is_same = |saved: &Saved| match video_id.as_str() {
            "" => saved.video_id.is_empty() && saved.position == position,
            id => saved.video_id == id,
        };
        let videos = &mut self.manifest.videos;
        let before = videos.iter().position(is_same).map(|index| videos.swap_remove(index));
        // Files in formats of earlier runs.
        if let Some(before) = before {
            files.extend(before.files);
            lang = lang.or(before.lang);
        }
        let error = transcript.err();
        let (reason, failed_now) = (error.as_ref().map(Error::reason), error.is_some());
        let reason = reason.map(|reason| reason.code().to_owned());
        let error = error.map(|error| error.to_string());
        videos.push(Saved { position, video_id, title, lang, files, error, reason, failed_now });
        self.unwritten += 1;
        if self.unwritten >= BETWEEN_MANIFESTS { self.write_manifest() } else { Ok(()) }
    }

    /// Records how many entries the playlist has.
    pub(super) fn total(&mut self, total: u64) {
        self.manifest.total_videos = total;
    }

    /// Whether the folder holds a transcript, of this run or an earlier one.
    pub(super) fn has_transcripts(&self) -> bool {
        self.manifest.videos.iter().any(|saved| saved.error.is_none())
    }

    pub(super) fn write_manifest(&mut self) -> Result<(), Failure> {
        self.unwritten = 0;
        let manifest = &mut self.manifest;
        let failed = manifest.videos.iter().filter(|saved| saved.error.is_some()).count();
        manifest.videos.sort_by_key(|saved| saved.position);
        (manifest.failed, manifest.succeeded) = (failed, manifest.videos.len() - failed);
        let json = serde_json::to_vec_pretty(&self.manifest).unwrap_or_default();
        self.write(MANIFEST, &json)
    }

    /// The manifest as JSON on one line.
    pub(super) fn manifest(&self) -> Vec<u8> {
        serde_json::to_vec(&self.manifest).unwrap_or_default()
    }

    /// The summary for people. `results` is the number of results of this run; `None` for a run that did not
    /// finish.
    pub(super) fn summary(&self, results: Option<usize>) -> String {
        let Manifest { succeeded, failed, .. } = self.manifest;
        let has_failed_now = self.manifest.videos.iter().any(|saved| saved.failed_now);
        let what = match results {
            None => "",
            Some(0) if failed == 0 => "nothing was missing: ",
            Some(0) if !has_failed_now => "nothing new to fetch: ",
            Some(_) => "done: ",
        };
        let earlier = self.manifest.videos.iter().filter(|it| it.error.is_some() && !it.failed_now);
        let earlier = earlier.count();
        let hint = match earlier {
            0 => String::new(),
            _ => format!("; {earlier} of them earlier, which --retry-failed tries again"),
        };
        let folder = self.path.display();
        format!("{what}{succeeded} transcripts in {folder}, {failed} failed{hint}\n")
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        let written = part_file::write(&self.path, name, content);
        written.map_err(|error| self.trouble("write to", &error))
    }

    fn trouble(&self, what: &str, error: &io::Error) -> Failure {
        Failure::Message(Exit::Missing, format!("cannot {what} {}: {error}", self.path.display()))
    }
}

/// Whether a failure is permanent, so that a retry would not help.
fn is_lasting(reason: &str) -> bool {
    let concerns_video =
        |reason: Reason| matches!(reason.kind(), ErrorKind::NotFound | ErrorKind::Forbidden);
    Reason::from_code(reason).is_some_and(|reason| concerns_video(reason) && !reason.is_retryable())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use vidra::PlaylistId;

    use super::super::Language;
    use super::super::part_file::{part_name, write_new};
    use super::super::source::Source;
    use super::*;
    use crate::commands::parsed;

    fn playlist(id: &str, lang: Option<&str>, translate: Option<&str>) -> Contents {
        let source = Source::Playlist { id: PlaylistId::parse(id).unwrap(), channel: None };
        Contents::new(&source, Language { lang, translate }, &parsed(&["transcripts"]))
    }

    #[test]
    fn only_permanent_failures_are_lasting() {
        assert!(is_lasting("captions_disabled") && is_lasting("video_private"));
        for passing in ["blocked", "not_started", "upstream_key_missing", "a_later_word"] {
            assert!(!is_lasting(passing), "{passing}");
        }
    }

    #[test]
    fn known_videos_come_from_files_and_part_files_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let open = |formats: &[Format]| {
            let formats = formats.iter().copied().collect();
            Folder::open(dir.path(), &playlist("PLa", None, None), formats).unwrap()
        };
        for name in [
            "A [1 [dQw4w9WgXcQ].en.srt",
            "B [aaaaaaaaaaa].srt",
            "notes.srt",
            ".vidra-1.part",
            ".another.part",
        ] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let ids = ["dQw4w9WgXcQ", "aaaaaaaaaaa"].map(|id| VideoId::parse(id).unwrap());
        let mut folder = open(&[Format::Srt]);
        let known: HashSet<VideoId> = folder.known(false).into_iter().map(|(_, id)| id).collect();
        assert_eq!(known, HashSet::from(ids));
        folder.set_positions(&ids);
        let manifest: serde_json::Value = serde_json::from_slice(&folder.manifest()).unwrap();
        let first = &manifest["videos"].as_array().unwrap().iter().find(|it| it["position"] == 1);
        assert_eq!(first.unwrap()["lang"], "en");
        drop(folder);
        assert!(!dir.path().join(".vidra-1.part").exists());
        assert!(dir.path().join(".another.part").exists(), "another program's file stays");
        assert!(open(&[Format::Srt, Format::Vtt]).known(false).is_empty());
    }

    #[test]
    fn planted_symlinks_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (victim, out) = (dir.path().join("victim"), dir.path().join("out"));
        fs::write(&victim, "precious").unwrap();
        let contents = &playlist("PLa", None, None);
        let mut folder = Folder::open(&out, contents, BTreeSet::from([Format::Txt])).unwrap();
        // A predictable name of a part file.
        let planted = out.join(format!("{OURS}{}{PART}", std::process::id()));
        std::os::unix::fs::symlink(&victim, &planted).unwrap();
        folder.write_manifest().unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(out.join(MANIFEST).symlink_metadata().unwrap().is_file());
        // Even a guessed name is not followed.
        let error = write_new(&planted, b"content").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        let names = [part_name().unwrap(), part_name().unwrap()];
        assert_ne!(names[0], names[1]);
        assert!(names.iter().all(|name| name.starts_with(OURS) && name.ends_with(PART)));
    }

    #[test]
    fn files_without_a_manifest_are_listed_in_the_order_of_their_ids() {
        let dir = tempfile::tempdir().unwrap();
        let ids: Vec<String> = (0..20).map(|number| format!("{number:011}")).collect();
        for id in ids.iter().rev() {
            fs::write(dir.path().join(format!("A [{id}].txt")), "").unwrap();
        }
        let contents = &playlist("PLa", None, None);
        let folder = Folder::open(dir.path(), contents, BTreeSet::from([Format::Txt])).unwrap();
        let listed: Vec<_> = folder.manifest.videos.iter().map(|it| it.video_id.clone()).collect();
        assert_eq!(listed, ids);
    }

    #[test]
    fn folder_is_bound_to_one_playlist_and_language() {
        let dir = tempfile::tempdir().unwrap();
        let open =
            |contents: Contents| Folder::open(dir.path(), &contents, BTreeSet::from([Format::Txt]));
        let german = || playlist("PLa", Some("de"), None);
        let mut folder = open(german()).unwrap();
        folder.write_manifest().unwrap();
        assert!(open(german()).is_err(), "another run has the folder locked");
        drop(folder);
        assert!(open(german()).is_ok());
        let videos = Source::Videos { entries: vec![], invalid: vec![] };
        let language = Language { lang: None, translate: None };
        let list = Contents::new(&videos, language, &parsed(&["transcripts"]));
        for other in [
            playlist("PLa", None, None),
            playlist("PLb", Some("de"), None),
            playlist("PLa", Some("de"), Some("fr")),
            list,
        ] {
            let Err(Failure::Message(_, message)) = open(other) else { panic!("it is another") };
            assert!(message.contains("holds the transcripts of PLa with --lang de:"), "{message}");
        }
    }
}
