#!/usr/bin/python3
"""Every setting that a recording of a Python program has is in cli/docs/reference/settings.md.

    settings_test.py --bin FOLDER [--python PYTHON] --torch PACKAGES REPOSITORY
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

from pages import read
from tutorial import environment

# What only a GPU's recording, a training in Python, a program's own words or how it ends bring.
NOT_HERE = ("device.", "rng.device.", "cuda.", "cudnn.", "cublas.", "triton.", "env_now.", "capture.", "note.",
            "end.generator", "end.optimizer.", "saved.", "end.threads", "process.tasks", "process.loads", "torch.git",
            "program.exit_code")


def documented(page):
    """The keys of the page's table as patterns."""
    keys = [key for row in re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE) for key in re.findall(r"`([^`]+)`", row)]
    return {key: re.compile(re.sub(r"NAME|KEY", ".+", re.sub(r"\bN\b", r"\\d+", key.replace(".", r"\."))))
            for key in keys}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--torch", required=True)
    parser.add_argument("repository")
    options = parser.parse_args()
    patterns = documented(read(os.path.join(options.repository, "cli/docs/reference/settings.md")))
    with tempfile.TemporaryDirectory() as work:
        settings = environment(os.path.abspath(options.bin), options.python, os.path.abspath(options.torch), work)

        settings["OMP_NUM_THREADS"] = "1"

        def run(*command):
            return subprocess.run(command, cwd=work, env=settings, capture_output=True, text=True, check=True).stdout

        run("ulpscope", "record", "--require", "-o", "dump", "--", "python3", "-c", "import torch; torch.ones(2) + 1")
        document = json.loads(run("ulpscope", "env", "dump", "dump", "--all", "--format", "json"))
    keys = {each["key"] for rank in document["ranks"] for each in rank["settings"]}
    assert len(keys) > 20, document
    unknown = sorted(key for key in keys if not any(each.fullmatch(key) for each in patterns.values()))
    unused = sorted(key for key, each in patterns.items()
                    if not key.startswith(NOT_HERE) and not any(each.fullmatch(other) for other in keys))
    assert not unknown, f"the page has no row for {unknown}"
    assert not unused, f"the page has rows that no recording has: {unused}"
    print(f"{len(keys)} settings in {len(patterns)} rows")


if __name__ == "__main__":
    main()
