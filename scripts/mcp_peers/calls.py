"""The calls that every client makes. They use the demo data, which never changes."""

VIDEO, CAPTIONED, PLAYLIST = "fda4eREcaTQ", "txManualAsr", "PLsize200"

# A call of each tool, in this order. The test fails if a listed tool has no entry here.
CALLS = {
    "search_transcripts": {"videos": [CAPTIONED, VIDEO], "query": "notes"},
    "start_job": {"sources": [CAPTIONED], "name": "peer"},
    "get_job": {},
    "search_library": {"query": "notes"},
    "get_trends": {"query": "notes"},
    "search_youtube": {"query": "session", "limit": 3, "include": ["details"]},
    "get_videos": {"videos": [VIDEO, CAPTIONED, "quirkNoLike"]},
    "get_transcript": {"video": f"https://youtu.be/{CAPTIONED}?t=20"},
    "get_channel": {"channel": "@fermata"},
    "get_playlist": {"playlist": PLAYLIST, "max_chars": 4000},
    "get_comments": {"video": "quirkHtmlCm", "replies": "all"},
    # Tools that are listed only with --all-tools.
    "get_video": {"video": f"https://youtu.be/{VIDEO}"},
    "get_popular_videos": {"region": "DE", "limit": 3},
    "get_channel_videos": {"channel": "@fermata", "limit": 3},
    "get_channel_playlists": {"channel": "@fermata", "limit": 3},
    "get_feed": {"playlist": PLAYLIST},
    "get_playlist_info": {"playlist": PLAYLIST},
    "get_playlist_videos": {"playlist": PLAYLIST, "from": 3, "to": 6},
    "query_playlist": {"playlist": PLAYLIST, "views": {"min": 1}, "sort_by": "views", "to": 3},
    "get_top_comments": {"video": VIDEO},
    "search_comments": {"video": VIDEO, "query": "a"},
    "get_caption_tracks": {"video": CAPTIONED},
    "transcribe_video": {"video": CAPTIONED},
    "batch_transcribe": {"videos": [CAPTIONED, "txNoCaption", CAPTIONED], "concurrency": 2},
    "transcribe_playlist": {"playlist": "PLquirkMixed", "to": 4},
}

# Tools whose answer changes while a job runs. All others give the same answer each time.
CHANGING = ["start_job", "get_job", "search_library", "get_trends"]

# Tools whose call above reports progress, with the total number of steps.
STEPS = {"search_transcripts": 2, "batch_transcribe": 3}

# A call that fails although its arguments are valid, and words of its error.
FAILS = ("get_comments", {"video": "quirkAbsent"}, "What to do: ")

# Wrong arguments, and words that the error must contain, so that a model can correct them.
WRONG_ARGUMENTS = [
    ("get_videos", {"videos": ["nope"]}, ["videos[0]", '"nope"', "for example"]),
    ("get_videos", {"videos": []}, ["videos", "1 to 50", "for example"]),
    ("get_channel", {}, ["channel"]),
    ("get_playlist", {"playlist": PLAYLIST, "max_chars": "many"}, ["max_chars", '"many"', "4000"]),
]
# How the service reports them: "protocol error", or "result" (one with isError).
WRONG_ARGUMENTS_ARE = "result"

# An unknown tool is a protocol error.
UNKNOWN_TOOL = "no_such_tool"
INVALID_PARAMS = -32602

# Calls of this tool take five seconds with these videos, unless the answer is cached.
# Each check has its own video, because the fetch of a cancelled call may continue for the next call.
SLOW_TOOL = "get_transcript"
CANCELLED_VIDEO, DROPPED_VIDEO = "plSlow_____", "ttSlow_____"

# Whether the service can resend an answer that was complete when its stream was dropped.
RESUMES_FINISHED = True

# The number of concurrent calls.
CROWD = 50

# For clients in other languages.
TABLES = {
    "calls": CALLS,
    "steps": STEPS,
    "fails": FAILS,
    "wrongArguments": WRONG_ARGUMENTS,
    "wrongArgumentsAre": WRONG_ARGUMENTS_ARE,
    "unknownTool": UNKNOWN_TOOL,
    "invalidParams": INVALID_PARAMS,
    "changing": CHANGING,
    "slowTool": SLOW_TOOL,
    "cancelledVideo": CANCELLED_VIDEO,
    "droppedVideo": DROPPED_VIDEO,
    "resumesFinished": RESUMES_FINISHED,
    "crowd": CROWD,
}
