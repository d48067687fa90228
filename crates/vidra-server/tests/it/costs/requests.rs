//! Requests for every cost in the guide. Where the table says `per 50`, one request is for 50 and one for 51.

/// A request whose bill is compared with the table.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// Method and route, as in the table.
    pub(super) endpoint: &'static str,
    /// The condition of the table that it meets. Empty for the plain cost.
    pub(super) condition: &'static str,
    pub(super) path: String,
    /// The body of a `POST`.
    pub(super) body: String,
    /// The path of a request that costs the same, for endpoints without a cost of their own.
    pub(super) same_as: Option<&'static str>,
}

/// The id of `@fermata`.
const FERMATA: &str = "UCB-2_pXPtFYDifLXZF-S8PA";
const BY_HANDLE: &str = "by handle";
const BY_NAME: &str = "by a custom name";
/// Two custom names. Only a search finds the first. The second is also a handle.
const NAMES: [&str; 2] = [
    "https%3A%2F%2Fwww.youtube.com%2Fc%2FLanternBayTapes",
    "https%3A%2F%2Fwww.youtube.com%2Fc%2Ffermata",
];
const ALL_REPLIES: &str = "with `replies=all`";
const NO_FEED: &str = "if YouTube does not serve the feed";

fn case(endpoint: &'static str, condition: &'static str, path: impl Into<String>) -> Case {
    Case { endpoint, condition, path: path.into(), body: String::new(), same_as: None }
}

fn get(endpoint: &'static str, path: impl Into<String>) -> Case {
    case(endpoint, "", path)
}

fn post(endpoint: &'static str, path: &str, body: impl Into<String>) -> Case {
    Case { body: body.into(), ..case(endpoint, "", path) }
}

/// A channel by id, by handle and by custom names.
fn channel(endpoint: &'static str, rest: &str) -> Vec<Case> {
    let path = |channel: &str| format!("/api/channel/{channel}{rest}");
    let names = NAMES.map(|name| case(endpoint, BY_NAME, path(name)));
    [get(endpoint, path(FERMATA)), case(endpoint, BY_HANDLE, path("@fermata"))]
        .into_iter()
        .chain(names)
        .collect()
}

pub(super) fn cases() -> Vec<Case> {
    let unknown: Vec<String> = (0..50).map(|number| format!("unknown{number:04}")).collect();
    let ids = format!("/api/videos?ids=fda4eREcaTQ,fda4eREcaTQ,{}", unknown.join(","));
    let fifty = unknown[..49].join(",");
    let by_handle = channel("GET /api/channel/{id}", "").into_iter();
    // A handle costs as much as an id.
    let of_channel = by_handle.filter(|case| case.condition != BY_HANDLE);
    [
        of_channel.collect(),
        vec![get("GET /api/channel/{id}", "/api/channel/@fermata")],
        channel("GET /api/channel/{id}/videos", "/videos?limit=50"),
        channel("GET /api/channel/{id}/uploads", "/uploads?limit=50"),
        channel("GET /api/channel/{id}/uploads", "/uploads?limit=51"),
        channel("GET /api/channel/{id}/playlists", "/playlists?limit=50"),
        channel("GET /api/channel/{id}/playlists", "/playlists?limit=51"),
        channel("GET /api/channel/{id}/feed", "/feed"),
        vec![
            case(
                "GET /api/channel/{id}/feed",
                NO_FEED,
                "/api/channel/UCquirkFeedMissing000000/feed",
            ),
            get("GET /api/video/{id}", "/api/video/fda4eREcaTQ?include=details,chapters"),
            get("GET /api/video/{id}/title", "/api/video/fda4eREcaTQ/title"),
            get("GET /api/videos", ids),
            get("GET /api/videos", format!("/api/videos?ids=fda4eREcaTQ,fda4eREcaTQ,{fifty}")),
        ],
        playlists(),
        comments(),
        searches(),
        transcripts(),
        jobs(),
        collections(),
        library(),
        service(),
    ]
    .concat()
}

/// Stands for the id of a job in a path.
pub(super) const JOB: &str = "JOB";

/// A dry run with a source whose size is not known.
const DRY: &str = "with `dryRun=true`, for each playlist or channel whose size is not cached";

fn jobs() -> Vec<Case> {
    let start = "POST /api/jobs";
    let body = |source: &str| format!(r#"{{"sources": ["{source}"]}}"#);
    let dry =
        |source: &str| Case { body: body(source), ..case(start, DRY, "/api/jobs?dryRun=true") };
    vec![
        post(start, "/api/jobs", body("PLsize120")),
        post(start, "/api/jobs?dryRun=true", body("txManualAsr")),
        dry("PLsize120"),
        dry("@fermata"),
        get("GET /api/jobs", "/api/jobs"),
        get("GET /api/jobs/{id}", "/api/jobs/JOB?wait=1"),
        get("GET /api/jobs/{id}/items", "/api/jobs/JOB/items"),
        get("GET /api/jobs/{id}/results", "/api/jobs/JOB/results?format=csv"),
        get("GET /api/jobs/{id}/events", "/api/jobs/JOB/events"),
        post("POST /api/jobs/{id}/pause", "/api/jobs/JOB/pause", ""),
        post("POST /api/jobs/{id}/resume", "/api/jobs/JOB/resume", ""),
        post("POST /api/jobs/{id}/cancel", "/api/jobs/JOB/cancel", ""),
        post("POST /api/jobs/{id}/retry", "/api/jobs/JOB/retry", "{}"),
        get("DELETE /api/jobs/{id}", "/api/jobs/JOB"),
    ]
}

/// Stands for the name of a collection in a path.
pub(super) const COLLECTION: &str = "COLLECTION";

fn collections() -> Vec<Case> {
    let sources = r#"{"sources": ["@fermata"]}"#;
    vec![
        post("PUT /api/collections/{name}", "/api/collections/new", sources),
        post("PUT /api/collections/{name}", "/api/collections/COLLECTION", sources),
        get("GET /api/collections", "/api/collections"),
        get("GET /api/collections/{name}", "/api/collections/COLLECTION"),
        get("GET /api/collections/{name}/videos", "/api/collections/COLLECTION/videos"),
        post("POST /api/collections/{name}/sync", "/api/collections/COLLECTION/sync", ""),
        post("POST /api/collections/{name}/pause", "/api/collections/COLLECTION/pause", ""),
        post("POST /api/collections/{name}/resume", "/api/collections/COLLECTION/resume", ""),
        get("DELETE /api/collections/{name}", "/api/collections/COLLECTION"),
    ]
}

/// A channel by its handle, which is not in the library.
const HANDLE: &str = "with a `channel` by a handle that no collection has";

fn library() -> Vec<Case> {
    vec![
        get("GET /api/library/search", "/api/library/search?q=a"),
        case("GET /api/library/search", HANDLE, "/api/library/search?q=a&channel=@fermata"),
        get("GET /api/library/trends", "/api/library/trends?q=a"),
        case("GET /api/library/trends", HANDLE, "/api/library/trends?q=a&channel=@fermata"),
        get("GET /api/library/videos", "/api/library/videos"),
        case("GET /api/library/videos", HANDLE, "/api/library/videos?channel=@fermata"),
    ]
}

fn playlists() -> Vec<Case> {
    let query = "POST /api/playlist/{id}/query";
    let sorted = r#"{"sort": {"field": "views"}, "range": {"end": 5}}"#;
    vec![
        get("GET /api/playlist/{id}", "/api/playlist/PLsize50"),
        get("GET /api/playlist/{id}", "/api/playlist/PLsize51"),
        get("GET /api/playlist/{id}/info", "/api/playlist/PLsize120/info"),
        get("GET /api/playlist/{id}/ids", "/api/playlist/PLsize50/ids"),
        get("GET /api/playlist/{id}/ids", "/api/playlist/PLsize51/ids"),
        get("GET /api/playlist/{id}/videos", "/api/playlist/PLsize120/videos?limit=50"),
        get("GET /api/playlist/{id}/videos", "/api/playlist/PLsize120/videos?limit=51"),
        get("GET /api/playlist/{id}/feed", "/api/playlist/PLsize120/feed"),
        case("GET /api/playlist/{id}/feed", NO_FEED, "/api/playlist/PLquirkFeedMissing/feed"),
        post(query, "/api/playlist/PLsize120/query", "{}"),
        post(query, "/api/playlist/PLsize120/query", sorted),
        post(query, "/api/playlist/PLsize120/query", r#"{"range": {"start": 20, "end": 50}}"#),
        post(query, "/api/playlist/PLsize120/query", r#"{"range": {"start": 20, "end": 51}}"#),
    ]
}

fn comments() -> Vec<Case> {
    let (some, all) = ("GET /api/comments/{videoId}", "GET /api/comments/{videoId}/threads");
    vec![
        get(some, "/api/comments/quirkCmLoop?maxResults=100"),
        get(some, "/api/comments/quirkCmLoop?maxResults=101"),
        get(some, "/api/comments/quirkCmLoop?maxResults=2000&search=nobodyWroteThis"),
        case(some, ALL_REPLIES, "/api/comments/quirkManyRp?maxResults=100&replies=all"),
        get(all, "/api/comments/quirkCmLoop/threads?limit=100"),
        get(all, "/api/comments/quirkCmLoop/threads?limit=101"),
        get(all, "/api/comments/quirkCmLoop/threads?limit=500&search=nobodyWroteThis"),
        case(all, ALL_REPLIES, "/api/comments/quirkManyRp/threads?replies=all"),
        get("GET /api/comments/{videoId}/top", "/api/comments/quirkCmLoop/top?limit=100"),
        get("GET /api/comments/{videoId}/top", "/api/comments/quirkCmLoop/top?limit=101"),
        get("GET /api/comment-replies/{id}", "/api/comment-replies/UgquirkManyReplies04AaABAg"),
    ]
}

fn searches() -> Vec<Case> {
    let search = "GET /api/search";
    let named = |name| {
        let path = format!("/api/search?q=session&channel={name}");
        case(search, "with a `channel` by a custom name", path)
    };
    let [searched, handle] = NAMES.map(named);
    vec![
        get(search, "/api/search?q=session&limit=5"),
        get(search, "/api/search?q=quirk%20million&limit=50&include=details"),
        get(search, "/api/search?q=fermata&type=channel"),
        get(search, "/api/search?q=season&type=playlist"),
        get(search, format!("/api/search?q=session&channel={FERMATA}")),
        case(search, "with a `channel` by handle", "/api/search?q=session&channel=@fermata"),
        searched,
        handle,
        get("GET /api/charts/popular", "/api/charts/popular?region=DE&limit=50"),
        get("GET /api/charts/popular", "/api/charts/popular?region=DE&limit=51"),
    ]
}

fn transcripts() -> Vec<Case> {
    let list = "POST /api/transcripts with `playlist` or `channel`";
    let of_list = |condition, source: &str, to: u32| {
        let body = format!("{{{source}, \"to\": {to}}}");
        Case { condition, ..post(list, "/api/transcripts", body) }
    };
    let channel =
        |condition, channel: &str| of_list(condition, &format!("\"channel\": \"{channel}\""), 3);
    let [searched, handle] = ["LanternBayTapes", "fermata"]
        .map(|name| channel(BY_NAME, &format!("https://www.youtube.com/c/{name}")));
    let batch = "POST /api/playlist/{id}/transcript";
    vec![
        get("GET /api/transcript/{id}", "/api/transcript/txManualAsr"),
        get("GET /api/transcript/{id}/text", "/api/transcript/txManualAsr/text"),
        get("GET /api/transcript/{id}/document", "/api/transcript/txManualAsr/document"),
        get("GET /api/transcript/{id}/chunks", "/api/transcript/txManualAsr/chunks"),
        get("GET /api/transcript/{id}/tracks", "/api/transcript/txManualAsr/tracks"),
        post("POST /api/transcripts", "/api/transcripts", r#"{"videos": ["txManualAsr"]}"#),
        of_list("", r#""playlist": "PLsize120""#, 50),
        of_list("", r#""playlist": "PLsize120""#, 51),
        channel("", FERMATA),
        channel(BY_HANDLE, "@fermata"),
        searched,
        handle,
        post(batch, "/api/playlist/PLsize120/transcript", r#"{"to": 50}"#),
        post(batch, "/api/playlist/PLsize120/transcript", r#"{"to": 51}"#),
        post(batch, "/api/playlist/PLsize120/transcript", r#"{"from": 70}"#),
    ]
}

fn service() -> Vec<Case> {
    let tool = "POST /api/tools/{name}";
    let video = post(tool, "/api/tools/get_video", r#"{"video": "fda4eREcaTQ"}"#);
    let playlist = post(tool, "/api/tools/get_playlist", r#"{"playlist": "PLsize120"}"#);
    vec![
        get("GET /api/i18n/regions", "/api/i18n/regions"),
        get("GET /api/i18n/languages", "/api/i18n/languages"),
        get("GET /api/video-categories", "/api/video-categories?region=DE"),
        get("GET /api/video-categories", "/api/video-categories?ids=1,10"),
        post("POST /api/url/parse", "/api/url/parse", r#"{"url": "https://youtu.be/fda4eREcaTQ"}"#),
        Case { same_as: Some("/api/video/fda4eREcaTQ"), ..video },
        Case { same_as: Some("/api/playlist/PLsize120"), ..playlist },
        get("GET /api/quota", "/api/quota"),
        get("GET /api/cache", "/api/cache"),
        get("GET /api/usage", "/api/usage"),
        get("GET /healthz", "/healthz"),
        get("GET /readyz", "/readyz"),
        get("GET /metrics", "/metrics"),
        get("GET /openapi.json", "/openapi.json"),
        get("GET /llms.txt", "/llms.txt"),
        get("GET /", "/"),
        get("GET /collections", "/collections"),
        get("GET /docs", "/docs"),
    ]
}
