//! The oracle: facts read from the platform's raw answers. It shares nothing with the code under test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use axum::http::Request;
use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::Value;
use vidra_sim::Simulator;

use crate::operation::{Operation, SPOKEN, UNKNOWN_VIDEO};

/// Facts that hold in every edition of the world.
pub(crate) struct Facts {
    /// Cold videos, all of which have captions.
    pub(crate) pool: Vec<String>,
    /// Title and views of each video of the pool and of the hot ones.
    videos: BTreeMap<String, (String, u64)>,
    /// The videos of each playlist, in its order; private and deleted ones too.
    playlists: BTreeMap<&'static str, Vec<String>>,
    /// Everything that is said in each track of a video.
    spoken: BTreeMap<String, BTreeSet<String>>,
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

impl Facts {
    async fn read() -> Self {
        let sim = Simulator::new();
        let mut playlists = BTreeMap::new();
        for id in LISTED {
            playlists.insert(id, entries(&sim, id).await);
        }
        let pool: Vec<String> = playlists["PLsize50"].iter().take(40).cloned().collect();
        let mut videos = BTreeMap::new();
        let hot = ["fda4eREcaTQ", "quirkNoLike", "quirkHtmlCm"].map(str::to_owned);
        for id in pool.iter().chain(&hot) {
            let list = get(&sim, &format!("videos?part=snippet,statistics&id={id}")).await;
            let video = &list["items"][0];
            let title = video["snippet"]["title"].as_str().unwrap().to_owned();
            let views = video["statistics"]["viewCount"].as_str().unwrap().parse().unwrap();
            videos.insert(id.clone(), (title, views));
        }
        let mut spoken = BTreeMap::new();
        for id in SPOKEN.map(str::to_owned).iter().chain(&pool[..8]) {
            spoken.insert(id.clone(), tracks(&sim, id).await);
        }
        Self { pool, videos, playlists, spoken }
    }

    /// Whether `body` tells what the platform has to say, save for the edition. `Err` says what is wrong.
    pub(crate) fn check(&self, operation: &Operation, body: &str) -> Result<(), String> {
        let plain = without_editions(body);
        let json = || serde_json::from_str::<Value>(&plain).map_err(|error| error.to_string());
        match operation {
            Operation::Video(id) => self.check_video(&json()?, id),
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
                let ids = json["videos"].as_array().ok_or("no videos")?.iter();
                let ids = ids.map(|video| video["id"].as_str().unwrap_or_default());
                let mut all = self.playlists[id].iter();
                // Those without details are left out; the others stay in order.
                for id in ids {
                    all.find(|listed| *listed == id).ok_or(format!("{id} is out of place"))?;
                }
                Ok(())
            }
            Operation::Ids(id) => {
                let json = json()?;
                let ids = match (json["videoIds"].as_array(), json.as_array()) {
                    (Some(ids), _) => ids.clone(),
                    // As the library stores them.
                    (None, Some(all)) => all.iter().map(|entry| entry["video"].clone()).collect(),
                    (None, None) => return Err("no ids".to_owned()),
                };
                let ids = ids.iter().filter_map(Value::as_str).collect::<Vec<_>>();
                let listed: Vec<&str> = self.playlists[id].iter().map(|id| &**id).collect();
                same("ids", ids.as_slice(), listed.as_slice())
            }
            Operation::Transcript { video, .. } => self.check_spoken(&plain, video),
            Operation::Quota | Operation::Cache => json().map(drop),
            _ => Ok(()),
        }
    }

    /// The same for the answer of a tool.
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

    /// One result of a batch.
    pub(crate) fn check_result(&self, result: &Value) -> Result<(), String> {
        let Some(lines) = result["lines"].as_array() else { return Ok(()) };
        let id = result["videoId"].as_str().unwrap_or_default();
        let Some(tracks) = self.spoken.get(id) else { return Ok(()) };
        let texts = lines.iter().filter_map(|line| line["text"].as_str()).map(without_editions);
        let all: Vec<String> = texts.collect();
        is_one_of(&all.join(" "), tracks)
    }

    fn check_video(&self, video: &Value, id: &str) -> Result<(), String> {
        same("id", video["id"].as_str(), Some(id))?;
        same("title", video["title"].as_str(), self.title(id))?;
        same("views", video["views"].as_u64(), self.views(id))
    }

    fn check_spoken(&self, plain: &str, id: &str) -> Result<(), String> {
        let Some(tracks) = self.spoken.get(id) else { return Ok(()) };
        let texts: Vec<String> = match serde_json::from_str::<Value>(plain) {
            Ok(Value::Array(lines)) => {
                let texts = lines.iter().filter_map(|line| line["text"].as_str());
                texts.map(str::to_owned).collect()
            }
            // Subtitles and plain text have no lines of our own making but numbers and times.
            _ => return Ok(()),
        };
        is_one_of(&texts.join(" "), tracks)
    }

    fn views(&self, id: &str) -> Option<u64> {
        self.videos.get(id).map(|(_, views)| *views)
    }

    fn title(&self, id: &str) -> Option<&str> {
        self.videos.get(id).map(|(title, _)| &**title)
    }
}

fn is_one_of(text: &str, tracks: &BTreeSet<String>) -> Result<(), String> {
    let text = words(text);
    match tracks.iter().any(|track| words(track) == text) {
        true => Ok(()),
        false => Err(format!("no track says {:?}", text.chars().take(60).collect::<String>())),
    }
}

/// White space is ours to write.
fn words(text: &str) -> String {
    text.split_whitespace().collect()
}

fn same<T: PartialEq + Copy + std::fmt::Debug>(
    what: &str,
    got: T,
    expected: T,
) -> Result<(), String> {
    match got == expected {
        true => Ok(()),
        false => Err(format!("{what}: {got:?} where {expected:?} is right")),
    }
}

/// The text without the marks that the platform puts before each text.
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
    let (mut ids, mut token) = (vec![], String::new());
    loop {
        let target = format!(
            "playlistItems?part=contentDetails&maxResults=50&playlistId={id}&pageToken={token}"
        );
        let page = get(sim, target.trim_end_matches("&pageToken=")).await;
        let items = page["items"].as_array().cloned().unwrap_or_default();
        ids.extend(
            items
                .iter()
                .filter_map(|item| item["contentDetails"]["videoId"].as_str().map(str::to_owned)),
        );
        match page["nextPageToken"].as_str() {
            Some(next) => next.clone_into(&mut token),
            None => return ids,
        }
    }
}

/// What each track of a video says.
async fn tracks(sim: &Simulator, id: &str) -> BTreeSet<String> {
    let client = serde_json::json!({"clientName": "VISIONOS", "clientVersion": "1.02", "hl": "en"});
    let body = serde_json::json!({"videoId": id, "context": {"client": client}});
    let player = Request::post("http://sim/youtubei/v1/player")
        .header("x-goog-visitor-id", sim.visitor_data())
        .body(Bytes::from(body.to_string()));
    let player = call(sim, player.unwrap()).await;
    let list = &player["captions"]["playerCaptionsTracklistRenderer"]["captionTracks"];
    let mut all = BTreeSet::new();
    for track in list.as_array().cloned().unwrap_or_default() {
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
    all
}
