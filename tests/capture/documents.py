#!/usr/bin/env python3
"""What `check`, `bisect` and `replay` print as JSON fits the schemas, which name all of its fields and no other.

    documents.py --bin build/release/bin

Exit code 77: python3-jsonschema is not installed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))

try:
    import schemas
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

EPS = "--eps 1e-6"


def held(name, document):
    """The document, which fits its schema."""
    wrong = schemas.errors(name, document)
    assert not wrong, (name, wrong)
    return document


def missed(name, document):
    """The same, and the schema misses each of its fields."""
    accepted = list(schemas.accepted_without(name, held(name, document)))
    assert not accepted, (name, accepted)
    return document


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    bin_folder = os.path.abspath(parser.parse_args().bin)
    program = os.path.join(bin_folder, "layernorm_mlp") + " --steps 1"

    with tempfile.TemporaryDirectory(prefix="ulpscope-documents-") as folder:
        def printed(*words, code):
            done = subprocess.run([os.path.join(bin_folder, "ulpscope"), *words, "--format", "json"], cwd=folder,
                                  capture_output=True, text=True, timeout=280, check=False)
            assert done.returncode == code, (words, done.returncode, done.stdout[:400], done.stderr)
            return json.loads(done.stdout)

        equal = held("check", printed("check", "-n", "2", "--a", program, "--b", program, code=0))
        assert equal["verdict"] == "identical" and equal["replay"] is None

        differing = held("check", printed("check", "--bisect", "--all-origins", "-o", "dumps", "--a", program, "--b",
                                        f"{program} {EPS}", code=1))
        assert differing["bisection"]["result"] == "found" and differing["origins"] and differing["report"]

        missed("bisect", printed("bisect", *differing["kept"], code=1))
        first = differing["report"]["first"]
        place = f"{first['step']}/{first['event']['reference']}"
        replayed = missed("replay", printed("replay", differing["kept"][0], place, "--with", differing["kept"][1], code=1))
        assert len(replayed["runs"]) == 2 and replayed["variants"]


if __name__ == "__main__":
    main()
