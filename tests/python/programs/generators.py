"""Trains with data and samples from NumPy's and Python's generators, which are seeded before PyTorch is imported.
`generators.py WHICH [child]` draws once more from that one, which no value shows: python, numpy; held: one of its own; files: before it
trains, more often than a generator makes numbers at once. `child`: a process of multiprocessing does all that, and the
program leaves by os._exit()."""

import multiprocessing
import os
import random
import sys

import numpy

random.seed(3)
numpy.random.seed(3)

import torch

from digest import print_digest

which = sys.argv[1]
held = [numpy.random.default_rng(3), numpy.random.default_rng(), random.Random(5), random.Random()]
if which in ("files", "more_files"):
    random.seed(4)
    random.shuffle(list(range(3000 if which == "files" else 5000)))


def train():
    torch.manual_seed(3)
    torch.set_num_threads(1)
    rows = torch.from_numpy(numpy.random.randn(64, 4).astype(numpy.float32))
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        picked = numpy.random.permutation(64)[:8]
        optimizer.zero_grad()
        loss = net(rows[picked]).square().mean()
        loss.backward()
        optimizer.step()
        print(step, loss.item())
    if which == "python":
        random.random()
    if which == "numpy":
        numpy.random.rand(1000)
    if which == "held":
        held[0].random()
    print_digest(net)


if "child" in sys.argv:
    child = multiprocessing.get_context("fork").Process(target=train)
    child.start()
    child.join()
    sys.stdout.flush()
    os._exit(child.exitcode)
train()
