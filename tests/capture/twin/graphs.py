#!/usr/bin/env python3
"""Records a program that replays a captured graph, with a stand-in for LibTorch's class: each replay is an
event with what the graph reads and writes.

    graphs.py --twin FOLDER --bin FOLDER
"""

import collections
import re
import sys

from product import check

REPLAY = "CUDAGraph::replay"
STEPS = 4


def slots_of(product, dump, event):
    text = product.inspect(dump, f"setup/{event.position}")
    return collections.Counter(re.findall(r"^  (input|mutated|output) ", text, re.MULTILINE))


def problems(product):
    graphed = product.record("graphed")
    replays = [event for event in product.events(graphed) if event.op == REPLAY]
    if len(replays) != STEPS:
        yield f"there are {len(replays)} replays, not {STEPS}"
        return
    slots = slots_of(product, graphed, replays[1])
    if slots != {"input": 3, "mutated": 1, "output": 1}:
        yield f"a replay has {dict(slots)}"

    report = product.compare(graphed, product.record("again"))
    if report["verdict"] != "identical" or report["findings"]:
        yield f"a repeat is {report['verdict']}: {report['summary']}"

    first = product.compare(graphed, product.record("scaled", flags=["--scaled-from", "2"]))["first"] or {}
    if (first.get("kind"), first.get("op")) != ("origin", REPLAY):
        yield f"another graph is first told as {first}"

    report = product.compare(graphed, product.record("other", flags=["--other-input", "1"]))
    told = [finding["op"] for finding in report["findings"] if finding["kind"] == "origin"]
    if report["verdict"] != "diverged" or REPLAY in told:
        yield f"another input is told as {report['findings']}"

    unseen = product.record("unseen", "--ignore", REPLAY)
    if any(event.op == REPLAY for event in product.events(unseen)):
        yield f"with --ignore {REPLAY} there are replays"


if __name__ == "__main__":
    sys.exit(check(problems, ["graphed", "--steps", str(STEPS)], __doc__))
