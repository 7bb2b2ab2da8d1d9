#!/usr/bin/env python3
"""Records a program that replays a captured graph, with a stand-in of LibTorch's class: each replay is an
event with what the graph reads and writes.

    graphs.py --twin FOLDER --bin FOLDER
"""

import argparse
import collections
import json
import os
import re
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import recorded  # noqa: E402

REPLAY = "CUDAGraph::replay"
STEPS = 4


class Product:
    def __init__(self, arguments, folder):
        self.twin, self.bin, self.folder = arguments.twin, arguments.bin, folder

    def record(self, name, *flags, options=()):
        dump = os.path.join(self.folder, name)
        command = [os.path.join(self.bin, "graphed"), "--steps", str(STEPS), *flags]
        printed = recorded.run([os.path.join(self.twin, "ulpscope"), "record", "-o", dump, *options, "--",
                                *command])
        assert printed == recorded.run(command), f"{name} was noticed"
        recorded.run([os.path.join(self.twin, "ulpscope"), "verify", dump])
        return dump

    def events(self, dump):
        return [recorded.to_event(line)
                for line in recorded.run([os.path.join(self.bin, "list_events"), dump]).splitlines()]

    def compare(self, reference, candidate):
        return json.loads(recorded.run([os.path.join(self.twin, "ulpscope"), "compare", reference, candidate,
                                        "--format", "json"], codes=(0, 1)))

    def slots(self, dump, event):
        text = recorded.run([os.path.join(self.twin, "ulpscope"), "inspect", dump,
                             f"setup/{event.position}"])
        return collections.Counter(re.findall(r"^  (input|mutated|output) ", text, re.MULTILINE))


def problems(product):
    graphed = product.record("graphed")
    replays = [event for event in product.events(graphed) if event.op == REPLAY]
    if len(replays) != STEPS:
        yield f"there are {len(replays)} replays, not {STEPS}"
        return
    slots = product.slots(graphed, replays[1])
    if slots != {"input": 3, "mutated": 1, "output": 1}:
        yield f"a replay has {dict(slots)}"

    report = product.compare(graphed, product.record("again"))
    if report["verdict"] != "identical" or report["findings"]:
        yield f"a repeat is {report['verdict']}: {report['summary']}"

    first = product.compare(graphed, product.record("scaled", "--scaled-from", "2"))["first"] or {}
    if (first.get("kind"), first.get("op")) != ("origin", REPLAY):
        yield f"another graph is first told as {first}"

    report = product.compare(graphed, product.record("other", "--other-input", "1"))
    told = [finding["op"] for finding in report["findings"] if finding["kind"] == "origin"]
    if report["verdict"] != "diverged" or REPLAY in told:
        yield f"another input is told as {report['findings']}"

    unseen = product.record("unseen", options=["--ignore", REPLAY])
    if any(event.op == REPLAY for event in product.events(unseen)):
        yield f"with --ignore {REPLAY} there are replays"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--twin", required=True)
    with tempfile.TemporaryDirectory(prefix="ulpscope-graphs-") as folder:
        wrong = list(problems(Product(parser.parse_args(), folder)))
    for sentence in wrong:
        print(f"WRONG: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
