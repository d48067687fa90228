"""Checks that `vidra tools` prints JSON Schema that accepts the calls. `python -m mcp_peers.schemas VIDRA`"""

import json
import subprocess
import sys

import jsonschema

from mcp_peers.calls import CALLS

Validator = jsonschema.Draft202012Validator


def check(schema, name):
    Validator.check_schema(schema)
    # A validator ignores an unknown or misspelled keyword. So the schema must also reject something.
    validator = Validator(schema)
    validator.validate(CALLS[name])
    rejects = "additionalProperties" in schema
    assert not (rejects and validator.is_valid({**CALLS[name], "surprise": 1})), name
    # A tool without required arguments accepts a call without any.
    assert validator.is_valid({}) == (not schema.get("required")), name


def printed(vidra, form):
    command = [vidra, "tools", "--all-tools", "--format", form]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def main(vidra):
    tools = printed(vidra, "json-schema")
    gemini = printed(vidra, "gemini")[0]["functionDeclarations"]
    openai = [tool["function"] for tool in printed(vidra, "openai")]
    found = {
        "json-schema": {tool["name"]: tool["inputSchema"] for tool in tools},
        "openai": {tool["name"]: tool["parameters"] for tool in openai},
        "anthropic": {tool["name"]: tool["input_schema"] for tool in printed(vidra, "anthropic")},
        "gemini": {tool["name"]: tool["parameters"] for tool in gemini},
    }
    names = set(found["json-schema"])
    for form, schemas in found.items():
        assert set(schemas) == names, form
        for name, schema in schemas.items():
            check(schema, name)
    for tool in tools:
        Validator.check_schema(tool["outputSchema"])
    print(f"{len(names)} tools have valid JSON Schemas in {', '.join(found)}")


if __name__ == "__main__":
    main(sys.argv[1])
