#!/usr/bin/env python3
"""Runs `ulpscope check` on programs in which something differs and checks that it names what.

    check.py --bin build/release/bin NAME
    check.py ... --list        names of all cases
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile


class Check:
    """What is passed to `check`, and what it must say. `first` are fields of the first finding (a tuple: one of
    these), `causes` ids of which the first cause is one, `also` one that must be among them, `settings` the smallest
    set of --bisect, `behind` the ops of what --all-origins finds. Without a verdict that is "diverged" nothing may be found."""

    def __init__(self, program, options=(), verdict="diverged", first=None, causes=(), also=None, flags=(), settings=None,
                 behind=None):
        self.settings, self.behind = settings, behind
        self.program, self.options, self.flags = program, list(options), list(flags)
        self.verdict, self.first, self.causes, self.also = verdict, first or {}, causes, also


def by_chance(chance, **expected):
    threads = "2" if chance == "index-put" else "1"
    return Check("by_chance", ["--until-differs"], flags=["--chance", chance, "--threads", threads], **expected)


def pair(program, flag, options=(), **expected):
    """The program without and with a flag."""
    return Check(program, flags=[flag], options=["--pair", *options], **expected)


MLP = "layernorm_mlp"
# The first of backward whose sums threads share; whether a product of the head's size is shared depends on the
# processor.
SPLIT_AMONG_THREADS = ("aten::mm", "aten::convolution_backward")
CASES = {
    "equal": Check(MLP, ["-n", "3"], verdict="identical", flags=["--steps", "2"]),
    "threads": Check("digits_resnet", ["--vary", "threads=1,2"], flags=["--steps", "1", "--threads", "{threads}"],
                     first={"kind": "origin", "op": SPLIT_AMONG_THREADS, "step": 0, "phase": "backward"},
                     causes=["threads"]),
    "isa": Check(MLP, ["--vary", "isa=avx2,default"], flags=["--steps", "2"], first={"kind": "origin"},
                 causes=["isa"]),
    "mkldnn": Check("unet", ["--vary", "mkldnn=on,off"], flags=["--steps", "2"], first={"kind": "origin"},
                    causes=["backend"]),
    "index-put": by_chance("index-put", first={"kind": "origin", "op": "aten::_index_put_impl_"}, causes=["atomic"]),
    "race": by_chance("race", first={"kind": "data"}, also="race", causes=["data-content"]),
    "half-filled": by_chance("half-filled", first={"kind": "data"}, causes=["uninitialised"]),
    "raw-write": by_chance("raw-write", first={"kind": "write", "step": 1}, causes=["external-write"]),
    "extra-draw": by_chance("extra-draw", first={"kind": "rng", "step": 2}, causes=["rng-shift"]),
    "eps": pair(MLP, "--eps 1e-6", first={"kind": "arguments", "op": "aten::layer_norm", "step": 0},
                causes=["argument"]),
    "data-order": pair("digits_resnet", "--swap-samples 1", first={"kind": "data"}, causes=["data-order"]),
    "one-draw-more": pair(MLP, "--extra-draw 1", first={"step": 1}, causes=["rng-shift"]),
    "one-write": pair(MLP, "--raw-write 1", first={"kind": "write", "step": 1}, causes=["external-write"]),
    "bisect": pair(MLP, "--validate 8 --eps 1e-6", ["--bisect"], first={"kind": "arguments"}, causes=["argument"],
                   settings=["--eps"]),
    "eval": pair(MLP, "--eval", first={"step": 0}, causes=["mode"]),
    "all-origins": Check("digits_resnet", ["--vary", "mkldnn=on,off", "--all-origins"],
                         flags=["--steps", "1", "--mkldnn", "{mkldnn}"],
                         first={"kind": "origin", "phase": "forward"}, causes=["backend"],
                         behind={"aten::_convolution", "aten::convolution_backward"}),
}


def command_of(case, folder):
    program = os.path.join(folder, case.program)
    if case.options and case.options[0] == "--pair":
        plain = shlex.join([program, "--steps", "3"])
        return case.options[1:] + ["--a", plain, "--b", f"{plain} {case.flags[0]}"]
    return case.options + ["--", program] + case.flags


def complaints(case, code, report):
    expected = {"identical": 0, "diverged": 1}[case.verdict]
    if code != expected:
        yield f"exit code {code}, not {expected}"
    if report["verdict"] != case.verdict:
        yield f"verdict {report['verdict']}, not {case.verdict}"
        return
    if case.verdict == "identical":
        return
    first = report["report"]["first"]
    for field, value in case.first.items():
        if first[field] not in (value if isinstance(value, tuple) else (value,)):
            yield f"first {field} is {first[field]}, not {value}"
    causes = [cause["id"] for cause in report["report"]["causes"] if cause["finding"] == 0]
    if not causes or causes[0] not in case.causes:
        yield f"causes {causes}, not {' or '.join(case.causes)}"
    if case.also and case.also not in causes:
        yield f"{case.also} is not among the causes {causes}"
    if case.settings:
        found = report["bisection"]
        names = [found["settings"][k]["name"] for k in found["smallest"]]
        if names != case.settings:
            yield f"the settings {names} are found, not {case.settings}"
    if case.behind:
        behind = {finding["op"] for finding in report["origins"]["further"]}
        if behind != case.behind:
            yield f"behind the first difference: {behind}, not {case.behind}"
    if not report["bytes"]:
        yield "the difference was not recorded with bytes"
    for dump in report["kept"]:
        if not os.path.isfile(os.path.join(dump, "status.json")):
            yield f"{dump} was not kept"


def reported(document, path):
    """A report file has the comparison of the two runs that explain the difference."""
    with open(path, encoding="utf-8") as file:
        if json.load(file) != document["report"]:
            yield "--report is not the comparison that was printed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("name", nargs="?", choices=list(CASES))
    options = parser.parse_args()
    if options.list:
        return print("\n".join(CASES))
    case = CASES[options.name]
    bin_folder = os.path.abspath(options.bin)
    with tempfile.TemporaryDirectory(prefix="ulpscope-check-") as folder:
        output = os.path.join(folder, "dumps")
        done = subprocess.run(
            [os.path.join(bin_folder, "ulpscope"), "check", "--format", "json", "-o", output,
             "--report", f"json={folder}/report.json"] +
            command_of(case, bin_folder), cwd=folder, capture_output=True, text=True, timeout=280)
        if not done.stdout:
            return done.stderr
        document = json.loads(done.stdout)
        wrong = list(complaints(case, done.returncode, document))
        wrong += reported(document, os.path.join(folder, "report.json"))
        if case.verdict == "identical" and os.path.exists(output):
            wrong.append("dumps of equal runs were kept")
    return "\n".join(wrong) or None


if __name__ == "__main__":
    sys.exit(main())
