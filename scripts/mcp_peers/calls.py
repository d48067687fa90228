"""The calls that every client makes. They use the demo, whose videos are always the same."""

VIDEO, CAPTIONED, PLAYLIST = "fda4eREcaTQ", "txManualAsr", "PLsize200"

# A call of each tool, in this order. A tool that is listed and has no entry here fails the test.
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
    # Only in the list of all tools.
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

# Tools whose call above reports progress, of so many steps.
STEPS = {"search_transcripts": 2, "batch_transcribe": 3}

# A call that fails although its arguments are valid, and words of its answer.
FAILS = ("get_comments", {"video": "quirkAbsent"}, "What to do: ")

# Wrong arguments, and words that the answer must hold, so that a model can correct them.
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
# There is one video for each check, because a call that is cancelled may leave its fetch to the next one.
SLOW_TOOL = "get_transcript"
CANCELLED_VIDEO, DROPPED_VIDEO = "plSlow_____", "ttSlow_____"

# Whether the service sends an answer again that was complete when its stream was dropped.
RESUMES_FINISHED = True

# Calls at once.
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
