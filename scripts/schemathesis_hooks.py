"""Hooks for schemathesis: rules of the service that an OpenAPI document cannot express."""

import functools
import json
import os
import re
import urllib.request

import jsonschema_rs
import schemathesis

# The service rejects each violation with 400, which crates/vidra-server/tests/it/errors.rs tests.
RULES = [
    # A lower bound must not exceed its upper bound. JSON Schema cannot compare fields.
    lambda case: ordered(case.body, "from", "to"),
    lambda case: ordered(field(case.body, "range"), "start", "end"),
    # The service ignores spaces around a choice, and an empty choice means an absent one.
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
    """Removes cases that are valid by the document but break one of the rules."""
    return all(rule(case) for rule in RULES)


@schemathesis.hook
def map_case(context, case):
    """Corrects cases that would break a rule."""
    # Categories are requested either by region or by id, and only the platform knows the valid regions.
    if case.operation.path == "/api/video-categories":
        query = case.query or {}
        # The service ignores spaces around them.
        region, ids = (str(query.get(name) or "").strip(" ") for name in ("region", "ids"))
        if region and ids:
            del query["ids"]
        if re.fullmatch("[A-Za-z]{2}", region) and region.upper() not in regions():
            query["region"] = "US"
    # The arguments of a tool depend on its name. Every tool has its own tests.
    if case.operation.path == "/api/tools/{name}" and isinstance(case.body, dict):
        case.path_parameters["name"] = "get_top_comments"
        case.body = {"video": "fda4eREcaTQ", "limit": 1}
    if case.operation.path == "/api/playlist/{id}/transcript":
        # The Accept header, which OpenAPI leaves to the client, requests a stream. The length of the body selects it, so
        # that a repeated case is the same.
        kinds = ["application/json", "application/x-ndjson", "text/event-stream"]
        kind = kinds[len(repr(case.body)) % len(kinds)]
        case.headers = {**(case.headers or {}), "Accept": kind}
    return case


@schemathesis.hook
def before_add_examples(context, examples):
    """Applies the hooks above to examples, which schemathesis generates without them."""
    examples[:] = [map_case(context, case) for case in examples if filter_case(context, case)]


@functools.cache
def regions():
    with urllib.request.urlopen(os.environ["VIDRA_URL"] + "/api/i18n/regions") as answer:
        return {region["id"] for region in json.load(answer)}


@schemathesis.deserializer("application/x-ndjson")
def ndjson(context, response):
    """Returns the last line where schemathesis expects one value. The check below validates every line."""
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
