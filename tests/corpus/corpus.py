#!/usr/bin/env python3
"""Answers of two versions of `ulpscope compare`, on all pairs of dumps that the tests compare.

    corpus.py collect --build build/release --out CORPUS [--tests REGEX]
    corpus.py answers CORPUS REFERENCE CANDIDATE [--budget] [--leaving-out REGEX] [--jobs 2] [--json FILE]

`collect` runs tests with an `ulpscope` that keeps the dumps and the command line of each comparison.
`answers` takes two versions, each a commit, which it builds without LibTorch, or an `ulpscope` binary;
runs each comparison with both, by ops and by layers, and says which fields of which reports changed.
Its exit code is 1 where any did.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# Tests whose comparisons say something: pairs of recorded programs.
PAIRS = r"^(scenario|false_alarms|budget|outcomes|habits|judge|mutations|planted|oracle|ranks|distributed|recorded|settings)\b"
# What distinguishes two executions of the same comparison.
OF_THE_EXECUTION = re.compile(r"^(reference|candidate)\.path$|^version$|^command")


KEEPER = """#!{python}
import sys
sys.path.insert(0, {here!r})
import corpus
corpus.keep({corpus!r}, {test!r}, {ulpscope!r}, sys.argv[1:])
"""


def digest_of(folder):
    """Of all files below a folder, or of one file."""
    digest = hashlib.sha256()
    files = [folder] if os.path.isfile(folder) else sorted(
        os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
    for path in files:
        digest.update(os.path.relpath(path, folder).encode() + b"\0")
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:20]


def store(corpus, path):
    """A copy of a dump or file in the corpus, once for all that are equal."""
    kept = os.path.join(corpus, "files", digest_of(path))
    if not os.path.exists(kept):
        partial = tempfile.mkdtemp(dir=corpus)
        copy = os.path.join(partial, "copy")
        shutil.copytree(path, copy, symlinks=True) if os.path.isdir(path) else shutil.copy2(path, copy)
        try:
            os.rename(copy, kept)
        except OSError:  # a different test has kept the same
            pass
        shutil.rmtree(partial)
    return os.path.basename(kept)


def keep(corpus, test, ulpscope, arguments):
    """Replaces `ulpscope`: keeps what a comparison reads, then runs `ulpscope`."""
    if arguments[:1] == ["compare"]:
        kept = []
        for argument in arguments[1:]:
            path, at, part = argument.partition("@")
            is_input = os.path.exists(path) and not argument.startswith("-")
            kept.append(["file", store(corpus, path), at + part] if is_input else ["word", argument])
        name = f"{test}-{hashlib.sha256(json.dumps(kept).encode()).hexdigest()[:12]}"
        with open(os.path.join(corpus, "comparisons", name + ".json"), "w", encoding="utf-8") as file:
            json.dump(kept, file)
    os.execv(ulpscope, [ulpscope, *arguments])


def tests_of(build, selection):
    listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, text=True, check=True,
                            stdout=subprocess.PIPE)
    for test in json.loads(listed.stdout)["tests"]:
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
        if "extended" in properties.get("LABELS", []) or "command" not in test:
            continue
        if re.search(selection, test["name"]):
            yield test["name"], test["command"], properties.get("WORKING_DIRECTORY", build)


def bin_that_keeps(build, corpus, test, folder):
    """A folder like the build's bin, with an `ulpscope` that keeps."""
    programs = os.path.join(build, "bin")
    for name in os.listdir(programs):
        if name != "ulpscope":
            os.symlink(os.path.join(programs, name), os.path.join(folder, name))
    keeper = os.path.join(folder, "ulpscope")
    with open(keeper, "w", encoding="utf-8") as file:
        file.write(KEEPER.format(python=sys.executable, here=os.path.dirname(os.path.abspath(__file__)),
                                 corpus=corpus, test=test, ulpscope=os.path.join(programs, "ulpscope")))
    os.chmod(keeper, 0o755)
    return folder


def collect(arguments):
    build, corpus = os.path.abspath(arguments.build), os.path.abspath(arguments.out)
    for folder in ("files", "comparisons"):
        os.makedirs(os.path.join(corpus, folder), exist_ok=True)
    failed = []

    def run(test):
        name, command, folder = test
        with tempfile.TemporaryDirectory(prefix="ulpscope-corpus-") as programs:
            keeping = bin_that_keeps(build, corpus, name, programs)
            command = [word.replace(os.path.join(build, "bin"), keeping) for word in command]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            failed.append(name)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        count = sum(1 for _ in pool.map(run, tests_of(build, arguments.tests)))
    comparisons = len(os.listdir(os.path.join(corpus, "comparisons")))
    print(f"{count} tests, {len(failed)} failed, {comparisons} comparisons in {corpus}")
    for name in sorted(failed):
        print(f"failed: {name}")
    return 0


def built(version, folder):
    """The `ulpscope` of a commit, or of a path."""
    if os.path.isfile(version):
        return os.path.abspath(version)
    source, build = os.path.join(folder, "source"), os.path.join(folder, "build")
    git = ["git", "-C", REPOSITORY]
    subprocess.run([*git, "worktree", "add", "--detach", source, version], check=True,
                   capture_output=True)
    try:
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DULPSCOPE_UNITY=ON",
                   *(f"-DULPSCOPE_{part}=OFF" for part in ("TESTS", "WITH_TORCH", "WITH_CUDA"))]
        log = os.path.join(folder, "log")
        with open(log, "w", encoding="utf-8") as file:
            for command in (["cmake", "-G", "Ninja", "-S", source, "-B", build, *options],
                            ["cmake", "--build", build, "--target", "ulpscope"]):
                if subprocess.run(command, stdout=file, stderr=file, check=False).returncode != 0:
                    with open(log, encoding="utf-8") as said:
                        sys.exit(f"corpus: {version} cannot be built:\n{said.read()[-3000:]}")
    finally:
        subprocess.run([*git, "worktree", "remove", "--force", source], check=False)
    for place in ("bin/ulpscope", "cli/ulpscope"):
        if os.path.isfile(os.path.join(build, place)):
            return os.path.join(build, place)
    sys.exit(f"corpus: {version} has no ulpscope")


def without_output(words):
    """The options of a comparison but those that say where and how to print."""
    rest, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("--format", "-o", "--output", "--color", "--width"):
            skip = True
        elif not word.startswith(("--format=", "--output=", "--color=", "--width=")):
            rest.append(word)
    return rest


def variants(corpus, arguments):
    """(name, command line) of each comparison as it was made and by the other view."""
    seen = set()
    folder = os.path.join(corpus, "comparisons")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            words = json.load(file)
        words = without_output([word[1] if word[0] == "word"
                                else os.path.join(corpus, "files", word[1]) + word[2] for word in words])
        ways = {"as made": []}
        if "--by" not in words:
            ways["by layers"] = ["--by", "layers"]
        if arguments.budget and "--budget" not in words:
            ways["budget"] = ["--budget", "--replay", "off"]
        for way, more in ways.items():
            if tuple(words + more) not in seen:
                seen.add(tuple(words + more))
                yield f"{name.removesuffix('.json')} {way}", words + more


def answer(ulpscope, words):
    done = subprocess.run([ulpscope, "compare", *words, "--format", "json"], text=True,
                          capture_output=True, check=False, timeout=600)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = {"said": done.stderr.strip()}
    return {"exit": done.returncode, **report}


def changes(before, after, place=""):
    """(field, before, after) for all that differ; entries of lists by number."""
    if OF_THE_EXECUTION.search(place):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            yield from changes(before.get(key), after.get(key), f"{place}.{key}" if place else key)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after)):
            yield from changes(one, other, f"{place}[{number}]")
    elif before != after:
        yield place, before, after


def answers(arguments):
    corpus = os.path.abspath(arguments.corpus)
    changed, fields, verdicts = {}, collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory(prefix="ulpscope-answers-") as folder:
        versions = []
        for number, version in enumerate((arguments.reference, arguments.candidate)):
            os.makedirs(own := os.path.join(folder, str(number)))
            versions.append(built(version, own))

        def both(variant):
            name, words = variant
            return name, *(answer(version, words) for version in versions)

        count = 0
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for name, before, after in pool.map(both, variants(corpus, arguments)):
                count += 1
                differ = [change for change in changes(before, after)
                          if not arguments.leaving_out
                          or not re.search(arguments.leaving_out, change[0])]
                if not differ:
                    continue
                changed[name] = differ
                fields.update({re.sub(r"\[\d+\]", "[]", field) for field, _, _ in differ})
                verdicts[(before.get("verdict"), after.get("verdict"))] += 1
    for name, differ in changed.items():
        print(name)
        for field, before, after in differ[:arguments.fields]:
            print(f"  {field}: {json.dumps(before)[:160]} -> {json.dumps(after)[:160]}")
        if len(differ) > arguments.fields:
            print(f"  and {len(differ) - arguments.fields} more fields")
    print(f"{count} reports: {count - len(changed)} equal, {len(changed)} changed")
    for (before, after), number in verdicts.most_common():
        if before != after:
            print(f"  verdict {before} -> {after}: {number}")
    for field, number in fields.most_common(20):
        print(f"  {field}: {number}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(changed, file, indent=1)
    return 1 if changed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    collecting = commands.add_parser("collect")
    collecting.add_argument("--build", required=True)
    collecting.add_argument("--out", required=True)
    collecting.add_argument("--tests", default=PAIRS)
    collecting.add_argument("--jobs", type=int, default=2)
    collecting.set_defaults(run=collect)
    answering = commands.add_parser("answers")
    answering.add_argument("corpus")
    answering.add_argument("reference")
    answering.add_argument("candidate")
    answering.add_argument("--budget", action="store_true", help="with --budget as well")
    answering.add_argument("--leaving-out", help="fields that may change, such as a new one")
    answering.add_argument("--jobs", type=int, default=2)
    answering.add_argument("--fields", type=int, default=6, help="of each report that changed")
    answering.add_argument("--json", help="all that changed, into a file")
    answering.set_defaults(run=answers)
    arguments = parser.parse_args()
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
