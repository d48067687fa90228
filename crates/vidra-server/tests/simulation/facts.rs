//! The oracle: facts read from the platform's raw answers. It shares nothing with the code under test.

mod listings;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use axum::http::Request;
use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::Value;
use vidra_sim::Simulator;

use crate::operation::listing;
use crate::operation::{CAPTIONED, DETAILED, Operation, UNKNOWN_VIDEO};
use listings::Listings;

/// Facts that hold in every edition of the world.
pub(crate) struct Facts {
    /// Cold videos, all of which have captions.
    pub(crate) pool: Vec<String>,
    /// Title and views of each video of the pool and of the hot ones.
    videos: BTreeMap<String, (String, u64)>,
    /// The videos of each playlist, in its order; private and deleted ones too.
    playlists: BTreeMap<&'static str, Vec<String>>,
    /// Videos of the playlists that have details.
    shown: BTreeSet<String>,
    /// Entries of the batches' playlists that have no captions.
    uncaptioned: BTreeSet<String>,
    /// The text of each track of a video, and the languages of the tracks.
    track_texts: BTreeMap<String, BTreeSet<String>>,
    languages: BTreeMap<String, Vec<String>>,
    /// The ids of answers that are lists, in their order, by the path and query of the request.
    lists: BTreeMap<&'static str, Vec<String>>,
    /// Id and latest uploads of each channel.
    channels: BTreeMap<&'static str, (String, BTreeSet<String>)>,
    /// The tags of a video, and the titles of its chapters.
    details: BTreeMap<&'static str, (Vec<String>, Vec<String>)>,
    /// Lists that are operations of their own.
    pub(crate) listings: Listings,
}

pub(crate) fn facts() -> &'static Facts {
    static FACTS: OnceLock<Facts> = OnceLock::new();
    FACTS.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(Facts::read())
    })
}

const LISTED: [&str; 6] =
    ["PLsize50", "PLquirkMixed", "PLsize1", "PLsize49", "PLsize51", "PLquirkShortPages"];

/// Raw requests whose answers are lists.
const REGIONS: &str = "i18nRegions?part=snippet";
const LANGUAGES: &str = "i18nLanguages?part=snippet";
const CATEGORIES: &str = "videoCategories?part=snippet&regionCode=US";
const THREADS: &str = "commentThreads?part=snippet&videoId=quirkHtmlCm&order=time&maxResults=100&textFormat=plainText";
const REPLIES: &str =
    "comments?part=snippet&parentId=UgquirkManyReplies04AaABAg&maxResults=100&textFormat=plainText";

impl Facts {
    async fn read() -> Self {
        let sim = Simulator::new();
        let mut playlists = BTreeMap::new();
        for id in LISTED {
            playlists.insert(id, entries(&sim, id).await);
        }
        let pool: Vec<String> = playlists["PLsize50"].iter().take(40).cloned().collect();
        let mut videos = BTreeMap::new();
        let hot = ["fda4eREcaTQ", "quirkNoLike", "quirkHtmlCm", DETAILED[0]].map(str::to_owned);
        for id in pool.iter().chain(&hot) {
            let list = get(&sim, &format!("videos?part=snippet,statistics&id={id}")).await;
            let video = &list["items"][0];
            let title = video["snippet"]["title"].as_str().unwrap().to_owned();
            let views = video["statistics"]["viewCount"].as_str().unwrap().parse().unwrap();
            videos.insert(id.clone(), (title, views));
        }
        let (mut track_texts, mut languages, mut uncaptioned) =
            (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let captioned = CAPTIONED.map(str::to_owned);
        let batches = [&playlists["PLquirkMixed"], &playlists["PLsize49"]].into_iter().flatten();
        for id in captioned.iter().chain(&pool[..8]).chain(batches) {
            let (codes, texts) = tracks(&sim, id).await;
            if texts.iter().all(|text| text.trim().is_empty()) {
                uncaptioned.insert(id.clone());
            }
            languages.insert(id.clone(), codes);
            track_texts.insert(id.clone(), texts);
        }
        let mut shown = BTreeSet::new();
        for ids in playlists.values() {
            for chunk in ids.chunks(50) {
                let list = get(&sim, &format!("videos?part=id&id={}", chunk.join(","))).await;
                shown.extend(ids_of(&list));
            }
        }
        let mut lists = BTreeMap::new();
        for target in [REGIONS, LANGUAGES, CATEGORIES, THREADS, REPLIES] {
            lists.insert(target, pages(&sim, target, |item| &item["id"]).await);
        }
        let mut channels = BTreeMap::new();
        for name in listing::CHANNELS {
            let filter =
                name.strip_prefix('@').map_or(format!("id={name}"), |it| format!("forHandle={it}"));
            let list = get(&sim, &format!("channels?part=id&{filter}")).await;
            let id = ids_of(&list).remove(0);
            let mut uploads = entries(&sim, &id.replacen("UC", "UU", 1)).await;
            uploads.truncate(50);
            let list = get(&sim, &format!("videos?part=id&id={}", uploads.join(","))).await;
            channels.insert(name, (id, ids_of(&list).into_iter().collect()));
        }
        let mut details = BTreeMap::new();
        for id in DETAILED {
            let list = get(&sim, &format!("videos?part=snippet,contentDetails&id={id}")).await;
            details.insert(id, details_of(&list["items"][0]));
        }
        let channel_ids = channels.iter().map(|(name, (id, _))| (*name, id.clone())).collect();
        let listings = Listings::read(&sim, &channel_ids).await;
        Self {
            pool,
            videos,
            playlists,
            shown,
            uncaptioned,
            track_texts,
            languages,
            lists,
            channels,
            details,
            listings,
        }
    }

    /// The id of a channel; `None` if it does not exist.
    pub(crate) fn channel_id(&self, name: &str) -> Option<&str> {
        self.channels.get(name).map(|(id, _)| &**id)
    }

    /// The entries of a playlist; none if it does not exist.
    pub(crate) fn entries(&self, playlist: &str) -> &[String] {
        self.playlists.get(playlist).map_or(&[], |ids| ids)
    }

    /// Whether an entry of a batch's playlist has no captions.
    pub(crate) fn is_uncaptioned(&self, id: &str) -> bool {
        id.is_empty() || self.uncaptioned.contains(id)
    }

    /// Checks that `body` agrees with the platform, apart from the edition. `Err` says what is wrong.
    pub(crate) fn check(&self, operation: &Operation, body: &str) -> Result<(), String> {
        let plain = without_editions(body);
        let json = || serde_json::from_str::<Value>(&plain).map_err(|error| error.to_string());
        match operation {
            Operation::Video(id) => self.check_video(&json()?, id),
            Operation::Detailed(id) => self.check_details(&json()?, id),
            Operation::Listing(listing) => self.listings.check(listing, &json()?),
            Operation::Title(id) => same("title", json()?["title"].as_str(), self.title(id)),
            Operation::Videos(ids) => {
                let json = json()?;
                let known: Vec<&String> = ids.iter().filter(|id| *id != UNKNOWN_VIDEO).collect();
                let videos = json.as_array().ok_or("not a list")?;
                same("how many", Some(videos.len()), Some(known.len()))?;
                videos.iter().zip(known).try_for_each(|(video, id)| self.check_video(video, id))
            }
            Operation::Playlist(id) | Operation::Query(id) => {
                let json = json()?;
                same("id", json["id"].as_str(), Some(*id))?;
                // Entries without details are omitted; the others stay in order.
                let listed = self.playlists[id].iter().filter(|id| self.shown.contains(*id));
                same_list(&json["videos"], listed)
            }
            Operation::VideosOf { playlist, limit } => self.check_page(&json()?, playlist, *limit),
            Operation::Ids(id) => {
                let json = json()?;
                let ids = match (json["videoIds"].as_array(), json["entries"].as_array()) {
                    (Some(ids), _) => ids.clone(),
                    // As the library stores them.
                    (None, Some(all)) => all.iter().map(|entry| entry["video"].clone()).collect(),
                    (None, None) => return Err("no ids".to_owned()),
                };
                let ids = ids.iter().filter_map(Value::as_str).collect::<Vec<_>>();
                let listed: Vec<&str> = self.playlists[id].iter().map(|id| &**id).collect();
                same("ids", ids.as_slice(), listed.as_slice())
            }
            Operation::Info(id) => same("id", json()?["id"].as_str(), Some(*id)),
            Operation::Channel(name) => {
                same("id", json()?["id"].as_str(), Some(&*self.channels[name].0))
            }
            Operation::Uploads(name) => {
                let json = json()?;
                let ids: BTreeSet<String> = list_of(&json)?.into_iter().collect();
                same("uploads", &ids, &self.channels[name].1)
            }
            Operation::Comments(_) => same_list(&json()?, self.lists[THREADS].iter()),
            Operation::Replies(_) => same_list(&json()?, self.lists[REPLIES].iter()),
            Operation::Regions => same_list(&json()?, self.lists[REGIONS].iter()),
            Operation::Languages => same_list(&json()?, self.lists[LANGUAGES].iter()),
            Operation::Categories => same_list(&json()?, self.lists[CATEGORIES].iter()),
            Operation::Tracks(video) => match self.languages.get(video) {
                Some(languages) => self.check_tracks(&json()?, languages),
                None => Ok(()),
            },
            Operation::Transcript { video, format, .. } => {
                self.check_transcript(&plain, video, format)
            }
            // Of a translation only the language is known.
            Operation::Translation { .. } => {
                let json = json()?;
                let lines = json.as_array().ok_or("not a list")?;
                let is_german = lines.iter().all(|line| line["lang"] == "de");
                same("German", (lines.is_empty(), is_german), (false, true))
            }
            Operation::Quota | Operation::Cache => json().map(drop),
            Operation::Batch { .. } | Operation::Ready | Operation::Metrics => Ok(()),
        }
    }

    /// Checks the first page of a list. It may be short if a later part of the list failed, and then it has a cursor.
    fn check_page(&self, json: &Value, playlist: &str, limit: usize) -> Result<(), String> {
        let entries = self.entries(playlist).iter().zip(1..);
        let shown = entries.filter(|(id, _)| self.shown.contains(*id));
        let all: Vec<(&str, u64)> = shown.map(|(id, position)| (&**id, position)).collect();
        let items = json["items"].as_array().ok_or("no items")?.iter();
        let got: Vec<(&str, u64)> = items
            .map(|item| {
                (item["id"].as_str().unwrap_or_default(), item["position"].as_u64().unwrap_or(0))
            })
            .collect();
        let has_more = json["nextCursor"].is_string();
        let count = if has_more { got.len().min(limit) } else { all.len() };
        same("items", &*got, all.get(..count).ok_or("too many items")?)
    }

    fn check_tracks(&self, json: &Value, languages: &[String]) -> Result<(), String> {
        let tracks = json.as_array().ok_or("not a list")?.iter();
        let found: Vec<&str> = tracks.filter_map(|track| track["languageCode"].as_str()).collect();
        let languages: Vec<&str> = languages.iter().map(|code| &**code).collect();
        same("languages", &*found, &*languages)
    }

    /// Checks a whole batch: one result for each requested entry, and correct counts.
    pub(crate) fn check_batch(
        &self,
        operation: &Operation,
        results: &[Value],
        counts: Option<(u64, u64)>,
    ) -> Result<(), String> {
        let Operation::Batch { playlist, to, .. } = operation else { return Ok(()) };
        let entries = self.entries(playlist);
        let wanted = entries.len().min(usize::try_from(*to).unwrap_or(usize::MAX));
        let mut positions: Vec<u64> =
            results.iter().filter_map(|result| result["position"].as_u64()).collect();
        positions.sort_unstable();
        let all: Vec<u64> = (1..=wanted as u64).collect();
        same("positions", &*positions, &*all)?;
        for result in results {
            let position = usize::try_from(result["position"].as_u64().unwrap_or(0)).unwrap();
            let id = result["videoId"].as_str().unwrap_or_default();
            same("video", Some(id), entries.get(position - 1).map(|id| &**id))?;
        }
        let succeeded =
            results.iter().filter(|result| result["status"] == "success").count() as u64;
        same("counts", counts, Some((succeeded, results.len() as u64 - succeeded)))
    }

    /// Checks the answer of a tool.
    pub(crate) fn check_tool(&self, operation: &Operation, body: &str) -> Result<(), String> {
        let plain = without_editions(body);
        let json: Value = serde_json::from_str(&plain).map_err(|error| error.to_string())?;
        let found = &json["structuredContent"];
        match operation {
            Operation::Video(id) => {
                let video = &found["video"];
                same("title", video["title"].as_str(), self.title(id))?;
                same("views", video["views"].as_u64(), self.views(id))
            }
            Operation::Transcript { video, .. } | Operation::Tracks(video) => {
                same("video", found["videoId"].as_str(), Some(&**video))
            }
            _ => Ok(()),
        }
    }

    /// Checks one result of a batch.
    pub(crate) fn check_result(&self, result: &Value) -> Result<(), String> {
        let Some(lines) = result["lines"].as_array() else { return Ok(()) };
        let id = result["videoId"].as_str().unwrap_or_default();
        let Some(tracks) = self.track_texts.get(id) else { return Ok(()) };
        let texts = lines.iter().filter_map(|line| line["text"].as_str()).map(without_editions);
        let all: Vec<String> = texts.collect();
        is_one_of(&all.join(" "), tracks)
    }

    fn check_video(&self, video: &Value, id: &str) -> Result<(), String> {
        same("id", video["id"].as_str(), Some(id))?;
        same("title", video["title"].as_str(), self.title(id))?;
        same("views", video["views"].as_u64(), self.views(id))
    }

    fn check_details(&self, video: &Value, id: &str) -> Result<(), String> {
        self.check_video(video, id)?;
        let texts = |list: &Value, member: &str| -> Vec<String> {
            let items = list.as_array().into_iter().flatten();
            let text = |item: &Value| item.get(member).unwrap_or(item).as_str().map(str::to_owned);
            items.filter_map(text).collect()
        };
        let (tags, chapters) = self.details.get(id).ok_or("no such video")?;
        same("tags", &texts(&video["details"]["tags"], ""), tags)?;
        same("chapters", &texts(&video["chapters"], "title"), chapters)
    }

    fn check_transcript(&self, plain: &str, id: &str, format: &str) -> Result<(), String> {
        let Some(tracks) = self.track_texts.get(id) else { return Ok(()) };
        // The library always returns JSON.
        let json = serde_json::from_str::<Value>(plain).unwrap_or_default();
        let part = ["lines", "chunks"].iter().find_map(|name| json.get(*name));
        if let Value::Array(lines) = part.unwrap_or(&json) {
            let texts: Vec<&str> = lines.iter().filter_map(|line| line["text"].as_str()).collect();
            return is_one_of(&texts.join(" "), tracks);
        }
        let is_number = |line: &str| line.bytes().all(|byte| byte.is_ascii_digit());
        let is_markup = |line: &&str| match format {
            "srt" => is_number(line) || line.contains("-->"),
            "vtt" => {
                ["WEBVTT", "Language: ", "Kind: "].iter().any(|it| line.starts_with(it))
                    || line.contains("-->")
            }
            _ => false,
        };
        let texts: Vec<&str> = plain.lines().filter(|line| !is_markup(line)).collect();
        let text = texts.join(" ").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        is_one_of(&text, tracks)
    }

    fn views(&self, id: &str) -> Option<u64> {
        self.videos.get(id).map(|(_, views)| *views)
    }

    fn title(&self, id: &str) -> Option<&str> {
        self.videos.get(id).map(|(title, _)| &**title)
    }
}

fn is_one_of(text: &str, tracks: &BTreeSet<String>) -> Result<(), String> {
    let text = without_spaces(text);
    match tracks.iter().any(|track| without_spaces(track) == text) {
        true => Ok(()),
        false => Err(format!("no track says {:?}", text.chars().take(60).collect::<String>())),
    }
}

/// The text without white space, which differs between formats.
fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The ids of a list of the service, in its order.
fn list_of(json: &Value) -> Result<Vec<String>, String> {
    let items = json.as_array().ok_or("not a list")?.iter();
    Ok(items.map(|item| item["id"].as_str().unwrap_or_default().to_owned()).collect())
}

fn same_list<'a>(json: &Value, expected: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let expected: Vec<String> = expected.cloned().collect();
    same("ids", &list_of(json)?, &expected)
}

/// The ids of one page of the platform.
fn ids_of(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().into_iter().flatten();
    items.filter_map(|item| item["id"].as_str().map(str::to_owned)).collect()
}

fn same<T: PartialEq + Copy + std::fmt::Debug>(
    what: &str,
    got: T,
    expected: T,
) -> Result<(), String> {
    match got == expected {
        true => Ok(()),
        false => Err(format!("{what}: got {got:?}, expected {expected:?}")),
    }
}

/// The text without its edition marks.
pub(crate) fn without_editions(body: &str) -> String {
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('|') {
        let (before, after) = rest.split_at(at);
        let digits = before.bytes().rev().take_while(u8::is_ascii_digit).count();
        match before[..at - digits].strip_suffix('e') {
            Some(text) if digits > 0 => out.push_str(text),
            _ => {
                out.push_str(before);
                out.push('|');
            }
        }
        rest = &after[1..];
    }
    out.push_str(rest);
    out
}

async fn call(sim: &Simulator, request: Request<Bytes>) -> Value {
    let body = sim.call(request).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap_or_default()
}

async fn get(sim: &Simulator, target: &str) -> Value {
    let request = Request::get(format!("http://sim/youtube/v3/{target}"));
    call(sim, request.header("x-goog-api-key", "demo-key").body(Bytes::new()).unwrap()).await
}

async fn entries(sim: &Simulator, id: &str) -> Vec<String> {
    let target = format!("playlistItems?part=contentDetails&maxResults=50&playlistId={id}");
    pages(sim, &target, |item| &item["contentDetails"]["videoId"]).await
}

/// The tags of a video, and the titles of the chapters in its description.
fn details_of(video: &Value) -> (Vec<String>, Vec<String>) {
    let tags = video["snippet"]["tags"].as_array().into_iter().flatten();
    let tags = tags.filter_map(|tag| tag.as_str().map(str::to_owned)).collect();
    // The lists of chapters in these descriptions have a time and a title on each line.
    let seconds = |time: &str| {
        let mut parts = time.contains(':').then(|| time.split(':'))?;
        parts.try_fold(0, |sum, part| Some(60 * sum + part.parse::<u64>().ok()?))
    };
    let lines = video["snippet"]["description"].as_str().unwrap_or_default().lines();
    let chapters = lines.filter_map(|line| {
        let (time, title) = line.split_once(' ')?;
        Some((seconds(time)?, title.to_owned()))
    });
    let chapters: Vec<(u64, String)> = chapters.collect();
    let duration = video["contentDetails"]["duration"].as_str().unwrap_or_default();
    let (minutes, rest) =
        duration.trim_start_matches("PT").split_once('M').unwrap_or(("0", duration));
    let rest = rest.trim_start_matches("PT").trim_end_matches('S');
    let end = 60 * minutes.parse::<u64>().unwrap() + rest.parse::<u64>().unwrap_or(0);
    let has_chapters = chapters.last().is_some_and(|(last, _)| *last < end);
    let titles = chapters.into_iter().filter(|_| has_chapters).map(|(_, title)| title);
    (tags, titles.collect())
}

/// One member of all items of a list, page by page.
async fn pages(sim: &Simulator, target: &str, member: fn(&Value) -> &Value) -> Vec<String> {
    let items = items_of(sim, target).await;
    items.iter().filter_map(|item| member(item).as_str().map(str::to_owned)).collect()
}

/// All items of a list, page by page.
async fn items_of(sim: &Simulator, target: &str) -> Vec<Value> {
    let (mut all, mut token) = (vec![], String::new());
    loop {
        let page = get(sim, &format!("{target}{token}")).await;
        all.extend(page["items"].as_array().cloned().unwrap_or_default());
        match page["nextPageToken"].as_str() {
            Some(next) => token = format!("&pageToken={next}"),
            None => return all,
        }
    }
}

/// The languages of a video's tracks, and the text of each of them.
async fn tracks(sim: &Simulator, id: &str) -> (Vec<String>, BTreeSet<String>) {
    let client = serde_json::json!({"clientName": "VISIONOS", "clientVersion": "1.02", "hl": "en"});
    let body = serde_json::json!({"videoId": id, "context": {"client": client}});
    let player = Request::post("http://sim/youtubei/v1/player")
        .header("x-goog-visitor-id", sim.visitor_data())
        .body(Bytes::from(body.to_string()));
    let player = call(sim, player.unwrap()).await;
    let list = &player["captions"]["playerCaptionsTracklistRenderer"]["captionTracks"];
    let (mut codes, mut all) = (vec![], BTreeSet::new());
    for track in list.as_array().cloned().unwrap_or_default() {
        codes.push(track["languageCode"].as_str().unwrap_or_default().to_owned());
        let url = track["baseUrl"].as_str().unwrap_or_default();
        let target = url.split_once("/api/").map(|(_, rest)| rest).unwrap_or_default();
        let request = Request::get(format!("http://sim/api/{target}&fmt=json3"));
        let track = call(sim, request.body(Bytes::new()).unwrap()).await;
        let events = track["events"].as_array().cloned().unwrap_or_default();
        let texts =
            events.iter().flat_map(|event| event["segs"].as_array().cloned().unwrap_or_default());
        all.insert(
            texts.filter_map(|seg| seg["utf8"].as_str().map(str::to_owned)).collect::<String>(),
        );
    }
    (codes, all)
}
