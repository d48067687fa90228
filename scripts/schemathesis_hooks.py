"""What an OpenAPI document cannot say, told to schemathesis."""

import functools
import json
import os
import re
import urllib.request

import jsonschema_rs
import schemathesis

# Each refusal is 400 and has a test of its own (crates/vidra-server/tests/it/errors.rs).
RULES = [
    # Of two bounds the lower one is not the greater. JSON Schema does not compare fields.
    lambda case: ordered(case.body, "from", "to"),
    lambda case: ordered(field(case.body, "range"), "start", "end"),
    # Choices may have spaces around them, and an empty one counts as absent.
    lambda case: all(
        str(value) == str(value).strip(" ") != ""
        for name, value in (case.query or {}).items()
        if name in ("format", "download")
    ),
    lambda case: all(
        ordered(bounds, "min", "max") for bounds in values(field(case.body, "filter"))
    ),
]


def field(value, name):
    return value.get(name) if isinstance(value, dict) else None


def values(value):
    return value.values() if isinstance(value, dict) else []


def ordered(value, low, high):
    low, high = field(value, low), field(value, high)
    try:
        return int(low) <= int(high)
    except (TypeError, ValueError, OverflowError):
        return True


@schemathesis.hook
def filter_case(context, case):
    """Cases that are right by the document and wrong by a rule that it cannot hold are left out."""
    return all(rule(case) for rule in RULES)


@schemathesis.hook
def map_case(context, case):
    """Puts right what the document cannot say."""
    # Categories are asked for by region or by id, and which regions there are only the platform knows.
    if case.operation.path == "/api/video-categories":
        query = case.query or {}
        # Spaces around them do not count.
        region, ids = (str(query.get(name) or "").strip(" ") for name in ("region", "ids"))
        if region and ids:
            del query["ids"]
        if re.fullmatch("[A-Za-z]{2}", region) and region.upper() not in regions():
            query["region"] = "US"
    # What a tool takes hangs on its name; every tool has tests of its own.
    if case.operation.path == "/api/tools/{name}" and isinstance(case.body, dict):
        case.path_parameters["name"] = "get_top_comments"
        case.body = {"video": "fda4eREcaTQ", "limit": 1}
    if case.operation.path == "/api/playlist/{id}/transcript":
        # Streams are asked for by a header that OpenAPI leaves to the client. By length, so that a case
        # that is tried again is the same.
        kinds = ["application/json", "application/x-ndjson", "text/event-stream"]
        kind = kinds[len(repr(case.body)) % len(kinds)]
        case.headers = {**(case.headers or {}), "Accept": kind}
    return case


@schemathesis.hook
def before_add_examples(context, examples):
    """Examples are made without asking the hooks above."""
    examples[:] = [map_case(context, case) for case in examples if filter_case(context, case)]


@functools.cache
def regions():
    with urllib.request.urlopen(os.environ["VIDRA_URL"] + "/api/i18n/regions") as answer:
        return {region["id"] for region in json.load(answer)}


@schemathesis.deserializer("application/x-ndjson")
def ndjson(context, response):
    """The last line stands for all where one value is expected; the check below looks at each."""
    return json.loads(response.content.splitlines()[-1])


@schemathesis.check
def every_line_of_a_stream_conforms(context, response, case):
    kind = (response.headers.get("content-type") or [""])[0]
    if kind.startswith("application/x-ndjson"):
        lines = response.content.splitlines()
    elif kind.startswith("text/event-stream"):
        fields = response.content.splitlines()
        lines = [field[len(b"data: ") :] for field in fields if field.startswith(b"data: ")]
    else:
        return
    document = case.operation.schema.raw_schema
    line = {"$ref": "#/components/schemas/BatchLine", "components": document["components"]}
    validator = jsonschema_rs.Draft202012Validator(line)
    assert lines, "a stream without a line"
    for line in lines:
        assert (error := next(validator.iter_errors(json.loads(line)), None)) is None, error
