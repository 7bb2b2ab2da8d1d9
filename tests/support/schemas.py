"""The JSON Schemas of cli/assets, held against documents. Needs python3-jsonschema."""

import copy
import json
import os
import warnings

import jsonschema

warnings.filterwarnings("ignore", "jsonschema.RefResolver", DeprecationWarning)

ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cli/assets")
NAMES = ("report", "check", "replay", "bisect", "inspect", "env", "verify", "recover")


def schema(name):
    with open(f"{ASSETS}/{name}.schema.json", encoding="utf-8") as file:
        return json.load(file)


def closed(part):
    """A schema, with no field but those that it names."""
    if isinstance(part, list):
        return [closed(each) for each in part]
    if not isinstance(part, dict):
        return part
    result = {key: closed(value) for key, value in part.items()}
    if isinstance(part.get("properties"), dict) and "type" in part:
        result["additionalProperties"] = False
    return result


def validator(name, prepared=lambda part: part):
    """Of the documents of a command; schemas that it refers to are prepared alike."""
    files = {f"{each}.schema.json": prepared(schema(each)) for each in NAMES}
    own = files[f"{name}.schema.json"]
    resolver = jsonschema.RefResolver(f"{name}.schema.json", own, store=files)
    return jsonschema.Draft202012Validator(own, resolver=resolver)


def errors(name, document):
    """Why a document does not fit, fields that the schema does not name included."""
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
            for error in validator(name, closed).iter_errors(document)]


def places(document, place=()):
    """The path of every field of a document."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*place, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*place, key))


def at(document, place):
    for key in place:
        document = document[key]
    return document


def valid_here(name, document):
    check = validator(name)
    assert check.is_valid(document), name
    return check


def accepted_without(name, document):
    """Fields whose absence a schema does not notice."""
    check = valid_here(name, document)
    for place in places(document):
        if isinstance(place[-1], str):
            without = copy.deepcopy(document)
            del at(without, place[:-1])[place[-1]]
            if check.is_valid(without):
                yield place


def accepted_with(name, document, changes):
    """Those of several changes, each a place and a value, that a schema accepts."""
    check = valid_here(name, document)
    for place, value in changes:
        changed = copy.deepcopy(document)
        at(changed, place[:-1])[place[-1]] = value
        if check.is_valid(changed):
            yield place, value
