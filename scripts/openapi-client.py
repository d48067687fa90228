"""Calls every operation with a client that openapi-python-client generates from the document.

scripts/openapi-clients checks and runs it.
"""

import os
import re
from typing import TypeVar

import httpx
from vidra_client import AuthenticatedClient
from vidra_client.api.channels import (
    get_channel,
    get_channel_feed,
    get_channel_playlists,
    get_channel_videos,
    get_uploads,
)
from vidra_client.api.collections import (
    delete_collection,
    get_collection,
    get_collection_videos,
    list_collections,
    pause_collection,
    put_collection,
    resume_collection,
    sync_collection,
)
from vidra_client.api.comments import (
    get_comment_replies,
    get_comments,
    get_threads,
    get_top_comments,
)
from vidra_client.api.jobs import (
    cancel_job,
    delete_job,
    get_job,
    get_job_events,
    get_job_items,
    get_job_results,
    list_jobs,
    pause_job,
    resume_job,
    retry_job,
    start_job,
)
from vidra_client.api.library import get_library_videos, get_trends, search_library
from vidra_client.api.links import parse_link
from vidra_client.api.playlists import (
    get_playlist,
    get_playlist_feed,
    get_playlist_ids,
    get_playlist_info,
    get_playlist_videos,
    query_playlist,
)
from vidra_client.api.regions import get_languages, get_regions, get_video_categories
from vidra_client.api.search import get_search
from vidra_client.api.service import (
    get_cache,
    get_health,
    get_llms_txt,
    get_metrics,
    get_openapi,
    get_quota,
    get_readiness,
    get_usage,
)
from vidra_client.api.tools import run_tool
from vidra_client.api.transcripts import (
    get_playlist_transcripts,
    get_tracks,
    get_transcript,
    get_transcript_chunks,
    get_transcript_document,
    get_transcript_text,
    get_transcripts,
)
from vidra_client.api.videos import get_popular, get_video, get_video_title, get_videos
from vidra_client.models import (
    AnyObject,
    BatchBody,
    CollectionRequestBody,
    CollectionState,
    ErrorBody,
    GetCommentsOrder,
    GetTranscriptTextFormat,
    Job,
    JobRequestBody,
    JobState,
    LinkBody,
    LinkType,
    Reason,
    RetryBody,
    RunToolName,
    Selection,
    TranscriptsBody,
)

VIDEO, COMMENTED, PLAYLIST = "txManualAsr", "fda4eREcaTQ", "PLsize1"

T = TypeVar("T")
called: list[tuple[str, str]] = []


def record(request: httpx.Request) -> None:
    called.append((request.method, request.url.path))


def ok(answer: T | ErrorBody | None) -> T:
    """The answer. Fails if it is an error."""
    assert answer is not None and not isinstance(answer, ErrorBody), answer
    return answer


# The generator requires a token where the document allows one. A service without keys ignores it.
client = AuthenticatedClient(
    base_url=os.environ["VIDRA_URL"],
    token="none",
    raise_on_unexpected_status=True,
    httpx_args={"event_hooks": {"request": [record]}},
)

video = ok(get_video.sync(VIDEO, client=client))
assert video.id == VIDEO and video.views >= 0
assert ok(get_video_title.sync(VIDEO, client=client)).title == video.title
assert len(ok(get_videos.sync(client=client, ids=f"{VIDEO},quirkNoLike"))) == 2
assert ok(get_channel.sync("@fermata", client=client)).id.startswith("UC")
assert len(ok(get_channel_videos.sync("@fermata", client=client, limit=2))) == 2
uploads = ok(get_uploads.sync("@fermata", client=client, limit=2, since="2001-01-31"))
assert len(uploads.items) == 2 and uploads.next_cursor
assert len(ok(get_playlist.sync(PLAYLIST, client=client)).videos) == 1
assert ok(get_playlist_info.sync(PLAYLIST, client=client)).item_count == 1
assert len(ok(get_playlist_ids.sync(PLAYLIST, client=client)).video_ids) == 1
page = ok(get_playlist_videos.sync("PLsize51", client=client, limit=50))
rest = ok(get_playlist_videos.sync("PLsize51", client=client, cursor=page.next_cursor))
assert rest.items[0].position == 51 and not rest.next_cursor
selection = Selection.from_dict({"sort": {"field": "views", "order": "desc"}})
assert ok(query_playlist.sync(PLAYLIST, client=client, body=selection)).original_count == 1

by_rank = GetCommentsOrder.RELEVANCE
assert len(ok(get_comments.sync(COMMENTED, client=client, order=by_rank, max_results=3))) == 3
assert ok(get_top_comments.sync(COMMENTED, client=client, limit=1))[0].top_level_comment.text
assert len(ok(get_comment_replies.sync("UgquirkManyReplies04AaABAg", client=client))) > 5
assert len(ok(get_search.sync(client=client, q="session", limit=2, include="details")).items) == 2
assert len(ok(get_threads.sync(COMMENTED, client=client, limit=3)).items) == 3
assert len(ok(get_popular.sync(client=client, limit=2)).items) == 2
assert len(ok(get_channel_playlists.sync("@fermata", client=client, limit=1)).items) == 1
assert len(ok(get_channel_feed.sync("@fermata", client=client)).items) > 1
assert len(ok(get_playlist_feed.sync(PLAYLIST, client=client)).items) == 1

assert ok(get_transcript.sync(VIDEO, client=client))[0].text
for format_, beginning in [("txt", ""), ("srt", "1\n"), ("vtt", "WEBVTT")]:
    chosen = GetTranscriptTextFormat(format_)
    text: str = ok(get_transcript_text.sync(VIDEO, client=client, format_=chosen))
    assert text.startswith(beginning) and not text.startswith("["), format_
document = ok(get_transcript_document.sync(VIDEO, client=client, words=True, end="10"))
assert document.title and document.lines[0].text and document.track.language_code == "en"
assert ok(get_transcript_chunks.sync(VIDEO, client=client, size=64)).chunks[0].url
assert ok(get_tracks.sync(VIDEO, client=client))
batch = BatchBody(concurrency=2, from_=1, to=1)
assert ok(get_playlist_transcripts.sync(PLAYLIST, client=client, body=batch)).results[0].position == 1
videos = TranscriptsBody(videos=[VIDEO])
assert ok(get_transcripts.sync(client=client, body=videos)).results[0].video_id == VIDEO

job = ok(start_job.sync(client=client, body=JobRequestBody(sources=[VIDEO])))
assert isinstance(job, Job)
while job.state not in (JobState.COMPLETED, JobState.FAILED):
    job = ok(get_job.sync(job.id, client=client, wait=60, seen=job.version))
assert job.state == JobState.COMPLETED and job.succeeded == 1
assert ok(list_jobs.sync(client=client, limit=1)).items[0].id == job.id
assert ok(get_job_items.sync(job.id, client=client)).items[0].video_id == VIDEO
assert ok(get_job_results.sync(job.id, client=client)).results[0].video_id == VIDEO
# The stream of a job that has ended ends too.
assert get_job_events.sync_detailed(job.id, client=client, after=0).status_code == 200
assert ok(retry_job.sync(job.id, client=client, body=RetryBody())).retried == 0
for change in (pause_job, resume_job, cancel_job):
    refused = change.sync(job.id, client=client)
    assert isinstance(refused, ErrorBody) and refused.error.reason == Reason.JOB_STATE_CONFLICT
assert delete_job.sync_detailed(job.id, client=client).status_code == 204

news = CollectionRequestBody(sources=[VIDEO])
assert ok(put_collection.sync("news", client=client, body=news)).source_count == 1
sync = ok(sync_collection.sync("news", client=client))
while sync.state not in (JobState.COMPLETED, JobState.FAILED):
    sync = ok(get_job.sync(sync.id, client=client, wait=60, seen=sync.version))
assert ok(get_collection.sync("news", client=client)).coverage.transcribed == 1
assert ok(list_collections.sync(client=client)).items[0].name == "news"
assert ok(get_collection_videos.sync("news", client=client)).items[0].video_id == VIDEO
hits = ok(search_library.sync(client=client, q="the", collection="news", limit=1)).items
assert hits[0].video_id == VIDEO
assert ok(get_trends.sync(client=client, q="the", collection="news")).coverage.videos == 1
assert ok(get_library_videos.sync(client=client, collection="news")).items[0].video_id == VIDEO
assert ok(pause_collection.sync("news", client=client)).state == CollectionState.PAUSED
assert ok(resume_collection.sync("news", client=client)).state == CollectionState.ACTIVE
assert delete_collection.sync_detailed("news", client=client).status_code == 204

assert ok(get_regions.sync(client=client, hl="de"))
assert ok(get_languages.sync(client=client))
assert ok(get_video_categories.sync(client=client, region="US"))
link = ok(parse_link.sync(client=client, body=LinkBody(url=f"https://youtu.be/{VIDEO}")))
assert link.type_ == LinkType.VIDEO and link.video_id == VIDEO
arguments = AnyObject.from_dict({"video": COMMENTED, "limit": 1})
answer = ok(run_tool.sync(RunToolName.GET_TOP_COMMENTS, client=client, body=arguments))
assert "notice" in answer.structured_content

assert len(ok(get_quota.sync(client=client)).buckets) == 2
assert ok(get_cache.sync(client=client)).hit_ratio >= 0
assert ok(get_usage.sync(client=client)).days[0].callers
assert ok(get_health.sync(client=client)).status == "ok"
assert ok(get_readiness.sync(client=client)).status == "ready"
assert "vidra_" in ok(get_metrics.sync(client=client))
assert ok(get_llms_txt.sync(client=client)).startswith("# vidra")
document = ok(get_openapi.sync(client=client))

missing = get_video.sync("quirkAbsent", client=client)
assert isinstance(missing, ErrorBody) and missing.error.reason == Reason.VIDEO_NOT_FOUND

operations = [
    (method.upper(), path) for path, methods in document["paths"].items() for method in methods
]
for method, path in operations:
    form = re.compile(re.sub(r"\{\w+\}", "[^/]+", path))
    assert any(method == name and form.fullmatch(to) for name, to in called), f"{method} {path}"
print(f"python: {len(operations)} operations called")
