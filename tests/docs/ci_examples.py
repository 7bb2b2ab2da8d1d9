#!/usr/bin/python3
"""Follows the examples for CI systems of a page: runs the commands of each job in a project that holds a golden dump,
as the system's shell does, once with the program of that dump and once with another learning rate.

    ci_examples.py --bin FOLDER --program FILE PAGE

Steps that are others' actions are not run, but the files that they take must be there. The project builds `train`, a
script that starts PROGRAM. Exit code 77: a reader is not installed.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import junitparser
    import yaml
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SMALL = "--batch 4 --width 4"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(train NONE)
file(CONFIGURE OUTPUT train CONTENT [[#!/bin/sh
exec @PROGRAM@ "$@"
]] @ONLY)
file(CHMOD ${CMAKE_BINARY_DIR}/train PERMISSIONS OWNER_READ OWNER_EXECUTE)
"""


class Project:
    """A folder as a CI system has checked it out."""

    def __init__(self, folder, bin_folder, program):
        self.folder = folder
        self.settings = {**{name: value for name, value in os.environ.items() if not name.startswith("ULPSCOPE_")},
                         "PATH": f"{bin_folder}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": self.path("summary.md")}
        with open(self.path("CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(PROJECT.replace("@PROGRAM@", program))

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, script, *options):
        result = subprocess.run(["bash", *options, "-c", script], cwd=self.folder, env=self.settings, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return result.returncode, result.stdout

    def there(self, pattern):
        return bool(glob.glob(self.path(pattern)))


def holds(project, condition, failed):
    """What a step's `if` says, of the functions that the examples use."""
    words = condition.replace("always()", "True").replace("failure()", str(failed)).replace("&&", "and")
    words = re.sub(r"hashFiles\('([^']+)'\) != ''", lambda match: str(project.there(match[1])), words)
    assert re.fullmatch(r"(True|False|and|or|not|\s)+", words), f"the test does not know {condition}"
    return eval(words)  # of words alone


def github(project, job):
    """Runs the steps as GitHub does: after one that fails those alone whose `if` says so."""
    failed, printed = False, ""
    for step in job["steps"]:
        if not (holds(project, step["if"], failed) if "if" in step else not failed):
            continue
        if "run" in step:
            code, said = project.run(step["run"], "-e")
            failed, printed = failed or code != 0, printed + said
        for name in (step.get("with") or {}).keys() & {"path", "sarif_file"}:
            assert project.there(step["with"][name]), f"{step['uses']} finds no {step['with'][name]}"
    return failed, printed


def gitlab(project, job):
    """Runs the script as GitLab does; artifacts are kept in any case."""
    code, printed = project.run("\n".join(job["script"]), "-eo", "pipefail")
    assert job["artifacts"]["when"] == "always"
    for name in job["artifacts"]["paths"] + [job["artifacts"]["reports"]["junit"]]:
        assert project.there(name), f"there is no artifact {name}:\n{printed}"
    return code != 0, printed


def check_github(project, diverged, printed):
    assert ("::error" in printed) == diverged, printed
    with open(project.path("summary.md"), encoding="utf-8") as file:
        assert ("DIVERGED" if diverged else "IDENTICAL") in file.read().upper()
    with open(project.path("report.sarif"), encoding="utf-8") as file:
        results = json.load(file)["runs"][0]["results"]
    assert any(result["level"] == "error" for result in results) == diverged, results


def check_gitlab(project, diverged, _):
    suite, = junitparser.JUnitXml.fromfile(project.path("report.xml"))
    assert (suite.failures > 0) == diverged, suite.failures


def jobs_of(page):
    """Of each example how it is run, what is checked of it, and the job."""
    with open(page, encoding="utf-8") as file:
        examples = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)]
    github_jobs = [job for example in examples for job in example.get("jobs", {}).values()]
    gitlab_jobs = [job for example in examples for job in example.values() if isinstance(job, dict) and "script" in job]
    return [(github, check_github, job) for job in github_jobs] + [(gitlab, check_gitlab, job) for job in gitlab_jobs]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("page")
    options = parser.parse_args()
    jobs = jobs_of(options.page)
    assert {run for run, _, _ in jobs} == {github, gitlab}, "the page has not both examples"
    with tempfile.TemporaryDirectory() as work:
        golden = os.path.join(work, "golden")
        for run, check, job in jobs:
            for changes in ("", "--lr 0.06"):
                folder = os.path.join(work, f"{run.__name__}{bool(changes)}")
                os.makedirs(os.path.join(folder, "tests"))
                os.symlink(golden, os.path.join(folder, "tests/golden"))
                project = Project(folder, os.path.abspath(options.bin),
                                  f"{os.path.abspath(options.program)} {SMALL} {changes}")
                if not os.path.exists(golden):
                    code, said = project.run("cmake -S . -B build && ulpscope record -o tests/new --capture layers -- "
                                             "./build/train --steps 3 && mv tests/new ../golden", "-e")
                    assert code == 0, said
                failed, printed = run(project, job)
                assert failed == bool(changes), f"{run.__name__} {changes}:\n{printed}"
                check(project, bool(changes), printed)
    print(f"{len(jobs)} examples pass equal bits and stop others")


if __name__ == "__main__":
    main()
