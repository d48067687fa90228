#!/usr/bin/env python3
"""Searches the transcripts of a playlist for the words of a question, and prints a link to each moment:

    vidra serve --demo --database sqlite:library.db
    python3 ask_playlist.py PLqVbWzL7SCCgDqeOV9d4j8DXMsGkzFuQG "Which bridge is in five?"

It needs no model and no packages. VIDRA_SERVER is the URL of another service, VIDRA_TOKEN the caller key.
"""

import json
import os
import re
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

SERVER = os.environ.get("VIDRA_SERVER", "http://127.0.0.1:3000")
COMMON = set(
    """a about and any are at be can did do does for from has have how i in is it many much of on or say says that the
    their there they this to was we were what when where which who why will with you""".split()
)


def call(tool, arguments):
    headers = {"content-type": "application/json"}
    if "VIDRA_TOKEN" in os.environ:
        headers["authorization"] = "Bearer " + os.environ["VIDRA_TOKEN"]
    request = Request(f"{SERVER}/api/tools/{tool}", json.dumps(arguments).encode(), headers)
    try:
        # A call ends within 45 seconds.
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)
    except HTTPError as failure:
        error = json.load(failure)["error"]
        sys.exit("\n".join([error["message"], *error["details"]]))


def ask(playlist, question):
    words = [word for word in re.findall(r"\w+", question.lower()) if word not in COMMON][:16]
    # OR also finds moments with only some of the words. The moments with the most words come first.
    query = " OR ".join(words) or question
    answer = call(
        "search_transcripts", {"playlist": playlist, "query": query, "group": "video", "limit": 5}
    )
    # The lines before the mark are from vidra: the number of results, and the videos that it could not search.
    print(answer["text"].partition("<youtube-data")[0].strip())
    for video in answer["structuredContent"]["videos"]:
        print(f"\n{video['title']} · {video['channel']}")
        for moment in video["moments"]:
            print(f"https://youtu.be/{video['id']}?t={moment['start']}s {moment['text']}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    ask(*sys.argv[1:])
