#!/usr/bin/env python3
"""Records pairs of runs op by op and compares them by layers: the answer is about modules, and it is the one
that recordings of layers alone give.

    by_layers.py --bin build/release/bin NAME
    by_layers.py ... --list        names of all cases
"""

import os

import cases
from recorded import Case, Recorder, run
from scenarios import FORMS, MLP, ONE, RESNET


class Pair:
    """Two commands and what a comparison by layers says: the number of findings, and of the first
    one those fields that are given. `renamed` are lines of a map. `rewritten`: the op lists differ."""

    def __init__(self, reference, candidate, findings, renamed=(), rewritten=False, **first):
        self.commands = [reference, candidate]
        self.findings, self.renamed, self.rewritten, self.first = findings, renamed, rewritten, first


PAIRS = {
    "linear-as-matmul": Pair(FORMS, FORMS + ["--linear", "matmul"], 0, rewritten=True),
    "last-layer-as-matmul": Pair(RESNET + ONE, RESNET + ONE + ["--refactored-linear"], 0, rewritten=True),
    "eps": Pair(MLP + ONE, MLP + ONE + ["--eps", "1e-6"], 1, kind="origin", op="LayerNorm::forward",
                module="input.norm", step=0, phase="forward"),
    "raw-write": Pair(RESNET + ONE, RESNET + ONE + ["--raw-write", "1"], 1, kind="origin",
                      op="Conv2d::forward", module="layer2.0.conv1", step=1, phase="forward"),
    "learning-rate": Pair(MLP + ONE, MLP + ONE + ["--lr", "0.11"], 1, kind="arguments", op="Adam::step",
                          step=0, phase="optimizer"),
    # All parameters of the wrapped network have other names: those that follow from the first
    # difference are known to do so where the map says which they are.
    "map": Pair(FORMS, FORMS + ["--wrapped", "--attention", "fused"], 1, renamed=["* -> inner.*"],
                rewritten=True, kind="origin", op="Net::forward", module="", step=0, phase="forward"),
    "map-equal": Pair(FORMS, FORMS + ["--wrapped"], 0, renamed=["conv -> inner.conv", "* -> inner.*"]),
    "map-crossed": Pair(FORMS, FORMS + ["--wrapped"], 1, renamed=["conv -> inner.bn", "bn -> inner.conv"],
                        kind="parameter", step=None),
}


def dumps(bin_folder, folder, pair, capture):
    for index, command in enumerate(pair.commands):
        dump = os.path.join(folder, f"{capture}{index}")
        run([os.path.join(bin_folder, "ulpscope"), "record", "--capture", capture, "-o", dump, "--",
             os.path.join(bin_folder, command[0]), *command[1:]])
        yield dump


def wrong_with(report, pair):
    """What is wrong with a comparison by layers, in sentences."""
    verdict, findings = report["verdict"], len(report["findings"])
    if (verdict, findings) != ("diverged" if pair.findings else "identical", pair.findings):
        yield f"{findings} findings, expected {pair.findings}: {report['summary']}"
    elif findings:
        for field, expected in pair.first.items():
            if report["first"][field] != expected:
                yield f"first.{field} is {report['first'][field]!r}, expected {expected!r}"
    if report["coverage"]["aligned"] == 0:
        yield "nothing was compared"


def problems(pair, bin_folder, folder):
    recorder = Recorder(Case("", [], 0, (), (), []), bin_folder, folder)
    ops = list(dumps(bin_folder, folder, pair, "ops"))
    layers = list(dumps(bin_folder, folder, pair, "layers"))
    options = ["--by", "layers"]
    if pair.renamed:
        options += ["--map", os.path.join(folder, "map")]
        with open(options[-1], "w", encoding="utf-8") as file:
            file.write("\n".join(["# the reference's name -> the candidate's", *pair.renamed]))
    for kind, compared in (("ops", ops), ("layers", layers)):
        report = recorder.compare(*compared, *options)
        for sentence in wrong_with(report, pair):
            yield f"of recorded {kind}: {sentence}"
        unused = [sentence for sentence in report["coverage"]["unseen"] if "fits" in sentence]
        if unused:
            yield f"of recorded {kind}: {unused}"
    by_ops = recorder.compare(*ops)
    if pair.rewritten != any(finding["kind"] == "sequence" for finding in by_ops["findings"]):
        yield f"op by op: {by_ops['summary']}"


if __name__ == "__main__":
    cases.main(__doc__, PAIRS, problems)
