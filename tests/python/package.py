#!/usr/bin/env python3
"""What the Python package does: a program that uses it bare, recorded by the command, and recording
itself; reports and values as objects; golden dumps in pytest.

    package.py --bin build/release/bin --torch build/torch CASE
    package.py --list
"""

import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "lib", "python")
GOLDEN_TEST = """
import os, sys
sys.path.insert(0, {programs!r})
from itself import train

def test_training(ulpscope_golden):
    with ulpscope_golden("golden"):
        net = train("digest")
        if "SCALED" in os.environ:
            net.head.weight.data.mul_(1.5)

def test_other(ulpscope_golden):
    with ulpscope_golden("other", level="full"):
        train("digest")
"""


def run(*command, **variables):
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False,
                          env={**os.environ, **variables})


def program(*dumps):
    return sys.executable, os.path.join(HERE, "programs", "itself.py"), *dumps


def settings(dump):
    """[(step, value)] of each note."""
    found = {}
    for line in run(ulpscope_command(), "inspect", dump, "settings").stdout.splitlines():
        words = line.split()
        if len(words) > 3 and words[2].startswith("note."):
            found.setdefault(words[2], []).append((words[1], " ".join(words[3:])))
    return found


def ulpscope_command():
    return os.environ["ULPSCOPE_BINARY"]


def list_events():
    return os.path.join(os.path.dirname(ulpscope_command()), "list_events")


def says():
    """What a program says is in the dump, and does nothing without one."""
    bare = run(*program())
    done = run(ulpscope_command(), "record", "-o", "dump", "--", *program())
    if bare.returncode != 0 or (done.returncode, done.stdout) != (0, bare.stdout):
        yield f"bare: {bare}\nrecorded: {done}"
    notes = settings("dump")
    if notes.get("note.batch") != [("setup", "[0, 1]"), ("1", "[2, 3]"), ("2", "[4, 5]")]:
        yield f"batches: {notes.get('note.batch')}"
    if notes.get("note.level") != [("setup", "digest")]:
        yield f"level: {notes.get('note.level')}"
    for generator in ("augment", "python", "torch"):
        states = {state for _, state in notes.get("note.rng." + generator, [])}
        if len(states) != 3:
            yield f"states of {generator}: {states}"
    layers = run(ulpscope_command(), "inspect", "dump", "layers").stdout.splitlines()
    if layers[0].split()[-1] != "classifier":
        yield f"root: {layers[0]}"
    events = [line.split("\t") for line in run(list_events(), "dump").stdout.splitlines()]
    of_head = [event[3] for event in events if (event[8], event[10]) == ("aten::linear", "head")]
    if of_head != ["0", "0", "1", "1", "2", "2"]:
        yield f"steps in which the head is used, in each directly, too: {of_head}"


def records_itself():
    """A process that records itself leaves the dumps that the command does, one after the other."""
    bare = run(*program())
    done = run(*program("first", "second"))
    if done.returncode != 0 or [line.split()[1] for line in done.stdout.splitlines()] != 3 * bare.stdout.split()[1:2]:
        yield f"bare: {bare}\nrecording itself: {done}"
    if done.stdout.count("{'directory': True}") != 2:
        yield f"directories: {done.stdout}"
    run(ulpscope_command(), "record", "-o", "command", "--level", "full", "--", *program())
    for dump in ("second", "command"):
        report = run(ulpscope_command(), "compare", "first", dump)
        if report.returncode != 0:
            yield f"first and {dump}: {report.stdout}"


def records_compiled():
    """A program that has imported Dynamo, and perhaps compiled, before it records itself is compiled as it is bare."""
    program = (sys.executable, os.path.join(HERE, "programs", "compiled_itself.py"))
    for when in ("before", "inside"):
        bare, done = run(*program, when), run(*program, when, when)
        if bare.returncode != 0 or (done.returncode, done.stdout) != (0, bare.stdout):
            yield f"compiled {when} the recording: bare {bare}\nrecorded {done}"
        layers = run(ulpscope_command(), "inspect", when, "layers").stdout
        if "Net" not in layers:
            yield f"compiled {when} the recording: {layers}"


def refuses():
    """What is not possible is an Error that says why."""
    import ulpscope

    with ulpscope.record("one") as recording:
        for again, reason in ((ulpscope.record("two"), "recording this process already"),):
            yield from refused(again, reason)
    if not os.path.isdir(recording.directory):
        yield f"no dump in {recording.directory}"
    yield from refused(ulpscope.record("one"), "holds a dump already")
    yield from refused(ulpscope.record("three", level="most"), "digest, stats, full")
    for call in (lambda: ulpscope.open("three"), lambda: ulpscope.compare("one", "three"),
                 lambda: ulpscope.compare("one", "one", "--by", "chance")):
        try:
            call()
            yield "not refused"
        except ulpscope.Error:
            pass


def refused(recording, reason):
    import ulpscope

    try:
        with recording:
            yield f"not refused: {reason}"
    except ulpscope.Error as error:
        if reason not in str(error):
            yield f"'{error}' does not say '{reason}'"


def reports():
    """A report and the values of a dump as objects."""
    import torch
    import ulpscope

    with ulpscope.record("one", level="full"):
        inputs = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3)
        module = torch.nn.Linear(3, 2, dtype=torch.bfloat16)
        result = module(inputs)
    with ulpscope.record("two"):
        module(inputs + 1)
    same = ulpscope.compare("one", "one")
    if not same or same.verdict != "identical" or same.first is not None:
        yield f"not identical: {same}"
    other = ulpscope.compare("one", "two")
    if other or other.first is None or other.first.where is None or "DIVERGED" not in other.text:
        yield f"not diverged: {other}"
    dump = ulpscope.open("one")
    (value,) = dump.values("**/forward/**/output.0")
    if (value.dtype, value.shape, list(dump).count(value.path)) != ("bfloat16", (2, 2), 1):
        yield f"value: {value}"
    if not torch.equal(dump.tensor(value.path), result) or dump[value.path].shape != (2, 2):
        yield f"{dump.tensor(value.path)} is not {result}"
    try:
        dump["nothing"]
        yield "a value that is not there"
    except ulpscope.Error:
        pass


def golden():
    """The fixture records golden dumps, and fails where a run diverges from one."""
    with open("test_golden.py", "w", encoding="utf-8") as file:
        file.write(GOLDEN_TEST.format(programs=os.path.join(HERE, "programs")))
    pytest = (sys.executable, "-m", "pytest", "-q", "-p", "ulpscope.pytest_plugin", "test_golden.py")
    for flags, variables, expected in (
        ([], {}, "there is no golden dump"), (["--ulpscope-update"], {}, "2 passed"), ([], {}, "2 passed"),
        (["-k", "other"], {}, "1 passed"), ([], {"SCALED": "1"}, "DIVERGED"),
    ):
        done = run(*pytest, *flags, **variables)
        if expected not in done.stdout or (done.returncode == 0) != ("passed" in expected):
            yield f"{flags} {variables}: {done.stdout} {done.stderr}"


CASES = {each.__name__: each for each in (says, records_itself, records_compiled, refuses, reports, golden)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin")
    parser.add_argument("--torch", help="the folder that holds Python's package torch")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("case", nargs="?", choices=CASES)
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(CASES))
        return 0
    os.environ["ULPSCOPE_BINARY"] = os.path.abspath(os.path.join(arguments.bin, "ulpscope"))
    paths = [os.path.abspath(arguments.torch), os.path.abspath(PACKAGE)]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    sys.path[:0] = paths
    wrong = []
    with tempfile.TemporaryDirectory(prefix="ulpscope-package-") as folder:
        os.chdir(folder)
        wrong = list(CASES[arguments.case]())
        os.chdir(HERE)
    for sentence in wrong:
        print(sentence)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
