#!/usr/bin/env python3
"""What a call of a Python module costs while a model is trained: 200 Identity modules in one, bare and
recorded in turn, in a row for README.md.

    python3 tests/bench/record/python_modules_bench.py --build build/release --torch build/torch
"""

import argparse
import os
import statistics
import subprocess
import tempfile

CALLED = """
import time, torch

class Chain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.links = torch.nn.ModuleList(torch.nn.Identity() for _ in range(200))

    def forward(self, x):
        for link in self.links:
            x = link(x)
        return x

chain = Chain()
weight = torch.nn.Parameter(torch.ones(4))
optimizer = torch.optim.SGD([weight])
best = float("inf")
for _ in range(20):
    spent = 0.0
    for _ in range(20):
        x = weight * 2
        begin = time.perf_counter()
        x = chain(x)
        spent += time.perf_counter() - begin
        x.sum().backward()
        optimizer.step()
    best = min(best, spent / 20 / 200)
print(1e6 * best)
"""


def microseconds(command, torch):
    environment = {**os.environ, "PYTHONPATH": torch, "OMP_NUM_THREADS": "1"}
    return float(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--torch", required=True, help="the folder that holds Python's package torch")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    bare, recorded = [], []
    with tempfile.TemporaryDirectory(prefix="ulpscope-modules-") as folder:
        program = os.path.join(folder, "chain.py")
        with open(program, "w") as file:
            file.write(CALLED)
        run = [arguments.python, program]
        record = [os.path.join(arguments.build, "bin/ulpscope"), "record", "--force", "-o",
                  os.path.join(folder, "dump"), "--", *run]
        for _ in range(arguments.rounds):
            bare.append(microseconds(run, os.path.abspath(arguments.torch)))
            recorded.append(microseconds(record, os.path.abspath(arguments.torch)))
    more = [each - other for each, other in zip(recorded, bare)]
    print("| bare, us | recorded, us | more, us | range |")
    print("| --- | --- | --- | --- |")
    print(f"| {statistics.median(bare):.2f} | {statistics.median(recorded):.2f} | "
          f"{statistics.median(more):.2f} | {min(more):.2f}-{max(more):.2f} |")


if __name__ == "__main__":
    main()
