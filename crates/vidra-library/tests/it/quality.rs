//! The quality of searches: recorded captions in many languages and those of the simulator, queries with known answers, and
//! the answers of the schema of yt-fts (FTS5 with its default tokenizer, a row a caption) to them.
//!
//! The expected answers come from a plain scan of the texts that shares no code with the index.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use vidra::transcript::{Cue, FullTranscript, Player, parse};
use vidra::{PlaylistId, TranscriptQuery, VideoId};
use vidra_library::{HitItem, Library, Period, TextQuery, TextSearch};

use crate::World;
use crate::search::empty;

/// A recorded or simulated track.
struct Track {
    id: VideoId,
    /// Its row in the table.
    row: String,
    /// The language without its region.
    language: String,
    is_auto: bool,
    cues: Vec<Cue>,
    /// The text as a reader sees it.
    plain: Plain,
}

/// A text as the plain scan reads it: characters in one spelling, each with its caption. A space is a border of words.
#[derive(Default)]
struct Plain {
    characters: Vec<(char, usize)>,
}

/// Scripts without spaces between words.
fn is_run(it: char) -> bool {
    let blocks = [
        (0x0E00, 0x0E4E),
        (0x0E80, 0x0ECF),
        (0x1000, 0x103F),
        (0x1780, 0x17DD),
        (0x3005, 0x3007),
        (0x3041, 0x30FA),
        (0x30FC, 0x30FF),
        (0x3400, 0x9FFF),
        (0xF900, 0xFAFF),
    ];
    blocks.iter().any(|(first, last)| (*first..=*last).contains(&(it as u32)))
}

/// One spelling of a text. Letters in upper case, accents of European scripts, and vowel marks of Arabic and Hebrew go.
fn spelled(text: &str) -> String {
    let is_vowel = |it: char| matches!(it as u32, 0x0591..=0x05C7 | 0x0610..=0x061A | 0x064B..=0x0652 | 0x0656..=0x065F | 0x0670);
    let is_silent = |it: char| matches!(it as u32, 0xAD | 0x0640 | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060 | 0xFEFF);
    let mut plain = String::new();
    for composed in text.nfkc().filter(|it| !is_silent(*it) && !is_vowel(*it)) {
        let is_letter_of_its_own = matches!(composed, 'й' | 'Й' | 'ї' | 'Ї' | 'ў' | 'Ў');
        let code = composed as u32;
        let is_european = code < 0x0530 || (0x1E00..0x2000).contains(&code);
        if is_letter_of_its_own || !is_european {
            plain.extend(composed.to_lowercase());
            continue;
        }
        for base in std::iter::once(composed).nfd().filter(|it| !is_combining_mark(*it)) {
            for lower in base.to_lowercase().filter(|it| !is_combining_mark(*it)) {
                match lower {
                    'ß' => plain.push_str("ss"),
                    'ı' => plain.push('i'),
                    'ς' => plain.push('σ'),
                    'ł' => plain.push('l'),
                    'đ' => plain.push('d'),
                    'ø' => plain.push('o'),
                    'æ' => plain.push_str("ae"),
                    'œ' => plain.push_str("oe"),
                    other => plain.push(other),
                }
            }
        }
    }
    plain
}

impl Plain {
    fn new(cues: &[Cue]) -> Self {
        let mut plain = Self::default();
        for (cue, it) in cues.iter().enumerate() {
            for line in it.text.split('\n') {
                plain.add(line, cue);
            }
        }
        plain.end_word(cues.len());
        plain
    }

    fn add(&mut self, line: &str, cue: usize) {
        let line = spelled(line.trim());
        let last = self.characters.iter().rev().map(|(it, _)| *it).find(|it| *it != ' ');
        let is_joined = last.is_some_and(is_run)
            && line.starts_with(is_run)
            && self.characters.last().is_some_and(|(it, _)| *it != ' ');
        if !is_joined {
            self.end_word(cue);
        }
        let characters: Vec<char> = line.chars().collect();
        for (at, it) in characters.iter().enumerate() {
            let is_hebrew = |it: Option<&char>| it.is_some_and(|it| ('א'..='ת').contains(it));
            let before = at.checked_sub(1).and_then(|at| characters.get(at));
            let is_in_abbreviation = matches!(it, '"' | '\'' | '׳' | '״' | '’' | '”')
                && is_hebrew(before)
                && is_hebrew(characters.get(at + 1));
            match it {
                _ if is_in_abbreviation => {}
                it if it.is_alphanumeric() || is_combining_mark(*it) => {
                    self.characters.push((*it, cue));
                }
                _ => self.end_word(cue),
            }
        }
    }

    fn end_word(&mut self, cue: usize) {
        if self.characters.last().is_some_and(|(it, _)| *it != ' ') {
            self.characters.push((' ', cue));
        }
    }

    /// The captions in which a text begins. Words of scripts with spaces are whole.
    fn places(&self, text: &Self) -> Vec<usize> {
        let wanted: Vec<char> = text.characters.iter().map(|(it, _)| *it).collect();
        let wanted: &[char] = wanted.strip_suffix(&[' ']).unwrap_or(&wanted);
        let Some(last) = wanted.last() else { return vec![] };
        let is_border = |at: usize| {
            let pair = at.checked_sub(1).and_then(|at| self.characters.get(at));
            let (Some((before, _)), Some((after, _))) = (pair, self.characters.get(at)) else {
                return true;
            };
            *before == ' ' || *after == ' ' || is_run(*before) || is_run(*after)
        };
        let is_match = |at: usize| {
            let found = self.characters.get(at..at + wanted.len());
            found.is_some_and(|found| found.iter().map(|(it, _)| it).eq(wanted))
                && (is_run(wanted[0]) || is_border(at))
                && (is_run(*last) || is_border(at + wanted.len()))
        };
        (0..self.characters.len())
            .filter(|at| is_match(*at))
            .map(|at| self.characters[at].1)
            .collect()
    }
}

fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures");
    let first = std::env::var_os("VIDRA_FIXTURES").map_or(beside, PathBuf::from);
    let name = format!("{}-2", first.file_name()?.to_string_lossy());
    let folder = first.with_file_name(name).join("timedtext");
    let is_required = std::env::var_os("VIDRA_REQUIRE_FIXTURES").is_some();
    assert!(folder.is_dir() || !is_required, "no recordings: set VIDRA_FIXTURES to their folder");
    Some(folder).filter(|it| it.is_dir())
}

fn recorded() -> Vec<Track> {
    let Some(folder) = folder() else { return vec![] };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    let mut tracks = vec![];
    for (number, file) in files.iter().enumerate() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(file).unwrap();
        let text = || String::from_utf8(bytes.clone()).unwrap();
        let cues = match name.rsplit('.').next() {
            Some("srt" | "vtt") => subtitles(&text()),
            Some("ttml") => timed_text(&text()),
            _ => parse(&bytes).unwrap_or_default(),
        };
        if cues.is_empty() {
            continue;
        }
        let language = name.split('-').next().unwrap().to_owned();
        let id = VideoId::parse(&format!("q{number:010}")).unwrap();
        let (is_auto, plain) = (name.contains("-asr"), Plain::new(&cues));
        tracks.push(Track { id, row: language.clone(), language, is_auto, cues, plain });
    }
    tracks
}

/// Tracks of the simulator, by people and by speech recognition.
async fn simulated() -> Vec<Track> {
    let vidra = World::new().client().build().unwrap();
    let playlist = PlaylistId::parse("PLsize50").unwrap();
    let videos = vidra.playlist(&playlist).await.unwrap().videos;
    let mut tracks = vec![];
    for id in videos.iter().map(|it| it.id).take(8) {
        let query = TranscriptQuery::default();
        let full = vidra.full_transcript(id, &query).await.unwrap();
        let FullTranscript { info, cues, .. } = full.body;
        let (language, is_auto) = (info.track.language_code, info.track.is_auto_generated);
        let kind = if is_auto { "automatic" } else { "manual" };
        let (row, plain) = (format!("{language}, simulator, {kind}"), Plain::new(&cues));
        tracks.push(Track { id, row, language, is_auto, cues, plain });
    }
    tracks
}

/// The captions of a file for players. YouTube sends them in other formats.
fn subtitles(text: &str) -> Vec<Cue> {
    let mut cues = vec![];
    for block in text.replace("\r\n", "\n").split("\n\n") {
        let mut lines = block.lines().skip_while(|it| !it.contains("-->"));
        let Some((start, end)) = lines.next().and_then(|it| it.split_once("-->")) else { continue };
        let text: Vec<&str> =
            lines.map(str::trim).filter(|it| !it.is_empty() && !it.contains('<')).collect();
        if !text.is_empty() {
            let (start, end) = (millis(start), millis(end));
            cues.push(Cue::new(start, end.saturating_sub(start), text.join("\n")));
        }
    }
    cues
}

/// The captions of a TTML file.
fn timed_text(text: &str) -> Vec<Cue> {
    let mut cues = vec![];
    for paragraph in text.split("<p ").skip(1) {
        let attribute = |name: &str| {
            let value = paragraph.split_once(&format!("{name}=\""))?.1;
            value.split_once('"').map(|(value, _)| millis(value))
        };
        let body = paragraph.split_once('>').and_then(|(_, rest)| rest.split_once("</p>"));
        if let (Some(start), Some(end), Some((body, _))) =
            (attribute("begin"), attribute("end"), body)
        {
            let text = body.replace("<br />", "\n").replace("<br/>", "\n");
            cues.push(Cue::new(start, end.saturating_sub(start), text));
        }
    }
    cues
}

/// `00:01:02,345` in milliseconds.
fn millis(time: &str) -> u64 {
    let time = time.split_whitespace().next().unwrap_or_default().replace(',', ".");
    let seconds = time.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse().unwrap_or(0.0));
    (seconds * 1_000.0_f64).round() as u64
}

fn record(track: &Track) -> Vec<u8> {
    let kind = if track.is_auto { r#","kind":"asr""# } else { "" };
    let body = format!(
        r#"{{"playabilityStatus":{{"status":"OK"}},"captions":{{"playerCaptionsTracklistRenderer":{{"captionTracks":[
            {{"baseUrl":"/api/timedtext?v=x","languageCode":"{}"{kind}}}]}}}}}}"#,
        track.language
    );
    let player = Player::parse(body.as_bytes(), track.id).unwrap();
    FullTranscript::new(track.id, &player, &player.tracks()[0], None, track.cues.clone())
        .to_record()
}

/// Words and phrases of a track: from its beginning, its middle and its end, inside captions and across them.
fn queries(track: &Track) -> BTreeSet<String> {
    let texts: Vec<&str> = track.cues.iter().map(|it| it.text.as_str()).collect();
    let mut queries = BTreeSet::new();
    for part in [2, 4, 6, 8] {
        let at = texts.len() * part / 10;
        let joined =
            texts.iter().skip(at).take(2).map(|it| it.replace('\n', " ")).collect::<Vec<_>>();
        let Some(first) = joined.first() else { continue };
        let runs: Vec<char> =
            first.chars().skip_while(|it| !is_run(*it)).take_while(|it| is_run(*it)).collect();
        if runs.len() >= 4 {
            queries.extend([2, 3, 4].map(|length| runs[..length].iter().collect::<String>()));
            continue;
        }
        let words: Vec<String> = joined
            .iter()
            .flat_map(|it| it.split_whitespace())
            .map(|it| {
                it.trim_matches(|it: char| !it.is_alphanumeric() && !is_combining_mark(it))
                    .to_owned()
            })
            .filter(|it| !it.is_empty() && !it.contains(['"', '*']) && it.as_str() != "OR")
            .collect();
        let inside = first.split_whitespace().count();
        queries.extend(words.iter().max_by_key(|it| it.chars().count()).cloned());
        queries.extend(words.get(..3).map(|it| it.join(" ")));
        // Across the border of two captions.
        queries.extend(words.get(inside.saturating_sub(1)..inside + 1).map(|it| it.join(" ")));
    }
    queries
}

/// The captions as yt-fts stores them.
fn peer(tracks: &[Track]) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    let schema =
        "CREATE VIRTUAL TABLE Subtitles USING fts5(video_id UNINDEXED, start UNINDEXED, text)";
    connection.execute_batch(schema).unwrap();
    for track in tracks {
        for cue in &track.cues {
            let row = rusqlite::params![track.id.to_string(), cue.start as i64, cue.text];
            connection.execute("INSERT INTO Subtitles VALUES (?, ?, ?)", row).unwrap();
        }
    }
    connection
}

fn peer_videos(connection: &Connection, query: &str) -> BTreeSet<String> {
    let select = "SELECT DISTINCT video_id FROM Subtitles WHERE Subtitles MATCH ?";
    let mut select = connection.prepare_cached(select).unwrap();
    let rows = select.query_map([format!("\"{query}\"")], |row| row.get(0));
    rows.map(|rows| rows.flatten().collect()).unwrap_or_default()
}

/// How many of the expected answers were found, and how many of the found ones were expected.
#[derive(Default, Clone, Copy)]
struct Score {
    expected: usize,
    found: usize,
    right: usize,
}

impl Score {
    fn add<T: Ord>(&mut self, expected: &BTreeSet<T>, found: &BTreeSet<T>) {
        self.expected += expected.len();
        self.found += found.len();
        self.right += expected.intersection(found).count();
    }

    fn recall(self) -> f64 {
        self.right as f64 / self.expected.max(1) as f64
    }

    fn precision(self) -> f64 {
        if self.found == 0 { 1.0 } else { self.right as f64 / self.found as f64 }
    }
}

#[derive(Default)]
struct Row {
    queries: usize,
    videos: Score,
    moments: usize,
    wrong_moments: usize,
    places: u64,
    counted: u64,
    peer: Score,
}

async fn measure(
    library: &Library,
    tracks: &[Track],
    peer: &Connection,
    query: &str,
    row: &mut Row,
) {
    let mut expected: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    let wanted = Plain::new(&[Cue::new(0, 0, query)]);
    let mut places = 0;
    for track in tracks {
        let found = track.plain.places(&wanted);
        places += found.len() as u64;
        if !found.is_empty() {
            let starts = found.iter().map(|cue| track.cues[*cue].start).collect();
            expected.insert(track.id.to_string(), starts);
        }
    }
    let request = TextSearch::new(TextQuery::parse(&format!("\"{query}\"")).unwrap());
    let page = library.search(&request, None, 500).await.unwrap();
    let mut videos = BTreeSet::new();
    for item in &page.items {
        let HitItem::Moment(hit) = item else { panic!("{item:?}") };
        let id = hit.video.video_id.to_string();
        let is_right =
            expected.get(&id).is_some_and(|it| it.contains(&hit.moment.start.as_millis()));
        row.moments += 1;
        if !is_right {
            row.wrong_moments += 1;
            println!("{query}: wrong moment {id} at {:?}", hit.moment.start);
        }
        videos.insert(id);
    }
    let ids: BTreeSet<String> = expected.keys().cloned().collect();
    if ids != videos {
        println!("{query}: expected {ids:?}, found {videos:?}");
    }
    let trends = library.trends(&request, Period::Year).await.unwrap();
    let counted: u64 = trends.items.iter().chain(&trends.undated).map(|it| it.count).sum();
    if counted != places {
        println!("{query}: said {places} times, counted {counted}");
    }
    row.queries += 1;
    row.videos.add(&ids, &videos);
    row.places += places;
    row.counted += counted;
    row.peer.add(&ids, &peer_videos(peer, query));
}

const DOCUMENT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/search-quality.md");

const HEAD: &str = "# Quality of searches

Captions of YouTube in many languages {recordings}, captions of the simulator, and words and phrases of them as queries.
The expected answers come from a plain scan of the texts, which shares no code with the index. The last columns are the answers
of the schema of yt-fts on the same captions: FTS5 with its default tokenizer, and a row a caption.

A test generates this page: `VIDRA_UPDATE_DOCS=1 cargo test -p vidra-library --test it quality`.

| captions | queries | videos: precision | recall | moments | wrong moments | times said | counted | yt-fts: precision | recall |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

#[tokio::test(start_paused = true)]
async fn searches_find_what_a_plain_scan_finds() {
    let mut tracks = recorded();
    if tracks.is_empty() {
        println!("skipped: there are no recorded captions beside the project");
        return;
    }
    let recordings = format!("({} recorded tracks)", tracks.len());
    let languages: BTreeSet<String> = tracks.iter().map(|it| it.language.clone()).collect();
    let simulated = simulated().await;
    for is_auto in [false, true] {
        assert!(
            simulated.iter().any(|it| it.is_auto == is_auto),
            "simulated captions of both kinds"
        );
    }
    tracks.extend(simulated);
    let library = empty(&crate::Store::memory()).await;
    for track in &tracks {
        library.store_transcript(&TranscriptQuery::default(), record(track).into()).await.unwrap();
    }
    let peer = peer(&tracks);
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for track in &tracks {
        for query in queries(track) {
            let row = rows.entry(track.row.clone()).or_default();
            measure(&library, &tracks, &peer, &query, row).await;
        }
    }
    let mut text = HEAD.replace("{recordings}", &recordings);
    let mut all = 0;
    for (name, row) in &rows {
        let Row { queries, videos, moments, wrong_moments, places, counted, peer } = row;
        all += queries;
        writeln!(
            text,
            "| {name} | {queries} | {:.2} | {:.2} | {moments} | {wrong_moments} | {places} | {counted} | {:.2} | {:.2} |",
            videos.precision(),
            videos.recall(),
            peer.precision(),
            peer.recall(),
        )
        .unwrap();
        assert_eq!((videos.precision(), videos.recall()), (1.0, 1.0), "{name}");
        assert_eq!((*wrong_moments, counted), (0, places), "{name}");
    }
    let languages = languages.len();
    assert!(all >= 200 && languages >= 12, "{all} queries in {languages} languages");
    if std::env::var_os("VIDRA_UPDATE_DOCS").is_some() {
        std::fs::write(DOCUMENT, &text).unwrap();
    }
    let document = std::fs::read_to_string(DOCUMENT).unwrap_or_default();
    // Other recordings must pass too, but give other figures than the page.
    if document.contains(&recordings) {
        assert_eq!(document, text, "{DOCUMENT} is out of date");
    }
}

/// The captions of all languages, searched on SQLite and on PostgreSQL: words, phrases and beginnings of words.
#[tokio::test]
async fn each_store_finds_the_same_moments() {
    let Some(postgres) = crate::Store::postgres().await else { return };
    let mut tracks = recorded();
    tokio::time::pause();
    tracks.extend(simulated().await);
    let libraries = [empty(&crate::Store::memory()).await, empty(&postgres).await];
    for library in &libraries {
        for track in &tracks {
            library
                .store_transcript(&TranscriptQuery::default(), record(track).into())
                .await
                .unwrap();
        }
    }
    let all: BTreeSet<String> = tracks.iter().flat_map(queries).collect();
    // All of them take a minute.
    let step = if std::env::var_os("VIDRA_LONG").is_some() { 1 } else { 5 };
    for query in all.into_iter().step_by(step) {
        for text in [query.clone(), format!("\"{query}\""), format!("{query}*")] {
            // The beginning of a word needs two letters.
            let Ok(parsed) = TextQuery::parse(&text) else { continue };
            let request = TextSearch::new(parsed);
            let mut found = vec![];
            for library in &libraries {
                let page = library.search(&request, None, 500).await.unwrap();
                let trends = library.trends(&request, Period::Year).await.unwrap();
                found.push((
                    serde_json::to_value(&page).unwrap(),
                    serde_json::to_value(&trends).unwrap(),
                ));
            }
            assert!(found[0] == found[1], "{text}: {} and {}", found[0].0, found[1].0);
        }
    }
}
