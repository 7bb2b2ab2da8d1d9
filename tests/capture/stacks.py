#!/usr/bin/env python3
"""Records a program with --stacks and checks that what is said of where its ops were called is what its source
has there.

    stacks.py --bin build/release/bin where|inspect|none
"""

import os
import re
import subprocess

import cases
from recorded import Case, Recorder, run

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs", "forms.cpp")
FORMS = Case("forms_unoptimised", ["--steps", "1"], 1, (), (), [])

# Flags of the candidate, the ops that they change first, and what calls each in the reference's source.
CHANGES = ["--activation", "clamp", "--lr", "0.011"]
CHANGED = {"aten::relu": "torch::relu(", "aten::addcdiv_": "adam.step("}

# Functions of the program around an op, the innermost first, and what the innermost one calls.
CALLED = {
    "aten::cross_entropy_loss": (["loss_of", "train", "operator()", "main"], "F::cross_entropy("),
    "aten::relu": (["activated", "forward", "train", "operator()", "main"], "torch::relu("),
    "aten::softmax": (["mix", "forward", "forward", "train", "operator()", "main"], "torch::softmax("),
}


class Stacks(Recorder):
    def record_with(self, name, flags, *options):
        dump = os.path.join(self.folder, name)
        run([os.path.join(self.bin, "ulpscope"), "record", *options, "-o", dump, "--",
             *self.command([*self.case.flags, *flags])])
        return dump

    def stack(self, dump, op):
        """What `inspect` prints as the stack of the first call of an op, a line each."""
        event = next(event for event in self.events(dump) if event.op == op)
        text = subprocess.run([os.path.join(self.bin, "ulpscope"), "inspect", dump, f"event:{event.position}"],
                              capture_output=True, text=True, timeout=100, check=True,
                              env={**os.environ, "ULPSCOPE_WIDTH": "1000"}).stdout
        found = re.search(r"^stack +(.*(?:\n  .*\S)*)", text, re.MULTILINE)
        return [line.strip() for line in found[1].splitlines()] if found else []


def line_of(place):
    """The line of the source at FILE:LINE, None where that is none of it."""
    found = re.fullmatch(r"forms\.cpp:(\d+)", place or "")
    if not found:
        return None
    with open(SOURCE, encoding="utf-8") as file:
        return file.read().splitlines()[int(found[1]) - 1]


def where(stacks):
    reference = stacks.record_with("reference", [], "--stacks")
    report = stacks.compare(reference, stacks.record_with("candidate", CHANGES, "--stacks"))
    places = {finding["op"]: finding["where"] for finding in reversed(report["findings"])}
    for op, called in CHANGED.items():
        if called not in (line_of(places.get(op)) or ""):
            yield f"{op} at {places.get(op)}: {line_of(places.get(op))!r}, expected {called!r}"


def plain(function):
    """Its name as the source has it: GCC notes it so, Clang with namespaces, parameters and what a template returns."""
    return re.match(r"(?:void )?(?:[\w$]+::)*(operator\(\)|\w+)", function.replace("(anonymous namespace)::", ""))[1]


def inspect(stacks):
    dump = stacks.record_with("reference", [], "--stacks")
    for op, (functions, called) in CALLED.items():
        lines = [line.split(" ", 1) for line in stacks.stack(dump, op) if line.startswith("forms.cpp:")]
        names = [plain(function) for _, function in lines]
        if names != functions:
            yield f"{op} is called in {names}, expected {functions}"
        elif called not in line_of(lines[0][0]):
            yield f"{op} at {lines[0][0]}: {line_of(lines[0][0])!r}, expected {called!r}"


def none(stacks):
    """Without --stacks nothing is said."""
    dump = stacks.record_with("reference", [])
    if lines := stacks.stack(dump, "aten::relu"):
        yield f"a stack: {lines}"
    report = stacks.compare(dump, stacks.record_with("candidate", ["--activation", "clamp"]))
    if [finding["where"] for finding in report["findings"]] != [None]:
        yield f"one finding, which is somewhere: {report['findings']}"


if __name__ == "__main__":
    cases.main(__doc__, {"where": where, "inspect": inspect, "none": none},
               lambda part, binaries, folder: part(Stacks(FORMS, binaries, folder)))
