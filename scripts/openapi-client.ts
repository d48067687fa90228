// Calls every operation with a client of openapi-fetch, whose types openapi-typescript generates from the document.
// scripts/openapi-clients compiles and runs it.

import createClient, { type Middleware } from "openapi-fetch";
import type { paths } from "./schema.js";

declare const process: { env: Record<string, string | undefined> };

const VIDEO = "txManualAsr";
const PLAYLIST = "PLsize1";

const baseUrl = process.env["VIDRA_URL"] ?? "";
const called = new Set<string>();
const record: Middleware = {
  onRequest({ schemaPath, request }) {
    called.add(`${request.method} ${schemaPath}`);
  },
};

// The media type selects the type of `data`.
const json = createClient<paths, "application/json">({ baseUrl });
const text = createClient<paths>({ baseUrl });
json.use(record);
text.use(record);

/** The data of an answer. Fails with the reason of an error, which is typed too. */
async function ok<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await answer;
  if (data === undefined) throw new Error(`${response.url}: ${response.status} ${JSON.stringify(error)}`);
  return data;
}

function check(condition: boolean, what: string): void {
  if (!condition) throw new Error(what);
}

const id = { path: { id: VIDEO } };
const playlist = { path: { id: PLAYLIST } };
const commented = { path: { videoId: "fda4eREcaTQ" } };

const video = await ok(json.GET("/api/video/{id}", { params: id }));
check(video.id === VIDEO && video.views >= 0, "video");
check((await ok(json.GET("/api/video/{id}/title", { params: id }))).title === video.title, "title");
const videos = await ok(json.GET("/api/videos", { params: { query: { ids: `${VIDEO},quirkNoLike` } } }));
check(videos.length === 2 && videos[0]?.id === VIDEO, "videos");

const channel = { id: "@fermata" };
const { id: channelId } = await ok(json.GET("/api/channel/{id}", { params: { path: channel } }));
check(channelId.startsWith("UC"), "channel");
const uploads = await ok(json.GET("/api/channel/{id}/videos", { params: { path: channel, query: { limit: 2 } } }));
check(uploads.length === 2, "uploads");

const since = { limit: 2, since: "2001-01-31" };
const newest = await ok(json.GET("/api/channel/{id}/uploads", { params: { path: channel, query: since } }));
check(newest.items.length === 2 && newest.nextCursor !== undefined, "pages of uploads");

check((await ok(json.GET("/api/playlist/{id}", { params: playlist }))).videos.length === 1, "playlist");
check((await ok(json.GET("/api/playlist/{id}/info", { params: playlist }))).itemCount === 1, "info");
const { videoIds } = await ok(json.GET("/api/playlist/{id}/ids", { params: playlist }));
check(videoIds.length === 1, "ids");
const long = { id: "PLsize51" };
const page = await ok(json.GET("/api/playlist/{id}/videos", { params: { path: long, query: { limit: 50 } } }));
const after = page.nextCursor === undefined ? {} : { cursor: page.nextCursor };
const rest = await ok(json.GET("/api/playlist/{id}/videos", { params: { path: long, query: after } }));
check(rest.items[0]?.position === 51 && rest.nextCursor === undefined, "pages of a playlist");
const rows: string = await ok(
  text.GET("/api/playlist/{id}/videos", { params: { path: long, query: { format: "csv" } }, parseAs: "text" }),
);
check(rows.startsWith("id,title,"), "CSV");
const body = { filter: { views: { min: 0 } }, sort: { field: "views", order: "desc" } } as const;
const selected = await ok(json.POST("/api/playlist/{id}/query", { params: playlist, body }));
check(selected.originalCount === 1, "query");
const query = { format: "csv" } as const;
const table: string = await ok(
  text.POST("/api/playlist/{id}/query", { params: { ...playlist, query }, body, parseAs: "text" }),
);
check(table.startsWith("id,title,"), "CSV of a query");

const threads = await ok(
  json.GET("/api/comments/{videoId}", { params: { ...commented, query: { order: "relevance", maxResults: 3 } } }),
);
check(threads.length === 3, "comments");
const top = await ok(json.GET("/api/comments/{videoId}/top", { params: { ...commented, query: { limit: 1 } } }));
check(top[0]?.topLevelComment.text !== undefined, "top comments");
const comment = { path: { id: "UgquirkManyReplies04AaABAg" } };
check((await ok(json.GET("/api/comment-replies/{id}", { params: comment }))).length > 5, "replies");
const search = { q: "session", limit: 2, include: "details" };
const results = await ok(json.GET("/api/search", { params: { query: search } }));
check(results.items.length === 2 && results.items[0]?.type === "video", "search");
const all = await ok(
  json.GET("/api/comments/{videoId}/threads", { params: { ...commented, query: { limit: 3 } } }),
);
check(all.items.length === 3, "threads");
const popular = await ok(json.GET("/api/charts/popular", { params: { query: { limit: 2 } } }));
check(popular.items.length === 2, "popular videos");
const lists = await ok(json.GET("/api/channel/{id}/playlists", { params: { path: channel, query: { limit: 1 } } }));
check(lists.items.length === 1, "playlists of a channel");
check((await ok(json.GET("/api/channel/{id}/feed", { params: { path: channel } }))).source === "feed", "feed");
check((await ok(json.GET("/api/playlist/{id}/feed", { params: playlist }))).items.length === 1, "feed of a playlist");

const lines = await ok(json.GET("/api/transcript/{id}", { params: id }));
check(lines.length > 0 && lines[0]?.text !== undefined, "transcript");
for (const [format, beginning] of [["srt", "1\n"], ["vtt", "WEBVTT"], ["txt", ""]] as const) {
  const params = { ...id, query: { format } };
  const same: string = await ok(text.GET("/api/transcript/{id}", { params, parseAs: "text" }));
  const written: string = await ok(text.GET("/api/transcript/{id}/text", { params, parseAs: "text" }));
  check(written === same && written.startsWith(beginning) && !written.startsWith("["), format);
}
check((await ok(json.GET("/api/transcript/{id}/tracks", { params: id }))).length > 0, "tracks");
const part = { ...id, query: { words: true, end: "10" } };
const described = await ok(json.GET("/api/transcript/{id}/document", { params: part }));
check(described.title !== "" && described.track.languageCode === "en" && described.lines.length > 0, "document");
const chunked = await ok(json.GET("/api/transcript/{id}/chunks", { params: { ...id, query: { size: 64 } } }));
check(chunked.chunks[0]?.index === 0, "chunks");
const listed = await ok(json.POST("/api/transcripts", { body: { videos: [id.path.id] } }));
check(listed.source.type === "videos" && listed.results[0]?.position === 1, "transcripts");
const batch = { params: playlist, body: { concurrency: 2, from: 1, to: 1 } };
const transcripts = await ok(json.POST("/api/playlist/{id}/transcript", batch));
check(transcripts.results[0]?.position === 1, "batch");
const accept = { headers: { accept: "application/x-ndjson" }, parseAs: "text" } as const;
const stream: string = await ok(text.POST("/api/playlist/{id}/transcript", { ...batch, ...accept }));
check(stream.trim().split("\n").length === 2, "stream");

const started = await ok(json.POST("/api/jobs", { body: { sources: [VIDEO] } }));
if (!("id" in started)) throw new Error("a job, not an estimate");
const job = { path: { id: started.id } };
let state: string = started.state;
for (let seen = started.version; state !== "completed"; ) {
  const next = await ok(json.GET("/api/jobs/{id}", { params: { ...job, query: { wait: 60, seen } } }));
  check(next.state !== "failed", "the job failed");
  [state, seen] = [next.state, next.version];
}
check((await ok(json.GET("/api/jobs", { params: { query: { limit: 1 } } }))).items[0]?.id === started.id, "jobs");
check((await ok(json.GET("/api/jobs/{id}/items", { params: job }))).items[0]?.videoId === VIDEO, "items");
check((await ok(json.GET("/api/jobs/{id}/results", { params: job }))).results[0]?.videoId === VIDEO, "results");
const followed = { params: { ...job, query: { after: 0 } }, parseAs: "text" } as const;
check(String(await ok(text.GET("/api/jobs/{id}/events", followed))).includes("event: snapshot"), "events");
check((await ok(json.POST("/api/jobs/{id}/retry", { params: job, body: {} }))).retried === 0, "retry");
for (const change of ["/api/jobs/{id}/pause", "/api/jobs/{id}/resume", "/api/jobs/{id}/cancel"] as const) {
  const { error: refused } = await json.POST(change, { params: job });
  check(refused?.error.reason === "job_state_conflict", change);
}
check((await json.DELETE("/api/jobs/{id}", { params: job })).response.status === 204, "delete");

const news = { path: { name: "news" } };
const created = await ok(json.PUT("/api/collections/{name}", { params: news, body: { sources: [VIDEO] } }));
check(created.sourceCount === 1, "collection");
let sync = await ok(json.POST("/api/collections/{name}/sync", { params: news }));
while (sync.state !== "completed" && sync.state !== "failed") {
  const query = { wait: 60, seen: sync.version };
  sync = await ok(json.GET("/api/jobs/{id}", { params: { path: { id: sync.id }, query } }));
}
check((await ok(json.GET("/api/collections/{name}", { params: news }))).coverage.transcribed === 1, "coverage");
check((await ok(json.GET("/api/collections"))).items[0]?.name === "news", "collections");
check((await ok(json.GET("/api/collections/{name}/videos", { params: news }))).items[0]?.videoId === VIDEO, "videos");
const inNews = { collection: "news", limit: 1 };
const hits = (await ok(json.GET("/api/library/search", { params: { query: { q: "the", ...inNews } } }))).items;
check(hits[0]?.videoId === VIDEO, "search");
const trends = await ok(json.GET("/api/library/trends", { params: { query: { q: "the", collection: "news" } } }));
check(trends.coverage.videos === 1, "trends");
check((await ok(json.GET("/api/library/videos", { params: { query: inNews } }))).items[0]?.videoId === VIDEO, "library");
check((await ok(json.POST("/api/collections/{name}/pause", { params: news }))).state === "paused", "pause");
check((await ok(json.POST("/api/collections/{name}/resume", { params: news }))).state === "active", "resume");
check((await json.DELETE("/api/collections/{name}", { params: news })).response.status === 204, "delete");

check((await ok(json.GET("/api/i18n/regions", { params: { query: { hl: "de" } } }))).length > 0, "regions");
check((await ok(json.GET("/api/i18n/languages"))).length > 0, "languages");
const categories = await ok(json.GET("/api/video-categories", { params: { query: { region: "US" } } }));
check(categories.length > 0, "categories");
const link = await ok(json.POST("/api/url/parse", { body: { url: `https://youtu.be/${VIDEO}` } }));
check(link.type === "video" && link.videoId === VIDEO, "link");
const tool = { params: { path: { name: "get_top_comments" } }, body: { video: "fda4eREcaTQ", limit: 1 } } as const;
const { structuredContent } = await ok(json.POST("/api/tools/{name}", tool));
check(structuredContent["notice"] !== undefined, "tool");

check((await ok(json.GET("/api/quota"))).buckets.length === 2, "quota");
check((await ok(json.GET("/api/cache"))).hitRatio >= 0, "cache");
check((await ok(json.GET("/api/usage"))).days.length > 0, "usage");
check((await ok(json.GET("/healthz"))).status === "ok", "health");
check((await ok(json.GET("/readyz"))).status === "ready", "readiness");
check((await ok(text.GET("/metrics", { parseAs: "text" }))).includes("vidra_"), "metrics");
check((await ok(text.GET("/llms.txt", { parseAs: "text" }))).startsWith("# vidra"), "llms.txt");
const document = await ok(json.GET("/openapi.json"));

const { error } = await json.GET("/api/video/{id}", { params: { path: { id: "quirkAbsent" } } });
check(error?.error.reason === "video_not_found", "the error of a missing video");

const documented = Object.entries(document["paths"] as Record<string, Record<string, unknown>>).flatMap(
  ([path, operations]) => Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
);
const missing = documented.filter((operation) => !called.has(operation));
check(missing.length === 0, `not called: ${missing.join(", ")}`);
console.log(`typescript: ${documented.length} operations called`);
