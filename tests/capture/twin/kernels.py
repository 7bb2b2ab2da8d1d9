#!/usr/bin/env python3
"""Records which kernels an op launches, told by a stand-in of CUPTI, and has a comparison name them.

    kernels.py --twin FOLDER --bin FOLDER
"""

import argparse
import json
import os
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import recorded  # noqa: E402

KERNEL = 12
SUM = ["clear", "void host::total<1>(float const*, float*)"]
PAIRS = ["clear", "void host::total<2>(float const*, float*)"]


class Product:
    def __init__(self, arguments, folder):
        self.twin, self.bin, self.folder = arguments.twin, arguments.bin, folder

    def record(self, name, *options, flags=()):
        dump = os.path.join(self.folder, name)
        program = os.path.join(self.bin, "launching")
        printed = recorded.run([os.path.join(self.twin, "ulpscope"), "record", "-o", dump, *options, "--",
                                program, "--steps", "2", *flags])
        assert printed == recorded.run([program, "--steps", "2", *flags]), f"{name} was noticed"
        return dump

    def kernels(self, dump):
        """Each kernel with the op that launched it."""
        events = [recorded.to_event(line)
                  for line in recorded.run([os.path.join(self.bin, "list_events"), dump]).splitlines()]
        ops = {event.position: event.op for event in events}
        return [(ops.get(event.parent), event.op) for event in events
                if event.kind == KERNEL]

    def compare(self, reference, candidate):
        return json.loads(recorded.run([os.path.join(self.twin, "ulpscope"), "compare", reference, candidate,
                                        "--format", "json"], codes=(0, 1)))


def problems(product):
    kernels = product.record("kernels", "--kernels")
    found = product.kernels(kernels)
    expected = 2 * [(None, "between"), *(("host::total", name) for name in SUM)]
    if found != expected:
        yield f"the kernels are {found}, not {expected}"

    if found := product.kernels(product.record("ops", "--kernels", "--ops", "aten::addmm")):
        yield f"with --ops aten::addmm there are kernels: {found}"

    report = product.compare(kernels, product.record("pairs", "--kernels", flags=["--in-pairs"]))
    first = report["first"] or {}
    if first.get("op") != "host::total" or first["kernels"] != {"reference": SUM, "candidate": PAIRS}:
        yield f"the first finding is {first}"
    causes = [(cause["id"], cause["confidence"]) for cause in report["causes"] if cause["finding"] == 0]
    if causes[:1] != [("algorithm", "certain")]:
        yield f"its causes are {causes}"

    bare = product.record("bare")
    if found := product.kernels(bare):
        yield f"without --kernels there are some: {found}"
    if (verdict := product.compare(kernels, bare)["verdict"]) != "identical":
        yield f"with and without kernels a run is {verdict}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--twin", required=True)
    with tempfile.TemporaryDirectory(prefix="ulpscope-kernels-") as folder:
        wrong = list(problems(Product(parser.parse_args(), folder)))
    for sentence in wrong:
        print(f"WRONG: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
