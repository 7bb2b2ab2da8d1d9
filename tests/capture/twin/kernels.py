#!/usr/bin/env python3
"""Records which kernels an op launches, reported by a stand-in for CUPTI, and has a comparison name them.

    kernels.py --twin FOLDER --bin FOLDER
"""

import sys

from product import check

KERNEL = 12
SUM = ["clear", "void host::total<1>(float const*, float*)"]
PAIRS = ["clear", "void host::total<2>(float const*, float*)"]


def kernels_of(product, dump):
    """Each kernel with the op that launched it."""
    events = product.events(dump)
    ops = {event.position: event.op for event in events}
    return [(ops.get(event.parent), event.op) for event in events if event.kind == KERNEL]


def problems(product):
    kernels = product.record("kernels", "--kernels")
    found = kernels_of(product, kernels)
    expected = 2 * [(None, "between"), *(("host::total", name) for name in SUM)]
    if found != expected:
        yield f"the kernels are {found}, not {expected}"

    if found := kernels_of(product, product.record("ops", "--kernels", "--ops", "aten::addmm")):
        yield f"with --ops aten::addmm there are kernels: {found}"

    report = product.compare(kernels, product.record("pairs", "--kernels", flags=["--in-pairs"]))
    first = report["first"] or {}
    if first.get("op") != "host::total" or first["kernels"] != {"reference": SUM, "candidate": PAIRS}:
        yield f"the first finding is {first}"
    causes = [(cause["id"], cause["confidence"]) for cause in report["causes"] if cause["finding"] == 0]
    if causes[:1] != [("algorithm", "certain")]:
        yield f"its causes are {causes}"

    bare = product.record("bare")
    if found := kernels_of(product, bare):
        yield f"without --kernels there are some: {found}"
    if (verdict := product.compare(kernels, bare)["verdict"]) != "identical":
        yield f"with and without kernels a run is {verdict}"


if __name__ == "__main__":
    sys.exit(check(problems, ["launching", "--steps", "2"], __doc__))
